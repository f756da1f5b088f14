package sdk

import (
	"net/http"
	"testing"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/responses"

	"moeca/internal/gateway/gatewayapi"
	"moeca/internal/session"
)

func openAIDialect() dialect {
	const key = "sk-proj-injected-by-the-gateway"
	return dialect{
		name: "openai", define: gatewayapi.ProviderPatch{Kind: ptr("openai")},
		key: key, header: "Authorization", credential: "Bearer " + key, answer: http.HandlerFunc(serveOpenAI),
	}
}

func serveOpenAI(w http.ResponseWriter, r *http.Request) {
	switch stream := streams(r); {
	case r.URL.Path == "/v1/chat/completions" && stream:
		streamChat(w)
	case r.URL.Path == "/v1/chat/completions":
		answerJSON(w, `{"id":"c_1","object":"chat.completion","created":1,"model":"gpt-x","choices":[{"index":0,"finish_reason":"stop","message":{"role":"assistant","content":%s}}],"usage":{"prompt_tokens":11,"completion_tokens":7,"total_tokens":18}}`, quoted(said))
	case r.URL.Path == "/v1/responses" && stream:
		streamResponse(w)
	case r.URL.Path == "/v1/responses":
		answerJSON(w, "%s", response("completed", output(), usage))
	case r.URL.Path == "/v1/models":
		answerJSON(w, `{"object":"list","data":[{"id":"gpt-x","object":"model","created":1,"owned_by":"o"}]}`)
	default:
		http.NotFound(w, r)
	}
}

const usage = `{"input_tokens":11,"input_tokens_details":{"cached_tokens":0},"output_tokens":7,"output_tokens_details":{"reasoning_tokens":0},"total_tokens":18}`

func output() string {
	return `{"id":"m_1","type":"message","role":"assistant","status":"completed","content":[{"type":"output_text","annotations":[],"text":` + quoted(said) + `}]}`
}

func response(status, out, used string) string {
	return `{"id":"r_1","object":"response","created_at":1,"status":"` + status + `","model":"gpt-x","output":[` + out + `],"parallel_tool_calls":true,"tools":[],"tool_choice":"auto","error":null,"usage":` + used + `}`
}

func streamChat(w http.ResponseWriter) {
	const frame = `{"id":"c_1","object":"chat.completion.chunk","created":1,"model":"gpt-x","choices":[%s],"usage":%s}`
	for _, word := range words() {
		event(w, "", frame, `{"index":0,"delta":{"role":"assistant","content":`+word+`},"finish_reason":null}`, "null")
	}
	event(w, "", frame, `{"index":0,"delta":{},"finish_reason":"stop"}`, "null")
	event(w, "", frame, "", `{"prompt_tokens":11,"completion_tokens":7,"total_tokens":18}`)
	event(w, "", "[DONE]")
}

func streamResponse(w http.ResponseWriter) {
	event(w, "response.created", `{"type":"response.created","sequence_number":0,"response":%s}`, response("in_progress", "", "null"))
	event(w, "response.output_item.added", `{"type":"response.output_item.added","sequence_number":1,"output_index":0,"item":{"id":"m_1","type":"message","role":"assistant","status":"in_progress","content":[]}}`)
	event(w, "response.content_part.added", `{"type":"response.content_part.added","sequence_number":2,"item_id":"m_1","output_index":0,"content_index":0,"part":{"type":"output_text","annotations":[],"text":""}}`)
	for i, word := range words() {
		event(w, "response.output_text.delta", `{"type":"response.output_text.delta","sequence_number":%d,"item_id":"m_1","output_index":0,"content_index":0,"logprobs":[],"delta":%s}`, 3+i, word)
	}
	event(w, "response.completed", `{"type":"response.completed","sequence_number":99,"response":%s}`, response("completed", output(), usage))
}

func openAIClient(w *world) openai.Client {
	return openai.NewClient(option.WithBaseURL(w.base+"/v1"), option.WithAPIKey(w.session.Token), option.WithMaxRetries(0))
}

func chatParams() openai.ChatCompletionNewParams {
	return openai.ChatCompletionNewParams{
		Model: "gpt-x", MaxCompletionTokens: openai.Int(64),
		Messages: []openai.ChatCompletionMessageParamUnion{openai.UserMessage("hello")},
	}
}

func responseParams() responses.ResponseNewParams {
	return responses.ResponseNewParams{
		Model: "gpt-x", MaxOutputTokens: openai.Int(64), Store: openai.Bool(false),
		Input: responses.ResponseNewParamsInputUnion{OfString: openai.String("hello")},
	}
}

func TestOpenAIGoChat(t *testing.T) {
	w := newWorld(t, openAIDialect(), session.Scope{})
	client := openAIClient(w)
	c, err := client.Chat.Completions.New(t.Context(), chatParams())
	if err != nil || c.Choices[0].Message.Content != said || c.Usage.CompletionTokens != 7 {
		t.Fatalf("%+v, %v", c, err)
	}
	asked := chatParams()
	asked.StreamOptions.IncludeUsage = openai.Bool(true)
	stream := client.Chat.Completions.NewStreaming(t.Context(), asked)
	whole := openai.ChatCompletionAccumulator{}
	for stream.Next() {
		whole.AddChunk(stream.Current())
	}
	if err := stream.Err(); err != nil || whole.Choices[0].Message.Content != said || whole.Usage.TotalTokens != 18 {
		t.Fatalf("%+v, %v", whole, err)
	}
	if got := w.revoke(); got != 2*18 {
		t.Errorf("settled %d tokens", got)
	}
	w.check(2)
}

func TestOpenAIGoResponses(t *testing.T) {
	w := newWorld(t, openAIDialect(), session.Scope{})
	client := openAIClient(w)
	r, err := client.Responses.New(t.Context(), responseParams())
	if err != nil || r.OutputText() != said || r.Usage.OutputTokens != 7 {
		t.Fatalf("%+v, %v", r, err)
	}
	stream := client.Responses.NewStreaming(t.Context(), responseParams())
	text, done := "", ""
	for stream.Next() {
		switch e := stream.Current().AsAny().(type) {
		case responses.ResponseTextDeltaEvent:
			text += e.Delta
		case responses.ResponseCompletedEvent:
			done = e.Response.OutputText()
		}
	}
	if err := stream.Err(); err != nil || text != said || done != said {
		t.Fatalf("%q, %q, %v", text, done, err)
	}
	if got := w.revoke(); got != 2*18 {
		t.Errorf("settled %d tokens", got)
	}
	w.check(2)
}

func openAIEnv(w *world) []string {
	return []string{"OPENAI_BASE_URL=" + w.base + "/v1", "OPENAI_API_KEY=" + w.session.Token}
}

func TestOpenAINpm(t *testing.T) {
	w := newWorld(t, openAIDialect(), session.Scope{})
	run := w.npm("openai.mjs", openAIEnv(w)...)
	for _, mode := range []string{"chat", "chatStream", "responses", "responsesStream"} {
		if m := run(mode); m["text"] != said || m["total"].(float64) != 18 {
			t.Errorf("%s: %v", mode, m)
		}
	}
	if got := w.revoke(); got != 4*18 {
		t.Errorf("settled %d tokens", got)
	}
	w.check(4)
}
