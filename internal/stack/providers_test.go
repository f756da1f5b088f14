package stack

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"moeca/internal/board"
	"moeca/internal/gateway/gatewayapi"
	"moeca/internal/hostapi"
	"moeca/internal/secret"
	"moeca/internal/session"
)

func newProviders(t *testing.T, dir string) *Providers {
	t.Helper()
	if err := os.MkdirAll(filepath.Join(dir, "secrets"), 0o700); err != nil {
		t.Fatal(err)
	}
	store, err := secret.OpenStore(filepath.Join(dir, "secrets"), secret.StoreOptions{NoKeychain: true})
	if err != nil {
		t.Fatal(err)
	}
	p, err := openProviders(filepath.Join(dir, "providers.json"), store, time.Now)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

const testKey = "sk-canary-0123456789"

func TestKeysGoInAndNeverComeOut(t *testing.T) {
	dir := t.TempDir()
	p := newProviders(t, dir)
	v, err := p.SetSecret(context.Background(), "anthropic", " "+testKey+"\n")
	if err != nil || !v.HasSecret || v.SetAt == nil {
		t.Fatalf("set: %+v %v", v, err)
	}
	list, err := p.List(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	raw, err := json.Marshal(list)
	if err != nil {
		t.Fatal(err)
	}
	for _, shown := range []string{string(raw), fmt.Sprintf("%+v %#v", list, list)} {
		if strings.Contains(shown, testKey) {
			t.Errorf("the key is shown: %s", shown)
		}
	}
	err = filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		content, err := os.ReadFile(path)
		if strings.Contains(string(content), testKey) {
			t.Errorf("the key stands in %s", path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if again := newProviders(t, dir); !find(t, again, "anthropic").HasSecret {
		t.Error("the key is lost after a restart")
	}
}

func TestPatchDropsNoField(t *testing.T) {
	dir := t.TempDir()
	p := newProviders(t, dir)
	url, kind, models := "https://example.org/v1", "openai", []string{"a", "b"}
	if _, err := p.Put(context.Background(), "own", hostapi.ProviderInput{BaseURL: &url, Kind: &kind, Models: &models}); err != nil {
		t.Fatal(err)
	}
	other := "https://example.org/v2"
	if _, err := p.Put(context.Background(), "own", hostapi.ProviderInput{BaseURL: &other}); err != nil {
		t.Fatal(err)
	}
	got := find(t, newProviders(t, dir), "own")
	if got.BaseURL != other || got.Kind != kind || len(got.Models) != 2 || got.Header != "Authorization" || got.Prefix != "Bearer " {
		t.Errorf("after a patch: %+v", got)
	}
}

func TestProviderDefinitionsThatCannotWorkAreRefused(t *testing.T) {
	p := newProviders(t, t.TempDir())
	good := "https://example.org"
	cases := map[string]struct{ name, url string }{
		"a reserved route":     {"rag", good},
		"the scripted model":   {"demo", good},
		"a name with a slash":  {"a/b", good},
		"a name in capitals":   {"Own", good},
		"an empty name":        {"", good},
		"a URL with a key":     {"own", "https://example.org/?key=x"},
		"a URL with a user":    {"own", "https://u:p@example.org"},
		"a file":               {"own", "file:///etc/passwd"},
		"a URL without a host": {"own", "https:///x"},
		"a fragment":           {"own", "https://example.org/#x"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			_, err := p.Put(context.Background(), c.name, hostapi.ProviderInput{BaseURL: &c.url})
			if board.KindOf(err) != board.Invalid {
				t.Errorf("error %v, want a refusal", err)
			}
		})
	}
	list, err := p.List(context.Background())
	if err != nil || len(list) != 1+len(builtIn()) {
		t.Errorf("%d providers after refusals (%v)", len(list), err)
	}
}

// The kind says how its requests are signed; only where is for the person to say.
func TestSigningProviderNeedsARegionAndAService(t *testing.T) {
	p := newProviders(t, t.TempDir())
	kind, url, region, service := "sigv4", "https://example.org", "eu-central-1", "bedrock"
	for name, in := range map[string]hostapi.ProviderInput{
		"neither":   {Kind: &kind, BaseURL: &url},
		"a region":  {Kind: &kind, BaseURL: &url, Region: &region},
		"a service": {Kind: &kind, BaseURL: &url, Service: &service},
	} {
		if _, err := p.Put(context.Background(), "aws", in); board.KindOf(err) != board.Invalid || !strings.Contains(err.Error(), "region") {
			t.Errorf("%s: %v", name, err)
		}
	}
	v, err := p.Put(context.Background(), "aws", hostapi.ProviderInput{Kind: &kind, BaseURL: &url, Region: &region, Service: &service})
	if err != nil || v.Scheme != "sigv4" || v.Region != region || v.Service != service {
		t.Errorf("%+v %v", v, err)
	}
}

// A limit or a price for a name that was mistyped would bound nothing. The
// gateway is nil: a call that is passed on would panic.
func TestLimitsAndPricesOfNobodyAreRefused(t *testing.T) {
	b := budgets{providers: newProviders(t, t.TempDir())}
	_, err := b.Set(context.Background(), gatewayapi.BudgetPut{Scope: gatewayapi.BudgetProvider, ID: "antropic", Budget: session.Budget{Tokens: 5}})
	if board.KindOf(err) != board.NotFound {
		t.Errorf("a limit of nobody: %v", err)
	}
	_, err = b.PatchPrices(context.Background(), gatewayapi.PricePatch{Set: []gatewayapi.Price{{Upstream: "antropic", Model: "m", Input: "1", Output: "1"}}})
	if board.KindOf(err) != board.NotFound {
		t.Errorf("a price of nobody: %v", err)
	}
}

func TestKeysAreCheckedAndUnknownProvidersRefused(t *testing.T) {
	p := newProviders(t, t.TempDir())
	for _, key := range []string{"two words", "line\nbreak", "schlüssel", "nul\x00"} {
		if _, err := p.SetSecret(context.Background(), "anthropic", key); board.KindOf(err) != board.Invalid {
			t.Errorf("key %q: %v", key, err)
		}
	}
	if _, err := p.SetSecret(context.Background(), "nobody", testKey); board.KindOf(err) != board.NotFound {
		t.Errorf("unknown provider: %v", err)
	}
	if err := p.Delete(context.Background(), "anthropic"); board.KindOf(err) != board.Invalid {
		t.Errorf("a built-in provider was removed: %v", err)
	}
}

func TestBrokenProvidersFileIsKept(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "providers.json")
	if err := os.WriteFile(file, []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := openProviders(file, nil, time.Now); err == nil {
		t.Error("a broken file was taken as empty")
	}
	if raw, err := os.ReadFile(file); err != nil || string(raw) != "{" {
		t.Errorf("the broken file became %q (%v)", raw, err)
	}
}

func find(t *testing.T, p *Providers, name string) hostapi.Provider {
	t.Helper()
	list, err := p.List(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range list {
		if v.Name == name {
			return v
		}
	}
	t.Fatalf("no provider %s", name)
	return hostapi.Provider{}
}
