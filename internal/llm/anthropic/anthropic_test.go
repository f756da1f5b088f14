package anthropic_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"

	"moeca/internal/llm"
	"moeca/internal/llm/anthropic"
)

func TestEncode(t *testing.T) {
	got, err := anthropic.Dialect{}.Encode(llm.Request{
		Model: "m", System: "sys", MaxTokens: 9,
		Tools: []llm.Tool{{Name: "a", Schema: json.RawMessage(`{}`)}, {Name: "b", Description: "<d>", Schema: json.RawMessage(`{"type":"object"}`)}},
		Messages: []llm.Message{
			{Role: llm.RoleUser, Parts: []llm.Part{{Kind: llm.KindText, Text: "hi"}}},
			{Role: llm.RoleAssistant, Parts: []llm.Part{
				{Kind: llm.KindThinking, Text: "", Signature: "sig"},
				{Kind: llm.KindThinking, Redacted: "xx"},
				{Kind: llm.KindText, Text: ""},
				{Kind: llm.KindCall, ID: "t", Tool: "a", Input: json.RawMessage(`{"z":1,"a":2}`)},
			}},
			{Role: llm.RoleUser, Parts: []llm.Part{{Kind: llm.KindResult, ID: "t", Error: true}}},
			{Role: llm.RoleAssistant, Parts: []llm.Part{{Kind: llm.KindText}}},
			{Role: llm.RoleUser, Parts: []llm.Part{{Kind: llm.KindText, Text: "go on"}}},
		},
	})
	want := `{"model":"m","max_tokens":9,"stream":true,` +
		`"tools":[{"name":"a","description":"","input_schema":{}},{"name":"b","description":"<d>","input_schema":{"type":"object"},"cache_control":{"type":"ephemeral"}}],` +
		`"system":[{"type":"text","text":"sys","cache_control":{"type":"ephemeral"}}],` +
		`"messages":[{"role":"user","content":[{"type":"text","text":"hi"}]},` +
		`{"role":"assistant","content":[{"type":"thinking","thinking":"","signature":"sig"},{"type":"redacted_thinking","data":"xx"},{"type":"tool_use","id":"t","name":"a","input":{"z":1,"a":2}}]},` +
		`{"role":"user","content":[{"type":"tool_result","tool_use_id":"t","content":"","is_error":true,"cache_control":{"type":"ephemeral"}}]},` +
		`{"role":"user","content":[{"type":"text","text":"go on","cache_control":{"type":"ephemeral"}}]}]}`
	if d := cmp.Diff(want, string(got)); d != "" || err != nil {
		t.Errorf("%v %s", err, d)
	}
}

func frames(events ...string) string {
	var b strings.Builder
	for _, e := range events {
		b.WriteString("data: " + e + "\r\n\r\n")
	}
	return b.String()
}

const (
	start   = `{"type":"message_start","message":{"id":"m1","model":"x","usage":{"input_tokens":7,"cache_read_input_tokens":3,"cache_creation_input_tokens":2,"output_tokens":1}}}`
	ending  = `{"type":"message_delta","delta":{"stop_reason":"tool_use"},"usage":{"output_tokens":40}}`
	stop    = `{"type":"message_stop"}`
	textOn  = `{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}`
	textAdd = `{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"é漢"}}`
	textOff = `{"type":"content_block_stop","index":0}`
)

var wholeStream = frames(start, `{"type":"ping"}`,
	`{"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":"","signature":""}}`,
	`{"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"hm"}}`,
	`{"type":"content_block_delta","index":0,"delta":{"type":"signature_delta","signature":"sig"}}`,
	`{"type":"content_block_stop","index":0}`,
	`{"type":"content_block_start","index":1,"content_block":{"type":"text","text":""}}`,
	`{"type":"content_block_delta","index":1,"delta":{"type":"text_delta","text":"é漢"}}`,
	`{"type":"content_block_delta","index":1,"delta":{"type":"citations_delta","citation":{}}}`,
	`{"type":"content_block_delta","index":1,"delta":{"type":"text_delta","text":"😀"}}`,
	`{"type":"content_block_stop","index":1}`,
	`{"type":"something_new"}`,
	`{"type":"content_block_start","index":2,"content_block":{"type":"tool_use","id":"t","name":"read_file","input":{}}}`,
	`{"type":"content_block_delta","index":2,"delta":{"type":"input_json_delta","partial_json":""}}`,
	`{"type":"content_block_delta","index":2,"delta":{"type":"input_json_delta","partial_json":"{\"path\":"}}`,
	`{"type":"content_block_delta","index":2,"delta":{"type":"input_json_delta","partial_json":"\"a\"}"}}`,
	`{"type":"content_block_stop","index":2}`,
	`{"type":"content_block_start","index":3,"content_block":{"type":"tool_use","id":"u","name":"list_files","input":{}}}`,
	`{"type":"content_block_stop","index":3}`,
	ending, stop)

var wholeAnswer = &llm.Response{
	ID: "m1", Model: "x", Stop: llm.StopTools, Usage: llm.Usage{Input: 7, Output: 40, CacheRead: 3, CacheWrite: 2},
	Parts: []llm.Part{
		{Kind: llm.KindThinking, Text: "hm", Signature: "sig"},
		{Kind: llm.KindText, Text: "é漢😀"},
		{Kind: llm.KindCall, ID: "t", Tool: "read_file", Input: json.RawMessage(`{"path":"a"}`)},
		{Kind: llm.KindCall, ID: "u", Tool: "list_files", Input: json.RawMessage(`{}`)},
	},
}

func TestAStreamIsDecodedHoweverItIsSplit(t *testing.T) {
	for name, in := range map[string]string{"CRLF": wholeStream, "LF": strings.ReplaceAll(wholeStream, "\r\n", "\n"), "CR": strings.ReplaceAll(wholeStream, "\r\n", "\r")} {
		got, err := anthropic.Dialect{}.Decode("text/event-stream; charset=utf-8", iotest.OneByteReader(strings.NewReader(in)))
		if d := cmp.Diff(wholeAnswer, got); d != "" || err != nil {
			t.Errorf("%s: %v %s", name, err, d)
		}
	}
}

func TestAStreamCutAnywhereIsAnError(t *testing.T) {
	// The last blank line ends the last event; all before it is needed.
	for n := range len(wholeStream) - 2 {
		r, err := anthropic.Dialect{}.Decode("text/event-stream", strings.NewReader(wholeStream[:n]))
		var e *llm.Error
		if r != nil || !errors.As(err, &e) || !e.Retryable() {
			t.Fatalf("cut at %d of %d: %v %v", n, len(wholeStream), r, err)
		}
	}
}

func TestAnswersThatAreNotOfTheDialect(t *testing.T) {
	call := func(partial string) string {
		return frames(start, `{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"t","name":"n","input":{}}}`,
			`{"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":`+partial+`}}`, textOff, ending, stop)
	}
	tests := map[string]string{
		"no start":                      frames(textOn, textAdd, textOff, ending, stop),
		"two starts":                    frames(start, start, ending, stop),
		"a start without a message":     frames(`{"type":"message_start"}`, ending, stop),
		"a delta before its block":      frames(start, textAdd, ending, stop),
		"a delta of another block":      frames(start, textOn, strings.Replace(textAdd, `"index":0`, `"index":1`, 1), textOff, ending, stop),
		"a block inside a block":        frames(start, textOn, textOn, ending, stop),
		"a block that is stopped twice": frames(start, textOn, textOff, textOff, ending, stop),
		"an end inside a block":         frames(start, textOn, textAdd, ending, stop),
		"an end without a reason":       frames(start, textOn, textOff, stop),
		"an event that is not JSON":     frames(start, `{`, ending, stop),
		"an event that is an array":     frames(start, `[]`, ending, stop),
		"deep JSON":                     frames(start, strings.Repeat("[", 20_000), ending, stop),
		"input that is cut":             call(`"{\"a\":"`),
		"input that is an array":        call(`"[1]"`),
		"input with data behind":        call(`"{} {}"`),
		"input that is null":            call(`"null"`),
		"a call without a name":         frames(start, `{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"t","input":{}}}`, textOff, ending, stop),
	}
	for name, in := range tests {
		t.Run(name, func(t *testing.T) {
			r, err := anthropic.Dialect{}.Decode("text/event-stream", strings.NewReader(in))
			var e *llm.Error
			if r != nil || !errors.As(err, &e) || e.Class != llm.ClassAnswer {
				t.Errorf("%+v %v", r, err)
			}
		})
	}
}

func TestStopReasons(t *testing.T) {
	for reason, want := range map[string]llm.Stop{
		"end_turn": llm.StopEnd, "tool_use": llm.StopTools, "max_tokens": llm.StopMaxTokens, "refusal": llm.StopRefusal,
		"pause_turn": llm.StopPause, "model_context_window_exceeded": llm.StopContext, "new_reason": llm.StopUnknown, "": llm.StopUnknown,
	} {
		r, err := anthropic.Dialect{}.Decode("application/json", strings.NewReader(`{"type":"message","role":"assistant","content":[],"stop_reason":"`+reason+`","usage":{"input_tokens":-5}}`))
		if err != nil || r.Stop != want || r.Usage.Input != 0 {
			t.Errorf("%q: %+v %v", reason, r, err)
		}
	}
}

func TestDecodeErrorNeverFails(t *testing.T) {
	tests := map[string]struct {
		status int
		body   string
		want   llm.Error
	}{
		"the dialect's":      {429, `{"type":"error","error":{"type":"rate_limit_error","message":"slow"}}`, llm.Error{Class: llm.ClassRate, Status: 429, Type: "rate_limit_error", Message: "slow"}},
		"a gate's":           {403, `{"error":{"gate":"write","reason":"r","message":"m"}}`, llm.Error{Class: llm.ClassDenied, Status: 403, Gate: "write", Reason: "r", Message: "m"}},
		"a gate's, in shape": {402, `{"type":"error","error":{"type":"x","gate":"budget","reason":"r","message":"m"}}`, llm.Error{Class: llm.ClassDenied, Status: 402, Type: "x", Gate: "budget", Reason: "r", Message: "m"}},
		"HTML":               {502, "<html>", llm.Error{Class: llm.ClassServer, Status: 502, Message: "<html>"}},
		"nothing":            {404, "", llm.Error{Class: llm.ClassRequest, Status: 404}},
		"another shape":      {400, `{"error":"x"}`, llm.Error{Class: llm.ClassRequest, Status: 400, Message: `{"error":"x"}`}},
	}
	for name, tt := range tests {
		got := anthropic.Dialect{}.DecodeError(tt.status, []byte(tt.body))
		if d := cmp.Diff(&tt.want, got); d != "" {
			t.Errorf("%s: %s", name, d)
		}
	}
	if e := (anthropic.Dialect{}).DecodeError(500, bytes.Repeat([]byte("x"), 1<<16)); len(e.Message) > 3000 {
		t.Errorf("a message of %d bytes is passed on", len(e.Message))
	}
}

func FuzzDecode(f *testing.F) {
	f.Add([]byte(wholeStream), true)
	f.Add([]byte(`{"type":"message","role":"assistant","content":[{"type":"tool_use","id":"a","name":"b","input":{"c":1}}],"stop_reason":"tool_use"}`), false)
	f.Add([]byte(frames(start, textOn, textAdd, textOff, ending, stop)), true)
	f.Fuzz(func(t *testing.T, data []byte, streamed bool) {
		kind := "application/json"
		if streamed {
			kind = "text/event-stream"
		}
		r, err := anthropic.Dialect{}.Decode(kind, bytes.NewReader(data))
		if (r == nil) == (err == nil) {
			t.Fatalf("%v and %v", r, err)
		}
		if r == nil {
			return
		}
		// What was accepted can be sent back.
		if _, err := (anthropic.Dialect{}).Encode(llm.Request{Messages: []llm.Message{{Role: llm.RoleAssistant, Parts: r.Parts}, {Role: llm.RoleUser}}}); err != nil {
			t.Fatal(err)
		}
	})
}
