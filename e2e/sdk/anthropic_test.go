package sdk

import (
	"net/http"
	"testing"

	"github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/option"

	"moeca/internal/gateway/gatewayapi"
	"moeca/internal/session"
)

func anthropicDialect() dialect {
	const key = "sk-ant-injected-by-the-gateway"
	return dialect{
		name: "anthropic", define: gatewayapi.ProviderPatch{Kind: ptr("anthropic")},
		key: key, header: "X-Api-Key", credential: key, answer: http.HandlerFunc(serveAnthropic),
	}
}

func serveAnthropic(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path != "/v1/messages" || r.Header.Get("Anthropic-Version") == "" {
		http.NotFound(w, r)
		return
	}
	if !streams(r) {
		answerJSON(w, `{"id":"msg_1","type":"message","role":"assistant","model":"claude-x","content":[{"type":"text","text":%s}],"stop_reason":"end_turn","stop_sequence":null,"usage":{"input_tokens":11,"output_tokens":7}}`, quoted(said))
		return
	}
	event(w, "message_start", `{"type":"message_start","message":{"id":"msg_1","type":"message","role":"assistant","model":"claude-x","content":[],"stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":11,"output_tokens":1}}}`)
	event(w, "content_block_start", `{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}`)
	for _, word := range words() {
		event(w, "content_block_delta", `{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":%s}}`, word)
	}
	event(w, "content_block_stop", `{"type":"content_block_stop","index":0}`)
	event(w, "message_delta", `{"type":"message_delta","delta":{"stop_reason":"end_turn","stop_sequence":null},"usage":{"output_tokens":7}}`)
	event(w, "message_stop", `{"type":"message_stop"}`)
}

func anthropicClient(w *world) anthropic.Client {
	return anthropic.NewClient(option.WithBaseURL(w.base), option.WithAPIKey(w.session.Token), option.WithMaxRetries(0))
}

func messageParams() anthropic.MessageNewParams {
	return anthropic.MessageNewParams{
		Model: "claude-x", MaxTokens: 64,
		Messages: []anthropic.MessageParam{anthropic.NewUserMessage(anthropic.NewTextBlock("hello"))},
	}
}

func TestAnthropicGo(t *testing.T) {
	w := newWorld(t, anthropicDialect(), session.Scope{})
	client := anthropicClient(w)
	m, err := client.Messages.New(t.Context(), messageParams())
	if err != nil || m.Content[0].Text != said || m.Usage.OutputTokens != 7 {
		t.Fatalf("%+v, %v", m, err)
	}
	stream := client.Messages.NewStreaming(t.Context(), messageParams())
	whole := anthropic.Message{}
	events := 0
	for stream.Next() {
		events++
		if err := whole.Accumulate(stream.Current()); err != nil {
			t.Fatal(err)
		}
	}
	if err := stream.Err(); err != nil || whole.Content[0].Text != said || events < 8 {
		t.Fatalf("%d events, %+v, %v", events, whole, err)
	}
	if got := w.revoke(); got != 2*(11+7) {
		t.Errorf("settled %d tokens", got)
	}
	w.check(2)
}

func anthropicEnv(w *world) []string {
	return []string{"ANTHROPIC_BASE_URL=" + w.base, "ANTHROPIC_API_KEY=" + w.session.Token}
}

func TestAnthropicNpm(t *testing.T) {
	w := newWorld(t, anthropicDialect(), session.Scope{})
	run := w.npm("anthropic.mjs", anthropicEnv(w)...)
	if m := run("create"); m["text"] != said {
		t.Fatalf("%v", m)
	}
	if m := run("stream"); m["text"] != said || m["events"].(float64) < 8 {
		t.Fatalf("%v", m)
	}
	if got := w.revoke(); got != 2*(11+7) {
		t.Errorf("settled %d tokens", got)
	}
	w.check(2)
}
