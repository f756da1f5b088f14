package a2a

import "testing"

func TestDialectsAreReadOffThePath(t *testing.T) {
	for target, want := range map[string]Dialect{
		"https://api.anthropic.com/v1/messages":                                  Anthropic,
		"https://api.anthropic.com/v1/messages/count_tokens":                     Other,
		"https://api.openai.com/v1/chat/completions":                             Chat,
		"https://api.openai.com/v1/responses":                                    Responses,
		"https://api.openai.com/v1/embeddings":                                   Embeddings,
		"https://g.example/v1beta/models/gemini-x:generateContent":               Gemini,
		"https://g.example/v1beta/models/gemini-x:streamGenerateContent?alt=sse": Gemini,
		"https://g.example/v1beta/models/e:embedContent":                         Embeddings,
		"https://api.github.com/repos/a/b/pulls":                                 Other,
		"":                                                                       Other,
		"::":                                                                     Other,
	} {
		if got := DialectOf(target); got != want {
			t.Errorf("%s is %q, want %q", target, got, want)
		}
	}
}
