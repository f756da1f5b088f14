package board_test

import (
	"slices"
	"strings"
	"testing"

	"moeca/internal/board"
)

// card is what the list shows of a task.
type card struct {
	next string
	ci   board.CIState
}

func (w *world) card(id string) card {
	t := w.look(id)
	return card{t.NextStep, t.CI}
}

// An approval that a merge would refuse is not offered, and the card says what
// is to be done instead.
func TestApprovalThatDoesNotHoldIsNotOffered(t *testing.T) {
	passed := board.CIPassed
	for name, c := range map[string]struct {
		move   func(*world, board.Task)
		reason string
		want   card
	}{
		"target moved":          {func(w *world, _ board.Task) { w.write("x", "x"); w.commit("x") }, "target", card{board.NextCI, board.CIStale}},
		"target moved, checked": {func(w *world, task board.Task) { w.write("x", "x"); w.commit("x"); w.check(task.ID) }, "target", card{board.NextApprove, passed}},
		"target in conflict":    {func(w *world, _ board.Task) { w.write("lib/a.txt", "one\nzwei\nthree\n"); w.commit("x") }, "target", card{board.NextResolve, board.CIStale}},
		"target gone":           {func(w *world, _ board.Task) { w.git("branch", "-m", "main", "other") }, "target", card{board.NextResolve, board.CIStale}},
		"new attempt": {func(w *world, task board.Task) {
			w.driver.agent = edits(map[string]string{"y.txt": "y\n"})
			w.run(task.ID)
		}, "work", card{board.NextCI, board.CIPending}},
		"gate removed": {func(w *world, _ board.Task) {
			must(w.UpdateRepo(w.t.Context(), "project", board.RepoPatch{RemoveCI: true}))(w.t)
		}, "gate", card{board.NextApprove, board.CINone}},
		"gate changed": {func(w *world, _ board.Task) {
			must(w.UpdateRepo(w.t.Context(), "project", board.RepoPatch{CI: &board.Gate{Policy: "base", Argv: []string{"/true"}}}))(w.t)
		}, "gate", card{board.NextCI, board.CIStale}},
		"gate ran again": {func(w *world, task board.Task) { w.check(task.ID) }, "gate run", card{board.NextApprove, passed}},
		"key replaced":   {func(w *world, _ board.Task) { w.stop(); w.signer = newSigner('x'); w.start() }, "another key", card{board.NextApprove, passed}},
	} {
		t.Run(name, func(t *testing.T) {
			w, task := reviewed(t)
			must(w.Approve(t.Context(), task.ID, w.request(task.ID), person))(t)
			r := must(w.Review(t.Context(), task.ID))(t)
			if r.Approval == nil || r.ApprovalStale || w.card(task.ID) != (card{board.NextMerge, passed}) {
				t.Fatalf("approved: %+v, card %v", r, w.card(task.ID))
			}
			c.move(w, task)
			r = must(w.Review(t.Context(), task.ID))(t)
			if r.Approval != nil || !r.ApprovalStale || !strings.Contains(r.ApprovalStaleReason, c.reason) {
				t.Fatalf("review offers %v, stale %v: %q", r.Approval, r.ApprovalStale, r.ApprovalStaleReason)
			}
			got := w.look(task.ID)
			if w.card(task.ID) != c.want || !strings.Contains(got.Cause, c.reason) && got.CI != passed && got.Attempt.Number == 1 && c.reason != "gate" {
				t.Fatalf("card %v, cause %q", w.card(task.ID), got.Cause)
			}
			must(w.Review(t.Context(), task.ID))(t)
			if again := w.look(task.ID); again.Version != got.Version {
				t.Fatal("looking changes the card each time")
			}
			if _, err := w.Merge(t.Context(), task.ID, person); err == nil {
				t.Fatal("merged all the same")
			}
		})
	}
}

func TestApprovalWhileTheTaskRunsAgainIsNotOffered(t *testing.T) {
	w, task := reviewed(t)
	must(w.Approve(t.Context(), task.ID, w.request(task.ID), person))(t)
	started := make(chan struct{}, 1)
	w.driver.agent = hangs(started)
	r := must(w.RunTask(t.Context(), task.ID))(t)
	<-started
	if got := must(w.Review(t.Context(), task.ID))(t); got.Approval != nil || !got.ApprovalStale {
		t.Fatalf("review %+v", got)
	}
	must(w.StopRun(t.Context(), r.ID))(t)
}

// A target that comes back to where it was approved makes the approval hold again.
func TestTargetThatComesBack(t *testing.T) {
	w, task := reviewed(t)
	must(w.Approve(t.Context(), task.ID, w.request(task.ID), person))(t)
	w.write("x", "x")
	w.commit("x")
	must(w.Review(t.Context(), task.ID))(t)
	w.git("reset", "-q", "--hard", "HEAD^")
	if r := must(w.Review(t.Context(), task.ID))(t); r.Approval == nil || r.ApprovalStale || w.card(task.ID).next != board.NextMerge {
		t.Fatalf("review %+v, card %v", r, w.card(task.ID))
	}
	must(w.Merge(t.Context(), task.ID, person))(t)
	if r := must(w.Review(t.Context(), task.ID))(t); r.ApprovalStale || r.Approval == nil {
		t.Fatalf("after the merge: %+v", r)
	}
}

func TestMergeThatIsRefusedSaysSoOnTheCard(t *testing.T) {
	w, task := reviewed(t)
	must(w.Approve(t.Context(), task.ID, w.request(task.ID), person))(t)
	w.write("x", "x")
	w.commit("x")
	_, err := w.Merge(t.Context(), task.ID, person)
	wantCode(t, err, "approval_stale")
	if got := w.look(task.ID); got.NextStep != board.NextCI || !strings.Contains(got.Cause, "target changed after it was approved") {
		t.Fatalf("card says %s: %s", got.NextStep, got.Cause)
	}
}

func TestTargetThatIsGoneIsABlockerNotAnError(t *testing.T) {
	w := newWorld(t).start()
	w.git("branch", "side")
	w.repo("/check")
	task := must(w.CreateTask(t.Context(), board.NewTask{RepoID: "project", Title: "Side", Target: "side"}))(t)
	task = w.run(task.ID)
	w.git("branch", "-D", "side")
	r := must(w.Review(t.Context(), task.ID))(t)
	if r.CanApprove || !slices.ContainsFunc(r.Blockers, func(b board.Blocker) bool { return b.Code == "target_gone" && strings.Contains(b.Message, "side") }) {
		t.Fatalf("blockers %v", r.Blockers)
	}
	if set := must(w.Diff(t.Context(), task.ID, board.DiffOptions{}))(t); len(set.Files) != 2 {
		t.Fatalf("diff shows %d files", len(set.Files))
	}
	_, err := w.RunCI(t.Context(), task.ID)
	wantCode(t, err, "target_gone")
	_, err = w.Approve(t.Context(), task.ID, board.ApproveRequest{Head: task.Attempt.HeadOID}, person)
	wantCode(t, err, "approval_locked")
	_, err = w.RunTask(t.Context(), task.ID)
	wantCode(t, err, "base_not_found")
	w.git("branch", "side", "main")
	if c := w.check(task.ID); c.State != board.CIPassed {
		t.Fatalf("after the branch is back: %+v", c)
	}
}
