package sdk

import (
	"net/http"
	"strings"
	"testing"

	"github.com/openai/openai-go/v3/responses"
	"google.golang.org/genai"

	"moeca/internal/session"
)

// endless plays an upstream that never stops talking: each frame it is given,
// again and again, until the gateway hangs up.
func endless(d dialect, frame func(w http.ResponseWriter, n int)) dialect {
	d.answer = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for n := 0; r.Context().Err() == nil; n++ {
			frame(w, n)
		}
	})
	return d
}

func endlessAnthropic() dialect {
	return endless(anthropicDialect(), func(w http.ResponseWriter, n int) {
		if n == 0 {
			event(w, "message_start", `{"type":"message_start","message":{"id":"msg_1","type":"message","role":"assistant","model":"claude-x","content":[],"stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":11,"output_tokens":1}}}`)
			event(w, "content_block_start", `{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}`)
		}
		event(w, "content_block_delta", `{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"and so on "}}`)
	})
}

func endlessChat() dialect {
	return endless(openAIDialect(), func(w http.ResponseWriter, _ int) {
		event(w, "", `{"id":"c_1","object":"chat.completion.chunk","created":1,"model":"gpt-x","choices":[{"index":0,"delta":{"role":"assistant","content":"and so on "},"finish_reason":null}]}`)
	})
}

func endlessResponse() dialect {
	return endless(openAIDialect(), func(w http.ResponseWriter, n int) {
		if n == 0 {
			event(w, "response.created", `{"type":"response.created","sequence_number":0,"response":%s}`, response("in_progress", "", "null"))
			event(w, "response.output_item.added", `{"type":"response.output_item.added","sequence_number":1,"output_index":0,"item":{"id":"m_1","type":"message","role":"assistant","status":"in_progress","content":[]}}`)
			event(w, "response.content_part.added", `{"type":"response.content_part.added","sequence_number":2,"item_id":"m_1","output_index":0,"content_index":0,"part":{"type":"output_text","annotations":[],"text":""}}`)
		}
		event(w, "response.output_text.delta", `{"type":"response.output_text.delta","sequence_number":%d,"item_id":"m_1","output_index":0,"content_index":0,"logprobs":[],"delta":"and so on "}`, 3+n)
	})
}

func endlessGoogle() dialect {
	return endless(googleDialect(), func(w http.ResponseWriter, _ int) {
		event(w, "", `{"candidates":[{"index":0,"content":{"role":"model","parts":[{"text":"and so on "}]}}],"modelVersion":"gemini-x"}`)
	})
}

const usedUp = "budget/reservation-used-up"

func TestCutStreamIsAnErrorOfTheGoSDK(t *testing.T) {
	for name, row := range map[string]struct {
		dialect dialect
		stream  func(*world) error
	}{
		"anthropic": {endlessAnthropic(), func(w *world) error {
			client := anthropicClient(w)
			s := client.Messages.NewStreaming(t.Context(), messageParams())
			for s.Next() {
				_ = s.Current()
			}
			return s.Err()
		}},
		"openai chat": {endlessChat(), func(w *world) error {
			client := openAIClient(w)
			s := client.Chat.Completions.NewStreaming(t.Context(), chatParams())
			for s.Next() {
				_ = s.Current()
			}
			return s.Err()
		}},
		"openai responses": {endlessResponse(), func(w *world) error {
			client := openAIClient(w)
			s := client.Responses.NewStreaming(t.Context(), responseParams())
			for s.Next() {
				if e, ok := s.Current().AsAny().(responses.ResponseErrorEvent); ok {
					return errorText(e.Message)
				}
			}
			return s.Err()
		}},
		"google": {endlessGoogle(), func(w *world) error {
			for _, err := range googleClient(w).Models.GenerateContentStream(t.Context(), "gemini-x", genai.Text("hello"), &genai.GenerateContentConfig{MaxOutputTokens: 64}) {
				if err != nil {
					return err
				}
			}
			return nil
		}},
	} {
		w := newWorld(t, row.dialect, session.Scope{})
		if err := row.stream(w); err == nil || !strings.Contains(err.Error(), usedUp) {
			t.Errorf("%s: %v", name, err)
		}
		w.check(1)
	}
}

// errorText is an error that a dialect delivers as an event.
type errorText string

func (e errorText) Error() string { return string(e) }

func TestCutStreamIsAnErrorOfTheNpmSDK(t *testing.T) {
	for _, row := range []struct {
		script, mode string
		dialect      dialect
		env          func(*world) []string
	}{
		{"anthropic.mjs", "cut", endlessAnthropic(), anthropicEnv},
		{"openai.mjs", "chatCut", endlessChat(), openAIEnv},
		{"openai.mjs", "responsesCut", endlessResponse(), openAIEnv},
		{"google.mjs", "cut", endlessGoogle(), googleEnv},
	} {
		w := newWorld(t, row.dialect, session.Scope{})
		m := w.npm(row.script, row.env(w)...)(row.mode)
		if message, _ := m["message"].(string); !strings.Contains(message, usedUp) {
			t.Errorf("%s %s: %v", row.script, row.mode, m)
		}
		w.check(1)
	}
}
