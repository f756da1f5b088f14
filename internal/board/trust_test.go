package board_test

import (
	"errors"
	"strings"
	"testing"

	"moeca/internal/board"
)

// TestNothingIsDoneOnALogThatIsNotTrusted: no run begins, nothing is approved, and
// what was approved before is not merged, until the log is what it was.
func TestNothingIsDoneOnALogThatIsNotTrusted(t *testing.T) {
	w := newWorld(t).start()
	w.repo()
	task, other := w.task("work"), w.task("more work")
	w.run(task.ID)
	me := board.Actor{Person: true, Name: "me"}
	before := w.git("rev-parse", "main")
	w.log = errors.New("the audit log is not what this host saw: rows were cut off")
	_, err := w.RunTask(t.Context(), other.ID)
	wantCode(t, err, "log_not_trusted")
	_, err = w.Approve(t.Context(), task.ID, w.request(task.ID), me)
	wantCode(t, err, "log_not_trusted")
	_, _, err = w.ApproveAndMerge(t.Context(), task.ID, w.request(task.ID), me)
	wantCode(t, err, "log_not_trusted")
	if !strings.Contains(err.Error(), "cut off") {
		t.Errorf("a person is not told: %v", err)
	}
	w.log = nil
	must(w.Approve(t.Context(), task.ID, w.request(task.ID), me))(t)
	w.log = errors.New("rewritten")
	_, err = w.Merge(t.Context(), task.ID, me)
	wantCode(t, err, "log_not_trusted")
	if now := w.git("rev-parse", "main"); now != before {
		t.Errorf("main moved to %s", now)
	}
	w.log = nil
	must(w.Merge(t.Context(), task.ID, me))(t)
}
