package board_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"moeca/internal/audit"
	"moeca/internal/board"
)

// reviewed is a world with one task whose gate passed.
func reviewed(t *testing.T) (*world, board.Task) {
	w := newWorld(t).start()
	w.repo("/check")
	task := w.run(w.task("Work").ID)
	if c := w.check(task.ID); c.State != board.CIPassed {
		t.Fatalf("gate %+v", c)
	}
	return w, task
}

func TestOnlyAPersonApprovesAndMerges(t *testing.T) {
	w, task := reviewed(t)
	req := w.request(task.ID)
	for name, actor := range map[string]board.Actor{"nobody": {}, "an agent": {Name: "solo"}, "a person without a name": {Person: true, Name: " "}} {
		_, err := w.Approve(t.Context(), task.ID, req, actor)
		if board.CodeOf(err) != "person_required" || board.KindOf(err) != board.Forbidden {
			t.Errorf("approve as %s: %v", name, err)
		}
		_, err = w.Merge(t.Context(), task.ID, actor)
		if board.CodeOf(err) != "person_required" {
			t.Errorf("merge as %s: %v", name, err)
		}
		_, _, err = w.ApproveAndMerge(t.Context(), task.ID, req, actor)
		if board.CodeOf(err) != "person_required" {
			t.Errorf("both as %s: %v", name, err)
		}
	}
	if slices.Contains(w.ledger.kinds(), audit.KindApproval) {
		t.Error("a refused approval left a row")
	}
}

func TestApproveRefusesAnyDifferenceToWhatWasSeen(t *testing.T) {
	w, task := reviewed(t)
	for name, change := range map[string]func(*board.ApproveRequest){
		"another head":       func(r *board.ApproveRequest) { r.Head = r.TargetOID },
		"no head":            func(r *board.ApproveRequest) { r.Head = "" },
		"another target":     func(r *board.ApproveRequest) { r.TargetOID = r.Head },
		"another result":     func(r *board.ApproveRequest) { r.ResultTree = strings.Repeat("0", 40) },
		"no result":          func(r *board.ApproveRequest) { r.ResultTree = "" },
		"an ack of nothing":  func(r *board.ApproveRequest) { r.Acks = []string{board.AckNoCI} },
		"upper case of head": func(r *board.ApproveRequest) { r.Head = strings.ToUpper(r.Head) },
	} {
		req := w.request(task.ID)
		change(&req)
		if _, err := w.Approve(t.Context(), task.ID, req, person); err == nil {
			t.Errorf("approved with %s", name)
		}
	}
	_, err := w.Merge(t.Context(), task.ID, person)
	wantCode(t, err, "not_approved")
}

func TestTargetThatMovesAfterGreenMakesTheGateStale(t *testing.T) {
	w, task := reviewed(t)
	seen := w.request(task.ID)
	w.write("other.txt", "x\n")
	w.commit("meanwhile")
	r := must(w.Review(t.Context(), task.ID))(t)
	if r.CI.State != board.CIStale || r.CanApprove || !r.BaseMoved {
		t.Fatalf("review %+v", r)
	}
	_, err := w.Approve(t.Context(), task.ID, seen, person)
	wantCode(t, err, "approval_locked")
	if c := w.check(task.ID); c.State != board.CIPassed {
		t.Fatalf("gate on the moved target %+v", c)
	}
	_, err = w.Approve(t.Context(), task.ID, seen, person)
	wantCode(t, err, "review_changed")
	if _, _, err := w.ApproveAndMerge(t.Context(), task.ID, w.request(task.ID), person); err != nil {
		t.Fatal(err)
	}
}

func TestMergeRefusesWhatMovedAfterApproval(t *testing.T) {
	for name, move := range map[string]func(*world, board.Task){
		"target moved": func(w *world, _ board.Task) { w.write("x", "x"); w.commit("x") },
		"gate changed": func(w *world, _ board.Task) {
			gate := board.Gate{Policy: "base", Argv: []string{"/true"}}
			must(w.UpdateRepo(w.t.Context(), "project", board.RepoPatch{CI: &gate}))(w.t)
		},
		"gate removed": func(w *world, _ board.Task) {
			must(w.UpdateRepo(w.t.Context(), "project", board.RepoPatch{RemoveCI: true}))(w.t)
		},
		"gate ran again": func(w *world, task board.Task) {
			w.driver.digest = "sha256:" + strings.Repeat("b", 64)
			w.write("other.txt", "x")
			w.commit("x")
			w.check(task.ID)
			w.git("reset", "-q", "--hard", "HEAD^")
		},
		"key replaced": func(w *world, _ board.Task) {
			w.stop()
			w.signer = newSigner('x')
			w.start()
		},
		"statement edited in the database": func(w *world, _ board.Task) {
			w.sql(`UPDATE approvals SET statement = replace(statement, 'person:Ada', 'person:Eve')`)
		},
		"target branch of the task edited in the database": func(w *world, _ board.Task) {
			w.git("branch", "other", "main")
			w.sql(`UPDATE tasks SET target = 'other'`)
		},
	} {
		t.Run(name, func(t *testing.T) {
			w, task := reviewed(t)
			must(w.Approve(t.Context(), task.ID, w.request(task.ID), person))(t)
			move(w, task)
			before := w.git("for-each-ref", "refs/heads")
			if _, err := w.Merge(t.Context(), task.ID, person); err == nil {
				t.Fatal("merged")
			}
			if after := w.git("for-each-ref", "refs/heads"); after != before {
				t.Fatalf("branches moved from\n%s\nto\n%s", before, after)
			}
			if got := w.look(task.ID); got.Status != board.StatusReviewing {
				t.Fatalf("task is %s", got.Status)
			}
		})
	}
}

func TestTargetThatMovesBetweenLookAndLand(t *testing.T) {
	w, task := reviewed(t)
	w.hook = func(step string) {
		if step == "land" {
			w.write("x", "x")
			w.commit("in the last moment")
		}
	}
	_, _, err := w.ApproveAndMerge(t.Context(), task.ID, w.request(task.ID), person)
	wantCode(t, err, "target_moved")
	w.hook = nil
	got := w.look(task.ID)
	if got.Status != board.StatusReviewing || !strings.Contains(got.Cause, "nothing was merged") {
		t.Fatalf("task %+v", got)
	}
	w.check(task.ID)
	if _, _, err := w.ApproveAndMerge(t.Context(), task.ID, w.request(task.ID), person); err != nil {
		t.Fatalf("after looking again: %v", err)
	}
}

func TestTwoMergesAtOnce(t *testing.T) {
	w := newWorld(t).start()
	w.repo()
	w.driver.agent = edits(map[string]string{"one.txt": "1\n"})
	one := w.run(w.task("One").ID)
	w.driver.agent = edits(map[string]string{"two.txt": "2\n"})
	two := w.run(w.task("Two").ID)
	must(w.Approve(t.Context(), one.ID, w.request(one.ID), person))(t)
	must(w.Approve(t.Context(), two.ID, w.request(two.ID), person))(t)
	var mu sync.Mutex
	merged, refused := 0, 0
	var wg sync.WaitGroup
	for _, id := range []string{one.ID, one.ID, two.ID, two.ID} {
		wg.Go(func() {
			_, err := w.Merge(t.Context(), id, person)
			mu.Lock()
			defer mu.Unlock()
			if err == nil {
				merged++
				return
			}
			if board.KindOf(err) == board.Internal {
				t.Errorf("refused with %v", err)
			}
			refused++
		})
	}
	wg.Wait()
	if merged != 1 || refused != 3 {
		t.Fatalf("%d merged, %d refused; the second is about a target that moved", merged, refused)
	}
	if n := w.git("rev-list", "--count", "--merges", "main"); n != "1" {
		t.Fatalf("%s merges on main", n)
	}
}

func TestAuditLogThatTakesNothing(t *testing.T) {
	w, task := reviewed(t)
	w.ledger.fail = errors.New("disk full")
	_, err := w.Approve(t.Context(), task.ID, w.request(task.ID), person)
	wantCode(t, err, "audit_unavailable")
	if r := must(w.Review(t.Context(), task.ID))(t); r.Approval != nil {
		t.Fatal("an approval without a row counts")
	}
	if c := w.check(task.ID); c.State != board.CIError {
		t.Fatalf("a gate result without a row is %s", c.State)
	}
}

func TestCanApproveIsFalseWithoutFacts(t *testing.T) {
	w := newWorld(t).start()
	w.repo("/check")
	task := w.task("Draft")
	for name, code := range map[string]string{"draft": "not_run"} {
		r := must(w.Review(t.Context(), task.ID))(t)
		if r.CanApprove || len(r.Blockers) == 0 || r.Blockers[0].Code != code {
			t.Errorf("%s: %+v", name, r)
		}
	}
	task = w.run(task.ID)
	if r := must(w.Review(t.Context(), task.ID))(t); r.CanApprove || r.Blockers[0].Code != "ci_pending" {
		t.Errorf("gate not run: %+v", r)
	}
	w.driver.command = exits(3)
	if c := w.check(task.ID); c.State != board.CIFailed || c.ExitCode != 3 {
		t.Errorf("gate %+v", c)
	}
	if r := must(w.Review(t.Context(), task.ID))(t); r.CanApprove || r.Blockers[0].Code != "ci_failed" {
		t.Errorf("gate failed: %+v", r)
	}
}

func TestGateFilesTheAgentChangedMustBeAcknowledged(t *testing.T) {
	w := newWorld(t)
	w.driver.agent = edits(map[string]string{"Makefile": "test:\n\techo fine\n"})
	w.start()
	w.repo("/check")
	task := w.run(w.task("Make it pass").ID)
	c := w.check(task.ID)
	if c.State != board.CIPassedDrift || !slices.Equal(c.Changed, []string{"Makefile"}) {
		t.Fatalf("gate %+v", c)
	}
	req := w.request(task.ID)
	if !slices.Equal(req.Acks, []string{board.AckGateChanged}) {
		t.Fatalf("acks %v", req.Acks)
	}
	req.Acks = nil
	_, err := w.Approve(t.Context(), task.ID, req, person)
	wantCode(t, err, "ack_missing")
	a := must(w.Approve(t.Context(), task.ID, w.request(task.ID), person))(t)
	if st := must(a.Verify())(t); st.CIState != board.CIPassedDrift {
		t.Fatalf("statement %+v", st)
	}
}

func TestConflictIsShownNotHidden(t *testing.T) {
	w := newWorld(t).start()
	w.repo("/check")
	task := w.run(w.task("Conflict").ID)
	w.write("lib/a.txt", "one\nzwei\nthree\n")
	w.commit("other side")
	r := must(w.Review(t.Context(), task.ID))(t)
	if r.CanApprove || r.Blockers[0].Code != "conflict" || !strings.Contains(r.Blockers[0].Message, "lib/a.txt") {
		t.Fatalf("review %+v", r)
	}
	_, err := w.RunCI(t.Context(), task.ID)
	wantCode(t, err, "conflict")
	if set := must(w.Diff(t.Context(), task.ID, board.DiffOptions{}))(t); len(set.Files) != 2 {
		t.Fatalf("diff of a conflict shows %d files", len(set.Files))
	}
}

func TestAgentThatChangesNothing(t *testing.T) {
	w := newWorld(t)
	w.driver.agent = edits(nil)
	w.start()
	w.repo()
	task := w.run(w.task("Nothing").ID)
	if task.Status != board.StatusReviewing || task.Cause != "the agent changed nothing" {
		t.Fatalf("task %+v", task)
	}
	if r := must(w.Review(t.Context(), task.ID))(t); r.CanApprove || r.Blockers[0].Code != "nothing_to_merge" {
		t.Fatalf("review %+v", r)
	}
	if got := w.git("for-each-ref", "refs/heads/moeca"); got != "" {
		t.Fatalf("branch for nothing: %s", got)
	}
}

func TestNewAttemptLeavesTheOldResultBehind(t *testing.T) {
	w := newWorld(t)
	w.driver.agent = edits(map[string]string{"x.txt": "good\n"})
	w.start()
	w.repo("/check")
	task := w.run(w.task("Twice").ID)
	w.check(task.ID)
	seen := w.request(task.ID)
	must(w.Approve(t.Context(), task.ID, seen, person))(t)
	// The commit added after green: a second attempt with other content.
	w.driver.agent = edits(map[string]string{"x.txt": "evil\n"})
	task = w.run(task.ID)
	if task.Attempt.Number != 2 || task.Attempt.Branch != "moeca/1-2" || task.CI != board.CIPending {
		t.Fatalf("second attempt %+v", task)
	}
	if r := must(w.Review(t.Context(), task.ID))(t); r.CI.State != board.CIStale || r.CanApprove {
		t.Fatalf("review %+v", r)
	}
	_, err := w.Merge(t.Context(), task.ID, person)
	wantCode(t, err, "approval_stale")
	_, err = w.Approve(t.Context(), task.ID, seen, person)
	wantCode(t, err, "approval_locked")
	if w.git("show", "moeca/1-1:x.txt") != "good" || w.git("show", "moeca/1-2:x.txt") != "evil" {
		t.Fatal("an attempt's branch does not hold its own work")
	}
}

func TestCommitPutOnTheBranchAfterApprovalIsNotMerged(t *testing.T) {
	w, task := reviewed(t)
	must(w.Approve(t.Context(), task.ID, w.request(task.ID), person))(t)
	evil := w.git("commit-tree", "-p", task.Attempt.HeadOID, "-m", "evil", "main^{tree}")
	w.git("update-ref", "refs/heads/"+task.Attempt.Branch, evil)
	m := must(w.Merge(t.Context(), task.ID, person))(t)
	if got := w.git("rev-parse", m.Commit+"^2"); got != task.Attempt.HeadOID {
		t.Fatalf("merged %s, approved was %s", got, task.Attempt.HeadOID)
	}
	if out := w.git("branch", "--contains", evil, "--format=%(refname:short)"); out != task.Attempt.Branch {
		t.Fatalf("the commit nobody saw is on %s", out)
	}
}

// What is shown unasked and what an approval takes for seen is one figure.
func TestLinesNotShownMustBeAcknowledged(t *testing.T) {
	for lines, cut := range map[int]bool{board.DiffLines: false, board.DiffLines + 1: true} {
		t.Run(fmt.Sprint(lines), func(t *testing.T) {
			w := newWorld(t)
			w.driver.agent = edits(map[string]string{"long.txt": strings.Repeat("line\n", lines-1) + "the last\n"})
			w.start()
			w.repo()
			task := w.run(w.task("Long").ID)
			set := must(w.Diff(t.Context(), task.ID, board.DiffOptions{}))(t)
			r := must(w.Review(t.Context(), task.ID))(t)
			if set.Files[0].Truncated != cut || slices.Contains(r.Truncated, "long.txt") != cut || slices.Contains(r.Acks, board.AckTruncated) != cut {
				t.Fatalf("%d lines: shown whole %v, review %v, acks %v", lines, !set.Files[0].Truncated, r.Truncated, r.Acks)
			}
			if whole := must(w.Diff(t.Context(), task.ID, board.DiffOptions{MaxFileLines: 2 * lines}))(t); whole.Files[0].Truncated {
				t.Fatalf("%d lines cannot be asked for", lines)
			}
			req := w.request(task.ID)
			a := must(w.Approve(t.Context(), task.ID, req, person))(t)
			st := must(a.Verify())(t)
			if slices.Contains(st.Truncated, "long.txt") != cut {
				t.Fatalf("%d lines: statement %v", lines, st.Truncated)
			}
			if req.Acks = slices.DeleteFunc(req.Acks, func(a string) bool { return a == board.AckTruncated }); cut {
				_, err := w.Approve(t.Context(), task.ID, req, person)
				wantCode(t, err, "ack_missing")
			}
		})
	}
}
