package stack

import (
	"io"
	"net/http"
	"os"
	"strings"
	"testing"

	"moeca/internal/board"
	"moeca/internal/hostapi"
)

// A change that got half through is undone on both sides, and can be made again.
func TestProviderChangesThatGotHalfThrough(t *testing.T) {
	at := map[string]bool{} // what the gateway has
	p := newProviders(t, t.TempDir())
	p.attach(stubAdmin(t, func(w http.ResponseWriter, r *http.Request) {
		name, isProvider := strings.CutPrefix(r.URL.Path, "/v1/providers/")
		switch {
		case !isProvider:
			_, _ = io.WriteString(w, "{}")
		case r.Method == http.MethodPut:
			at[name] = true
			_, _ = io.WriteString(w, `{"name":"own","kind":"custom"}`)
		case r.Method == http.MethodDelete && !at[name]:
			w.WriteHeader(http.StatusNotFound)
			_, _ = io.WriteString(w, `{"error":{"gate":"admin","reason":"unknown-provider","message":"no such provider"}}`)
		case r.Method == http.MethodDelete:
			delete(at, name)
			w.WriteHeader(http.StatusNoContent)
		}
	}))
	url, good := "https://example.org", p.file
	p.file = t.TempDir() // a file cannot be written over a directory
	if _, err := p.Put(t.Context(), "own", hostapi.ProviderInput{BaseURL: &url}); err == nil || at["own"] {
		t.Errorf("the gateway keeps a provider that was not added (%v): %v", err, at)
	}
	p.file = good
	if _, err := p.Put(t.Context(), "own", hostapi.ProviderInput{BaseURL: &url}); err != nil {
		t.Fatal(err)
	}
	delete(at, "own") // the gateway has removed it, then the host failed
	if err := p.Delete(t.Context(), "own"); err != nil {
		t.Errorf("a removal cannot be made again: %v", err)
	}
	if raw, err := os.ReadFile(good); err != nil || strings.Contains(string(raw), `"own"`) {
		t.Errorf("%s, %v", raw, err)
	}
	if err := p.Delete(t.Context(), DemoProvider); board.KindOf(err) != board.Invalid {
		t.Errorf("the scripted model: %v", err)
	}
}
