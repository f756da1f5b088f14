package llm_test

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"

	"moeca/internal/llm"
)

func readSSE(r io.Reader) ([]llm.SSE, error) {
	s := llm.NewSSEReader(r)
	var out []llm.SSE
	for {
		ev, err := s.Next()
		if errors.Is(err, io.EOF) {
			return out, nil
		}
		if err != nil {
			return out, err
		}
		out = append(out, ev)
	}
}

func TestEventStreamLines(t *testing.T) {
	tests := map[string]struct {
		in   string
		want []llm.SSE
	}{
		"LF":                          {"event: a\ndata: 1\n\n", []llm.SSE{{Event: "a", Data: []byte("1")}}},
		"CRLF":                        {"event: a\r\ndata: 1\r\n\r\n", []llm.SSE{{Event: "a", Data: []byte("1")}}},
		"CR":                          {"event: a\rdata: 1\r\r", []llm.SSE{{Event: "a", Data: []byte("1")}}},
		"mixed ends":                  {"data: 1\r\ndata: 2\rdata: 3\n\r\n", []llm.SSE{{Data: []byte("1\n2\n3")}}},
		"a byte order mark":           {"\ufeffdata: 1\n\n", []llm.SSE{{Data: []byte("1")}}},
		"no space after the colon":    {"data:1\n\n", []llm.SSE{{Data: []byte("1")}}},
		"one space only is dropped":   {"data:  1\n\n", []llm.SSE{{Data: []byte(" 1")}}},
		"comments and other fields":   {": ping\nid: 7\nretry: 1\nfoo\ndata: 1\n\n", []llm.SSE{{Data: []byte("1")}}},
		"a field without a colon":     {"data\n\n", []llm.SSE{{Data: []byte("")}}},
		"an event without data":       {"event: a\n\ndata: 1\n\n", []llm.SSE{{Data: []byte("1")}}},
		"an event that is not ended":  {"data: 1\n\ndata: 2\n", []llm.SSE{{Data: []byte("1")}}},
		"a line that is not ended":    {"data: 1\n\ndata: 2", []llm.SSE{{Data: []byte("1")}}},
		"characters of several bytes": {"data: é漢😀\n\n", []llm.SSE{{Data: []byte("é漢😀")}}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := readSSE(strings.NewReader(tt.in))
			if d := cmp.Diff(tt.want, got); d != "" || err != nil {
				t.Errorf("%v %s", err, d)
			}
			got, err = readSSE(iotest.OneByteReader(strings.NewReader(tt.in)))
			if d := cmp.Diff(tt.want, got); d != "" || err != nil {
				t.Errorf("split at every byte: %v %s", err, d)
			}
		})
	}
}

func TestAnEventIsBounded(t *testing.T) {
	endless := io.MultiReader(strings.NewReader("data: "), io.LimitReader(zeros{}, 1<<30))
	if _, err := readSSE(endless); err == nil {
		t.Error("an endless line was read")
	}
	if _, err := readSSE(strings.NewReader(strings.Repeat("data: "+strings.Repeat("x", 1<<20)+"\n", 10))); err == nil {
		t.Error("an event of many lines was read")
	}
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { return len(p), nil }

// FuzzSSE holds that it does not matter how a stream was split.
func FuzzSSE(f *testing.F) {
	for _, s := range []string{"data: 1\r\n\r\n", "\ufeffdata: é\r\rdata: 2\n\n", "event: x\ndata:{\"a\":1}\n\n", ":\n\n", "\r\n\r"} {
		f.Add([]byte(s), 3)
	}
	f.Fuzz(func(t *testing.T, data []byte, at int) {
		whole, err := readSSE(bytes.NewReader(data))
		if err != nil {
			t.Fatal(err)
		}
		at = min(max(at, 0), len(data))
		for _, r := range []io.Reader{
			iotest.OneByteReader(bytes.NewReader(data)), iotest.DataErrReader(bytes.NewReader(data)),
			io.MultiReader(bytes.NewReader(data[:at]), bytes.NewReader(data[at:])),
		} {
			split, err := readSSE(r)
			if d := cmp.Diff(whole, split); d != "" || err != nil {
				t.Fatalf("%v %s", err, d)
			}
		}
		for _, ev := range whole {
			if bytes.ContainsRune(ev.Data, '\r') {
				t.Fatal("an end of line is in the data")
			}
		}
	})
}
