package upstream

import (
	"net/url"
	"testing"
)

func TestPathsThatAnotherReaderWouldReadOtherwise(t *testing.T) {
	for name, escaped := range map[string]string{
		"a dot of two bytes":           "/a/%c0%ae%c0%ae/b",
		"a slash of two bytes":         "/a%c0%afb",
		"a dot of three bytes":         "/a/%e0%80%ae%e0%80%ae/b",
		"half a character":             "/a/%e2%80",
		"a surrogate":                  "/a/%ed%a0%80",
		"a byte of another set":        "/%fc",
		"full-width dots":              "/a/\uff0e\uff0e/b",
		"one of them plain":            "/a/.\uff0e/b",
		"a leader of two dots":         "/a/\u2025/b",
		"dots of small form":           "/a/\ufe52\ufe52/b",
		"a full-width slash":           "/a\uff0fb",
		"a full-width backslash":       "/a\uff3cb",
		"a full-width percent":         "/a\uff052e",
		"a full-width semicolon":       "/a\uff1bb",
		"a full-width question mark":   "/a\uff1fb",
		"a slash in a fraction of one": "/a\u2100b", // account of: a/c
	} {
		if got, err := CanonicalPath((&url.URL{Path: unescaped(t, escaped)}).EscapedPath()); err == nil {
			t.Errorf("%s: %q passes as %q", name, escaped, got)
		}
	}
	for _, escaped := range []string{"/v1/messages", "/wiki/Z%C3%BCrich", "/wiki/Zu%CC%88rich", "/%E4%B8%AD%E6%96%87", "/%F0%9F%98%80", "/a%20b", "/%E2%80%A6", "/x%E2%91%A0", "/%EF%AC%81le", "/h%CC%A3%CC%87"} {
		if _, err := CanonicalPath(escaped); err != nil {
			t.Errorf("%s: %v", escaped, err)
		}
	}
}

func unescaped(t *testing.T, s string) string {
	t.Helper()
	path, err := url.PathUnescape(s)
	if err != nil {
		t.Fatal(err)
	}
	return path
}
