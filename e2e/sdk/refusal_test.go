package sdk

import (
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/anthropics/anthropic-sdk-go"
	"github.com/openai/openai-go/v3"
	"google.golang.org/genai"

	"moeca/internal/session"
)

func TestAnthropicGoUnderstandsRefusals(t *testing.T) {
	w := newWorld(t, anthropicDialect(), session.Scope{Budget: session.Budget{Tokens: 100}})
	client := anthropicClient(w)
	_, err := client.Messages.New(t.Context(), messageParams())
	var api *anthropic.Error
	if !errors.As(err, &api) || api.StatusCode != http.StatusPaymentRequired || !strings.Contains(err.Error(), "budget/exhausted") {
		t.Fatalf("%v", err)
	}
	w.check(0)
}

func TestOpenAIGoUnderstandsRefusals(t *testing.T) {
	w := newWorld(t, openAIDialect(), session.Scope{Budget: session.Budget{Tokens: 100}})
	client := openAIClient(w)
	refused := func(err error, status int, reason string) {
		t.Helper()
		var api *openai.Error
		if !errors.As(err, &api) || api.StatusCode != status || !strings.Contains(api.Message, reason) {
			t.Errorf("%v: %+v", err, api)
		}
	}
	_, err := client.Chat.Completions.New(t.Context(), chatParams())
	refused(err, http.StatusPaymentRequired, "budget/exhausted")
	_, err = client.Responses.New(t.Context(), responseParams())
	refused(err, http.StatusPaymentRequired, "budget/exhausted")
	stream := client.Chat.Completions.NewStreaming(t.Context(), chatParams())
	if stream.Next() {
		t.Error("an event of a refused stream")
	}
	refused(stream.Err(), http.StatusPaymentRequired, "budget/exhausted")
	w.check(0)
}

func TestGoogleGoUnderstandsRefusals(t *testing.T) {
	w := newWorld(t, googleDialect(), session.Scope{Budget: session.Budget{Tokens: 100}})
	client := googleClient(w)
	refused := func(err error) {
		t.Helper()
		var api genai.APIError
		if !errors.As(err, &api) || api.Code != http.StatusPaymentRequired || api.Status == "" || !strings.Contains(api.Message, "budget/exhausted") {
			t.Errorf("%v: %+v", err, api)
		}
	}
	_, err := client.Models.GenerateContent(t.Context(), "gemini-x", genai.Text("hello"), nil)
	refused(err)
	for _, err := range client.Models.GenerateContentStream(t.Context(), "gemini-x", genai.Text("hello"), nil) {
		refused(err)
	}
	w.check(0)
}

func TestNpmUnderstandsRefusals(t *testing.T) {
	for _, row := range []struct {
		script, error string
		dialect       dialect
		env           func(*world) []string
	}{
		{"anthropic.mjs", "AuthenticationError", anthropicDialect(), anthropicEnv},
		{"openai.mjs", "AuthenticationError", openAIDialect(), openAIEnv},
		{"google.mjs", "ApiError", googleDialect(), googleEnv},
	} {
		w := newWorld(t, row.dialect, session.Scope{})
		run := w.npm(row.script, row.env(w)...)
		w.revoke()
		m := run("refused")
		if m["name"] != row.error || m["status"].(float64) != 401 || !strings.Contains(m["message"].(string), "session/unknown-session") {
			t.Errorf("%s: %v", row.script, m)
		}
		w.check(0)
	}
}
