package process

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"moeca/internal/audit"
	"moeca/internal/gateway/gatewayapi"
	"moeca/internal/session"
)

// flip changes one byte of a file at a part of its length.
func flip(t *testing.T, path string, part float64) {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	b[int(float64(len(b))*part)] ^= 8
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
}

// spendSome lets a session of a run draw on the budget of the day, and sets what
// must outlive a broken log. It returns what the gateway then says.
func spendSome(t *testing.T, c Config, client *gatewayapi.Client, base string) []gatewayapi.BudgetState {
	t.Helper()
	ctx := t.Context()
	if _, err := client.PatchProvider(ctx, "anthropic", gatewayapi.ProviderPatch{BaseURL: &base}); err != nil {
		t.Fatal(err)
	}
	if err := client.SetSecret(ctx, "anthropic", key); err != nil {
		t.Fatal(err)
	}
	if _, err := client.SetBudget(ctx, gatewayapi.BudgetPut{Scope: gatewayapi.BudgetDay, Budget: session.Budget{Tokens: 100_000}}); err != nil {
		t.Fatal(err)
	}
	if _, err := client.PatchPolicy(ctx, "anthropic", gatewayapi.PolicyPatch{ProtectedRefs: &[]string{"kept"}}); err != nil {
		t.Fatal(err)
	}
	if _, err := client.SetRetention(ctx, gatewayapi.Retention{Days: 300}); err != nil {
		t.Fatal(err)
	}
	m, err := client.Mint(ctx, gatewayapi.MintRequest{
		Scope: session.Scope{Run: "r1", Task: "t1", Upstreams: []string{"anthropic"}, RunBudget: &session.Budget{Tokens: 50_000}}, TTL: 60, WithToken: true,
	})
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if status := ask(t, client, m.Token); status != http.StatusOK {
			t.Fatalf("status %d", status)
		}
	}
	states, err := client.Budgets(ctx)
	if err != nil {
		t.Fatal(err)
	}
	return states
}

// ask makes one model call with a session's token.
func ask(t *testing.T, client *gatewayapi.Client, token string) int {
	t.Helper()
	h, err := client.Health(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	req, err := http.NewRequestWithContext(t.Context(), "POST", "http://"+h.Address+"/anthropic/v1/messages",
		strings.NewReader(`{"model":"claude-x","max_tokens":100,"messages":[{"role":"user","content":"hello"}]}`))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("X-Moeca-Session", token)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	_, _ = io.Copy(io.Discard, resp.Body)
	return resp.StatusCode
}

// model answers a call and counts it.
func model(t *testing.T) (base string, calls *atomic.Int64) {
	t.Helper()
	calls = new(atomic.Int64)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		calls.Add(1)
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"id":"m","type":"message","role":"assistant","model":"claude-x","content":[],"stop_reason":"end_turn","usage":{"input_tokens":1000,"output_tokens":200}}`)
	}))
	t.Cleanup(s.Close)
	return s.URL, calls
}

// TestABrokenLogForwardsNothing attacks a log that was changed while no gateway
// ran: the gateway starts, says where it is broken, takes no session and no
// change, lets nothing through, and leaves the files as they are.
func TestABrokenLogForwardsNothing(t *testing.T) {
	for name, part := range map[string]float64{"early": 0.1, "in the middle": 0.5} {
		t.Run(name, func(t *testing.T) {
			c := newConfig(t)
			client, stop := start(t, c)
			base, calls := model(t)
			spendSome(t, c, client, base)
			stop()
			segment := filepath.Join(c.Data, "audit", "seg-000001.log")
			flip(t, segment, part)
			before, sent := filesOf(t, c), calls.Load()

			client, stop = start(t, c)
			ctx := t.Context()
			h, err := client.Health(ctx)
			if err != nil || h.OK || h.Writable || h.Broken == nil {
				t.Fatalf("%+v, %v", h, err)
			}
			if h.Broken.File != "seg-000001.log" || h.Broken.Row < 1 || h.Broken.Offset == 0 || h.Broken.Cause == "" || h.Broken.Rows != h.Broken.Row-1 || h.Records != h.Broken.Rows {
				t.Errorf("where it is broken: %+v", h.Broken)
			}
			for what, err := range map[string]error{
				"a session":    second(client.Mint(ctx, gatewayapi.MintRequest{TTL: 60, WithToken: true})),
				"a provider":   second(client.PutProvider(ctx, "x", gatewayapi.ProviderPatch{BaseURL: &base})),
				"a key":        client.SetSecret(ctx, "anthropic", key),
				"a budget":     second(client.SetBudget(ctx, gatewayapi.BudgetPut{Scope: gatewayapi.BudgetDay})),
				"a checkpoint": second(client.Checkpoint(ctx)),
				"an erasure":   second(client.Erase(ctx, gatewayapi.EraseRequest{Run: "r1", Actor: "person"})),
				"an approval":  second(gatewayapi.NewAppendClient(c.AppendSocket, hostCred).Append(ctx, gatewayapi.AppendRequest{Kind: "approval", Actor: "person"})),
			} {
				var se *gatewayapi.StatusError
				if !errors.As(err, &se) || se.Status != http.StatusServiceUnavailable || !strings.Contains(se.Body.Message, "moeca audit restart") {
					t.Errorf("%s was answered with %v", what, err)
				}
			}
			if status := ask(t, client, "a-token-of-before"); status != http.StatusServiceUnavailable {
				t.Errorf("a client is answered %d", status)
			}
			stop()
			if calls.Load() != sent {
				t.Error("something was forwarded")
			}
			if after := filesOf(t, c); !sameFiles(before, after) {
				t.Errorf("the broken log was changed: %v", changed(before, after))
			}
			if rep, err := audit.Verify(ctx, filepath.Join(c.Data, "audit"), audit.VerifyOptions{}); err != nil || rep.OK || rep.FirstBroken != h.Broken.Row {
				t.Errorf("verify says %+v, %v", rep, err)
			}
		})
	}
}

// TestARestartedLogRefillsNoBudget: the log that follows a broken one carries what
// was spent, limits, prices and policies, whatever row the damage is at.
func TestARestartedLogRefillsNoBudget(t *testing.T) {
	for name, part := range map[string]float64{"damage near the end": 0.97, "damage before the spending": 0.3, "damage in the first rows": 0.02} {
		t.Run(name, func(t *testing.T) {
			c := newConfig(t)
			client, stop := start(t, c)
			base, _ := model(t)
			spent := spendSome(t, c, client, base)
			stop()
			flip(t, filepath.Join(c.Data, "audit", "seg-000001.log"), part)
			client, stop = start(t, c)
			h, err := client.Health(t.Context())
			if err != nil || h.Broken == nil {
				t.Fatalf("%+v, %v", h, err)
			}
			decide(t, c, client, h.Broken)
			stop()
			swap(t, c)

			client, stop = start(t, c)
			defer stop()
			if h, err := client.Health(t.Context()); err != nil || !h.OK || h.Broken != nil {
				t.Fatalf("%+v, %v", h, err)
			}
			now, err := client.Budgets(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			for _, want := range spent {
				if got := find(now, want); got.Spent.Tokens < want.Spent.Tokens || want.Limit != nil && (got.Limit == nil || *got.Limit != *want.Limit) {
					t.Errorf("%s %s: %+v, had %+v", want.Scope, want.ID, got, want)
				}
			}
			if p, err := client.Policy(t.Context(), "anthropic"); err != nil || !slices.Contains(p.ProtectedRefs, "kept") {
				t.Errorf("policies: %+v, %v", p, err)
			}
			if kept, err := client.Retention(t.Context()); err != nil || kept.Days != 300 {
				t.Errorf("contents are kept for %+v, %v", kept, err)
			}
			first := rows(t, c)[0]
			if p, ok := audit.PredecessorOf(first); !ok || p.Broken.Row != h.Broken.Row || p.Actor != audit.ActorPerson || p.Kept != "kept" || p.Log == "" {
				t.Errorf("the first row is %+v", first)
			}
		})
	}
}

// TestNobodyElseDecides: the log is restarted only while it is broken, where the
// person saw it broken, and never into a path.
func TestNobodyElseDecides(t *testing.T) {
	c := newConfig(t)
	client, stop := start(t, c)
	prepare := func(r gatewayapi.RestartPrepare) int {
		_, err := client.PrepareRestart(t.Context(), r)
		var se *gatewayapi.StatusError
		if errors.As(err, &se) {
			return se.Status
		}
		return 0
	}
	if got := prepare(gatewayapi.RestartPrepare{Row: 1, File: "seg-000001.log", Kept: "kept"}); got != http.StatusConflict {
		t.Errorf("a whole log: %d", got)
	}
	stop()
	flip(t, filepath.Join(c.Data, "audit", "seg-000001.log"), 0.4)
	client, stop = start(t, c)
	defer stop()
	h, err := client.Health(t.Context())
	if err != nil || h.Broken == nil {
		t.Fatalf("%+v, %v", h, err)
	}
	for name, r := range map[string]gatewayapi.RestartPrepare{
		"another row":  {Row: h.Broken.Row + 1, File: h.Broken.File, Kept: "kept"},
		"another file": {Row: h.Broken.Row, File: "seg-000002.log", Kept: "kept"},
	} {
		if got := prepare(r); got != http.StatusConflict {
			t.Errorf("%s: %d", name, got)
		}
	}
	for _, kept := range []string{"", "../x", "a/b", "/", ".", ".."} {
		if got := prepare(gatewayapi.RestartPrepare{Row: h.Broken.Row, File: h.Broken.File, Kept: kept}); got != http.StatusBadRequest {
			t.Errorf("kept as %q: %d", kept, got)
		}
	}
	if _, err := os.Stat(filepath.Join(c.Data, "audit", audit.NextDir)); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a refused decision left something: %v", err)
	}
}

func decide(t *testing.T, c Config, client *gatewayapi.Client, b *gatewayapi.BrokenLog) {
	t.Helper()
	for range 2 { // twice is once
		if p, err := client.PrepareRestart(t.Context(), gatewayapi.RestartPrepare{Row: b.Row, File: b.File, Kept: "kept"}); err != nil || p.Rows != b.Rows {
			t.Fatalf("%+v, %v", p, err)
		}
	}
}

// swap does what the host does while the gateway is away.
func swap(t *testing.T, c Config) {
	t.Helper()
	k := audit.Keep{Dir: filepath.Join(c.Data, "audit"), Next: filepath.Join(c.Data, "audit-next"), Kept: filepath.Join(c.Data, "kept")}
	if err := k.SetAside(); err != nil {
		t.Fatal(err)
	}
}

func second[T any](_ T, err error) error { return err }

func find(list []gatewayapi.BudgetState, like gatewayapi.BudgetState) gatewayapi.BudgetState {
	for _, s := range list {
		if s.Scope == like.Scope && s.ID == like.ID {
			return s
		}
	}
	return gatewayapi.BudgetState{}
}

func filesOf(t *testing.T, c Config) map[string][]byte {
	t.Helper()
	out := map[string][]byte{}
	err := filepath.WalkDir(filepath.Join(c.Data, "audit"), func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			out[path], err = os.ReadFile(path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func sameFiles(a, b map[string][]byte) bool { return len(a) == len(b) && len(changed(a, b)) == 0 }

func changed(a, b map[string][]byte) (names []string) {
	for name, content := range b {
		if !bytes.Equal(a[name], content) {
			names = append(names, filepath.Base(name))
		}
	}
	return names
}

// TestNoDamageKeepsAPersonFromDeciding damages each file of the log in several
// ways. The log can be opened each time: the file is made again, or the log is broken
// and a person decides; the log that follows works.
func TestNoDamageKeepsAPersonFromDeciding(t *testing.T) {
	first := newConfig(t)
	client, stop := start(t, first)
	base, _ := model(t)
	spendSome(t, first, client, base)
	stop()
	harms := map[string]func(string) error{
		"flipped": func(path string) error {
			b, err := os.ReadFile(path)
			if err == nil && len(b) > 0 {
				b[len(b)/2] ^= 1
				err = os.WriteFile(path, b, 0o600)
			}
			return err
		},
		"halved": func(path string) error {
			info, err := os.Stat(path)
			if err == nil {
				err = os.Truncate(path, info.Size()/2)
			}
			return err
		},
		"emptied": func(path string) error { return os.Truncate(path, 0) },
		"deleted": os.Remove,
	}
	for path := range filesOf(t, first) {
		name, err := filepath.Rel(filepath.Join(first.Data, "audit"), path)
		if err != nil {
			t.Fatal(err)
		}
		for harm, do := range harms {
			t.Run(name+" "+harm, func(t *testing.T) {
				c := newConfig(t)
				copyLog(t, filepath.Join(first.Data, "audit"), filepath.Join(c.Data, "audit"))
				if err := do(filepath.Join(c.Data, "audit", name)); err != nil {
					t.Fatal(err)
				}
				l, broken, err := openLog(c.auditDir(), slog.New(slog.DiscardHandler))
				if err != nil {
					t.Fatalf("the gateway does not start: %v", err)
				}
				if broken != nil {
					broken.carried = func() ([]audit.Record, error) { return nil, nil }
					if _, err := broken.Prepare("kept"); err != nil {
						t.Fatal(err)
					}
					swap(t, c)
					if l, broken, err = openLog(c.auditDir(), slog.New(slog.DiscardHandler)); err != nil || broken != nil {
						t.Fatalf("the log that follows: %v, %v", broken, err)
					}
				}
				if err := l.Close(); err != nil {
					t.Error(err)
				}
			})
		}
	}
}
