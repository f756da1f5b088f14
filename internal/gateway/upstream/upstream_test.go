package upstream

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"moeca/internal/gateway/gatewayapi"
	"moeca/internal/netguard"
)

func newSet() (*Set, *netguard.Guard) {
	g := netguard.New(netguard.Options{})
	return NewSet(g, nil), g
}

func ptr[T any](v T) *T { return &v }

func put(t *testing.T, s *Set, name string, p gatewayapi.ProviderPatch) {
	t.Helper()
	c, err := s.PlanPut(name, p)
	if err == nil {
		err = c.Apply()
	}
	if err != nil {
		t.Fatal(err)
	}
}

func TestBases(t *testing.T) {
	s, _ := newSet()
	for base, want := range map[string]string{ // → canonical base, empty = refused
		"https://api.example.com": "https://api.example.com", "https://API.example.com/v1/": "https://api.example.com/v1",
		"https://api.example.com:8443/a/b": "https://api.example.com:8443/a/b", "unix:/run/x.sock": "http://p.unix",
		"http://127.0.0.1:11434": "http://127.0.0.1:11434", "http://[::1]:8080/v1": "http://[::1]:8080/v1", "https://1.1.1.1": "https://1.1.1.1",
		"http://api.example.com": "", "http://127.0.0.1": "", "http://localhost:11434": "", "http://10.0.0.1:80": "", "http://[::ffff:127.0.0.1]:80": "",
		"https://u:p@api.example.com": "", "https://api.example.com/?x": "", "https://api.example.com/#x": "", "https://api.example.com/a/../b": "", "https://api.example.com/a%2fb": "",
		"https://api.example.com:0": "", "https://api.example.com:080": "", "https://api.example.com:70000": "", "ftp://api.example.com": "", "api.example.com": "", "": "", "https://": "",
		"https://other.unix": "", "https://2130706433": "", "https://api.example.com.": "", "https://host.docker.internal": "",
		"unix:run/x.sock": "", "unix:/run/../x": "", "unix:" + "/" + strings.Repeat("x", 107): "", "unix://run/x": "",
	} {
		c, err := s.PlanPut("p", gatewayapi.ProviderPatch{BaseURL: &base})
		if (err == nil) != (want != "") {
			t.Errorf("%q: %v", base, err)
			continue
		}
		if err != nil {
			if !errors.Is(err, ErrInvalid) {
				t.Errorf("%q: %v", base, err)
			}
			continue
		}
		_ = c.Apply()
		if u, _ := s.Get("p"); u.Base.String() != want {
			t.Errorf("%q became %s", base, u.Base)
		}
	}
}

func TestExemptionsFollowTheSet(t *testing.T) {
	s, g := newSet()
	put(t, s, "local", gatewayapi.ProviderPatch{BaseURL: ptr("http://127.0.0.1:11434")})
	put(t, s, "demo", gatewayapi.ProviderPatch{BaseURL: ptr("unix:/run/demo.sock")})
	if !g.Exempted("127.0.0.1:11434") || !g.Exempted("demo.unix:80") {
		t.Fatal("not exempted")
	}
	put(t, s, "local", gatewayapi.ProviderPatch{BaseURL: ptr("https://api.example.com")})
	c, _ := s.PlanDelete("demo")
	_ = c.Apply()
	if g.Exempted("127.0.0.1:11434") || g.Exempted("demo.unix:80") {
		t.Fatal("an exemption outlived its upstream")
	}
}

func TestReadsNeverCarryTheKey(t *testing.T) {
	s, _ := newSet()
	put(t, s, "anthropic", gatewayapi.ProviderPatch{Kind: ptr(KindAnthropic)})
	c, err := s.PlanKey("anthropic", "sk-ant-123456")
	if err != nil {
		t.Fatal(err)
	}
	_ = c.Apply()
	s.Used("anthropic")
	u, _ := s.Get("anthropic")
	for _, text := range []string{fmt.Sprintf("%+v", u), fmt.Sprintf("%#v", u), fmt.Sprintf("%+v", s.List()), fmt.Sprintf("%+v", c.After)} {
		if strings.Contains(text, "sk-ant") {
			t.Errorf("the key shows in %s", text)
		}
	}
	if p := s.List()[0]; !p.Secret.HasSecret || p.Secret.SetAt == nil || p.Secret.LastUsed == nil {
		t.Errorf("%+v", p.Secret)
	}
	if u.Key.Open() != "sk-ant-123456" {
		t.Error("the key was lost")
	}
}

func TestClassify(t *testing.T) {
	for _, c := range []struct {
		kind, method, path string
		want               Class
	}{
		{KindAnthropic, "POST", "/v1/messages", Inference},
		{KindAnthropic, "POST", "/v1/messages/count_tokens", Count},
		{KindAnthropic, "GET", "/v1/models", Read},
		{KindAnthropic, "GET", "/v1/models/claude-x", Read},
		{KindAnthropic, "POST", "/v1/messages/batches", Unknown},
		{KindAnthropic, "POST", "/v1/messages/", Unknown},
		{KindAnthropic, "POST", "/V1/messages", Unknown},
		{KindAnthropic, "GET", "/v1/messages", Unknown},
		{KindAnthropic, "GET", "/v1/files", Read},
		{KindAnthropic, "GET", "/v1/files/f/content", Read},
		{KindAnthropic, "DELETE", "/v1/files/f", Write},
		{KindAnthropic, "DELETE", "/v1/files", Unknown},
		{KindAnthropic, "GET", "/v1/files/f/content/x", Unknown},
		{KindAnthropic, "GET", "/v1/messages/batches/b/results", Read},
		{KindOpenAI, "POST", "/v1/batches", Unknown},
		{KindOpenAI, "GET", "/v1/responses/r", Read},
		{KindOpenAI, "GET", "/v1/responses", Unknown},
		{KindOpenAI, "DELETE", "/v1/responses/r", Unknown},
		{KindOpenAI, "GET", "/v1/assistants", Unknown},
		{KindGemini, "GET", "/v1beta/files/f", Read},
		{KindGemini, "POST", "/v1beta/files", Unknown},
		{KindGit, "GET", "/o/r.git/info/refs", Read},
		{KindGit, "POST", "/o/r.git/git-upload-pack", Read},
		{KindGit, "POST", "/o/r.git/git-receive-pack", Write},
		{KindGit, "GET", "/o/r.git/HEAD", Unknown},
		{KindGit, "POST", "/o/r.git/info/lfs/objects/batch", Unknown},
		{KindRAG, "POST", "/search", Read},
		{KindRAG, "POST", "/index", Unknown},
		{KindRAG, "GET", "/search", Unknown},
		{KindFetch, "GET", "/x", Read},
		{KindFetch, "POST", "/x", Unknown},
		{KindAnthropic, "GET", "/v1/models/a/b", Unknown},
		{KindAnthropic, "DELETE", "/v1/models/a", Unknown},
		{KindAnthropic, "PUT", "/v1/messages", Unknown},
		{KindAnthropic, "POST", "", Unknown},
		{KindOpenAI, "POST", "/v1/chat/completions", Inference},
		{KindOpenAI, "POST", "/chat/completions", Inference},
		{KindOpenAI, "POST", "/v1/responses", Inference},
		{KindOpenAI, "POST", "/v1/files", Write},
		{KindOpenAI, "GET", "/models", Read},
		{KindOpenAI, "GET", "/v1/organization/admin_api_keys", Unknown},
		{KindGemini, "POST", "/v1beta/models/g:generateContent", Inference},
		{KindGemini, "POST", "/v1/models/g:streamGenerateContent", Inference},
		{KindGemini, "POST", "/v1beta/models/g:countTokens", Count},
		{KindGemini, "GET", "/v1beta/models", Read},
		{KindGemini, "POST", "/v1beta/models/g:batchGenerateContent", Unknown},
		{KindGemini, "POST", "/v1beta/cachedContents", Unknown},
		{KindGemini, "GET", "/v1beta/models/g:generateContent", Unknown},
		{"github", "GET", "/x", Read},
		{"github", "HEAD", "/x", Read},
		{"github", "POST", "/x", Write},
		{"github", "DELETE", "/x", Write},
		{KindCustom, "PATCH", "/x", Write},
	} {
		got := Upstream{Kind: c.kind}.Classify(c.method, c.path)
		if got != c.want {
			t.Errorf("%s %s %s: %s, want %s", c.kind, c.method, c.path, got, c.want)
		}
		if got.Early() && (got == Write || got == Unknown) {
			t.Errorf("%s may be answered early", got)
		}
	}
}

func TestSetUnderConcurrency(t *testing.T) {
	s, _ := newSet()
	put(t, s, "p", gatewayapi.ProviderPatch{BaseURL: ptr("https://a.example")})
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for range 200 {
				if u, ok := s.Get("p"); !ok || u.Base == nil {
					t.Error("half a change was seen")
				}
				s.List()
				s.Used("p")
			}
		})
	}
	for i := range 200 {
		c, err := s.PlanPatch("p", gatewayapi.ProviderPatch{BaseURL: ptr(fmt.Sprintf("https://a%d.example", i)), Models: &[]string{"m"}})
		if err != nil {
			t.Fatal(err)
		}
		if err := c.Apply(); err != nil {
			t.Fatal(err)
		}
	}
	wg.Wait()
}

func FuzzCanonicalPath(f *testing.F) {
	for _, s := range []string{"/v1/messages", "/a%20b/", "/%2e%2e", "//", "/a;b", "/\u00fc", "/%C3%BC"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, escaped string) {
		path, err := CanonicalPath(escaped)
		if err != nil || path == "" {
			return
		}
		if path[0] != '/' || strings.Contains(path, "//") || strings.ContainsAny(path, "\\;%\x00") {
			t.Fatalf("%q became %q", escaped, path)
		}
	})
}
