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
	found, told := bodyNames(in, isCredential)
	return found || !told
}

func isCredential(name string) bool { return name == "key" || name == "token" }

// isMethod: the names by which frameworks let a body replace the method of its
// request. "method" by itself is a word of JSON-RPC.
func isMethod(name string) bool {
	switch name {
	case "_method", "_httpmethod", "_http_method", "x-http-method", "x-http-method-override", "x-method-override":
		return true
	}
	return false
}

// bodyNames says whether a body of JSON, a form or form data has a name at its
// top that is asked for, and whether that can be told. Names are in lower case.
func bodyNames(in Input, asked func(name string) bool) (found, told bool) {
	if len(in.Body) == 0 {
		return false, true
	}
	see := func(name string) {
		name, _, _ = strings.Cut(strictjson.Fold(strings.TrimSpace(name)), "[") // key[] and key[0] are lists of keys
		found = found || asked(name)
	}
	kind, parameters, err := mime.ParseMediaType(in.Header.Get("Content-Type"))
	switch {
	case err != nil || len(in.Header["Content-Type"]) > 1 || parameters["charset"] != "" && !strings.EqualFold(parameters["charset"], "utf-8"):
	case kind == "application/json":
		told = jsonNames(in.Body, see)
	case kind == "application/x-www-form-urlencoded":
		told = formNames(string(in.Body), see)
	case kind == "multipart/form-data":
		told = partNames(in.Body, parameters["boundary"], see)
	}
	return found, told
}

func jsonNames(body []byte, see func(string)) bool {
	doc, err := strictjson.Read(body, strictjson.Object)
	doc.Each(func(name string, _ strictjson.Document) bool {
		see(name)
		return true
	})
	return err == nil || errors.Is(err, strictjson.ErrType) // a list has no names at its top
}

func formNames(body string, see func(string)) bool {
	for pair := range strings.SplitSeq(body, "&") {
		name, _, _ := strings.Cut(pair, "=")
		name, err := url.QueryUnescape(name)
		if err != nil {
			return false
		}
		see(name)
	}
	return !strings.Contains(body, ";") // some take it for a separator
}

func partNames(body []byte, boundary string, see func(string)) bool {
	if boundary == "" {
		return false
	}
	r := multipart.NewReader(bytes.NewReader(body), boundary)
	for {
		part, err := r.NextRawPart()
		if err != nil {
			return errors.Is(err, io.EOF)
		}
		if len(part.Header["Content-Disposition"]) != 1 || part.FormName() == "" {
			return false
		}
		see(part.FormName())
	}
}
