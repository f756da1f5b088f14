package process

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"moeca/internal/gateway/gate"
	"moeca/internal/gateway/gatewayapi"
	"moeca/internal/session"
)

func TestPoliciesOutliveTheGateway(t *testing.T) {
	c := newConfig(t)
	client, stop := start(t, c)
	rules := []gatewayapi.OperationRule{{Method: "POST", Path: "/notes"}}
	if _, err := client.PatchPolicy(t.Context(), "tool", gatewayapi.PolicyPatch{Writes: &rules}); err != nil {
		t.Fatal(err)
	}
	stop()
	client, stop = start(t, c)
	p, err := client.Policy(t.Context(), "tool")
	if err != nil || len(p.Writes) != 1 || p.Writes[0] != rules[0] {
		t.Errorf("after a restart: %+v, %v", p, err)
	}
	up, _ := stub(t)
	if _, err := client.PutProvider(t.Context(), "tool", gatewayapi.ProviderPatch{BaseURL: &up.URL}); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]int{"/tool/notes": 200, "/tool/other": 403} {
		if got, body := post(t, client, "tool", path); got != want {
			t.Errorf("%s: %d %s", path, got, body)
		}
	}
	stop()
	told := false
	for _, r := range rows(t, c) {
		told = told || r.Subject == "gateway" && strings.Contains(string(r.Detail), `"/notes"`)
	}
	if !told {
		t.Error("the row of the start does not say which policies it found")
	}
}

func TestDamagedPoliciesKeepTheGatewayFromStarting(t *testing.T) {
	c := newConfig(t)
	if err := os.MkdirAll(filepath.Join(c.Data, "audit"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(c.Data, "audit", "policies.json"), []byte(`{"tool":{"writes":[{`), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := Run(context.Background(), c, slog.New(slog.DiscardHandler)); err == nil || !strings.Contains(err.Error(), "policies.json") {
		t.Errorf("%v", err)
	}
}

func TestDenylistOfTheConfiguration(t *testing.T) {
	c := newConfig(t)
	c.DenyNetworks = []string{"not a host"}
	if err := c.Check(); err == nil || !strings.Contains(err.Error(), "deny_networks") {
		t.Errorf("%v", err)
	}
	c.DenyNetworks = []string{".denied.example.com"}
	client, _ := start(t, c)
	base := "https://api.denied.example.com"
	if _, err := client.PutProvider(t.Context(), "tool", gatewayapi.ProviderPatch{BaseURL: &base}); err != nil {
		t.Fatal(err)
	}
	if status, body := post(t, client, "tool", "/tool/x"); status != 403 || !strings.Contains(body, gate.ReasonDenied) {
		t.Errorf("%d %s", status, body)
	}
}

// post sends a request as a client on the host with a session for one upstream.
func post(t *testing.T, client *gatewayapi.Client, name, path string) (int, string) {
	t.Helper()
	m, err := client.Mint(t.Context(), gatewayapi.MintRequest{Scope: session.Scope{Upstreams: []string{name}}, TTL: 60, WithToken: true})
	if err != nil {
		t.Fatal(err)
	}
	h, err := client.Health(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+h.Address+path, strings.NewReader("{}"))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set(gate.HeaderSession, m.Token)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(body)
}
