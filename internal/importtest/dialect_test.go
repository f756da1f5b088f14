package importtest

import (
	"net/http"
	"testing"

	"moeca/internal/a2a"
	"moeca/internal/gateway/upstream"
	"moeca/internal/gateway/usage"
)

// TestDialectsAgree compares the dialect by which the gateway measured an
// answer with the one by which the host reads it: they may not import each
// other, and must not differ for any call the gateway takes for inference.
func TestDialectsAgree(t *testing.T) {
	same := map[usage.Dialect]a2a.Dialect{
		usage.Anthropic: a2a.Anthropic, usage.Chat: a2a.Chat, usage.Responses: a2a.Responses,
		usage.Embeddings: a2a.Embeddings, usage.Gemini: a2a.Gemini,
	}
	paths := []string{
		"", "/", "/v1/messages", "/v1/messages/count_tokens", "/v1/messages/batches", "/messages",
		"/v1/chat/completions", "/chat/completions", "/v1/responses", "/responses", "/v1/responses/resp_1", "/v1/responses/",
		"/v1/embeddings", "/embeddings", "/v1/models", "/v1/models/m:generateContent",
		"/v1beta/models/gemini-2.5-pro:generateContent", "/v1beta/models/gemini-2.5-pro:streamGenerateContent",
		"/v1beta/models/text-embedding-004:embedContent", "/v1beta/models/text-embedding-004:batchEmbedContents",
		"/v1beta/models/x:countTokens", "/search",
	}
	read := map[a2a.Dialect]bool{}
	for _, kind := range upstream.Kinds() {
		for _, path := range paths {
			if (upstream.Upstream{Kind: kind}).Classify(http.MethodPost, path) != upstream.Inference {
				continue
			}
			want, known := same[usage.DialectOf(kind, path)]
			if got := a2a.DialectOf("https://m.example" + path); !known || got != want {
				t.Errorf("%s at %s: the tree reads %q, the gateway measured dialect %d", kind, path, got, usage.DialectOf(kind, path))
			}
			read[want] = true
		}
	}
	for _, d := range same {
		if !read[d] {
			t.Errorf("no path of the test is inference in %q", d)
		}
	}
}
