package usage

import (
	"bytes"
	"compress/gzip"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/andybalholm/brotli"
	"github.com/google/go-cmp/cmp"

	"moeca/internal/audit"
	"moeca/internal/gateway/decode"
)

// recording is one answer as a provider sends it; testdata holds the bytes.
type recording struct {
	file    string
	dialect Dialect
	model   string
	want    Count
	unknown bool
}

func recordings() []recording {
	return []recording{
		{"messages.json", Anthropic, "claude-sonnet-4-5-20250929", Count{Usage: audit.Usage{Input: 2095, Output: 503, CacheRead: 4000, CacheWrite5m: 100, CacheWrite1h: 200, ServerTools: 3}, Searches: 2}, false},
		{"messages.sse", Anthropic, "claude-sonnet-4-5-20250929", Count{Usage: audit.Usage{Input: 2025, Output: 15, CacheRead: 40, CacheWrite5m: 10, CacheWrite1h: 20, Reasoning: 4, ServerTools: 1}, Searches: 1}, false},
		{"chat.json", Chat, "gpt-4.1-2025-04-14", Count{Usage: audit.Usage{Input: 166, Output: 210, CacheRead: 1024, Reasoning: 64}, AudioIn: 20, AudioOut: 30}, false},
		{"chat.sse", Chat, "gpt-4o-mini", Count{Usage: audit.Usage{Input: 16, Output: 10, CacheRead: 3}}, false},
		{"chat-without-usage.sse", Chat, "gpt-4o-mini", Count{}, true},
		{"responses.json", Responses, "gpt-5-2025-08-07", Count{Usage: audit.Usage{Input: 232, Output: 871, CacheRead: 128, Reasoning: 512, ServerTools: 1}, Searches: 1}, false},
		{"responses.sse", Responses, "gpt-5-2025-08-07", Count{Usage: audit.Usage{Input: 25, Output: 11, CacheRead: 12, Reasoning: 7}}, false},
		{"gemini.json", Gemini, "gemini-2.5-flash", Count{Usage: audit.Usage{Input: 221, Output: 140, CacheRead: 100, Reasoning: 100}, AudioIn: 60, ImageIn: 60}, false},
		{"gemini.sse", Gemini, "gemini-2.5-pro", Count{Usage: audit.Usage{Input: 11, Output: 42, Reasoning: 37}}, false},
		{"gemini-array.json", Gemini, "gemini-2.5-flash", Count{Usage: audit.Usage{Input: 11, Output: 6}}, false},
		{"embeddings.json", Embeddings, "text-embedding-3-small", Count{Usage: audit.Usage{Input: 8}}, false},
	}
}

func (r recording) bytes(t *testing.T) []byte {
	b, err := os.ReadFile(filepath.Join("testdata", r.file))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func (r recording) meter() *Meter {
	if strings.HasSuffix(r.file, ".sse") {
		return New(r.dialect, "text/event-stream; charset=utf-8")
	}
	return New(r.dialect, "application/json; charset=UTF-8")
}

func (r recording) check(t *testing.T, m *Meter, where string, at int) {
	t.Helper()
	got, known := m.Result(true)
	if diff := cmp.Diff(r.want, got); diff != "" || known == r.unknown || m.Model() != r.model {
		t.Fatalf("%s, %s, split at %d: known %v, model %q, %s", r.file, where, at, known, m.Model(), diff)
	}
}

// Usage is the same in every split of the bytes, with each kind of line end.
func TestRecordingsInEverySplit(t *testing.T) {
	for _, r := range recordings() {
		plain := r.bytes(t)
		ends := map[string][]byte{"LF": plain}
		if strings.HasSuffix(r.file, ".sse") {
			ends["CRLF"] = bytes.ReplaceAll(plain, []byte("\n"), []byte("\r\n"))
			ends["CR"] = bytes.ReplaceAll(plain, []byte("\n"), []byte("\r"))
		}
		for name, body := range ends {
			for i := range len(body) + 1 {
				m := r.meter()
				_, _ = m.Write(body[:i])
				_, _ = m.Write(body[i:])
				r.check(t, m, name, i)
			}
			m := r.meter()
			for i := range body {
				_, _ = m.Write(body[i : i+1])
			}
			r.check(t, m, name+" byte by byte", -1)
		}
	}
}

// An upstream that compresses although identity was asked for is measured
// exactly, wherever its bytes are split.
func TestCompressedRecordingsInEverySplit(t *testing.T) {
	for _, r := range recordings() {
		for _, encoding := range []string{"gzip", "br"} {
			body := compress(t, encoding, r.bytes(t))
			for i := range len(body) + 1 {
				src := io.MultiReader(bytes.NewReader(body[:i]), bytes.NewReader(body[i:]))
				plain, err := decode.Reader(src, []string{encoding})
				if err != nil {
					t.Fatal(err)
				}
				m := r.meter()
				if _, err := io.Copy(m, plain); err != nil {
					t.Fatalf("%s, %s, split at %d: %v", r.file, encoding, i, err)
				}
				r.check(t, m, encoding, i)
			}
		}
	}
}

func compress(t *testing.T, encoding string, plain []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	var w io.WriteCloser = gzip.NewWriter(&b)
	if encoding == "br" {
		w = brotli.NewWriter(&b)
	}
	if _, err := w.Write(plain); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// A recording cut anywhere before its totals are complete is unknown, and what
// a known one says is what the whole says: no prefix is cheaper.
func TestCutRecordingsAreNeverCheaper(t *testing.T) {
	for _, r := range recordings() {
		body := r.bytes(t)
		for i := range body {
			m := r.meter()
			_, _ = m.Write(body[:i])
			got, known := m.Result(true)
			if known && (r.unknown || cmp.Diff(r.want, got) != "") {
				t.Fatalf("%s cut at %d of %d: known as %+v", r.file, i, len(body), got)
			}
		}
	}
}

// A stream over its limit stops at the end of the frame, in every split, and
// what was passed on until then is whole frames.
func TestLimitStopsAtTheEndOfAFrame(t *testing.T) {
	for _, r := range recordings() {
		if r.unknown || !strings.HasSuffix(r.file, ".sse") && r.file != "gemini-array.json" {
			continue
		}
		body, end := r.bytes(t), -1
		for i := range len(body) + 1 {
			m := r.meter()
			m.Limit = func(c Count) bool { return c.Output >= 1 && c.Input+c.CacheRead >= 11 }
			n, err := m.Write(body[:i])
			if err == nil {
				var more int
				if more, err = m.Write(body[i:]); err == nil {
					t.Fatalf("%s: not stopped", r.file)
				}
				n += more
			}
			if err != ErrOver || end >= 0 && n != end {
				t.Fatalf("%s split at %d: stopped at %d, before at %d, %v", r.file, i, n, end, err)
			}
			end = n
		}
		if last := body[end-1]; last != '\n' && last != '}' {
			t.Fatalf("%s: stopped inside a frame, after %q", r.file, body[:end])
		}
	}
}
