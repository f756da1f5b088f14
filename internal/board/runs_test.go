package board_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"moeca/internal/board"
	"moeca/internal/handoff"
	"moeca/internal/sandbox"
)

func TestStopKeepsTheWork(t *testing.T) {
	w := newWorld(t)
	started := make(chan struct{}, 1)
	w.driver.agent = hangs(started)
	w.start()
	w.repo()
	task := w.task("Stop")
	r := must(w.RunTask(t.Context(), task.ID))(t)
	<-started
	r = must(w.StopRun(t.Context(), r.ID))(t)
	task = w.look(task.ID)
	if r.Status != board.StatusStopped || task.Status != board.StatusFailed || task.NextStep != board.NextRetry {
		t.Fatalf("run %s, task %s", r.Status, task.Status)
	}
	if !strings.HasPrefix(task.Cause, "stopped by you; the work so far was kept at ") || w.git("show", "moeca/1-1:half.txt") != "half" {
		t.Fatalf("cause: %s", task.Cause)
	}
	if w.gateway.alive()+w.sockets.alive()+w.driver.alive() != 0 {
		t.Fatal("something outlived the stop")
	}
	_, err := w.StopRun(t.Context(), r.ID)
	wantCode(t, err, "run_over")
	w.checkTrue()
}

func TestStopAtEveryStep(t *testing.T) {
	for _, step := range []string{"job", "execute", "tree", "sockets", "mint", "minted", "prepare", "attach", "start", "ready", "release", "events", "wait", "revoke", "snapshot", "branch", "snapshot-note", "end"} {
		t.Run(step, func(t *testing.T) {
			w := newWorld(t)
			task, r := w.stopAt(step, func(task board.Task, r board.Run) error { _, err := w.StopRun(t.Context(), r.ID); return err })
			// A stop that comes when the agent has finished leaves a success be.
			if r.Status != board.StatusStopped && r.Status != board.StatusDone {
				t.Fatalf("run is %s: %s", r.Status, r.Cause)
			}
			if task.Status.Running() || r.Status == board.StatusStopped && !strings.HasPrefix(task.Cause, "stopped by you") {
				t.Fatalf("task is %s: %s", task.Status, task.Cause)
			}
		})
	}
}

func TestCancelAtEveryStep(t *testing.T) {
	for _, step := range []string{"job", "execute", "tree", "mint", "prepare", "ready", "events", "wait", "revoke", "snapshot", "snapshot-note", "end"} {
		t.Run(step, func(t *testing.T) {
			w := newWorld(t)
			task, r := w.stopAt(step, func(task board.Task, r board.Run) error { _, err := w.CancelTask(t.Context(), task.ID); return err })
			if task.Status != board.StatusCancelled || r.Status != board.StatusStopped && r.Status != board.StatusDone {
				t.Fatalf("task is %s, run is %s: %s", task.Status, r.Status, r.Cause)
			}
			if _, err := os.Lstat(filepath.Join(w.data, "trees", task.Attempt.ID)); err == nil {
				t.Fatal("its tree is left")
			}
		})
	}
}

// stopAt starts a run, holds it at a step, lets end be told to it there, and
// returns what there is when end has answered.
func (w *world) stopAt(step string, end func(board.Task, board.Run) error) (board.Task, board.Run) {
	w.t.Helper()
	w.start()
	w.repo()
	task := w.task("Stop")
	reached, goOn := make(chan struct{}), make(chan struct{})
	var once sync.Once
	w.hook = func(s string) {
		if s == step {
			once.Do(func() { close(reached); <-goOn })
		}
	}
	r := must(w.RunTask(w.t.Context(), task.ID))(w.t)
	<-reached
	stopped := make(chan error, 1)
	go func() { stopped <- end(task, r) }()
	w.untilCancelled(r.ID)
	close(goOn)
	if err := <-stopped; err != nil {
		w.t.Fatal(err)
	}
	task, r = w.look(task.ID), must(w.Run(w.t.Context(), r.ID))(w.t)
	if w.gateway.alive()+w.sockets.alive()+w.driver.alive() != 0 {
		w.t.Fatal("something outlived the stop")
	}
	// Nothing starts it again.
	other := w.run(w.task("Another").ID)
	if other.Status != board.StatusReviewing {
		w.t.Fatalf("the next task is %s: %s", other.Status, other.Cause)
	}
	if again := must(w.Run(w.t.Context(), r.ID))(w.t); again.Status != r.Status {
		w.t.Fatalf("the run was %s and became %s", r.Status, again.Status)
	}
	w.checkTrue()
	return task, r
}

// A person stops at once, before anything of the run has begun: whatever the
// moment, what was answered is what is so afterwards.
func TestStopAndCancelRightAfterRun(t *testing.T) {
	w := newWorld(t)
	w.set.MaxRuns = 1
	w.start()
	w.repo()
	for i := range 40 {
		task := w.task(fmt.Sprint("At once ", i))
		r := must(w.RunTask(t.Context(), task.ID))(t)
		if i%2 == 0 {
			if got, err := w.StopRun(t.Context(), r.ID); board.CodeOf(err) == "run_over" {
				continue
			} else if err != nil || got.Status != board.StatusStopped && got.Status != board.StatusDone {
				t.Fatalf("stop answered %s, %v", got.Status, err)
			}
		} else {
			got := must(w.CancelTask(t.Context(), task.ID))(t)
			if got.Status != board.StatusCancelled || got.Attempt.Run.Status != board.StatusStopped && got.Attempt.Run.Status != board.StatusDone {
				t.Fatalf("cancel answered %s, run %s", got.Status, got.Attempt.Run.Status)
			}
		}
	}
	if w.driver.alive() != 0 {
		t.Fatal("a sandbox is alive")
	}
	w.checkTrue()
}

// What an earlier version left behind: a run that waits for a task that is closed.
func TestRunOfAClosedTaskIsNeverStarted(t *testing.T) {
	w := newWorld(t).start()
	w.repo()
	started := make(chan struct{}, 1)
	w.driver.agent = hangs(started)
	w.set.MaxRuns = 1
	w.stop()
	w.start()
	first := must(w.RunTask(t.Context(), w.task("First").ID))(t)
	<-started
	task := w.task("Closed")
	r := must(w.RunTask(t.Context(), task.ID))(t)
	w.sql(`UPDATE tasks SET status = 'cancelled' WHERE number = 2`)
	must(w.StopRun(t.Context(), first.ID))(t)
	w.driver.agent = edits(nil)
	if other := w.run(w.task("Third").ID); other.Status != board.StatusReviewing {
		t.Fatalf("the next task is %s: %s", other.Status, other.Cause)
	}
	if got := must(w.Run(t.Context(), r.ID))(t); got.Status != board.StatusQueued {
		t.Fatalf("the run of a closed task is %s", got.Status)
	}
	w.stop()
	w.start()
	if got := must(w.Run(t.Context(), r.ID))(t); got.Status != board.StatusStopped {
		t.Fatalf("after a start the run of a closed task is %s", got.Status)
	}
}

// untilCancelled waits until StopRun has told the run to end.
func (w *world) untilCancelled(id string) {
	w.t.Helper()
	for !w.Stopping(id) {
		if err := w.t.Context().Err(); err != nil {
			w.t.Fatal(err)
		}
	}
}

func TestCancelStopsKeepsAndCloses(t *testing.T) {
	w := newWorld(t)
	started := make(chan struct{}, 1)
	w.driver.agent = hangs(started)
	w.start()
	w.repo()
	task := w.task("Cancel")
	must(w.RunTask(t.Context(), task.ID))(t)
	<-started
	task = must(w.CancelTask(t.Context(), task.ID))(t)
	if task.Status != board.StatusCancelled || task.Column != board.ColumnDone {
		t.Fatalf("task is %s", task.Status)
	}
	if w.git("show", "moeca/1-1:half.txt") != "half" {
		t.Fatal("the work is gone")
	}
	if left := must(os.ReadDir(filepath.Join(w.data, "trees")))(t); len(left) != 0 {
		t.Fatalf("trees left: %v", left)
	}
	_, err := w.RunTask(t.Context(), task.ID)
	wantCode(t, err, "task_not_runnable")
	if err := w.DeleteTask(t.Context(), task.ID); err != nil {
		t.Fatal(err)
	}
	_, err = w.Task(t.Context(), task.ID)
	wantCode(t, err, "task_not_found")
	if next := w.task("Next"); next.Number != 2 {
		t.Fatalf("number %d was used before: it is part of a branch's name", next.Number)
	}
}

func TestNoMoreRunsThanAllowed(t *testing.T) {
	w := newWorld(t)
	w.set.MaxRuns = 2
	gate := make(chan struct{})
	work := w.driver.agent
	w.driver.agent = func(ctx context.Context, tree string, o handoff.WorkOrder, say func(handoff.Event)) sandbox.Exit {
		<-gate
		return work(ctx, tree, o, say)
	}
	w.start()
	w.repo()
	var runs []board.Run
	for i := range 5 {
		runs = append(runs, must(w.RunTask(t.Context(), w.task(fmt.Sprint("Task ", i)).ID))(t))
	}
	close(gate)
	for _, r := range runs {
		if r = must(w.WaitRun(t.Context(), r.ID))(t); r.Status != board.StatusDone {
			t.Errorf("run is %s: %s", r.Status, r.Cause)
		}
	}
	if w.driver.most > 2 {
		t.Errorf("%d sandboxes at once", w.driver.most)
	}
}

func TestTwoTasksInOneTick(t *testing.T) {
	w := newWorld(t).start()
	w.repo()
	var wg sync.WaitGroup
	var mu sync.Mutex
	numbers, branches := map[int64]bool{}, map[string]bool{}
	for i := range 6 {
		wg.Go(func() {
			task, err := w.CreateTask(t.Context(), board.NewTask{RepoID: "project", Title: fmt.Sprint("Same tick ", i)})
			if err != nil {
				t.Error(err)
				return
			}
			r, err := w.RunTask(t.Context(), task.ID)
			if err == nil {
				_, err = w.WaitRun(t.Context(), r.ID)
			}
			if err == nil {
				task, err = w.Task(t.Context(), task.ID)
			}
			if err != nil {
				t.Error(err)
				return
			}
			mu.Lock()
			defer mu.Unlock()
			numbers[task.Number], branches[task.Attempt.Branch] = true, true
		})
	}
	wg.Wait()
	if len(numbers) != 6 || len(branches) != 6 {
		t.Fatalf("%d numbers, %d branches for 6 tasks", len(numbers), len(branches))
	}
}

func TestOneTaskRunsOnceAtATime(t *testing.T) {
	w := newWorld(t)
	started := make(chan struct{}, 8)
	w.driver.agent = hangs(started)
	w.start()
	w.repo()
	task := w.task("Twice")
	var wg sync.WaitGroup
	var mu sync.Mutex
	ok := 0
	for range 4 {
		wg.Go(func() {
			if _, err := w.RunTask(t.Context(), task.ID); err == nil {
				mu.Lock()
				defer mu.Unlock()
				ok++
			}
		})
	}
	wg.Wait()
	if ok != 1 {
		t.Fatalf("%d runs of one task", ok)
	}
}

func TestRetryAfterEveryFailedStart(t *testing.T) {
	boom := errors.New("boom")
	for name, f := range map[string]struct{ breakIt, mend func(*world) }{
		"gateway gives no session":     {func(w *world) { w.gateway.fail = boom }, func(w *world) { w.gateway.fail = nil }},
		"no socket directory":          {func(w *world) { w.sockets.fail = boom }, func(w *world) { w.sockets.fail = nil }},
		"image cannot be made":         {func(w *world) { w.driver.set("ensure", boom) }, func(w *world) { w.driver.set("ensure", nil) }},
		"sandbox cannot be prepared":   {func(w *world) { w.driver.set("prepare", boom) }, func(w *world) { w.driver.set("prepare", nil) }},
		"sandbox cannot be attached":   {func(w *world) { w.driver.set("attach", boom) }, func(w *world) { w.driver.set("attach", nil) }},
		"sandbox does not start":       {func(w *world) { w.driver.set("start", boom) }, func(w *world) { w.driver.set("start", nil) }},
		"work order is not taken":      {func(w *world) { w.driver.set("release", boom) }, func(w *world) { w.driver.set("release", nil) }},
		"end of the sandbox not known": {func(w *world) { w.driver.set("wait", boom) }, func(w *world) { w.driver.set("wait", nil) }},
		"a directory is in the way": {func(w *world) {
			if err := os.WriteFile(filepath.Join(w.data, "trees-file"), nil, 0o600); err != nil {
				w.t.Fatal(err)
			}
			if err := os.Rename(filepath.Join(w.data, "trees"), filepath.Join(w.data, "trees-away")); err != nil {
				w.t.Fatal(err)
			}
			if err := os.Rename(filepath.Join(w.data, "trees-file"), filepath.Join(w.data, "trees")); err != nil {
				w.t.Fatal(err)
			}
		}, func(w *world) {
			if err := errors.Join(os.Remove(filepath.Join(w.data, "trees")), os.Rename(filepath.Join(w.data, "trees-away"), filepath.Join(w.data, "trees"))); err != nil {
				w.t.Fatal(err)
			}
		}},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t).start()
			w.repo()
			task := w.task("Retry")
			f.breakIt(w)
			task = w.run(task.ID)
			if task.Status != board.StatusFailed || task.Cause == "" || task.NextStep != board.NextRetry {
				t.Fatalf("task is %s: %q", task.Status, task.Cause)
			}
			if w.gateway.alive()+w.sockets.alive()+w.driver.alive() != 0 {
				t.Fatalf("left over: %d sessions, %d socket directories, %d sandboxes", w.gateway.alive(), w.sockets.alive(), w.driver.alive())
			}
			f.mend(w)
			if task = w.run(task.ID); task.Status != board.StatusReviewing || task.Attempt.Number != 2 {
				t.Fatalf("retry is %s: %s", task.Status, task.Cause)
			}
			w.checkTrue()
		})
	}
}

func TestBranchesInTheWay(t *testing.T) {
	for name, branch := range map[string]string{"same name": "moeca/1-1", "no room below": "moeca"} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t).start()
			w.repo()
			w.git("branch", branch, "main")
			before := w.git("rev-parse", branch)
			task := w.run(w.task("Branch").ID)
			if task.Status != board.StatusReviewing {
				t.Fatalf("task is %s: %s", task.Status, task.Cause)
			}
			if w.git("rev-parse", branch) != before {
				t.Fatal("a branch of the user was moved")
			}
			if got := w.git("rev-parse", task.Attempt.Branch); got != task.Attempt.HeadOID {
				t.Fatalf("branch %s is at %s", task.Attempt.Branch, got)
			}
		})
	}
}

func TestAgentsThatDoNotSucceed(t *testing.T) {
	writes := edits(map[string]string{"x.txt": "x\n"})
	silent := func(ctx context.Context, tree string, o handoff.WorkOrder, e handoff.Event, exit sandbox.Exit, say func(handoff.Event)) sandbox.Exit {
		writes(ctx, tree, o, func(handoff.Event) {})
		if e.Type != "" {
			say(e)
		}
		return exit
	}
	for name, c := range map[string]struct {
		say  handoff.Event
		exit sandbox.Exit
		want string
	}{
		"exit 0 without a report":    {handoff.Event{}, sandbox.Exit{Cause: sandbox.CauseDone}, "without a final report"},
		"report of an error, exit 0": {handoff.Event{Type: handoff.EventDone, Error: true, Text: "no idea"}, sandbox.Exit{Cause: sandbox.CauseDone}, "gave up: no idea"},
		"claims success, exit 1":     {handoff.Event{Type: handoff.EventDone, Text: "all good"}, sandbox.Exit{Code: 1, Cause: sandbox.CauseFailed}, "exit code 1"},
		"claims success, killed":     {handoff.Event{Type: handoff.EventDone, Text: "all good"}, sandbox.Exit{Cause: sandbox.CauseOOM}, "out of memory"},
		"claims success, too late":   {handoff.Event{Type: handoff.EventDone, Text: "all good"}, sandbox.Exit{Cause: sandbox.CauseTimeout}, "time limit"},
		"escape sequences in report": {handoff.Event{Type: handoff.EventDone, Error: true, Text: "\x1b[31mred\nline"}, sandbox.Exit{Code: 1}, "gave up: [31mred line"},
		"an exit nobody knows":       {handoff.Event{Type: handoff.EventDone}, sandbox.Exit{}, "exit code 0"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.driver.agent = func(ctx context.Context, tree string, o handoff.WorkOrder, say func(handoff.Event)) sandbox.Exit {
				return silent(ctx, tree, o, c.say, c.exit, say)
			}
			w.start()
			w.repo()
			task := w.run(w.task("Fail").ID)
			if task.Status != board.StatusFailed || !strings.Contains(task.Cause, c.want) {
				t.Fatalf("task is %s: %s", task.Status, task.Cause)
			}
			if w.git("show", "moeca/1-1:x.txt") != "x" || !strings.Contains(task.Cause, "the work so far was kept at") {
				t.Fatalf("work lost: %s", task.Cause)
			}
			if r := must(w.Review(t.Context(), task.ID))(t); r.CanApprove {
				t.Fatal("a failed run can be approved")
			}
		})
	}
}

func TestCloseKeepsTheWork(t *testing.T) {
	w := newWorld(t)
	started := make(chan struct{}, 1)
	w.driver.agent = hangs(started)
	w.start()
	w.repo()
	task := w.task("Close")
	must(w.RunTask(t.Context(), task.ID))(t)
	<-started
	w.stop()
	w.start()
	task = w.look(task.ID)
	if task.Status != board.StatusFailed || !strings.Contains(task.Cause, "the host was shut down while") || w.git("show", "moeca/1-1:half.txt") != "half" {
		t.Fatalf("task is %s: %s", task.Status, task.Cause)
	}
}

func TestRunThatCannotBeRecordedIsSettledLater(t *testing.T) {
	for _, step := range []string{"mint", "release", "wait", "snapshot"} {
		t.Run(step, func(t *testing.T) {
			w := newWorld(t)
			w.set.RetryAfter = time.Hour
			w.start()
			w.repo()
			task := w.task("Disk full")
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
			w.sql(`ALTER TABLE away RENAME TO run_events`)
			must(w.StopRun(t.Context(), r.ID))(t)
			task = w.look(task.ID)
			if task.Status != board.StatusFailed {
				t.Fatalf("task is %s: %s", task.Status, task.Cause)
			}
			if step == "wait" || step == "snapshot" {
				w.checkKept(task, true)
			}
			w.checkTrue()
			if task = w.run(task.ID); task.Status != board.StatusReviewing {
				t.Fatalf("retry is %s: %s", task.Status, task.Cause)
			}
		})
	}
}

func TestHostileFiguresStaySmall(t *testing.T) {
	w := newWorld(t)
	w.driver.agent = func(ctx context.Context, tree string, o handoff.WorkOrder, say func(handoff.Event)) sandbox.Exit {
		for i := range 2000 {
			name := filepath.Join(tree, fmt.Sprintf("%s-%d", strings.Repeat("p", 100), i))
			if err := syscall.Mkfifo(name, 0o644); err != nil {
				return sandbox.Exit{Code: 1, Detail: err.Error()}
			}
		}
		say(handoff.Event{Type: handoff.EventDone, Text: strings.Repeat("é", 100_000)})
		return sandbox.Exit{Cause: sandbox.CauseDone}
	}
	w.start()
	w.repo()
	task := w.run(w.task("Hostile").ID)
	doc := must(json.Marshal(task))(t)
	last := task.Attempt.Skipped[len(task.Attempt.Skipped)-1]
	if len(doc) > 64<<10 || !strings.HasSuffix(last.Reason, " more") {
		t.Fatalf("the card is %d bytes; last skipped %+v", len(doc), last)
	}
}
