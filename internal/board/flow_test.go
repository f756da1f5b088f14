package board_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"moeca/internal/audit"
	"moeca/internal/board"
	"moeca/internal/handoff"
	"moeca/internal/sandbox"
)

func TestTaskFromDraftToMerge(t *testing.T) {
	w := newWorld(t).start()
	repo := w.repo("/check")
	if repo.Target != "main" || !slices.Equal(repo.Branches, []string{"main"}) {
		t.Fatalf("repository %+v", repo)
	}
	task := w.task("Change two files")
	if task.Status != board.StatusDraft || task.Column != board.ColumnInbox || task.Number != 1 || !task.Scripted || task.CI != board.CIPending {
		t.Fatalf("draft %+v", task)
	}
	before := w.git("rev-parse", "main")
	work := w.driver.agent
	w.driver.agent = func(ctx context.Context, tree string, o handoff.WorkOrder, say func(handoff.Event)) sandbox.Exit {
		w.ledger.asked(o.Stage)
		w.ledger.asked("another stage")
		return work(ctx, tree, o, say)
	}

	task = w.run(task.ID)
	if task.Status != board.StatusReviewing || task.NextStep != board.NextCI || task.Files != 2 || task.Added != 2 || task.Deleted != 1 {
		t.Fatalf("after the run %+v", task)
	}
	if task.Tokens != 1234 || task.Attempt.Summary != "I changed it." || task.Attempt.Branch != "moeca/1-1" {
		t.Fatalf("after the run %+v %+v", task, task.Attempt)
	}
	if st := task.Attempt.Run.Stages[0]; st.Requests != 2 || st.Tokens != 1234 {
		t.Fatalf("measured %+v", st)
	}
	if held := w.git("for-each-ref", "--format=%(refname)", "refs/moeca"); len(strings.Fields(held)) != 2 {
		t.Fatalf("held by %q, want result and base", held)
	}
	if got := w.git("rev-parse", "moeca/1-1"); got != task.Attempt.HeadOID {
		t.Fatalf("branch at %s, head %s", got, task.Attempt.HeadOID)
	}
	if w.gateway.alive()+w.sockets.alive()+w.driver.alive() != 0 {
		t.Fatal("a session, a socket directory or a sandbox outlived the run")
	}
	set := must(w.Diff(t.Context(), task.ID, board.DiffOptions{}))(t)
	if len(set.Files) != 2 {
		t.Fatalf("diff shows %d files", len(set.Files))
	}
	log := must(w.Logs(t.Context(), task.Attempt.Run.ID, 0, 0))(t)
	if n := len(log.Lines); !log.Ended || n < 3 || log.Lines[n-1].Event.Type != handoff.EventDone || log.Lines[0].Seq != 1 {
		t.Fatalf("log %+v", log)
	}

	if c := w.check(task.ID); c.State != board.CIPassed || c.Log != "checked\n" || c.Digest != w.driver.digest {
		t.Fatalf("gate %+v", c)
	}
	review := must(w.Review(t.Context(), task.ID))(t)
	if !review.CanApprove || len(review.Acks) != 0 || !review.CheckedOut || review.BaseMoved {
		t.Fatalf("review %+v", review)
	}
	a, m, err := w.ApproveAndMerge(t.Context(), task.ID, w.request(task.ID), person)
	if err != nil {
		t.Fatal(err)
	}
	if got := w.git("rev-parse", "main", "main^{tree}", "main^1", "main^2"); got != strings.Join([]string{m.Commit, review.Preview.ResultTree, before, task.Attempt.HeadOID}, "\n") {
		t.Fatalf("main is\n%s", got)
	}
	if held := w.git("for-each-ref", "refs/moeca"); held != "" {
		t.Fatalf("still held after the merge: %s", held)
	}
	if rows := w.ledger.kinds(); !slices.Equal(rows[6:], []audit.Kind{audit.KindCI, audit.KindApproval, audit.KindMerge}) || w.ledger.rows[8].Ref != a.Seq {
		t.Fatalf("log rows %v", w.ledger.kinds())
	}
	if task = w.look(task.ID); task.Status != board.StatusDone || task.Column != board.ColumnDone {
		t.Fatalf("after the merge %+v", task)
	}
	if text := must(os.ReadFile(filepath.Join(w.path, "lib/a.txt")))(t); string(text) != "one\ntwo\nthree\n" {
		t.Fatal("the user's checkout was touched")
	}
	// The command of the note brings the checkout forward.
	_, args, _ := strings.Cut(m.Note, "git -C "+w.path+" ")
	w.git(strings.Fields(args)...)
	if got := w.git("status", "--porcelain"); got != "" {
		t.Fatalf("after the note's command: %s", got)
	}
	st := must(a.Verify())(t)
	if st.Actor != "person:Ada" || st.CIState != board.CIPassed || st.ResultTree != m.Tree || st.LogHead == "" {
		t.Fatalf("statement %+v", st)
	}
	if again := must(w.Merged(t.Context(), "1"))(t); again != m {
		t.Fatalf("stored merge %+v, want %+v", again, m)
	}
}

func TestWithoutGateApprovalNeedsAnAcknowledgement(t *testing.T) {
	w := newWorld(t).start()
	w.repo()
	task := w.run(w.task("No gate").ID)
	if task.CI != board.CINone {
		t.Fatalf("no gate shows as %s", task.CI)
	}
	_, err := w.RunCI(t.Context(), task.ID)
	wantCode(t, err, "ci_none")
	req := w.request(task.ID)
	req.Acks = nil
	_, err = w.Approve(t.Context(), task.ID, req, person)
	wantCode(t, err, "ack_missing")
	a := must(w.Approve(t.Context(), task.ID, w.request(task.ID), person))(t)
	if st := must(a.Verify())(t); st.CIState != board.CINone || !slices.Equal(st.Acks, []string{board.AckNoCI}) {
		t.Fatalf("statement %+v", st)
	}
	must(w.Merge(t.Context(), task.ID, person))(t)
}

func TestSessionNamesTheSandboxAndOneUpstream(t *testing.T) {
	w := newWorld(t).start()
	w.repo()
	task := w.run(w.task("Scope").ID)
	s := w.gateway.scopes[0]
	if s.Task != task.ID || s.Run != task.Attempt.Run.ID || s.Stage != task.Attempt.Run.Stages[0].ID ||
		!slices.Equal(s.Upstreams, []string{"demo"}) || !slices.Equal(s.ProtectRefs, []string{"main"}) || s.Budget.Tokens != 2_000_000 {
		t.Fatalf("scope %+v", s)
	}
}

func TestEventsCanBeResumed(t *testing.T) {
	w := newWorld(t).start()
	live := w.bus.Subscribe(t.Context(), board.TopicTasks)
	w.repo()
	task := w.run(w.task("Events").ID)
	all := must(w.EventsAfter(t.Context(), 0, 0))(t)
	last := int64(0)
	for _, e := range all.Events {
		if e.Seq <= last {
			t.Fatalf("event %d after %d", e.Seq, last)
		}
		last = e.Seq
	}
	if first := <-live; first.Seq == 0 || first.Kind != board.EventTaskChanged {
		t.Fatalf("first live event %+v", first)
	}
	half := all.Events[len(all.Events)/2].Seq
	rest := must(w.EventsAfter(t.Context(), half, 0))(t)
	if len(rest.Events) == 0 || rest.Events[0].Seq != half+1 || rest.Resync {
		t.Fatalf("resumed from %d: %+v", half, rest)
	}
	var shown board.Task
	if err := json.Unmarshal(rest.Events[len(rest.Events)-1].Data.(json.RawMessage), &shown); err != nil || shown.Status != task.Status {
		t.Fatalf("last event shows %s, the task is %s (%v)", shown.Status, task.Status, err)
	}
	if ahead := must(w.EventsAfter(t.Context(), last+100, 0))(t); !ahead.Resync {
		t.Fatal("a sequence from another database is not told to resync")
	}
}
