package upstream

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"moeca/internal/gateway/gatewayapi"
)

func TestEveryKindHasItsPlaceAndItsKey(t *testing.T) {
	s, _ := newSet()
	for kind, want := range map[string]struct {
		patch gatewayapi.ProviderPatch
		base  string
		auth  gatewayapi.Auth
	}{
		KindAnthropic: {base: "https://api.anthropic.com", auth: gatewayapi.Auth{Header: "x-api-key"}},
		KindOpenAI:    {base: "https://api.openai.com", auth: gatewayapi.Auth{Header: "Authorization", Prefix: "Bearer "}},
		KindGemini:    {base: "https://generativelanguage.googleapis.com", auth: gatewayapi.Auth{Header: "x-goog-api-key"}},
		KindGitHub:    {base: "https://api.github.com", auth: gatewayapi.Auth{Header: "Authorization", Prefix: "Bearer "}},
		KindGit:       {base: "https://github.com", auth: gitAuth()},
		KindJira:      {patch: gatewayapi.ProviderPatch{BaseURL: ptr("https://x.atlassian.net")}, base: "https://x.atlassian.net", auth: gatewayapi.Auth{Scheme: "basic"}},
		KindTrello:    {base: "https://api.trello.com", auth: gatewayapi.Auth{Scheme: "trello"}},
		KindNotion:    {base: "https://api.notion.com", auth: gatewayapi.Auth{Header: "Authorization", Prefix: "Bearer "}},
		KindRAG:       {patch: gatewayapi.ProviderPatch{BaseURL: ptr("unix:/run/x.sock")}, base: "http://p.unix"},
		KindFetch:     {patch: gatewayapi.ProviderPatch{Hosts: &[]string{"example.com"}}, base: "https://fetch.invalid"},
		KindSigV4: {
			patch: gatewayapi.ProviderPatch{BaseURL: ptr("https://s3.amazonaws.com"), Auth: &gatewayapi.Auth{Scheme: "sigv4", Region: "us-east-1", Service: "s3"}},
			base:  "https://s3.amazonaws.com", auth: gatewayapi.Auth{Scheme: "sigv4", Region: "us-east-1", Service: "s3"},
		},
		KindCustom: {patch: gatewayapi.ProviderPatch{BaseURL: ptr("https://a.example")}, base: "https://a.example"},
	} {
		want.patch.Kind = &kind
		c, err := s.PlanPut("p", want.patch)
		if err != nil {
			t.Errorf("%s: %v", kind, err)
			continue
		}
		_ = c.Apply()
		if u, _ := s.Get("p"); u.Base.String() != want.base || u.Auth != want.auth {
			t.Errorf("%s: %s, %+v", kind, u.Base, u.Auth)
		}
	}
}

func TestDefinitionsThatCannotWork(t *testing.T) {
	s, _ := newSet()
	sig := func(a gatewayapi.Auth) *gatewayapi.Auth { a.Scheme = "sigv4"; return &a }
	for name, p := range map[string]gatewayapi.ProviderPatch{
		"an unknown kind":              {Kind: ptr("githb"), BaseURL: ptr("https://a.example")},
		"an unknown scheme":            {BaseURL: ptr("https://a.example"), Auth: &gatewayapi.Auth{Scheme: "magic"}},
		"basic in a header of choice":  {BaseURL: ptr("https://a.example"), Auth: &gatewayapi.Auth{Scheme: "basic", Header: "X"}},
		"a signature without a region": {Kind: ptr(KindSigV4), BaseURL: ptr("https://a.example"), Auth: sig(gatewayapi.Auth{Service: "s3"})},
		"a region that is a path":      {Kind: ptr(KindSigV4), BaseURL: ptr("https://a.example"), Auth: sig(gatewayapi.Auth{Service: "s3", Region: "a/b"})},
		"a region without signatures":  {BaseURL: ptr("https://a.example"), Auth: &gatewayapi.Auth{Header: "X", Region: "a"}},
		"a fetch with a base":          {Kind: ptr(KindFetch), BaseURL: ptr("https://a.example")},
		"a fetch with a key":           {Kind: ptr(KindFetch), Auth: &gatewayapi.Auth{Header: "X"}},
		"a fetch of everything":        {Kind: ptr(KindFetch), Hosts: &[]string{"*"}},
		"a fetch of a whole domain":    {Kind: ptr(KindFetch), Hosts: &[]string{"*.com"}},
		"a fetch of an address":        {Kind: ptr(KindFetch), Hosts: &[]string{"1.1.1.1"}},
		"a fetch of this machine":      {Kind: ptr(KindFetch), Hosts: &[]string{"localhost"}},
		"a fetch of a port":            {Kind: ptr(KindFetch), Hosts: &[]string{"a.example:22"}},
		"a fetch in capitals":          {Kind: ptr(KindFetch), Hosts: &[]string{"A.example"}},
		"hosts of a tool":              {BaseURL: ptr("https://a.example"), Hosts: &[]string{"a.example"}},
		"an index on the network":      {Kind: ptr(KindRAG), BaseURL: ptr("https://a.example")},
		"a git URL of a tool":          {BaseURL: ptr("https://a.example"), GitURL: ptr("https://b.example")},
		"a git URL in a socket":        {Kind: ptr(KindGitHub), GitURL: ptr("unix:/run/x")},
		"a git URL elsewhere":          {Kind: ptr(KindGitHub), GitURL: ptr("https://git.example.com")},
		"a base moved away from git":   {Kind: ptr(KindGitHub), BaseURL: ptr("https://ghe.example.com/api/v3"), GitURL: ptr("https://github.com")},
		"a git URL with a key":         {Kind: ptr(KindGitHub), GitURL: ptr("https://k:v@github.com")},
		"a local server by name":       {Kind: ptr(KindOpenAI), Local: ptr(true), BaseURL: ptr("http://localhost:11434")},
		"a local server in public":     {Kind: ptr(KindOpenAI), Local: ptr(true), BaseURL: ptr("https://a.example")},
		"a local server by number":     {Kind: ptr(KindOpenAI), Local: ptr(true), BaseURL: ptr("http://2130706433:11434")},
		"a local server in plain text": {Kind: ptr(KindOpenAI), Local: ptr(true), BaseURL: ptr("http://1.1.1.1:11434")},
		"a local metadata service":     {Kind: ptr(KindOpenAI), Local: ptr(true), BaseURL: ptr("http://169.254.169.254:80")},
		"another metadata service":     {Kind: ptr(KindOpenAI), Local: ptr(true), BaseURL: ptr("http://[fd00:ec2::254]:80")},
		"a mapped address":             {Kind: ptr(KindOpenAI), Local: ptr(true), BaseURL: ptr("http://[::ffff:10.0.0.1]:80")},
		"a local server without port":  {Kind: ptr(KindOpenAI), Local: ptr(true), BaseURL: ptr("http://127.0.0.1")},
		"a private one not marked":     {Kind: ptr(KindOpenAI), BaseURL: ptr("http://10.0.0.7:11434")},
		"a local tool":                 {Kind: ptr(KindCustom), Local: ptr(true), BaseURL: ptr("http://127.0.0.1:80")},
	} {
		if _, err := s.PlanPut("p", p); !errors.Is(err, ErrInvalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestGitGoesWhereTheKeyBelongs(t *testing.T) {
	s, _ := newSet()
	put(t, s, "own", gatewayapi.ProviderPatch{Kind: ptr(KindGitHub), BaseURL: ptr("https://ghe.example.com/api/v3")})
	if u, _ := s.Get("own"); u.Git != nil {
		t.Errorf("a server of one's own sends git to %s", u.Git)
	}
	put(t, s, "own", gatewayapi.ProviderPatch{Kind: ptr(KindGitHub), BaseURL: ptr("https://ghe.example.com/api/v3"), GitURL: ptr("https://ghe.example.com")})
	if u, _ := s.Get("own"); u.Git == nil {
		t.Error("no git")
	}
	put(t, s, "github", gatewayapi.ProviderPatch{Kind: ptr(KindGitHub)})
	if _, err := s.PlanPatch("github", gatewayapi.ProviderPatch{BaseURL: ptr("https://evil.example.com")}); !errors.Is(err, ErrInvalid) {
		t.Errorf("the base moved away and git stayed: %v", err)
	}
}

func TestLocalServersAreExactAndOnlyInfer(t *testing.T) {
	s, g := newSet()
	for base, dial := range map[string]string{"http://127.0.0.1:11434": "127.0.0.1:11434", "http://10.1.2.3:8000/v1": "10.1.2.3:8000", "http://[fd12::1]:8080": "[fd12::1]:8080", "unix:/run/l.sock": "l.unix:80"} {
		put(t, s, "l", gatewayapi.ProviderPatch{Kind: ptr(KindOpenAI), Local: ptr(true), BaseURL: &base, Auth: &gatewayapi.Auth{}})
		if !g.Exempted(dial) {
			t.Errorf("%s cannot be dialled", base)
		}
		if g.Exempted("10.1.2.3:8001") || g.Exempted("10.1.2.4:8000") {
			t.Errorf("%s opens more than itself", base)
		}
	}
	u, _ := s.Get("l")
	for path, want := range map[string]Class{
		"/v1/chat/completions": Inference, "/v1/embeddings": Inference, "/v1/responses": Inference,
		"/api/pull": Unknown, "/api/delete": Unknown, "/api/create": Unknown, "/slots/0": Unknown, "/v1/load_lora_adapter": Unknown, "/v1/files": Unknown, "/metrics": Unknown, "/": Unknown,
	} {
		if got := u.Classify("POST", path); got != want {
			t.Errorf("POST %s: %s", path, got)
		}
	}
	if u.Classify("GET", "/v1/models") != Read || u.Classify("GET", "/slots") != Unknown || u.Auth.NeedsKey() {
		t.Error("more or less than its models can be read")
	}
}

func TestSelectSettlesOnOnePlace(t *testing.T) {
	s, _ := newSet()
	put(t, s, "github", gatewayapi.ProviderPatch{Kind: ptr(KindGitHub)})
	put(t, s, "fetch", gatewayapi.ProviderPatch{Kind: ptr(KindFetch), Hosts: &[]string{"example.com", "*.example.org"}})
	for _, c := range []struct{ name, rest, want string }{ // want: kind base path, empty = nowhere
		{"github", "/repos/o/r", "github https://api.github.com /repos/o/r"},
		{"github", "/o/r.git/info/refs", "git https://github.com /o/r.git/info/refs"},
		{"github", "/o/r.git/git-receive-pack", "git https://github.com /o/r.git/git-receive-pack"},
		{"github", "/repos/r.git/git-upload-pack", "git https://github.com /repos/r.git/git-upload-pack"},
		{"github", "/o/r.git/settings", "github https://api.github.com /o/r.git/settings"},
		{"github", "/o/.git/info/refs", "github https://api.github.com /o/.git/info/refs"},
		{"github", "/repos/o/r.git/info/refs", "github https://api.github.com /repos/o/r.git/info/refs"},
		{"github", "/o%2fr.git/info/refs", "github https://api.github.com /o%2fr.git/info/refs"},
		{"fetch", "/example.com/a/b", "fetch https://example.com /a/b"},
		{"fetch", "/example.com", "fetch https://example.com /"},
		{"fetch", "/evil.example/a", "fetch https://evil.example /a"}, // the allowlist refuses it
		{"fetch", "/127.0.0.1/a", ""},
		{"fetch", "/localhost/a", ""},
		{"fetch", "/EXAMPLE.com/a", ""},
		{"fetch", "/example.com:22/a", ""},
		{"fetch", "/user@example.com/a", ""},
		{"fetch", "/example.com./a", ""},
		{"fetch", "/example%2ecom/a", ""},
		{"fetch", "//a", ""},
		{"fetch", "", ""},
	} {
		u, _ := s.Get(c.name)
		got := ""
		if sel, rest, ok := u.Select(c.rest); ok {
			got = fmt.Sprintf("%s %s %s", sel.Kind, sel.Base, rest)
		}
		if got != c.want {
			t.Errorf("%s%s leads to %q, want %q", c.name, c.rest, got, c.want)
		}
	}
	u, _ := s.Get("fetch")
	for host, want := range map[string]bool{"example.com": true, "a.example.com": false, "notexample.com": false, "a.example.org": true, "a.b.example.org": true, "example.org": false, "evilexample.org": false, "": false} {
		if u.MayFetch(host) != want {
			t.Errorf("fetch from %q: %v", host, !want)
		}
	}
}

func TestKeysInParts(t *testing.T) {
	s, _ := newSet()
	put(t, s, "trello", gatewayapi.ProviderPatch{Kind: ptr(KindTrello)})
	put(t, s, "aws", gatewayapi.ProviderPatch{Kind: ptr(KindSigV4), BaseURL: ptr("https://a.example"), Auth: &gatewayapi.Auth{Scheme: "sigv4", Region: "r", Service: "s"}})
	for _, c := range [][2]string{{"trello", "onlyonepart"}, {"trello", "a:b:c:d-long-enough"}, {"aws", "onlyonepart"}, {"aws", "AKID-12345678:"}, {"aws", "a:b:c:d-long-enough"}} {
		if _, err := s.PlanKey(c[0], c[1]); !errors.Is(err, ErrInvalid) {
			t.Errorf("%s takes %q: %v", c[0], c[1], err)
		} else if strings.Contains(err.Error(), c[1]) {
			t.Errorf("the error repeats the key: %v", err)
		}
	}
}
