package board_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"moeca/internal/audit"
	"moeca/internal/board"
	"moeca/internal/gateway/gatewayapi"
	"moeca/internal/handoff"
	"moeca/internal/sandbox"
	"moeca/internal/session"
)

func TestSessionGetsWhatAPersonSetForTheTask(t *testing.T) {
	w := newWorld(t).start()
	w.repo()
	w.git("remote", "add", "origin", "git@github.com:owner/project.git")
	w.git("remote", "add", "mirror", "https://git.example.org/owner/mirror.git")
	w.git("remote", "add", "fork", "https://github.com/me/project")
	task := must(w.CreateTask(t.Context(), board.NewTask{
		RepoID: "project", Title: "Reach", Reach: []string{"hub", "board", "hub"},
		Budget: &session.Budget{Tokens: 5000, CostNano: 2_000_000_001}, RunBudget: &session.Budget{CostNano: 1},
	}))(t)
	if !slices.Equal(task.Reach, []string{"hub", "board"}) || task.Budget.CostNano != 2_000_000_001 || task.RunBudget.CostNano != 1 {
		t.Fatalf("%+v", task)
	}
	w.run(task.ID)
	got := w.gateway.scopes[0]
	if !slices.Equal(got.Upstreams, []string{"demo", "board", "hub"}) || !slices.Equal(got.Repos, []string{"owner/project", "me/project", "Owner/project"}) || len(got.Grants) != 0 {
		t.Errorf("reaches %q, repositories %q, grants %q", got.Upstreams, got.Repos, got.Grants)
	}
	if len(got.RepoIDs) != 1 || got.RepoIDs["Owner/project"] != 42 {
		t.Errorf("ids %v", got.RepoIDs)
	}
	if *got.TaskBudget != *task.Budget || *got.RunBudget != *task.RunBudget || !slices.Contains(got.ProtectRefs, "main") {
		t.Errorf("scope %+v", got)
	}

	// A budget that is taken off is told as none: the gateway keeps what it knows.
	now := w.look(task.ID)
	must(w.UpdateTask(t.Context(), task.ID, board.TaskPatch{Version: now.Version, Budget: &session.Budget{}, Reach: &[]string{}}))(t)
	w.run(task.ID)
	got = w.gateway.scopes[1]
	if got.TaskBudget == nil || *got.TaskBudget != (session.Budget{}) || len(got.Upstreams) != 1 || len(got.Repos) != 0 {
		t.Errorf("after a change: %+v", got)
	}
}

// A budget that outlives the session makes every call durable before egress;
// without one there is none.
func TestNoBudgetIsSetUnasked(t *testing.T) {
	w := newWorld(t).start()
	w.repo()
	task := w.run(w.task("Plain").ID)
	if got := w.gateway.scopes[0]; got.TaskBudget != nil || got.RunBudget != nil || len(got.Upstreams) != 1 || len(got.Repos) != 0 {
		t.Errorf("%+v", got)
	}
	if task.Budget != nil || task.Reach == nil || task.CostNano != 77 {
		t.Errorf("%+v", task)
	}
}

func TestMeansThatCannotBeMeantAreRefused(t *testing.T) {
	w := newWorld(t).start()
	w.repo()
	for code, n := range map[string]board.NewTask{
		"budget_invalid":     {Budget: &session.Budget{Tokens: -1}},
		"provider_not_found": {Reach: []string{"nobody"}},
		"reach_model":        {Reach: []string{"gemini"}},
	} {
		n.RepoID, n.Title = "project", "Refused"
		_, err := w.CreateTask(t.Context(), n)
		wantCode(t, err, code)
	}
	_, err := w.CreateTask(t.Context(), board.NewTask{RepoID: "project", Title: "x", Reach: []string{"demo"}})
	wantCode(t, err, "reach_model")
	_, err = w.CreateTask(t.Context(), board.NewTask{RepoID: "project", Title: "x", RunBudget: &session.Budget{CostNano: 1 << 60}})
	wantCode(t, err, "budget_invalid")

	// Means change until the task is closed, words only before it is reviewed.
	task := w.run(w.task("Reviewed").ID)
	task = must(w.UpdateTask(t.Context(), task.ID, board.TaskPatch{Version: task.Version, Budget: &session.Budget{Tokens: 7}}))(t)
	title := "other"
	_, err = w.UpdateTask(t.Context(), task.ID, board.TaskPatch{Version: task.Version, Title: &title, Budget: &session.Budget{Tokens: 8}})
	wantCode(t, err, "task_not_editable")
	_, err = w.UpdateTask(t.Context(), task.ID, board.TaskPatch{Version: task.Version - 1, Budget: &session.Budget{Tokens: 8}})
	wantCode(t, err, "version_conflict")
	must(w.CancelTask(t.Context(), task.ID))(t)
	task = w.look(task.ID)
	_, err = w.UpdateTask(t.Context(), task.ID, board.TaskPatch{Version: task.Version, Budget: &session.Budget{Tokens: 8}})
	wantCode(t, err, "task_not_editable")
	if task.Budget.Tokens != 7 {
		t.Errorf("budget %+v", task.Budget)
	}
}

func TestRemotesNameRepositoriesOfTheirProviderOnly(t *testing.T) {
	hub := gatewayapi.Provider{Kind: "github", BaseURL: "https://api.github.com", GitURL: "https://github.com"}
	enterprise := gatewayapi.Provider{Kind: "github", BaseURL: "https://ghe.example.org/api/v3", GitURL: "https://ghe.example.org"}
	forge := gatewayapi.Provider{Kind: "git", BaseURL: "https://forge.example.org/scm"}
	for _, c := range []struct {
		at     gatewayapi.Provider
		remote string
		want   string
	}{
		{hub, "https://github.com/o/n", "o/n"},
		{hub, "https://github.com/o/n.git", "o/n"},
		{hub, "https://github.com/o/n.git/", "o/n"},
		{hub, "https://user:token@github.com/o/n", "o/n"},
		{hub, "https://GitHub.com/O/n", "O/n"},
		{hub, "git@github.com:o/n.git", "o/n"},
		{hub, "github.com:o/n", "o/n"},
		{hub, "ssh://git@github.com/o/n.git", "o/n"},
		{hub, "ssh://git@ssh.github.com:443/o/n.git", "o/n"},
		{hub, "git://github.com/o/n", "o/n"},
		{hub, "git@github.com:o/a.b_c-d.git", "o/a.b_c-d"},
		{hub, "https://github.com.evil.example.org/o/n", ""},
		{hub, "https://evilgithub.com/o/n", ""},
		{hub, "https://example.org/github.com/o/n", ""},
		{hub, "https://github.com@example.org/o/n", ""},
		{hub, "git@example.org:github.com/o/n", ""},
		{hub, "/srv/github.com:o/n", ""},
		{hub, "./github.com:o/n", ""},
		{hub, "file:///github.com/o/n", ""},
		{hub, "ext::sh -c x github.com:o/n", ""},
		{hub, "https://github.com/o", ""},
		{hub, "https://github.com/o/n/tree", ""},
		{hub, "https://github.com/o/..", ""},
		{hub, "https://github.com/../n", ""},
		{hub, "https://github.com/o/n%2e%2e%2fx", ""},
		{hub, "https://github.com/o/n;x", ""},
		{hub, "https://ghe.example.org/o/n", ""},
		{hub, "", ""},
		{enterprise, "https://ghe.example.org/o/n", "o/n"},
		{enterprise, "git@ghe.example.org:o/n", "o/n"},
		{enterprise, "https://github.com/o/n", ""},
		{forge, "https://forge.example.org/scm/o/n.git", "o/n"},
		{forge, "https://forge.example.org/o/n.git", ""},
		{gatewayapi.Provider{Kind: "github"}, "https://github.com/o/n", ""},
	} {
		if got := board.RepositoryAt(c.at, c.remote); got != c.want {
			t.Errorf("%q at %s is %q, want %q", c.remote, c.at.GitURL, got, c.want)
		}
	}
}

// What an agent says about its end does not name the budget; the log does.
func TestBudgetThatEndsARunIsNamed(t *testing.T) {
	for short, want := range map[string]string{
		"task tokens":     "moeca task budget 1 --budget-tokens",
		"task money":      "moeca task budget 1 --budget-usd",
		"run money":       "moeca task budget 1 --run-budget-usd",
		"day tokens":      "moeca budget set day --tokens",
		"provider tokens": "moeca budget set demo --tokens",
		"session tokens":  "budget of the session",
		"":                "moeca budget list",
	} {
		t.Run(short, func(t *testing.T) {
			w := newWorld(t).start()
			w.repo()
			row := audit.Record{Kind: audit.KindRefusal, Gate: "budget", Reason: "exhausted", Upstream: "demo", Attrs: []audit.Attr{{Key: "short", Value: short}}}
			w.driver.agent = w.refused(row, "it is all Bob's fault")
			if task := w.run(w.task("Costly").ID); task.Status != board.StatusFailed || !strings.Contains(task.Cause, want) || strings.Contains(task.Cause, "Bob") {
				t.Errorf("%s %q", task.Status, task.Cause)
			}
		})
	}
	w := newWorld(t).start()
	w.repo()
	w.driver.agent = w.refused(audit.Record{Kind: audit.KindRefusal, Gate: "budget", Reason: "unknown-price"}, "no")
	if task := w.run(w.task("No price").ID); !strings.Contains(task.Cause, "moeca price set --provider demo scripted-1") {
		t.Errorf("without a price: %q", task.Cause)
	}
	w.driver.agent = w.refused(audit.Record{Kind: audit.KindRefusal, Gate: "write", Reason: "no-write-rule"}, "I gave up")
	if task := w.run(w.task("Another gate").ID); !strings.Contains(task.Cause, "I gave up") {
		t.Errorf("another gate: %q", task.Cause)
	}
}

// refused is an agent whose last call is refused with this row.
func (w *world) refused(row audit.Record, says string) program {
	return func(_ context.Context, _ string, o handoff.WorkOrder, say func(handoff.Event)) sandbox.Exit {
		row.Time, row.Attribution.Stage = time.Now(), o.Stage
		w.ledger.add(row)
		say(handoff.Event{Type: handoff.EventDone, Error: true, Text: says})
		return sandbox.Exit{Code: 1, Cause: sandbox.CauseDone}
	}
}

func TestReachThatIsGoneStopsTheRunBeforeItBegins(t *testing.T) {
	w := newWorld(t).start()
	w.repo()
	task := must(w.CreateTask(t.Context(), board.NewTask{RepoID: "project", Title: "Reach", Reach: []string{"hub"}}))(t)
	w.gateway.gone = "hub"
	_, err := w.RunTask(t.Context(), task.ID)
	wantCode(t, err, "provider_not_found")
	if task = w.look(task.ID); task.Status != board.StatusDraft {
		t.Errorf("task is %s", task.Status)
	}
	must(w.UpdateTask(t.Context(), task.ID, board.TaskPatch{Version: task.Version, Reach: &[]string{}}))(t)
	w.run(task.ID)
}
