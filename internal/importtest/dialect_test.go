package importtest

import (
	"testing"

	"moeca/internal/a2a"
	"moeca/internal/gateway/usage"
)

// TestDialectsAgree compares the dialect by which the gateway measured an
// answer with the one by which the host reads it: they may not import each
// other, and must not differ.
func TestDialectsAgree(t *testing.T) {
	same := map[usage.Dialect]a2a.Dialect{
		usage.Other: a2a.Other, usage.Anthropic: a2a.Anthropic, usage.Chat: a2a.Chat,
		usage.Responses: a2a.Responses, usage.Embeddings: a2a.Embeddings, usage.Gemini: a2a.Gemini,
	}
	paths := []string{
		"", "/", "/v1/messages", "/v1/messages/count_tokens", "/v1/chat/completions", "/v1/responses", "/v1/responses/resp_1",
		"/openai/v1/responses", "/v1/embeddings", "/v1/models", "/v1beta/models/gemini-2.5-pro:generateContent",
		"/v1beta/models/gemini-2.5-pro:streamGenerateContent", "/v1beta/models/text-embedding-004:embedContent",
		"/v1beta/models/text-embedding-004:batchEmbedContents", "/v1beta/models/x:countTokens", "/search",
	}
	for _, kind := range []string{"", "anthropic", "openai", "gemini", "github", "rag", "http", "Anthropic", "OPENAI"} {
		for _, path := range paths {
			want, known := same[usage.DialectOf(kind, path)]
			if got := a2a.DialectOf(kind, path); !known || got != want {
				t.Errorf("%s at %s: the tree reads %q, the gateway measured dialect %d", kind, path, got, usage.DialectOf(kind, path))
			}
		}
	}
}
