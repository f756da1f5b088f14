package e2e

import (
	"bytes"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"moeca/internal/board"
	"moeca/internal/gateway/gatewayapi"
	"moeca/internal/hostapi"
	"moeca/internal/session"
)

// TestAgentAsksAPerson has a rule that asks before every call of the model: the
// run waits where the person looks, goes on when it is allowed, and ends when it
// is refused. Nobody but a person can answer, and a gateway that is gone leaves
// nothing to answer.
func TestAgentAsksAPerson(t *testing.T) {
	needDriver(t, "native")
	dir := shortDir(t)
	s := serve(t, dir, "native")
	program := s.as(s.programToken())
	repo := s.addRepo(smallRepo(t, dir), nil)
	rule := gatewayapi.PolicyPatch{Forbidden: &[]gatewayapi.ForbiddenRule{{
		OperationRule: gatewayapi.OperationRule{Operation: "anthropic.inference"}, Effect: gatewayapi.EffectAsk,
	}}}
	s.call("PATCH", "/api/providers/demo/policy", rule, nil)
	work := part(script(t, "Done.", map[string]any{"text": "I write.", "calls": []any{
		call("write_file", map[string]any{"path": "asked.txt", "content": "asked\n"}),
	}}))

	var task board.Task
	s.call("POST", "/api/tasks", board.NewTask{RepoID: repo.ID, Title: "Ask first", Detail: work}, &task)
	var run board.Run
	s.call("POST", "/api/tasks/"+task.ID+"/run", nil, &run)
	first := s.waits(task.ID)
	if first.Run != run.ID || first.Upstream != "demo" || first.Operations[0] != "anthropic.inference" {
		t.Errorf("the ask: %+v", first)
	}
	s.call("GET", "/api/tasks/"+task.ID, nil, &task)
	if task.Column != board.ColumnNeeds || task.NextStep != board.NextAnswer || !strings.Contains(task.Cause, "anthropic.inference at demo; allow or refuse") {
		t.Errorf("the task stands in %s: %q, next %q", task.Column, task.Cause, task.NextStep)
	}

	// A program cannot answer, and neither can a pipe.
	for _, allow := range []bool{true, false} {
		if status, body := program.try("POST", "/api/asks/"+first.ID, map[string]bool{"allow": allow}); status != http.StatusForbidden {
			t.Errorf("a program answered: %d %s", status, body)
		}
	}
	if out, err := command(t, dir, "ask", "allow", first.ID).CombinedOutput(); err == nil || !strings.Contains(string(out), "not a terminal") {
		t.Errorf("answered without a terminal: %v\n%s", err, out)
	}
	if out, code := typed(t, dir, "yes\n", "ask", "allow", first.ID); code == 0 || !strings.Contains(out, "nothing was changed") {
		t.Errorf("another sentence: exit %d\n%s", code, out)
	}
	if out, code := typed(t, dir, "allow "+first.ID+"\n", "ask", "allow", first.ID); code != 0 || !strings.Contains(out, "allowed: audit row") {
		t.Fatalf("allow: exit %d\n%s", code, out)
	}
	if status, _ := s.try("POST", "/api/asks/"+first.ID, map[string]bool{"allow": true}); status != http.StatusConflict && status != http.StatusNotFound {
		t.Errorf("answered twice: %d", status)
	}
	if status, _ := s.try("POST", "/api/asks/nonsense", map[string]bool{"allow": true}); status != http.StatusNotFound {
		t.Errorf("an ask that is none: %d", status)
	}

	// The next call is asked about by itself; a person at the interface allows it.
	var answered gatewayapi.AskAnswered
	eventually(t, time.Minute, "the end", func() bool {
		for _, a := range s.asks() {
			if a.ID != first.ID {
				s.call("POST", "/api/asks/"+a.ID, map[string]bool{"allow": true}, &answered)
			}
		}
		s.call("GET", "/api/runs/"+run.ID, nil, &run)
		return finished(run.Status)
	})
	s.call("GET", "/api/tasks/"+task.ID, nil, &task)
	if run.Status != board.StatusDone || task.Status != board.StatusReviewing || task.Files != 1 || answered.Seq == 0 {
		t.Errorf("run %s (%s), task %s with %d files", run.Status, run.Cause, task.Status, task.Files)
	}

	// Refused: the run ends, and who follows it was told what it waited for.
	follow := command(t, dir, "task", "run", task.ID)
	var told words
	follow.Stderr = &told
	if err := follow.Start(); err != nil {
		t.Fatal(err)
	}
	refused := make(chan error, 1)
	go func() { refused <- follow.Wait() }()
	s.waits(task.ID)
	eventually(t, time.Minute, "a word on the terminal", func() bool {
		return strings.Contains(told.String(), "waiting for you: the agent wants to anthropic.inference")
	})
	eventually(t, time.Minute, "the end", func() bool {
		for _, a := range s.asks() {
			s.try("POST", "/api/asks/"+a.ID, map[string]bool{"allow": false})
		}
		s.call("GET", "/api/tasks/"+task.ID, nil, &task)
		return task.Status != board.StatusWaiting && finished(task.Attempt.Run.Status)
	})
	if err := <-refused; err == nil || task.Attempt.Run.Status != board.StatusFailed {
		t.Errorf("refused, and the run ended %s (%v):\n%s", task.Attempt.Run.Status, err, told.String())
	}

	// A gateway that dies takes its asks along.
	s.call("POST", "/api/tasks/"+task.ID+"/run", nil, &run)
	old := s.waits(task.ID)
	killGateway(t, s, "native")
	eventually(t, time.Minute, "another ask, or the end", func() bool {
		s.call("GET", "/api/runs/"+run.ID, nil, &run)
		status, body := s.try("GET", "/api/asks", nil)
		return status == 200 && !strings.Contains(string(body), old.ID) && (finished(run.Status) || run.Status == board.StatusWaiting || run.Status == board.StatusRunning)
	})
	if status, _ := s.try("POST", "/api/asks/"+old.ID, map[string]bool{"allow": true}); status != http.StatusNotFound {
		t.Errorf("an ask of a dead gateway was answered: %d", status)
	}
	mustVerify(t, s)
}

// words is what a command says while it is looked at.
type words struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (w *words) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.text.Write(p)
}

func (w *words) String() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.text.String()
}

// waits returns the ask a task's run waits with, once the task shows it.
func (s *server) waits(task string) (a gatewayapi.Ask) {
	s.t.Helper()
	eventually(s.t, time.Minute, "an ask", func() bool {
		var now board.Task
		s.call("GET", "/api/tasks/"+task, nil, &now)
		if asks := s.asks(); len(asks) > 0 {
			a = asks[0]
		}
		return a.ID != "" && now.Status == board.StatusWaiting
	})
	return a
}

func (s *server) asks() (asks []gatewayapi.Ask) {
	s.t.Helper()
	s.call("GET", "/api/asks", nil, &asks)
	return asks
}

// TestProgramUsesASessionOfItsOwn gives a program on the host a session: it
// reaches what it was given and nothing else, what it draws is counted, and it
// ends at a word. No program can make, end or widen one.
func TestProgramUsesASessionOfItsOwn(t *testing.T) {
	needDriver(t, "native")
	dir := shortDir(t)
	s := serve(t, dir, "native")
	program := s.as(s.programToken())
	in := hostapi.SessionInput{Name: "tests", Reach: []string{"demo"}, Budget: &session.Budget{Tokens: 50_000}, TTL: 600}
	var made hostapi.SessionMade
	s.call("POST", "/api/sessions", in, &made)

	ask := func(path string) int {
		t.Helper()
		body := `{"model":"scripted-1","max_tokens":100,"messages":[{"role":"user","content":"hello"}]}`
		req, err := http.NewRequestWithContext(t.Context(), "POST", strings.TrimSuffix(made.URLs[0].URL, "/demo")+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("X-Api-Key", made.Token)
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		return res.StatusCode
	}
	if status := ask("/demo/v1/messages"); status != 200 {
		t.Fatalf("a call with the token: %d", status)
	}
	if status := ask("/anthropic/v1/messages"); status != http.StatusForbidden {
		t.Errorf("a provider that was not given: %d", status)
	}
	var list []hostapi.LiveSession
	eventually(t, time.Minute, "the figures", func() bool {
		s.call("GET", "/api/sessions", nil, &list)
		return len(list) == 1 && list[0].Spent.Tokens > 0
	})
	if list[0].ID != made.Session.ID || list[0].Name != "tests" || !list[0].Program {
		t.Errorf("%+v", list[0])
	}

	in.Budget = &session.Budget{Tokens: 1 << 40}
	for what, status := range map[string]int{
		"made a session":  first(program.try("POST", "/api/sessions", in)),
		"ended a session": first(program.try("DELETE", "/api/sessions/"+made.Session.ID, nil)),
		"changed rules":   first(program.try("PATCH", "/api/providers/demo/policy", gatewayapi.PolicyPatch{Paths: &[]string{}})),
		"set a budget":    first(program.try("PUT", "/api/budgets", gatewayapi.BudgetPut{Scope: gatewayapi.BudgetDay})),
	} {
		if status != http.StatusForbidden {
			t.Errorf("a program %s: %d", what, status)
		}
	}
	repo := s.addRepo(smallRepo(t, dir), nil)
	var task board.Task
	program.call("POST", "/api/tasks", board.NewTask{RepoID: repo.ID, Title: "By a program", Budget: &session.Budget{Tokens: 10}}, &task)
	raise := board.TaskPatch{Version: task.Version, Budget: &session.Budget{}}
	if status, body := program.try("PATCH", "/api/tasks/"+task.ID, raise); status != http.StatusForbidden {
		t.Errorf("a program raised a budget: %d %s", status, body)
	}
	if status, body := program.try("POST", "/api/tasks", board.NewTask{RepoID: repo.ID, Title: "Reach", Reach: []string{"demo"}}); status != http.StatusForbidden {
		t.Errorf("a program said where agents reach: %d %s", status, body)
	}

	s.call("DELETE", "/api/sessions/"+made.Session.ID, nil, nil)
	if status := ask("/demo/v1/messages"); status != http.StatusUnauthorized {
		t.Errorf("after its end: %d", status)
	}

	// It is not minted again behind the program's back.
	s.call("POST", "/api/sessions", hostapi.SessionInput{Reach: []string{"demo"}}, &made)
	killGateway(t, s, "native")
	eventually(t, time.Minute, "the gateway", func() bool {
		status, body := s.try("GET", "/api/sessions", nil)
		return status == 200 && strings.TrimSpace(string(body)) == "[]"
	})
	mustVerify(t, s)
}

func first(status int, _ []byte) int { return status }
