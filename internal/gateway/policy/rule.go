package policy

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"golang.org/x/text/unicode/norm"

	"moeca/internal/gateway/gatewayapi"
	"moeca/internal/strictjson"
)

// ErrInvalid is wrapped by every refusal of a policy.
var ErrInvalid = errors.New("policy: invalid")

func invalid(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrInvalid, fmt.Sprintf(format, args...))
}

// Matches says whether a rule names an operation of a request: by its name, or
// by method and path.
func Matches(r gatewayapi.OperationRule, method, path string, op Operation) bool {
	if r.Operation != "" {
		return r.Operation == op.Name
	}
	return r.Method == method && MatchPath(r.Path, path)
}

// Covers says whether a rule that forbids names an operation, in whatever
// spelling a server could take for it: another case or form of a character, a
// slash or an extension at the end, HEAD for GET. A rule that permits is exact.
func Covers(r gatewayapi.OperationRule, method, path string, op Operation) bool {
	if Matches(r, method, path, op) {
		return true
	}
	if r.Operation != "" || r.Method != method && (r.Method != http.MethodGet || method != http.MethodHead) {
		return false
	}
	want, got := loosely(r.Path), loosely(path)
	dir, last := got[:strings.LastIndexByte(got, '/')+1], got[strings.LastIndexByte(got, '/')+1:]
	last, _, _ = strings.Cut(last, ".")
	return MatchPath(want, got) || MatchPath(want, dir+last)
}

// loosely is a path as the most lenient router compares it.
func loosely(path string) string {
	segments := strings.Split(path, "/")
	for i, s := range segments {
		segments[i] = looseWord(s)
	}
	return "/" + strings.TrimPrefix(strings.TrimRight(strings.Join(segments, "/"), "/"), "/")
}

// looseWord is a segment as such a router compares it: without regard to case,
// to the form of a character and to blanks around it.
func looseWord(segment string) string {
	return strings.TrimSpace(strictjson.Fold(norm.NFKC.String(segment)))
}

// Permits says whether a write rule of the user opens an operation. All of
// GraphQL has one path, so its operations are opened by name only: a rule for
// paths would open more than it says.
func Permits(r gatewayapi.OperationRule, method, path string, op Operation) bool {
	return Matches(r, method, path, op) && (r.Operation != "" || !strings.HasPrefix(op.Name, graphQLPrefix))
}

// MatchPath compares a canonical path with a pattern, segment by segment: "*"
// stands for one segment, "**" at the end for one or more. Case counts.
func MatchPath(pattern, path string) bool {
	want, got := strings.Split(pattern, "/"), strings.Split(path, "/")
	for i, w := range want {
		if w == "**" && i == len(want)-1 {
			return len(got) > i && got[i] != ""
		}
		if i >= len(got) || w != got[i] && (w != "*" || got[i] == "") {
			return false
		}
	}
	return len(got) == len(want)
}

func matchesAny(patterns []string, path string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool { return MatchPath(p, path) })
}

// checkPattern refuses a pattern that can match no canonical path, or that
// looks as if it matched more than it does.
func checkPattern(p string) error {
	if !strings.HasPrefix(p, "/") || len(p) > 512 || strings.ContainsAny(p, "%\\;?#\x00") || strings.Contains(p, "//") {
		return invalid("path %.80q: begin with a slash and write segments, * for one and ** at the end for the rest", p)
	}
	segments := strings.Split(p[1:], "/")
	for i, s := range segments {
		if strings.Contains(s, "*") && s != "*" && (s != "**" || i != len(segments)-1) || s == "." || s == ".." {
			return invalid("path %.80q: * stands for a whole segment, ** for the rest at the end", p)
		}
	}
	return nil
}

func checkRule(r gatewayapi.OperationRule) error {
	if r.Operation != "" {
		if r.Method != "" || r.Path != "" {
			return invalid("a rule names an operation or a method and a path, not both")
		}
		if len(r.Operation) > 128 || strings.Trim(strings.ToLower(r.Operation), "abcdefghijklmnopqrstuvwxyz0123456789.-_") != "" {
			return invalid("operation %.80q is not a name", r.Operation)
		}
		return nil
	}
	switch r.Method {
	case http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete:
	default:
		return invalid("method %.16q: write one of GET, HEAD, POST, PUT, PATCH, DELETE", r.Method)
	}
	return checkPattern(r.Path)
}
