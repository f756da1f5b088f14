package policy

import (
	"bytes"
	"errors"
	"io"
	"mime"
	"mime/multipart"
	"net/url"
	"strings"

	"moeca/internal/strictjson"
)

// NeverCredential: Trello takes key and token from a body as well, so a write
// could go, with what it carries, into an account of the caller's own.
const NeverCredential = "the body names a key or a token, or cannot be read for one: send fields as JSON, as a form or as form data"

// namesCredential says that a body names a key or a token at its top, or that
// it cannot be told.
func namesCredential(in Input) bool {
	if len(in.Body) == 0 {
		return false
	}
	kind, parameters, err := mime.ParseMediaType(in.Header.Get("Content-Type"))
	switch {
	case err != nil || len(in.Header["Content-Type"]) > 1 || parameters["charset"] != "" && !strings.EqualFold(parameters["charset"], "utf-8"):
		return true
	case kind == "application/json":
		doc, err := strictjson.Read(in.Body, strictjson.Object)
		if err != nil {
			return true
		}
		found := false
		doc.Each(func(name string, _ strictjson.Document) bool {
			found = found || isCredential(name)
			return !found
		})
		return found
	case kind == "application/x-www-form-urlencoded":
		return formNames(string(in.Body))
	case kind == "multipart/form-data":
		return partNames(in.Body, parameters["boundary"])
	}
	return true
}

func isCredential(name string) bool {
	name, _, _ = strings.Cut(strictjson.Fold(strings.TrimSpace(name)), "[") // key[] and key[0] are lists of keys
	return name == "key" || name == "token"
}

func formNames(body string) bool {
	for pair := range strings.SplitSeq(body, "&") {
		name, _, _ := strings.Cut(pair, "=")
		if name, err := url.QueryUnescape(name); err != nil || isCredential(name) {
			return true
		}
	}
	return strings.Contains(body, ";") // some take it for a separator
}

func partNames(body []byte, boundary string) bool {
	if boundary == "" {
		return true
	}
	r := multipart.NewReader(bytes.NewReader(body), boundary)
	for {
		part, err := r.NextRawPart()
		if err != nil {
			return !errors.Is(err, io.EOF)
		}
		if len(part.Header["Content-Disposition"]) != 1 || part.FormName() == "" || isCredential(part.FormName()) {
			return true
		}
	}
}
