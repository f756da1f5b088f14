package usage

import "testing"

// What an upstream says is believed only where it says all of it: a stream or a
// document that leaves a side out is not one that used nothing.
func TestHalfATotalIsNone(t *testing.T) {
	const start, delta, stop = `data: {"type":"message_start","message":{"model":"m","usage":{"input_tokens":10,"output_tokens":1}}}`, `data: {"type":"message_delta","usage":{"output_tokens":7}}`, `data: {"type":"message_stop"}`
	for name, c := range map[string]struct {
		dialect Dialect
		media   string
		answer  string
		known   bool
	}{
		"a whole stream":                       {Anthropic, "text/event-stream", start + "\n\n" + delta + "\n\n" + stop + "\n\n", true},
		"a stream behind a byte order mark":    {Anthropic, "text/event-stream", "\xef\xbb\xbf" + start + "\n\n" + delta + "\n\n" + stop + "\n\n", true},
		"a stream without its start":           {Anthropic, "text/event-stream", delta + "\n\n" + stop + "\n\n", false},
		"a start without usage":                {Anthropic, "text/event-stream", `data: {"type":"message_start","message":{}}` + "\n\n" + delta + "\n\n" + stop + "\n\n", false},
		"a start without an input":             {Anthropic, "text/event-stream", `data: {"type":"message_start","message":{"usage":{"output_tokens":1}}}` + "\n\n" + delta + "\n\n" + stop + "\n\n", false},
		"an input in the last event":           {Anthropic, "text/event-stream", `data: {"type":"message_delta","usage":{"input_tokens":10,"output_tokens":7}}` + "\n\n" + stop + "\n\n", true},
		"a delta without an output":            {Anthropic, "text/event-stream", `data: {"type":"message_start","message":{"usage":{"input_tokens":1}}}` + "\n\n" + `data: {"type":"message_delta","usage":{}}` + "\n\n" + stop + "\n\n", false},
		"chunks with their totals":             {Chat, "text/event-stream", `data: {"choices":[],"usage":{"prompt_tokens":5,"completion_tokens":2}}` + "\n\ndata: [DONE]\n\n", true},
		"empty totals":                         {Chat, "text/event-stream", `data: {"choices":[],"usage":{}}` + "\n\ndata: [DONE]\n\n", false},
		"totals of one side":                   {Chat, "text/event-stream", `data: {"choices":[],"usage":{"prompt_tokens":5}}` + "\n\ndata: [DONE]\n\n", false},
		"running totals of one side":           {Chat, "text/event-stream", `data: {"choices":[{"delta":{}}],"usage":{"completion_tokens":5}}` + "\n\ndata: [DONE]\n\n", false},
		"a response of one side":               {Responses, "application/json", `{"status":"completed","usage":{"output_tokens":5}}`, false},
		"a message of one side":                {Anthropic, "application/json", `{"usage":{"output_tokens":5}}`, false},
		"a number that is a text":              {Anthropic, "application/json", `{"usage":{"input_tokens":"10","output_tokens":5}}`, false},
		"a number below nothing":               {Anthropic, "application/json", `{"usage":{"input_tokens":-10,"output_tokens":5}}`, false},
		"a number beyond anything":             {Anthropic, "application/json", `{"usage":{"input_tokens":1e400,"output_tokens":5}}`, false},
		"half a token":                         {Anthropic, "application/json", `{"usage":{"input_tokens":1.5,"output_tokens":5}}`, false},
		"more cached than there is":            {Chat, "application/json", `{"usage":{"prompt_tokens":5,"completion_tokens":2,"prompt_tokens_details":{"cached_tokens":6}}}`, false},
		"more thoughts than output":            {Chat, "application/json", `{"usage":{"prompt_tokens":5,"completion_tokens":2,"completion_tokens_details":{"reasoning_tokens":6}}}`, false},
		"a whole answer":                       {Gemini, "application/json", `{"candidates":[{"finishReason":"STOP"}],"usageMetadata":{"promptTokenCount":5,"candidatesTokenCount":5,"totalTokenCount":10}}`, true},
		"a mask that hides the output":         {Gemini, "application/json", `{"candidates":[{"finishReason":"STOP"}],"usageMetadata":{"promptTokenCount":5}}`, false},
		"a mask that hides the thoughts":       {Gemini, "application/json", `{"candidates":[{"finishReason":"STOP"}],"usageMetadata":{"promptTokenCount":5,"candidatesTokenCount":5}}`, false},
		"a prompt of which nobody knows":       {Gemini, "application/json", `{"candidates":[{"finishReason":"STOP"}],"usageMetadata":{"candidatesTokenCount":5}}`, false},
		"more cached than the prompt, gemini":  {Gemini, "application/json", `{"candidates":[{"finishReason":"STOP"}],"usageMetadata":{"promptTokenCount":5,"cachedContentTokenCount":6}}`, false},
		"totals twice in a stream, less later": {Anthropic, "text/event-stream", start + "\n\n" + `data: {"type":"message_delta","usage":{"output_tokens":700}}` + "\n\n" + `data: {"type":"message_delta","usage":{"input_tokens":0,"output_tokens":0}}` + "\n\n" + stop + "\n\n", true},
	} {
		m := New(c.dialect, c.media)
		_, _ = m.Write([]byte(c.answer))
		count, known := m.Result(true)
		if known != c.known {
			t.Errorf("%s: known %v, %+v", name, known, count)
		}
		if name == "totals twice in a stream, less later" && (count.Input != 10 || count.Output != 700) {
			t.Errorf("%s: %+v", name, count)
		}
		if name == "a stream behind a byte order mark" && count.Input != 10 {
			t.Errorf("%s: %+v", name, count)
		}
	}
	m := New(Gemini, "application/json")
	_, _ = m.Write([]byte(`{"candidates":[{"finishReason":"STOP"}],"usageMetadata":{"promptTokenCount":5,"toolUsePromptTokenCount":2,"candidatesTokenCount":3,"totalTokenCount":100}}`))
	if count, known := m.Result(true); !known || count.Tokens() != 100 {
		t.Errorf("a total that is more than its parts: %+v, %v", count, known)
	}
}
