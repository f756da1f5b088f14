package usage

import (
	"os"
	"path/filepath"
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

func TestMixedLineEndsInEverySplit(t *testing.T) {
	for i := range len(stream) + 1 {
		m := New(Anthropic, "text/event-stream; charset=utf-8")
		_, _ = m.Write([]byte(stream[:i]))
		_, _ = m.Write([]byte(stream[i:]))
		got, known := m.Result(true)
		if diff := cmp.Diff(streamUsage, got.Usage); diff != "" || !known || m.Model() != "claude-x" || got.Tokens() != 91 {
			t.Fatalf("split at %d: known %v, model %q, %s", i, known, m.Model(), diff)
		}
	}
}

func TestCutStreamIsUnknown(t *testing.T) {
	end := strings.LastIndex(stream, "}") // before the last event's line is whole
	for i := range end + 1 {
		m := New(Anthropic, "text/event-stream")
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
		m := New(Anthropic, c.kind)
		_, _ = m.Write([]byte(c.body))
		got, known := m.Result(c.ended)
		if diff := cmp.Diff(c.want, got.Usage); diff != "" || known != c.known {
			t.Errorf("%s: known %v %s", name, known, diff)
		}
	}
	for _, count := range []string{"-1", `"4"`, "1.5", "1e300", "true", "[]"} {
		m := New(Anthropic, "application/json")
		_, _ = m.Write([]byte(`{"usage":{"input_tokens":3,"output_tokens":` + count + `}}`))
		if _, known := m.Result(true); known {
			t.Errorf("output_tokens %s is known", count)
		}
	}
}

func TestEndlessLineIsGivenUp(t *testing.T) {
	m := New(Anthropic, "text/event-stream")
	junk := []byte(strings.Repeat("x", 1<<20))
	for range 6 {
		_, _ = m.Write(junk)
	}
	_, _ = m.Write([]byte("\n" + stream))
	if _, known := m.Result(true); known || m.buf.Len() > maxLine {
		t.Fatal("an endless line was read on")
	}
}

// Each is an answer that says something of its own usage that cannot be.
func TestAnswersThatAreNotBelieved(t *testing.T) {
	for name, c := range map[string]struct {
		d    Dialect
		body string
	}{
		"more cached than sent":       {Chat, `{"usage":{"prompt_tokens":5,"completion_tokens":1,"prompt_tokens_details":{"cached_tokens":6}}}`},
		"more reasoning than output":  {Chat, `{"usage":{"prompt_tokens":5,"completion_tokens":1,"completion_tokens_details":{"reasoning_tokens":6}}}`},
		"more cached than prompt":     {Gemini, `{"candidates":[{"finishReason":"STOP"}],"usageMetadata":{"promptTokenCount":5,"cachedContentTokenCount":6}}`},
		"negative thoughts":           {Gemini, `{"candidates":[{"finishReason":"STOP"}],"usageMetadata":{"promptTokenCount":5,"thoughtsTokenCount":-6}}`},
		"still working":               {Responses, `{"status":"in_progress","usage":{"input_tokens":5,"output_tokens":1}}`},
		"no output":                   {Responses, `{"status":"completed","usage":{"input_tokens":5}}`},
		"a round of compaction":       {Anthropic, `{"usage":{"input_tokens":5,"output_tokens":1,"iterations":[{"type":"compaction","input_tokens":90000,"output_tokens":900}]}}`},
		"two documents":               {Gemini, `{"candidates":[{"finishReason":"STOP"}],"usageMetadata":{"promptTokenCount":5}} {}`},
		"an array that does not end":  {Gemini, `[{"candidates":[{"finishReason":"STOP"}],"usageMetadata":{"promptTokenCount":5}}`},
		"not finished":                {Gemini, `{"candidates":[{}],"usageMetadata":{"promptTokenCount":5}}`},
		"totals before the last part": {Gemini, `[{"candidates":[{"finishReason":"STOP"}],"usageMetadata":{"promptTokenCount":5}},{"candidates":[{"finishReason":"STOP"}]}]`},
		"no embedding tokens":         {Embeddings, `{"embedding":{"values":[1]}}`},
	} {
		m := New(c.d, "application/json")
		_, _ = m.Write([]byte(c.body))
		if got, known := m.Result(true); known {
			t.Errorf("%s: known as %+v", name, got)
		}
	}
}

func TestReasoningCountedApartIsOutput(t *testing.T) {
	m := New(Chat, "application/json")
	_, _ = m.Write([]byte(`{"usage":{"prompt_tokens":5,"completion_tokens":1,"total_tokens":12,"completion_tokens_details":{"reasoning_tokens":6}}}`))
	if got, known := m.Result(true); !known || got.Output != 7 || got.Reasoning != 6 {
		t.Fatalf("%+v, %v", got, known)
	}
}

func TestAnUpstreamThatNeverEndsIsNoticed(t *testing.T) {
	for d, frame := range map[Dialect]string{
		Anthropic: `data: {"type":"content_block_delta","delta":{"type":"text_delta","text":" and so on"}}`,
		Chat:      `data: {"choices":[{"delta":{"content":" and so on"}}]}`,
		Responses: `data: {"type":"response.output_text.delta","delta":" and so on"}`,
		Gemini:    `data: {"candidates":[{"content":{"parts":[{"text":" and so on"}]}}]}`,
	} {
		m := New(d, "text/event-stream")
		m.Limit = func(c Count) bool { return c.Tokens() > 100 }
		frames := 0
		for err := error(nil); err == nil && frames < 1000; frames++ {
			_, err = m.Write([]byte(frame + "\n\n"))
		}
		if frames < 100 || frames > 110 {
			t.Errorf("dialect %d: stopped after %d frames", d, frames)
		}
	}
}

func FuzzMeter(f *testing.F) {
	for _, r := range recordings() {
		b, err := os.ReadFile(filepath.Join("testdata", r.file))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(int(r.dialect), b, strings.HasSuffix(r.file, ".sse"), len(b)/2)
	}
	f.Fuzz(func(t *testing.T, d int, body []byte, sse bool, split int) {
		kind := "application/json"
		if sse {
			kind = "text/event-stream"
		}
		whole, parts := New(Dialect(d), kind), New(Dialect(d), kind)
		split = min(max(split, 0), len(body))
		_, _ = whole.Write(body)
		_, _ = parts.Write(body[:split])
		_, _ = parts.Write(body[split:])
		a, knownA := whole.Result(true)
		b, knownB := parts.Result(true)
		if a != b || knownA != knownB {
			t.Fatalf("split at %d: %+v %v, %+v %v", split, a, knownA, b, knownB)
		}
		if a.Tokens() < 0 || a.Input < 0 || a.Output < 0 {
			t.Fatalf("negative usage %+v", a)
		}
	})
}
