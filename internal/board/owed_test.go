package board_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"moeca/internal/board"
	"moeca/internal/handoff"
	"moeca/internal/sandbox"
)

// Whatever could not be recorded is recorded as soon as it can be, without a
// restart and without anybody asking.
func TestRunThatCouldNotBeRecordedEndsByItself(t *testing.T) {
	for _, step := range []string{"job", "execute", "tree", "mint", "release", "wait", "snapshot", "end"} {
		t.Run(step, func(t *testing.T) {
			w := newWorld(t)
			w.set.RetryAfter = time.Millisecond
			w.start()
			w.repo()
			task := w.task("Owed")
			var once sync.Once
			broken := make(chan struct{})
			w.hook = func(s string) {
				if s == step {
					once.Do(func() { w.sql(`ALTER TABLE run_events RENAME TO away`); close(broken) })
				}
			}
			r := must(w.RunTask(t.Context(), task.ID))(t)
			<-broken
			w.untilCancelled(r.ID) // it has given up
			if w.gateway.alive()+w.sockets.alive()+w.driver.alive() != 0 {
				t.Fatal("something was left running")
			}
			if _, err := w.StopRun(t.Context(), r.ID); err == nil {
				t.Fatal("a stop that was not recorded was acknowledged")
			}
			if _, err := w.CancelTask(t.Context(), task.ID); err == nil {
				t.Fatal("a cancellation that was not recorded was acknowledged")
			}
			w.sql(`ALTER TABLE away RENAME TO run_events`)
			if r = must(w.WaitRun(t.Context(), r.ID))(t); step == "end" && r.Status != board.StatusDone {
				t.Fatalf("only the end was owed, yet the run is %s: %s", r.Status, r.Cause)
			} else if step != "end" && (r.Status != board.StatusFailed || !strings.Contains(r.Cause, "could not be recorded")) {
				t.Fatalf("run is %s: %s", r.Status, r.Cause)
			}
			if task = w.look(task.ID); task.Status.Running() {
				t.Fatalf("task is %s", task.Status)
			}
			w.checkTrue()
			if task = w.run(task.ID); task.Status != board.StatusReviewing {
				t.Fatalf("retry is %s: %s", task.Status, task.Cause)
			}
		})
	}
}

// full lets the database grow no more; room lets it grow again.
func (w *world) full() { w.sql(`PRAGMA max_page_count = 1`) }
func (w *world) room() { w.sql(`PRAGMA max_page_count = 1000000`) }

func TestFullDiskIsToldAndSurvived(t *testing.T) {
	w := newWorld(t)
	w.set.RetryAfter = time.Millisecond
	work := edits(map[string]string{"x.txt": "x\n"})
	w.driver.agent = func(ctx context.Context, tree string, o handoff.WorkOrder, say func(handoff.Event)) sandbox.Exit {
		return work(ctx, tree, o, func(e handoff.Event) {
			if e.Type == handoff.EventDone {
				e.Text = strings.Repeat("a long report ", 500)
			}
			say(e)
		})
	}
	w.start()
	w.repo()
	task := w.task("Full")
	var once sync.Once
	reached := make(chan struct{})
	w.hook = func(s string) {
		if s == "end" {
			once.Do(func() { w.full(); close(reached) })
		}
	}
	r := must(w.RunTask(t.Context(), task.ID))(t)
	<-reached
	w.untilCancelled(r.ID)
	_, err := w.CreateTask(t.Context(), board.NewTask{RepoID: "project", Title: "More", Detail: strings.Repeat("x", 100_000)})
	wantCode(t, err, "disk_full")
	if board.KindOf(err) != board.Unavailable {
		t.Fatalf("kind %v", board.KindOf(err))
	}
	_, err = w.StopRun(t.Context(), r.ID)
	wantCode(t, err, "disk_full")
	w.room()
	r = must(w.WaitRun(t.Context(), r.ID))(t)
	if got := w.look(task.ID); r.Status != board.StatusDone || got.Status != board.StatusReviewing || !strings.HasPrefix(got.Attempt.Summary, "a long report") {
		t.Fatalf("run is %s (%s), task %s", r.Status, r.Cause, got.Status)
	}
	w.checkTrue()
}

func TestGateResultThatCouldNotBeStoredIsStoredLater(t *testing.T) {
	w := newWorld(t)
	w.set.RetryAfter = time.Millisecond
	w.start()
	w.repo("/check")
	task := w.run(w.task("Gate").ID)
	var once sync.Once
	w.hook = func(s string) {
		if s == "ci-wait" {
			once.Do(func() { w.sql(`ALTER TABLE events RENAME TO away`) })
		}
	}
	must(w.RunCI(t.Context(), task.ID))(t)
	if c := must(w.WaitCI(t.Context(), task.ID))(t); c.State != board.CIRunning {
		t.Fatalf("gate is %s", c.State)
	}
	changed := w.bus.Subscribe(t.Context(), board.TopicTasks)
	w.sql(`ALTER TABLE away RENAME TO events`)
	for w.look(task.ID).CI != board.CIPassed {
		<-changed
	}
	if rows := w.ledger.kinds(); len(rows) != 1 {
		t.Fatalf("the log has %d rows of one gate", len(rows))
	}
}

func TestDiskFullIsRecognised(t *testing.T) {
	for name, err := range map[string]error{
		"of a file":       fmt.Errorf("write x: %w", syscall.ENOSPC),
		"of a quota":      fmt.Errorf("write x: %w", syscall.EDQUOT),
		"of git":          errors.New("exit status 128: fatal: unable to write loose object: No space left on device"),
		"of itself again": board.DiskFull(syscall.ENOSPC),
	} {
		if got := board.DiskFull(err); board.CodeOf(got) != "disk_full" || board.KindOf(got) != board.Unavailable {
			t.Errorf("%s: %v", name, got)
		}
	}
	for _, err := range []error{nil, errors.New("no such file"), syscall.EIO} {
		if got := board.DiskFull(err); got != nil {
			t.Errorf("%v is taken for a full disk", err)
		}
	}
}
