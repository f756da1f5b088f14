package board_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	"moeca/internal/board"
	"moeca/internal/gateway/gatewayapi"
	"moeca/internal/handoff"
	"moeca/internal/sandbox"
)

// held is an agent that works until it is let go.
func held(work program) (program, chan struct{}) {
	free := make(chan struct{})
	return func(ctx context.Context, tree string, o handoff.WorkOrder, say func(handoff.Event)) sandbox.Exit {
		select {
		case <-free:
		case <-ctx.Done():
		}
		return work(ctx, tree, o, say)
	}, free
}

func ask(id, run string) gatewayapi.Ask {
	return gatewayapi.Ask{ID: id, Run: run, Upstream: "hub", Operations: []string{"github.create-branch"}}
}

func TestAskMovesTheTaskToThePerson(t *testing.T) {
	w := newWorld(t).start()
	w.repo()
	agent, free := held(edits(map[string]string{"a.txt": "x\n"}))
	w.driver.agent = agent
	id := w.task("Ask me").ID
	r := must(w.RunTask(t.Context(), id))(t)
	w.until(id, board.StatusRunning)

	waits := func(open ...gatewayapi.Ask) board.Task {
		t.Helper()
		if err := w.SetAsks(t.Context(), open); err != nil {
			t.Fatal(err)
		}
		return w.look(id)
	}
	task := waits(ask("a", r.ID), ask("other", "no-such-run"), ask("service", ""))
	if task.Status != board.StatusWaiting || task.Column != board.ColumnNeeds || task.NextStep != board.NextAnswer ||
		task.Cause != "the agent wants to github.create-branch at hub; allow or refuse" {
		t.Errorf("%s in %s, next %s: %q", task.Status, task.Column, task.NextStep, task.Cause)
	}
	if got := task.Attempt.Run; got.Status != board.StatusWaiting || got.Stages[0].Status != board.StatusWaiting || got.Cause == "" {
		t.Errorf("run %s, stage %s, %q", got.Status, got.Stages[0].Status, got.Cause)
	}
	for name, err := range map[string]error{
		"deleted":   w.DeleteTask(t.Context(), id),
		"run again": second(w.RunTask(t.Context(), id)),
		"approved":  second(w.Approve(t.Context(), id, board.ApproveRequest{}, person)),
	} {
		if err == nil {
			t.Errorf("a task that waits was %s", name)
		}
	}
	if task = waits(ask("a", r.ID), ask("b", r.ID)); !strings.HasSuffix(task.Cause, "(1 more wait)") {
		t.Errorf("two wait: %q", task.Cause)
	}
	many := ask("a", r.ID)
	many.Operations = []string{"a", "b", "c", "d", "e"}
	if task = waits(many, ask("b", r.ID)); !strings.HasPrefix(task.Cause, "the agent wants to a, b, c, and 2 more at hub") {
		t.Errorf("many operations: %q", task.Cause)
	}
	task = waits(ask("a", r.ID), ask("b", r.ID))
	version := task.Version
	if task = waits(ask("a", r.ID), ask("b", r.ID)); task.Version != version {
		t.Error("the same again changed the task")
	}
	if task = waits(); task.Status != board.StatusRunning || task.Attempt.Run.Status != board.StatusRunning || task.Attempt.Run.Cause != "" {
		t.Errorf("after the answer: %s, run %s %q", task.Status, task.Attempt.Run.Status, task.Attempt.Run.Cause)
	}

	// A run may end while its ask is still told of.
	waits(ask("c", r.ID))
	close(free)
	must(w.WaitRun(t.Context(), r.ID))(t)
	if task = waits(ask("c", r.ID)); task.Status != board.StatusReviewing || task.Attempt.Run.Status != board.StatusDone {
		t.Errorf("after the end: %s, run %s", task.Status, task.Attempt.Run.Status)
	}
	waits()
	w.checkTrue()

	page := must(w.EventsAfter(t.Context(), 0, 1000))(t)
	var told []string
	for _, e := range page.Events {
		if e.Topic == board.TopicAsks {
			told = append(told, e.Kind+" "+e.ID)
		}
	}
	slices.Sort(told)
	want := []string{
		"ask.ended a", "ask.ended b", "ask.ended c", "ask.ended other", "ask.ended service",
		"ask.opened a", "ask.opened b", "ask.opened c", "ask.opened other", "ask.opened service",
	}
	if !slices.Equal(told, want) {
		t.Errorf("events %q", told)
	}
}

// An agent may ask before the host has written down that it let it go.
func TestAskThatIsFasterThanTheHostIsShown(t *testing.T) {
	w := newWorld(t).start()
	w.repo()
	agent, free := held(edits(map[string]string{"a.txt": "x\n"}))
	w.driver.agent = agent
	id := w.task("Fast").ID
	asked := make(chan error, 1)
	w.hook = func(step string) {
		if step == "release" {
			asked <- w.SetAsks(context.Background(), []gatewayapi.Ask{ask("a", w.look(id).Attempt.Run.ID)})
		}
	}
	r := must(w.RunTask(t.Context(), id))(t)
	if err := <-asked; err != nil {
		t.Fatal(err)
	}
	w.until(id, board.StatusWaiting)
	if err := w.SetAsks(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	w.until(id, board.StatusRunning)
	close(free)
	must(w.WaitRun(t.Context(), r.ID))(t)
	if task := w.look(id); task.Status != board.StatusReviewing {
		t.Errorf("task is %s: %s", task.Status, task.Cause)
	}
	w.checkTrue()
}

func second[T any](_ T, err error) error { return err }

func TestRunThatWaitsCanBeStoppedAndRecovered(t *testing.T) {
	w := newWorld(t).start()
	w.repo()
	agent, _ := held(edits(map[string]string{"a.txt": "x\n"}))
	w.driver.agent = agent
	for _, end := range []string{"stop", "cancel", "restart"} {
		id := w.task("Ends by " + end).ID
		r := must(w.RunTask(t.Context(), id))(t)
		w.until(id, board.StatusRunning)
		if err := w.SetAsks(t.Context(), []gatewayapi.Ask{ask(end, r.ID)}); err != nil {
			t.Fatal(err)
		}
		w.until(id, board.StatusWaiting)
		want := board.StatusFailed
		switch end {
		case "stop":
			must(w.StopRun(t.Context(), r.ID))(t)
		case "cancel":
			must(w.CancelTask(t.Context(), id))(t)
			want = board.StatusCancelled
		case "restart":
			w.stop()
			w.start()
		}
		if task := w.look(id); task.Status != want || task.Cause == "" || !strings.Contains(task.Attempt.Run.Cause+task.Cause, "you") && end != "restart" {
			t.Errorf("%s: %s %q", end, task.Status, task.Cause)
		}
		w.checkTrue()
	}
}

func TestHostKilledWhileAnAskWaits(t *testing.T) {
	w := newWorld(t)
	started := make(chan struct{}, 1)
	w.driver.agent = hangs(started)
	w.start()
	w.repo()
	task := w.task("Half")
	r := must(w.RunTask(t.Context(), task.ID))(t)
	<-started
	w.until(task.ID, board.StatusRunning)
	if err := w.SetAsks(t.Context(), []gatewayapi.Ask{ask("a", r.ID)}); err != nil {
		t.Fatal(err)
	}
	c := newCrash(t, "wait")
	w.hook = c.hook
	w = w.restart()
	if task = w.look(task.ID); task.Status != board.StatusFailed || !strings.Contains(task.Cause, "the host stopped while a request of the agent waited for you; the work so far was kept at ") {
		t.Fatalf("task is %s: %s", task.Status, task.Cause)
	}
	w.checkTrue()
}
