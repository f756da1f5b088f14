package stack

import (
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"moeca/internal/audit"
	"moeca/internal/board"
	"moeca/internal/gateway/gatewayapi"
	"moeca/internal/hostapi"
	"moeca/internal/session"
)

func discard() *slog.Logger { return slog.New(slog.NewTextHandler(io.Discard, nil)) }

// emptyLog is a view of a log without rows.
func emptyLog(t *testing.T) *AuditView {
	t.Helper()
	dir := t.TempDir()
	log, err := audit.Open(filepath.Join(dir, "audit"), audit.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { log.Close() })
	return newAuditView(dir)
}

func newPrograms(t *testing.T, answer http.HandlerFunc) programs {
	t.Helper()
	client := stubAdmin(t, answer)
	p := newProviders(t, t.TempDir())
	s := &sessions{admin: client, log: emptyLog(t), now: time.Now, say: discard(), live: map[string]*liveSession{}}
	return programs{sessions: s, providers: p, address: func() string { return "127.0.0.1:1" }}
}

func TestProgramsSessionIsMintedAsAsked(t *testing.T) {
	var got gatewayapi.MintRequest
	p := newPrograms(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet {
			reply(w, 200, []session.Session{{ID: "s1", Scope: got.Scope}, {ID: "s2", Scope: session.Scope{Run: "r"}}})
			return
		}
		if err := json.NewDecoder(r.Body).Decode(&got); err != nil {
			t.Error(err)
		}
		reply(w, 201, gatewayapi.MintResponse{ID: "s1", Token: "moeca_secret", Expires: time.Now().Add(time.Hour)})
	})
	made, err := p.Create(t.Context(), hostapi.SessionInput{
		Name: " sdk ", Reach: []string{"openai", "anthropic", "openai"}, Grants: []string{"web-search"}, Repos: []string{"o/n"},
		Budget: &session.Budget{CostNano: 5}, Unattended: true,
	})
	if err != nil {
		t.Fatal(err)
	}
	if !got.WithToken || got.SocketDir != "" || got.TTL != 3600 || got.Scope.Agent != "sdk" || got.Scope.Run != "" || got.Scope.Service ||
		!got.Scope.Unattended || got.Scope.Budget.CostNano != 5 || !slices.Equal(got.Scope.Repos, []string{"o/n"}) {
		t.Errorf("minted %+v", got)
	}
	if made.Token != "moeca_secret" || len(made.URLs) != 2 || made.URLs[0].URL != "http://127.0.0.1:1/openai/v1" || made.URLs[1].URL != "http://127.0.0.1:1/anthropic" {
		t.Errorf("%+v", made)
	}
	list, err := p.List(t.Context())
	if err != nil || len(list) != 2 || !list[0].Program || list[1].Program {
		t.Errorf("%+v, %v", list, err)
	}
	if raw, _ := json.Marshal(list); strings.Contains(string(raw), "moeca_secret") {
		t.Error("the list tells the token")
	}
	if _, err := p.Revoke(t.Context(), "s2"); board.KindOf(err) != board.Conflict {
		t.Errorf("the session of a sandbox was ended: %v", err)
	}
	if _, err := p.Revoke(t.Context(), "s3"); board.KindOf(err) != board.NotFound {
		t.Errorf("a session that is none: %v", err)
	}
}

func TestProgramsSessionsThatCannotBeMeantAreRefused(t *testing.T) {
	p := newPrograms(t, func(w http.ResponseWriter, _ *http.Request) {
		refusal(w, 400, "invalid-scope", "there is no grant; there are web-search")
	})
	for name, in := range map[string]hostapi.SessionInput{
		"an unknown provider":    {Reach: []string{"nobody"}},
		"a day and a second":     {Reach: []string{"demo"}, TTL: 86401},
		"a life that is over":    {Reach: []string{"demo"}, TTL: -1},
		"a repository of a word": {Reach: []string{"demo"}, Repos: []string{"n"}},
		"a path as a repository": {Reach: []string{"demo"}, Repos: []string{"o/n/../x"}},
		"an escape as its name":  {Reach: []string{"demo"}, Name: "\x1b[2J"},
		"a negative budget":      {Reach: []string{"demo"}, Budget: &session.Budget{Tokens: -1}},
		"what the gateway takes": {Reach: []string{"demo"}, Grants: []string{"nonsense"}},
	} {
		_, err := p.Create(t.Context(), in)
		if board.KindOf(err) != board.Invalid {
			t.Errorf("%s: %v", name, err)
		}
		if name == "what the gateway takes" && !strings.Contains(err.Error(), "there are web-search") {
			t.Errorf("the gateway's sentence is lost: %v", err)
		}
	}
	if len(p.sessions.live) != 0 {
		t.Error("a refused session is remembered")
	}
}
