package board_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"moeca/internal/board"
	"moeca/internal/ci"
	"moeca/internal/handoff"
	"moeca/internal/sandbox"
)

func TestGateSeesTheResultTreeAndNothingElse(t *testing.T) {
	w := newWorld(t).start()
	w.repo("/check", "all")
	task := w.run(w.task("Gate").ID)
	w.write("from-target.txt", "y\n") // the target moves: the result has both
	w.commit("meanwhile")
	var files []string
	var order handoff.WorkOrder
	var spec sandbox.Spec
	w.driver.command = func(ctx context.Context, tree string, o handoff.WorkOrder, say func(handoff.Event)) sandbox.Exit {
		order = o
		for _, e := range must(os.ReadDir(tree))(t) {
			files = append(files, e.Name())
		}
		w.driver.mu.Lock()
		for _, sb := range w.driver.live {
			spec = sb.spec
		}
		w.driver.mu.Unlock()
		return exits(0)(ctx, tree, o, say)
	}
	if c := w.check(task.ID); c.State != board.CIPassed {
		t.Fatalf("gate %+v", c)
	}
	if !slices.Equal(files, []string{"Makefile", "README.md", "from-target.txt", "lib"}) {
		t.Errorf("the gate saw %v", files)
	}
	if order.Gateway || order.Registry || spec.SocketDir != "" || len(w.gateway.scopes) != 1 {
		t.Error("the gate got sockets or a session")
	}
	if !slices.Equal(order.Env, ci.Environment(sandbox.Base)) || !slices.Equal(order.Command.Argv, []string{"/check", "all"}) {
		t.Errorf("the gate got %+v", order)
	}
	if left := must(filepath.Glob(filepath.Join(w.data, "trees", "ci-*")))(t); len(left) != 0 {
		t.Errorf("left over: %v", left)
	}
}

func TestGateThatDoesNotPass(t *testing.T) {
	ends := func(exit sandbox.Exit, events ...handoff.Event) program {
		return func(_ context.Context, _ string, _ handoff.WorkOrder, say func(handoff.Event)) sandbox.Exit {
			for _, e := range events {
				say(e)
			}
			return exit
		}
	}
	done := handoff.Event{Type: handoff.EventDone}
	for name, c := range map[string]struct {
		command program
		state   board.CIState
		cause   string
	}{
		"exit code":                        {exits(2), board.CIFailed, "exit code 2"},
		"a process killed for memory":      {ends(sandbox.Exit{Cause: sandbox.CauseDone, OOM: true}, done), board.CIError, "memory limit"},
		"out of memory with exit 0":        {ends(sandbox.Exit{Cause: sandbox.CauseOOM}, done), board.CIFailed, "out of memory"},
		"time limit with exit 0":           {ends(sandbox.Exit{Cause: sandbox.CauseTimeout}, done), board.CIFailed, "time limit"},
		"lost":                             {ends(sandbox.Exit{Cause: sandbox.CauseLost}, done), board.CIError, "lost"},
		"stopped by somebody":              {ends(sandbox.Exit{Cause: sandbox.CauseStopped}, done), board.CIError, "stopped"},
		"exit 0 that nobody reported":      {ends(sandbox.Exit{Cause: sandbox.CauseDone}), board.CIError, "without reporting"},
		"an exit without a cause":          {ends(sandbox.Exit{}, done), board.CIFailed, "exit code 0"},
		"claims to have passed, exit code": {ends(sandbox.Exit{Code: 9, Cause: sandbox.CauseFailed}, done), board.CIFailed, "exit code 9"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.driver.command = c.command
			w.start()
			w.repo("/check")
			task := w.run(w.task("Gate").ID)
			got := w.check(task.ID)
			if got.State != c.state || !strings.Contains(got.Cause, c.cause) {
				t.Fatalf("gate is %s: %s", got.State, got.Cause)
			}
			_, err := w.Approve(t.Context(), task.ID, w.request(task.ID), person)
			wantCode(t, err, "approval_locked")
		})
	}
}

func TestGateThatCannotRun(t *testing.T) {
	w := newWorld(t).start()
	w.repo("/check")
	task := w.run(w.task("Gate").ID)
	for _, method := range []string{"ensure", "prepare", "attach", "start", "release", "wait"} {
		w.driver.set(method, errors.New("no engine"))
		if c := w.check(task.ID); c.State != board.CIError || !strings.Contains(c.Cause, "no engine") {
			t.Errorf("%s fails: gate is %s: %s", method, c.State, c.Cause)
		}
		w.driver.set(method, nil)
	}
	if c := w.check(task.ID); c.State != board.CIPassed || w.driver.alive() != 0 {
		t.Errorf("afterwards: gate %+v, %d sandboxes", c, w.driver.alive())
	}
}

func TestGateLogIsBounded(t *testing.T) {
	w := newWorld(t)
	line := strings.Repeat("é", 8000) + "\n"
	w.driver.command = func(ctx context.Context, tree string, o handoff.WorkOrder, say func(handoff.Event)) sandbox.Exit {
		for range 30 {
			say(handoff.Event{Type: handoff.EventOutput, Text: line})
		}
		return exits(0)(ctx, tree, o, say)
	}
	w.start()
	w.repo("/check")
	task := w.run(w.task("Loud").ID)
	c := w.check(task.ID)
	if !c.LogCut || len(c.Log) > ci.TailLog || !strings.HasSuffix(c.Log, "é\nchecked\n") || strings.ContainsRune(c.Log, '\uFFFD') {
		t.Fatalf("log of %d bytes, cut %v", len(c.Log), c.LogCut)
	}
	whole := must(os.ReadFile(filepath.Join(w.data, "logs", c.ID+".log")))(t)
	if len(whole) != 30*len(line)+len("checked\n") {
		t.Fatalf("log file holds %d bytes", len(whole))
	}
}

func TestImageThatChangesMakesTheResultStale(t *testing.T) {
	w, one := reviewed(t)
	two := w.run(w.task("Two").ID)
	w.driver.digest = "sha256:" + strings.Repeat("c", 64)
	w.check(two.ID)
	if r := must(w.Review(t.Context(), one.ID))(t); r.CI.State != board.CIStale || r.CanApprove {
		t.Fatalf("review %+v", r)
	}
}

func TestGateIsJoinedNotStartedTwice(t *testing.T) {
	w := newWorld(t)
	goOn := make(chan struct{})
	w.driver.command = func(ctx context.Context, tree string, o handoff.WorkOrder, say func(handoff.Event)) sandbox.Exit {
		select {
		case <-goOn:
		case <-ctx.Done():
		}
		return exits(0)(ctx, tree, o, say)
	}
	w.start()
	w.repo("/check")
	task := w.run(w.task("Join").ID)
	first := must(w.RunCI(t.Context(), task.ID))(t)
	second := must(w.RunCI(t.Context(), task.ID))(t)
	if first.State != board.CIRunning || first.ID != second.ID {
		t.Fatalf("%+v and %+v", first, second)
	}
	if r := must(w.Review(t.Context(), task.ID))(t); r.CanApprove || r.Blockers[0].Code != "ci_running" {
		t.Fatalf("review %+v", r)
	}
	close(goOn)
	if c := must(w.WaitCI(t.Context(), task.ID))(t); c.State != board.CIPassed || c.ID != first.ID {
		t.Fatalf("gate %+v", c)
	}
}

func TestGateStartsByItselfWhereWished(t *testing.T) {
	w := newWorld(t)
	w.set.AutoCI = true
	w.start()
	w.repo("/check")
	task := w.run(w.task("Auto").ID)
	changed := w.bus.Subscribe(t.Context(), board.TopicTasks)
	for w.look(task.ID).CI != board.CIPassed {
		<-changed
	}
}

// The two attacks of a review: both leave a green gate over broken work.
func TestGateTheAgentNeuteredIsNotPlainGreen(t *testing.T) {
	for name, c := range map[string]struct {
		argv    []string
		changes map[string]string
		want    []string
	}{
		"its script rewritten": {[]string{"./check"}, map[string]string{"check": "#!/bin/sh\necho all good\n"}, []string{"check"}},
		"a TestMain added": {
			[]string{"go", "test", "./..."},
			map[string]string{"p/main_test.go": "package p\n\nimport (\n\t\"os\"\n\t\"testing\"\n)\n\nfunc TestMain(m *testing.M) { os.Exit(0) }\n"},
			[]string{"p/main_test.go"},
		},
		"a module in the way":  {[]string{"go", "test", "./..."}, map[string]string{"p/go.mod": "module p\n"}, []string{"p/go.mod"}},
		"an ordinary new test": {[]string{"go", "test", "./..."}, map[string]string{"p/q_test.go": "package p\n\nimport \"testing\"\n\nfunc TestQ(t *testing.T) {}\n"}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.write("check", "#!/bin/sh\nset -e\ngo test ./...\n")
			w.write("p/p.go", "package p\n\nfunc Add(a, b int) int { return a + b }\n")
			w.commit("a gate")
			c.changes["p/p.go"] = "package p\n\nfunc Add(a, b int) int { return a - b }\n"
			w.driver.agent = edits(c.changes)
			w.start()
			w.repo(c.argv...)
			task := w.run(w.task("Break it").ID)
			got := w.check(task.ID)
			state := board.CIPassedDrift
			if c.want == nil {
				state = board.CIPassed
			}
			if got.State != state || !slices.Equal(got.Changed, c.want) {
				t.Fatalf("gate is %s, changed %v: %s", got.State, got.Changed, got.Cause)
			}
			if r := must(w.Review(t.Context(), task.ID))(t); slices.Contains(r.Acks, board.AckGateChanged) != (c.want != nil) {
				t.Fatalf("acknowledgements %v", r.Acks)
			}
		})
	}
}

// A gate that swallowed the death of its own test process is not green.
func TestGateThatLostAProcessForMemoryIsNotGreen(t *testing.T) {
	w := newWorld(t)
	w.driver.command = func(ctx context.Context, tree string, o handoff.WorkOrder, say func(handoff.Event)) sandbox.Exit {
		exits(0)(ctx, tree, o, say)
		return sandbox.Ended{OOM: true, Stderr: "Killed"}.Exit()
	}
	w.start()
	w.repo("/check")
	task := w.run(w.task("Memory").ID)
	if c := w.check(task.ID); c.State != board.CIError || !strings.Contains(c.Cause, "memory limit") {
		t.Fatalf("gate is %s: %s", c.State, c.Cause)
	}
	if r := must(w.Review(t.Context(), task.ID))(t); r.CanApprove {
		t.Fatal("it can be approved")
	}
}
