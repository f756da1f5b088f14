package stack

import (
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"moeca/internal/board"
	"moeca/internal/gateway/gatewayapi"
	"moeca/internal/hostapi"
	"moeca/internal/secret"
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

// A key that was pasted short must not replace the one that works, and one that
// is refused at a start keeps nobody from the rest.
func TestKeyThatIsRefusedChangesNothing(t *testing.T) {
	var put, keys []string // what the gateway took
	admin := stubAdmin(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		name, isKey := strings.CutSuffix(strings.TrimPrefix(r.URL.Path, "/v1/providers/"), "/secret")
		switch {
		case r.Method == http.MethodGet:
			_, _ = io.WriteString(w, "[]")
		case isKey && strings.Contains(string(body), "short"):
			refusal(w, http.StatusBadRequest, "invalid-provider", "key is not between 8 and 8192 bytes long")
		case isKey:
			keys = append(keys, name)
			w.WriteHeader(http.StatusNoContent)
		default:
			put = append(put, name)
			_, _ = io.WriteString(w, `{"name":"x","kind":"anthropic"}`)
		}
	})
	p := newProviders(t, t.TempDir())
	p.attach(admin)
	if _, err := p.SetSecret(t.Context(), "anthropic", testKey); err != nil {
		t.Fatal(err)
	}
	_, err := p.SetSecret(t.Context(), "anthropic", "short")
	if board.KindOf(err) != board.Invalid || !strings.Contains(err.Error(), "nothing was changed") {
		t.Errorf("%v", err)
	}
	if kept, err := p.store.Get(secretName("anthropic")); err != nil || kept.Open() != testKey {
		t.Errorf("the key that works was replaced (%v)", err)
	}
	if err := p.store.Set(secretName("anthropic"), secret.New("short")); err != nil { // by another version
		t.Fatal(err)
	}
	put, keys = nil, nil
	if err := p.push(t.Context(), admin, "canary-0123456789"); err != nil {
		t.Fatalf("a key that is refused keeps the host from starting: %v", err)
	}
	if len(put) != len(builtIn()) || len(keys) != 1 || keys[0] != DemoProvider {
		t.Errorf("definitions %q, keys %q", put, keys)
	}
	if _, err := p.SetSecret(t.Context(), "anthropic", ""); err != nil || find(t, p, "anthropic").HasSecret {
		t.Errorf("it cannot be cleared: %v", err)
	}
}

// A gateway that is gone has refused nothing: the definition need not be corrected.
func TestProviderChangeWithoutAGateway(t *testing.T) {
	p := newProviders(t, t.TempDir())
	gone := gatewayapi.NewClient(filepath.Join(t.TempDir(), "none"), "t")
	t.Cleanup(gone.Close)
	p.attach(gone)
	url := "https://example.org"
	_, err := p.Put(t.Context(), "anthropic", hostapi.ProviderInput{BaseURL: &url})
	if board.KindOf(err) != board.Unavailable || !strings.Contains(err.Error(), "the gateway does not answer") {
		t.Errorf("a change: %v", err)
	}
	if _, err := p.Test(t.Context(), "anthropic"); board.KindOf(err) != board.Unavailable {
		t.Errorf("a test: %v", err)
	}
}
