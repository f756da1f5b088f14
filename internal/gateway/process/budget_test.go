package process

import (
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"moeca/internal/gateway/gatewayapi"
	"moeca/internal/session"
)

// A gateway that is killed while a call is under way leaves nothing behind but
// its log. The next one holds the call spent, and keeps limits and prices.
func TestKilledGatewayForgetsNoBudget(t *testing.T) {
	c := newConfig(t)
	client, _ := start(t, c)
	arrived, over := make(chan struct{}), make(chan struct{})
	up := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		close(arrived)
		<-over
	}))
	t.Cleanup(up.Close)
	t.Cleanup(func() { close(over) })
	ctx := t.Context()
	if _, err := client.PatchProvider(ctx, "openai", gatewayapi.ProviderPatch{BaseURL: &up.URL}); err != nil {
		t.Fatal(err)
	}
	if err := client.SetSecret(ctx, "openai", key); err != nil {
		t.Fatal(err)
	}
	if _, err := client.PatchPrices(ctx, gatewayapi.PricePatch{Set: []gatewayapi.Price{{Kind: "openai", Model: "own", Input: "1", Output: "2"}}}); err != nil {
		t.Fatal(err)
	}
	if _, err := client.SetBudget(ctx, gatewayapi.BudgetPut{Scope: gatewayapi.BudgetDay, Budget: session.Budget{Tokens: 10_000}}); err != nil {
		t.Fatal(err)
	}
	scope := session.Scope{Run: "r", Task: "t", Upstreams: []string{"openai"}, TaskBudget: &session.Budget{CostNano: 20_000_000}}
	m, err := client.Mint(ctx, gatewayapi.MintRequest{Scope: scope, TTL: 60, WithToken: true})
	if err != nil {
		t.Fatal(err)
	}
	h, err := client.Health(ctx)
	if err != nil {
		t.Fatal(err)
	}
	const body = `{"model":"own","max_tokens":1000,"messages":[{"role":"user","content":"hi"}]}`
	req, _ := http.NewRequest("POST", "http://"+h.Address+"/openai/v1/chat/completions", strings.NewReader(body))
	req.Header.Set("Authorization", "Bearer "+m.Token)
	go func() {
		if resp, err := http.DefaultClient.Do(req); err == nil {
			_ = resp.Body.Close()
		}
	}()
	<-arrived

	next := newConfig(t)
	copyLog(t, filepath.Join(c.Data, "audit"), filepath.Join(next.Data, "audit"))
	client, _ = start(t, next)
	states, err := client.Budgets(ctx)
	if err != nil {
		t.Fatal(err)
	}
	bound := int64(len(body)) + 4096 + 1000
	spent := session.Budget{Tokens: bound, CostNano: (bound-1000)*1000 + 1000*2000}
	seen := map[string]bool{}
	for _, s := range states {
		seen[s.Scope] = true
		if s.Spent != spent || s.Reserved != (session.Budget{}) {
			t.Errorf("%+v, want %+v", s, spent)
		}
		if s.Scope == gatewayapi.BudgetDay && *s.Limit != (session.Budget{Tokens: 10_000}) || s.Scope == gatewayapi.BudgetTask && s.Limit.CostNano != 20_000_000 {
			t.Errorf("limit of the %s: %+v", s.Scope, s.Limit)
		}
	}
	if len(states) != 3 || !seen[gatewayapi.BudgetDay] || !seen[gatewayapi.BudgetProvider] || !seen[gatewayapi.BudgetTask] {
		t.Errorf("%+v", states)
	}
	prices, err := client.Prices(ctx)
	if err != nil {
		t.Fatal(err)
	}
	own := false
	for _, p := range prices.Prices {
		own = own || p.Model == "own" && p.Output == "2"
	}
	if !own {
		t.Error("a changed price is gone")
	}
}

// copyLog takes what is on the disk of a running gateway, as a crash leaves it.
func copyLog(t *testing.T, from, to string) {
	t.Helper()
	if err := os.CopyFS(to, os.DirFS(from)); err != nil {
		t.Fatal(err)
	}
}
