package policy

import (
	"errors"
	"fmt"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"moeca/internal/gateway/upstream"
	"moeca/internal/strictjson"
)

// Input is a request as Parse needs it: the path is canonical, decoded and
// below the base of the upstream, the body is what will be sent.
type Input struct {
	Kind   string
	Method string
	Path   string
	Query  string // raw
	Header http.Header
	Body   []byte
	// Repositories are the database ids of repositories by "owner/name".
	Repositories map[string]int64
}

// Operation is one thing a request would do.
type Operation struct {
	Name    string
	Read    bool
	Shipped bool     // permitted by the kind itself
	Never   string   // why no rule can permit it
	Repo    string   // "owner/name", empty where none is named
	Refs    []string // refs it would write, in full; an empty one is the default branch
	Forced  string   // why a ref is not shown to move forward only; empty: all are
}

// ErrUnclear is wrapped by every error of Parse.
var ErrUnclear = errors.New("policy: request has no single reading")

func unclear(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrUnclear, fmt.Sprintf(format, args...))
}

// Parse says what a request would do. Without an error there is at least one
// operation.
func Parse(in Input) ([]Operation, error) {
	if isRead(in.Method) && len(in.Body) > 0 {
		return nil, unclear("a %s carries a body", in.Method)
	}
	if name := overriding(in.Query); name != "" {
		return nil, unclear("the query parameter %s could change the method", name)
	}
	switch in.Kind {
	case upstream.KindGitHub:
		return parseGitHub(in)
	case upstream.KindGit:
		return parseGit(in)
	}
	return []Operation{parseTool(in)}, nil
}

func isRead(method string) bool { return method == http.MethodGet || method == http.MethodHead }

// overriding returns a parameter by which frameworks let a query replace the
// method of a request.
func overriding(raw string) string {
	for _, name := range queryNames(raw) {
		switch strings.ToLower(strings.NewReplacer("_", "", "-", "").Replace(name)) {
		case "method", "httpmethod", "methodoverride", "httpmethodoverride", "xhttpmethod", "xhttpmethodoverride", "xmethodoverride":
			return name
		}
	}
	return ""
}

// queryNames are the decoded names of a raw query, as often as they stand.
func queryNames(raw string) []string {
	var names []string
	for pair := range strings.SplitSeq(raw, "&") {
		key, _, _ := strings.Cut(pair, "=")
		if name, err := url.QueryUnescape(key); err == nil && pair != "" {
			names = append(names, name)
		}
	}
	return names
}

// jsonObject reads the body of a guarded route. The declared type must be
// JSON: a reader that takes the bytes for a form would see other fields.
func jsonObject(in Input) (strictjson.Document, error) {
	types := in.Header.Values("Content-Type")
	if len(types) != 1 {
		return strictjson.Document{}, unclear("send one Content-Type: application/json")
	}
	kind, parameters, err := mime.ParseMediaType(types[0])
	charset := strings.ToLower(parameters["charset"])
	delete(parameters, "charset")
	if err != nil || (kind != "application/json" && !strings.HasSuffix(kind, "+json")) || len(parameters) > 0 || (charset != "" && charset != "utf-8") {
		return strictjson.Document{}, unclear("send Content-Type: application/json")
	}
	d, err := strictjson.Read(in.Body, strictjson.Object)
	if err != nil {
		return strictjson.Document{}, unclear("%v", err)
	}
	return d, nil
}

// Holds says whether the session's repositories contain one, in this case: on
// some hosts a name in another case is another repository.
func Holds(repos []string, repo string) bool { return slices.Contains(repos, repo) }
