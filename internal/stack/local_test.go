package stack

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"moeca/internal/board"
	"moeca/internal/gateway/gatewayapi"
	"moeca/internal/hostapi"
)

func TestDetectOffersModelServersOnly(t *testing.T) {
	answers := map[string]string{
		"ollama": `{"models":[{"name":"llama3:8b"},{"name":"bad\u0000name"}]}`, "llamacpp": `{"data":[{"id":"qwen","owned_by":"llamacpp"}]}`,
		"vllm": `{"data":[{"id":"mistral","owned_by":"vllm"}]}`,
	}
	for name, c := range map[string]struct {
		answer map[string]string
		want   []string
	}{
		"all three":           {answers, []string{"ollama", "llamacpp", "vllm"}},
		"a web server":        {map[string]string{"ollama": "<html>", "llamacpp": `{"data":[]}`, "vllm": `{}`}, nil},
		"another API":         {map[string]string{"ollama": `{"error":"x"}`, "llamacpp": `{"data":[{"id":"x","owned_by":"someone"}]}`, "vllm": `[]`}, nil},
		"no models yet":       {map[string]string{"ollama": `{"models":[]}`}, []string{"ollama"}},
		"answers of no sense": {map[string]string{"ollama": `{"models":7}`, "vllm": `{"data":{}}`}, nil},
	} {
		servers := localServers()
		for i := range servers {
			body, ok := c.answer[servers[i].name]
			if !ok {
				l, err := net.Listen("tcp", "127.0.0.1:0")
				if err != nil {
					t.Fatal(err)
				}
				servers[i].address = l.Addr().String()
				l.Close() // nobody listens there
				continue
			}
			stub := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.Method != http.MethodGet || r.URL.Path != servers[i].path {
					t.Errorf("%s was sent %s %s", servers[i].name, r.Method, r.URL)
				}
				_, _ = io.WriteString(w, body)
			}))
			defer stub.Close()
			servers[i].address = strings.TrimPrefix(stub.URL, "http://")
		}
		found, err := detect(t.Context(), servers)
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, f := range found {
			names = append(names, f.Name)
			if len(f.Models) > 1 {
				t.Errorf("%s offers %q", f.Name, f.Models)
			}
		}
		if !slices.Equal(names, c.want) {
			t.Errorf("%s: %q, want %q", name, names, c.want)
		}
	}
}

func TestDetectFollowsNoRedirect(t *testing.T) {
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("followed") }))
	defer other.Close()
	stub := httptest.NewServer(http.RedirectHandler(other.URL, http.StatusFound))
	defer stub.Close()
	one := localServers()[0]
	one.address = strings.TrimPrefix(stub.URL, "http://")
	if found, err := detect(t.Context(), []localServer{one}); err != nil || len(found) != 0 {
		t.Errorf("%v %v", found, err)
	}
}

func TestRelayPassesInferenceOnly(t *testing.T) {
	var got []string
	stub := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got = append(got, r.Method+" "+r.RequestURI)
		_, _ = io.Copy(w, r.Body)
	}))
	defer stub.Close()
	dir, err := os.MkdirTemp("", "rl")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	rt := &Runtime{Path: dir}
	if err := os.Mkdir(filepath.Join(dir, "m"), 0o700); err != nil {
		t.Fatal(err)
	}
	r := &relays{runtime: rt, share: func(string) error { return nil }}
	defer r.closeAll()
	socket, err := r.sync("mine", true, stub.URL+"/v1")
	if err != nil || socket == "" {
		t.Fatalf("%q, %v", socket, err)
	}
	if again, err := r.sync("mine", true, stub.URL+"/v1"); err != nil || again != socket {
		t.Errorf("%q, %v", again, err)
	}
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", socket)
	}}}
	call := func(method, path string) int {
		t.Helper()
		req, err := http.NewRequestWithContext(t.Context(), method, "http://relay"+path, strings.NewReader("{}"))
		if err != nil {
			t.Fatal(err)
		}
		resp, err := client.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		return resp.StatusCode
	}
	for _, path := range []string{"/v1/chat/completions", "/chat/completions", "/v1/embeddings", "/v1/responses", "/v1/messages"} {
		if code := call("POST", path); code != http.StatusOK {
			t.Errorf("POST %s: %d", path, code)
		}
	}
	if code := call("GET", "/models"); code != http.StatusOK {
		t.Errorf("models: %d", code)
	}
	passed := len(got)
	for _, c := range [][2]string{
		{"POST", "/api/pull"},
		{"POST", "/api/create"},
		{"DELETE", "/api/delete"},
		{"POST", "/slots/0?action=save"},
		{"GET", "/metrics"},
		{"GET", "/"},
		{"POST", "/v1/models"},
		{"DELETE", "/v1/models"},
		{"GET", "/v1/chat/completions"},
		{"POST", "/v1/chat/completions/"},
		{"POST", "/v1/../api/pull"},
		{"POST", "/v1/%2e%2e/api/pull"},
		{"POST", "/v1//chat/completions"},
		{"PUT", "/v1/embeddings"},
		{"POST", "/v1/load_lora_adapter"},
		{"POST", "/v1/files"},
	} {
		if code := call(c[0], c[1]); code != http.StatusForbidden {
			t.Errorf("%s %s: %d", c[0], c[1], code)
		}
	}
	if len(got) != passed || got[0] != "POST /v1/chat/completions" || got[1] != got[0] {
		t.Errorf("the server got %q", got)
	}
	if socket, err := r.sync("mine", false, stub.URL); err != nil || socket != "" {
		t.Errorf("%q, %v", socket, err)
	}
	if _, err := net.Dial("unix", socket); err == nil {
		t.Error("a closed relay answers")
	}
	for _, base := range []string{"http://10.0.0.1:11434", "https://api.example.com"} {
		if socket, err := r.sync("far", true, base); err != nil || socket != "" {
			t.Errorf("%s got a relay: %q, %v", base, socket, err)
		}
	}
}

func TestLocalServersAreNamedExactly(t *testing.T) {
	p := newProviders(t, t.TempDir())
	yes := true
	for base, ok := range map[string]bool{
		"http://127.0.0.1:11434": true, "http://[::1]:8080/v1": true, "http://192.168.1.5:8000": true, "https://10.0.0.2:8443": true,
		"http://localhost:11434": false, "http://127.0.0.1": false, "http://1.1.1.1:80": false, "http://169.254.169.254:80": false, "http://[fd00:ec2::254]:80": false,
		"http://[::ffff:127.0.0.1]:80": false, "http://127.0.0.1:11434/api": false, "http://127.0.0.1:11434?x": false, "ftp://127.0.0.1:21": false, "": false,
	} {
		kind := "openai"
		v, err := p.Put(t.Context(), "own", hostapi.ProviderInput{Kind: &kind, BaseURL: &base, Local: &yes})
		if (err == nil) != ok || err != nil && board.KindOf(err) != board.Invalid {
			t.Errorf("%q: %v", base, err)
		}
		if err == nil && (v.NeedsKey || !v.Local || v.Header != "") {
			t.Errorf("%q: %+v", base, v)
		}
	}
	kind, base := "openai", "http://127.0.0.1:11434"
	if _, err := p.Put(t.Context(), "sly", hostapi.ProviderInput{Kind: &kind, BaseURL: &base}); board.KindOf(err) != board.Invalid {
		t.Errorf("plain http without the opt-in: %v", err)
	}
}

func TestAKindCanBeChangedWithoutItsRemains(t *testing.T) {
	p := newProviders(t, t.TempDir())
	fetch, hosts := "fetch", []string{"example.com"}
	if _, err := p.Put(t.Context(), "x", hostapi.ProviderInput{Kind: &fetch, Hosts: &hosts}); err != nil {
		t.Fatal(err)
	}
	v, err := p.Put(t.Context(), "x", hostapi.ProviderInput{Models: &[]string{"m"}})
	if err != nil || len(v.Hosts) != 1 || v.Kind != fetch {
		t.Errorf("a patch dropped a field: %+v, %v", v, err)
	}
	notion := "notion"
	v, err = p.Put(t.Context(), "x", hostapi.ProviderInput{Kind: &notion})
	if err != nil || len(v.Hosts) != 0 || len(v.Models) != 1 {
		t.Errorf("%+v, %v", v, err)
	}
}

// TestRefusedChangeLeavesTheOldPlaceInForce: the gateway refuses a change after
// the relay was already moved.
func TestRefusedChangeLeavesTheOldPlaceInForce(t *testing.T) {
	dir, err := os.MkdirTemp("", "rl")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	if err := os.Mkdir(filepath.Join(dir, "m"), 0o700); err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("unix", filepath.Join(dir, "a"))
	if err != nil {
		t.Fatal(err)
	}
	var puts []string
	admin := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case strings.HasPrefix(r.URL.Path, "/v1/policies/"):
			_, _ = io.WriteString(w, "{}")
			return
		case r.Method == http.MethodGet:
			_, _ = io.WriteString(w, "[]")
			return
		}
		body, _ := io.ReadAll(r.Body)
		puts = append(puts, string(body))
		if strings.Contains(string(body), "refuse-me") {
			w.WriteHeader(http.StatusBadRequest)
			_, _ = io.WriteString(w, `{"error":{"gate":"admin","reason":"invalid-provider","message":"no"}}`)
			return
		}
		_, _ = io.WriteString(w, `{"name":"own","kind":"openai"}`)
	})}
	go func() { _ = admin.Serve(listener) }()
	defer admin.Close()
	first, second := httptest.NewServer(http.NotFoundHandler()), httptest.NewServer(http.NotFoundHandler())
	defer first.Close()
	defer second.Close()
	p := newProviders(t, t.TempDir())
	p.relays = &relays{runtime: &Runtime{Path: dir}, share: func(string) error { return nil }}
	defer p.relays.closeAll()
	client := gatewayapi.NewClient(filepath.Join(dir, "a"), "t")
	defer client.Close()
	p.attach(client)
	kind, local := "openai", true
	if _, err := p.Put(t.Context(), "own", hostapi.ProviderInput{Kind: &kind, BaseURL: &first.URL, Local: &local}); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(puts[0], `"base_url":"unix:`) || strings.Contains(puts[0], "127.0.0.1") {
		t.Errorf("the gateway was told %s", puts[0])
	}
	if _, err := p.Put(t.Context(), "own", hostapi.ProviderInput{BaseURL: &second.URL, Models: &[]string{"refuse-me"}}); board.KindOf(err) != board.Invalid {
		t.Errorf("the refusal: %v", err)
	}
	if got := find(t, p, "own"); got.BaseURL != first.URL || len(got.Models) != 0 {
		t.Errorf("kept: %+v", got)
	}
	if open := p.relays.by["own"]; open == nil || open.base != first.URL {
		t.Errorf("the relay leads to %+v", open)
	}
	if _, err := p.Put(t.Context(), "new", hostapi.ProviderInput{Kind: &kind, BaseURL: &second.URL, Local: &local, Models: &[]string{"refuse-me"}}); err == nil {
		t.Error("not refused")
	}
	if p.relays.by["new"] != nil {
		t.Error("a relay of a refused provider is open")
	}
}
