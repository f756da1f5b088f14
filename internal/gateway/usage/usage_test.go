package usage

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"moeca/internal/audit"
)

const stream = "event: message_start\r\n" +
	`data: {"type":"message_start","message":{"model":"claude-x","usage":{"input_tokens":12,"cache_creation_input_tokens":30,"cache_read_input_tokens":40,"cache_creation":{"ephemeral_5m_input_tokens":10,"ephemeral_1h_input_tokens":20},"output_tokens":1}}}` + "\r\n\r\n" +
	`data: {"type":"content_block_delta","delta":{"text":"data: {\"type\":\"message_stop\"} ü"}}` + "\n\n" +
	`data: {"type":"message_delta","usage":{"output_tokens":7}}` + "\r\r" +
	`data: {"type":"message_delta","usage":{"output_tokens":9,"server_tool_use":{"web_search_requests":2}}}` + "\n\n" +
	`data: {"type":"message_stop"}` + "\n\n"

var streamUsage = audit.Usage{Input: 12, Output: 9, CacheRead: 40, CacheWrite5m: 10, CacheWrite1h: 20, ServerTools: 2}

func TestStreamInEverySplit(t *testing.T) {
	for i := range len(stream) + 1 {
		m := New("text/event-stream; charset=utf-8")
		_, _ = m.Write([]byte(stream[:i]))
		_, _ = m.Write([]byte(stream[i:]))
		got, known := m.Result(true)
		if diff := cmp.Diff(streamUsage, got); diff != "" || !known || m.Model() != "claude-x" {
			t.Fatalf("split at %d: known %v, model %q, %s", i, known, m.Model(), diff)
		}
	}
	if Tokens(streamUsage) != 91 {
		t.Fatal(Tokens(streamUsage))
	}
}

func TestCutStreamIsUnknown(t *testing.T) {
	end := strings.LastIndex(stream, "}") // before the last event's line is whole
	for i := range end + 1 {
		m := New("text/event-stream")
		_, _ = m.Write([]byte(stream[:i]))
		if _, known := m.Result(true); known {
			t.Fatalf("known after %d of %d bytes", i, len(stream))
		}
	}
}

func TestDocuments(t *testing.T) {
	cases := map[string]struct {
		kind, body string
		ended      bool
		want       audit.Usage
		known      bool
	}{
		"plain":               {"application/json", `{"usage":{"input_tokens":3,"output_tokens":4}}`, true, audit.Usage{Input: 3, Output: 4}, true},
		"cache without split": {"application/json", `{"usage":{"input_tokens":3,"output_tokens":4,"cache_creation_input_tokens":5,"cache_read_input_tokens":null}}`, true, audit.Usage{Input: 3, Output: 4, CacheWrite5m: 5}, true},
		"cut":                 {"application/json", `{"usage":{"input_tokens":3,"output_tokens":4}}`, false, audit.Usage{}, false},
		"half":                {"application/json", `{"usage":{"input_tokens":3,"outpu`, true, audit.Usage{}, false},
		"no output":           {"application/json", `{"usage":{"input_tokens":3}}`, true, audit.Usage{Input: 3}, false},
		"no usage":            {"application/json", `{"type":"message"}`, true, audit.Usage{}, false},
		"array":               {"application/json", `[{"usage":{"input_tokens":3,"output_tokens":4}}]`, true, audit.Usage{}, false},
		"empty":               {"application/json", ``, true, audit.Usage{}, false},
		"other type":          {"text/plain", `{"usage":{"input_tokens":3,"output_tokens":4}}`, true, audit.Usage{}, false},
		"no type":             {"", `{"usage":{"input_tokens":3,"output_tokens":4}}`, true, audit.Usage{}, false},
	}
	for name, c := range cases {
		m := New(c.kind)
		_, _ = m.Write([]byte(c.body))
		got, known := m.Result(c.ended)
		if diff := cmp.Diff(c.want, got); diff != "" || known != c.known {
			t.Errorf("%s: known %v %s", name, known, diff)
		}
	}
	for _, count := range []string{"-1", `"4"`, "1.5", "1e300", "true", "[]"} {
		m := New("application/json")
		_, _ = m.Write([]byte(`{"usage":{"input_tokens":3,"output_tokens":` + count + `}}`))
		if _, known := m.Result(true); known {
			t.Errorf("output_tokens %s is known", count)
		}
	}
}

func TestEndlessLineIsGivenUp(t *testing.T) {
	m := New("text/event-stream")
	junk := []byte(strings.Repeat("x", 1<<20))
	for range 6 {
		_, _ = m.Write(junk)
	}
	_, _ = m.Write([]byte("\n" + stream))
	if _, known := m.Result(true); known || m.buf.Len() > maxLine {
		t.Fatal("an endless line was read on")
	}
}

func FuzzMeter(f *testing.F) {
	f.Add(stream, true)
	f.Add(`{"usage":{"input_tokens":3,"output_tokens":4}}`, false)
	f.Fuzz(func(t *testing.T, body string, sse bool) {
		kind := "application/json"
		if sse {
			kind = "text/event-stream"
		}
		m := New(kind)
		_, _ = m.Write([]byte(body))
		if u, _ := m.Result(true); Tokens(u) < 0 {
			t.Fatalf("negative usage %+v", u)
		}
	})
}
