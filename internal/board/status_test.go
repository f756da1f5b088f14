package board_test

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"moeca/internal/board"
	"moeca/internal/sandbox"
)

func TestEveryStatusHasAColumn(t *testing.T) {
	for s, want := range map[board.Status]board.Column{
		board.StatusDraft: board.ColumnInbox, board.StatusQueued: board.ColumnWorking, board.StatusPreparing: board.ColumnWorking,
		board.StatusRunning: board.ColumnWorking, board.StatusWaiting: board.ColumnNeeds, board.StatusReviewing: board.ColumnNeeds,
		board.StatusFailed: board.ColumnNeeds, board.StatusMerging: board.ColumnDone, board.StatusDone: board.ColumnDone,
		board.StatusCancelled: board.ColumnDone, board.Status("new in a later version"): board.ColumnNeeds,
	} {
		if got := board.ColumnOf(s); got != want {
			t.Errorf("%s stands in %s, want %s", s, got, want)
		}
	}
}

func TestClosedTasksStayClosed(t *testing.T) {
	for _, from := range []board.Status{board.StatusDone, board.StatusCancelled, ""} {
		for _, to := range []board.Status{board.StatusDraft, board.StatusQueued, board.StatusRunning, board.StatusReviewing, board.StatusMerging, board.StatusDone} {
			if board.CanMove(from, to) {
				t.Errorf("%q can become %s", from, to)
			}
		}
	}
	for _, from := range []board.Status{board.StatusDraft, board.StatusRunning, board.StatusFailed, board.StatusReviewing} {
		if board.CanMove(from, board.StatusDone) {
			t.Errorf("%s becomes done without a merge", from)
		}
	}
}

// TestStatusMachine drives one service with random commands of people and
// checks what must hold after each, whatever the answer was.
func TestStatusMachine(t *testing.T) {
	w := newWorld(t).start()
	w.repo("/check")
	n := 0
	rapid.Check(t, func(rt *rapid.T) {
		n++
		w.driver.agent = edits(map[string]string{fmt.Sprintf("f%d.txt", n): "x\n"})
		id := w.task(fmt.Sprint("Model ", n)).ID
		var merged bool
		for range rapid.IntRange(1, 6).Draw(rt, "commands") {
			before := w.look(id)
			command := rapid.SampledFrom([]string{"run", "run-failing", "ci", "ci-failing", "approve", "merge", "cancel", "target-moves", "gate-changes", "update"}).Draw(rt, "command")
			err := w.command(command, id)
			after := w.look(id)
			if board.KindOf(err) == board.Internal && err != nil {
				rt.Fatalf("%s on a %s task: %v", command, before.Status, err)
			}
			if before.Status != after.Status && !reachable(before.Status, after.Status) {
				rt.Fatalf("%s took the task from %s to %s", command, before.Status, after.Status)
			}
			r := must(w.Review(t.Context(), id))(t)
			if r.CanApprove != (len(r.Blockers) == 0) {
				rt.Fatalf("after %s: can approve %v with blockers %v", command, r.CanApprove, r.Blockers)
			}
			if r.CanApprove && (after.Status != board.StatusReviewing || r.CI.State != board.CIPassed) {
				rt.Fatalf("after %s: approval open on a %s task with gate %s", command, after.Status, r.CI.State)
			}
			if command == "merge" && err == nil {
				merged = true
				if before.NextStep != board.NextMerge {
					rt.Fatalf("merged a task whose next step was %q", before.NextStep)
				}
			}
			if (after.Status == board.StatusDone) != merged {
				rt.Fatalf("task is %s, merged %v", after.Status, merged)
			}
			if after.Column != board.ColumnOf(after.Status) {
				rt.Fatalf("a %s task stands in %s", after.Status, after.Column)
			}
		}
	})
	w.checkTrue()
}

// command does what a person could do; its error is an answer like another.
func (w *world) command(name, id string) error {
	ctx := w.t.Context()
	wait := func(r board.Run, err error) error {
		if err == nil {
			_, err = w.WaitRun(ctx, r.ID)
		}
		return err
	}
	switch name {
	case "run":
		return wait(w.RunTask(ctx, id))
	case "run-failing":
		w.driver.set("start", fmt.Errorf("boom"))
		defer w.driver.set("start", nil)
		return wait(w.RunTask(ctx, id))
	case "ci", "ci-failing":
		w.driver.command = exits(len(name) - len("ci"))
		_, err := w.RunCI(ctx, id)
		if err == nil {
			_, err = w.WaitCI(ctx, id)
		}
		return err
	case "approve":
		r, err := w.Review(ctx, id)
		if err == nil {
			_, err = w.Approve(ctx, id, board.ApproveRequest{Head: r.Preview.Head, TargetOID: r.Preview.TargetOID, ResultTree: r.Preview.ResultTree, Acks: r.Acks}, person)
		}
		return err
	case "merge":
		_, err := w.Merge(ctx, id, person)
		return err
	case "cancel":
		_, err := w.CancelTask(ctx, id)
		return err
	case "target-moves":
		w.git("commit", "-q", "--allow-empty", "-m", "moves")
		return nil
	case "gate-changes":
		gate := board.Gate{Policy: sandbox.Base, Argv: []string{"/check", id}}
		_, err := w.UpdateRepo(ctx, "project", board.RepoPatch{CI: &gate})
		return err
	default:
		t, err := w.Task(ctx, id)
		if err == nil {
			_, err = w.UpdateTask(ctx, id, board.TaskPatch{Version: t.Version, Title: &t.Title})
		}
		return err
	}
}

// reachable says whether one status follows from another by allowed moves, as
// several happen during one run.
func reachable(from, to board.Status) bool {
	seen := []board.Status{from}
	for i := 0; i < len(seen); i++ {
		for _, s := range []board.Status{
			board.StatusQueued, board.StatusPreparing, board.StatusRunning, board.StatusReviewing,
			board.StatusFailed, board.StatusMerging, board.StatusDone, board.StatusCancelled,
		} {
			if board.CanMove(seen[i], s) && !slices.Contains(seen, s) {
				seen = append(seen, s)
			}
		}
	}
	return slices.Contains(seen[1:], to)
}
