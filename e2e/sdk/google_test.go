package sdk

import (
	"net/http"
	"testing"

	"google.golang.org/genai"

	"moeca/internal/gateway/gatewayapi"
	"moeca/internal/session"
)

func googleDialect() dialect {
	const key = "AIzaInjectedByTheGateway"
	return dialect{
		name: "gemini", define: gatewayapi.ProviderPatch{Kind: ptr("gemini")},
		key: key, header: "X-Goog-Api-Key", credential: key, answer: http.HandlerFunc(serveGoogle),
	}
}

func serveGoogle(w http.ResponseWriter, r *http.Request) {
	const frame = `{"candidates":[{"index":0,"content":{"role":"model","parts":[{"text":%s}]}%s}],"modelVersion":"gemini-x","usageMetadata":{"promptTokenCount":11,"candidatesTokenCount":7,"totalTokenCount":18}}`
	switch r.RequestURI {
	case "/v1beta/models/gemini-x:generateContent":
		answerJSON(w, frame, quoted(said), `,"finishReason":"STOP"`)
	case "/v1beta/models/gemini-x:streamGenerateContent?alt=sse":
		all := words()
		for i, word := range all {
			end := ""
			if i == len(all)-1 {
				end = `,"finishReason":"STOP"`
			}
			event(w, "", frame, word, end)
		}
	default:
		http.NotFound(w, r)
	}
}

func googleClient(w *world) *genai.Client {
	w.t.Helper()
	c, err := genai.NewClient(w.t.Context(), &genai.ClientConfig{
		Backend: genai.BackendGeminiAPI, APIKey: w.session.Token, HTTPOptions: genai.HTTPOptions{BaseURL: w.base},
	})
	if err != nil {
		w.t.Fatal(err)
	}
	return c
}

func TestGoogleGo(t *testing.T) {
	w := newWorld(t, googleDialect(), session.Scope{})
	client := googleClient(w)
	config := &genai.GenerateContentConfig{MaxOutputTokens: 64}
	got, err := client.Models.GenerateContent(t.Context(), "gemini-x", genai.Text("hello"), config)
	if err != nil || got.Text() != said || got.UsageMetadata.TotalTokenCount != 18 {
		t.Fatalf("%+v, %v", got, err)
	}
	text := ""
	for part, err := range client.Models.GenerateContentStream(t.Context(), "gemini-x", genai.Text("hello"), config) {
		if err != nil {
			t.Fatal(err)
		}
		text += part.Text()
	}
	if text != said {
		t.Fatalf("streamed %q", text)
	}
	if got := w.revoke(); got != 2*18 {
		t.Errorf("settled %d tokens", got)
	}
	w.check(2)
}

func googleEnv(w *world) []string {
	return []string{"GOOGLE_GEMINI_BASE_URL=" + w.base, "GEMINI_API_KEY=" + w.session.Token, "GOOGLE_API_KEY="}
}

func TestGoogleNpm(t *testing.T) {
	w := newWorld(t, googleDialect(), session.Scope{})
	run := w.npm("google.mjs", googleEnv(w)...)
	for _, mode := range []string{"generate", "stream"} {
		if m := run(mode); m["text"] != said || m["total"].(float64) != 18 {
			t.Errorf("%s: %v", mode, m)
		}
	}
	if got := w.revoke(); got != 2*18 {
		t.Errorf("settled %d tokens", got)
	}
	w.check(2)
}
