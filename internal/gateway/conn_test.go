package gateway

import (
	"strings"
	"testing"

	"moeca/internal/gateway/gate"
)

func scanAll(text string, cut int) *conn {
	c := &conn{}
	cut = min(max(cut, 0), len(text))
	c.scan([]byte(text[:cut]))
	c.scan([]byte(text[cut:]))
	return c
}

func TestFramingIsFoundInEverySplit(t *testing.T) {
	cases := map[string]struct{ text, finding string }{
		"plain":              {"GET / HTTP/1.1\r\nHost: g\r\n\r\n", ""},
		"two in a row":       {"POST / HTTP/1.1\r\nContent-Length: 3\r\n\r\n\r\n GET / HTTP/1.1\r\nHost: g\r\n\r\n", ""},
		"body like a header": {"POST / HTTP/1.1\r\nContent-Length: 9\r\n\r\n\n folded\n", ""},
		"folded":             {"GET / HTTP/1.1\r\nA: b\r\n c\r\n\r\n", gate.FramingFolded},
		"length beside":      {"POST / HTTP/1.1\r\ncontent-LENGTH: 3\r\nTransfer-encoding: chunked\r\n\r\n", gate.FramingAmbiguous},
		"blank before colon": {"POST / HTTP/1.1\r\nContent-Length : 3\r\nTransfer-Encoding: chunked\r\n\r\n", gate.FramingAmbiguous},
		"two lengths":        {"POST / HTTP/1.1\r\nContent-Length: 3\r\nContent-Length: 3\r\n\r\nabc", gate.FramingLengths},
		"signed":             {"POST / HTTP/1.1\r\nContent-Length: +3\r\n\r\nabc", gate.FramingLengths},
		"huge":               {"POST / HTTP/1.1\r\nContent-Length: 99999999999999999999\r\n\r\nabc", gate.FramingLengths},
		"bare LF":            {"GET / HTTP/1.1\nHost: g\n\n", gate.FramingJunk},
		"bare CR":            {"GET / HTTP/1.1\r\nA: b\rc\r\n\r\n", gate.FramingJunk},
		"CR CR LF":           {"GET / HTTP/1.1\r\nA: b\r\r\n\r\n", gate.FramingJunk},
		"lone CR line":       {"GET / HTTP/1.1\r\n\r\r\n\r\n", gate.FramingJunk},
		"length far away":    {"POST / HTTP/1.1\r\nContent-Length: " + strings.Repeat(" ", 100) + "3\r\n\r\nabc", gate.FramingLengths},
		"length, then far":   {"POST / HTTP/1.1\r\nContent-Length: 3" + strings.Repeat(" ", 100) + "\r\n\r\nabc", gate.FramingLengths},
		"long line":          {"GET / HTTP/1.1\r\nA: " + strings.Repeat("b", 300) + "\r\n\r\n", ""},
		"bare CR far away":   {"GET / HTTP/1.1\r\nA: " + strings.Repeat("b", 300) + "\rc\r\n\r\n", gate.FramingJunk},
		"in the second":      {"POST / HTTP/1.1\r\nContent-Length: 1\r\n\r\nxGET / HTTP/1.1\r\nA: b\r\n c\r\n\r\n", gate.FramingFolded},
	}
	for name, c := range cases {
		for cut := range len(c.text) + 1 {
			if got := scanAll(c.text, cut).finding; got != c.finding {
				t.Errorf("%s, cut at %d: %q, want %q", name, cut, got, c.finding)
			}
		}
	}
}

func TestUnhandled(t *testing.T) {
	c := scanAll("GET / HTTP/1.1\r\nHost: g\r\n\r\n", 3)
	if !c.unhandled() {
		t.Error("a head without a request was not noticed")
	}
	c.request()
	if c.unhandled() {
		t.Error("a handled request counts as unhandled")
	}
	if (&conn{}).unhandled() {
		t.Error("a connection without a byte counts as unhandled")
	}
}

// However the bytes are cut, the same is found and the same state is reached.
func FuzzScan(f *testing.F) {
	f.Add("POST / HTTP/1.1\r\nContent-Length: 3\r\n\r\nabcGET / HTTP/1.1\r\nA: b\r\n c\r\n\r\n", 20)
	f.Add("GET / HTTP/1.1\nHost: g\n\n", 3)
	f.Fuzz(func(t *testing.T, text string, cut int) {
		a, b := scanAll(text, 0), scanAll(text, cut)
		if a.finding != b.finding || a.begun != b.begun || a.head.state != b.head.state || a.head.skip != b.head.skip || a.head.lines != b.head.lines || string(a.head.line) != string(b.head.line) {
			t.Fatalf("cut at %d: %+v and %+v", cut, a.head, b.head)
		}
	})
}
