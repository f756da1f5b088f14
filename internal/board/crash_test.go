package board_test

import (
	"bytes"
	"database/sql"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"moeca/internal/audit"
	"moeca/internal/board"
	"moeca/internal/run"
)

// crash lets the work go on until a step and then freezes it there for good, as
// a killed process would: nothing after the step happens, no clean-up runs. The
// database is copied as it lies on the disk, and a new host starts on the copy.
// What is outside the host (engine, gateway, log, repository) is the same.
type crash struct {
	step   string
	reach  chan struct{}
	thaw   chan struct{}
	frozen sync.Once
}

func newCrash(t *testing.T, step string) *crash {
	c := &crash{step: step, reach: make(chan struct{}), thaw: make(chan struct{})}
	t.Cleanup(func() { close(c.thaw) }) // runs before the service is closed
	return c
}

func (c *crash) hook(step string) {
	if step != c.step {
		return
	}
	c.frozen.Do(func() { close(c.reach) })
	<-c.thaw
	runtime.Goexit()
}

// restart starts another host on what the frozen one left on the disk.
func (w *world) restart() *world {
	w.t.Helper()
	data := w.t.TempDir()
	if err := os.CopyFS(data, os.DirFS(w.data)); err != nil {
		w.t.Fatal(err)
	}
	n := &world{
		t: w.t, data: data, path: w.path, driver: w.driver, gateway: w.gateway, sockets: w.sockets, ledger: w.ledger,
		signer: w.signer, set: w.set,
	}
	return n.start()
}

// checkTrue compares everything stored about runs with the events they are
// folded from.
func (w *world) checkTrue() {
	w.t.Helper()
	type stored struct{ id, state, status string }
	var all []stored
	events := map[string][]run.Event{}
	err := w.db.Read(w.t.Context(), func(tx *sql.Tx) error {
		rows, err := tx.QueryContext(w.t.Context(), `SELECT id, state, status FROM runs`)
		if err != nil {
			return err
		}
		defer rows.Close()
		for rows.Next() {
			var s stored
			if err := rows.Scan(&s.id, &s.state, &s.status); err != nil {
				return err
			}
			all = append(all, s)
		}
		ev, err := tx.QueryContext(w.t.Context(), `SELECT run_id, kind, at, data FROM run_events ORDER BY run_id, seq`)
		if err != nil {
			return err
		}
		defer ev.Close()
		for ev.Next() {
			var id, kind, data string
			var ns int64
			if err := ev.Scan(&id, &kind, &ns, &data); err != nil {
				return err
			}
			e, err := run.Decode(run.Kind(kind), ns, []byte(data))
			if err != nil {
				return err
			}
			events[id] = append(events[id], e)
		}
		return ev.Err()
	})
	if err != nil {
		w.t.Fatal(err)
	}
	for _, s := range all {
		var st run.State
		for _, e := range events[s.id] {
			st = run.Fold(st, e)
		}
		doc, err := json.Marshal(st)
		if err != nil {
			w.t.Fatal(err)
		}
		if !bytes.Equal(doc, []byte(s.state)) || string(st.Status) != s.status {
			w.t.Errorf("run %s: stored state\n%s\nis not the fold\n%s", s.id, s.state, doc)
		}
	}
}

// steps of a run, in order, and whether the agent had already written by then.
var runSteps = []struct {
	name    string
	changed bool
}{
	{"tree", false},
	{"sockets", false},
	{"mint", false},
	{"minted", false},
	{"prepare", false},
	{"attach", false},
	{"start", false},
	{"ready", false},
	{"release", false},
	{"wait", true},
	{"exited", true},
	{"remove", true},
	{"revoke", true},
	{"revoked", true},
	{"snapshot", true},
	{"hold", true},
	{"branch", true},
	{"snapshot-note", true},
	{"end", true},
}

func TestHostKilledAtEveryStepOfARun(t *testing.T) {
	for _, step := range runSteps {
		t.Run(step.name, func(t *testing.T) {
			w := newWorld(t)
			w.start()
			w.repo()
			task := w.task("Crash")
			c := newCrash(t, step.name)
			w.hook = c.hook
			must(w.RunTask(t.Context(), task.ID))(t)
			<-c.reach
			w = w.restart()

			task = w.look(task.ID)
			if task.Status != board.StatusFailed || task.NextStep != board.NextRetry || !strings.HasPrefix(task.Cause, "the host stopped while ") {
				t.Fatalf("task is %s: %s", task.Status, task.Cause)
			}
			if w.driver.alive() != 0 || w.gateway.alive() != 0 || w.sockets.alive() != 0 {
				t.Errorf("left over: %d sandboxes, %d sessions, %d socket directories", w.driver.alive(), w.gateway.alive(), w.sockets.alive())
			}
			w.checkKept(task, step.changed)
			w.checkTrue()
			// A second start changes nothing.
			again := w.restart()
			if got := again.look(task.ID); got.Cause != task.Cause || got.Version != task.Version {
				t.Errorf("second start changed the task: %s", got.Cause)
			}
			// Retry works.
			if got := again.run(task.ID); got.Status != board.StatusReviewing || got.Attempt.Number != 2 {
				t.Errorf("retry ended as %s: %s", got.Status, got.Cause)
			}
			again.checkTrue()
		})
	}
}

// checkKept checks that what the agent wrote is a commit on the branch of the
// attempt, and that the task tells of it.
func (w *world) checkKept(task board.Task, changed bool) {
	w.t.Helper()
	if !changed {
		if !strings.HasSuffix(task.Cause, "nothing had been changed") || w.git("for-each-ref", "refs/heads/moeca") != "" {
			w.t.Errorf("nothing had been changed, but: %s", task.Cause)
		}
		return
	}
	head := task.Attempt.HeadOID
	if head == "" || !strings.HasSuffix(task.Cause, "; the work so far was kept at "+head[:12]) {
		w.t.Fatalf("work is not told of: head %q, %s", head, task.Cause)
	}
	if got := w.git("rev-parse", task.Attempt.Branch); got != head {
		w.t.Errorf("branch %s is at %s, not at %s", task.Attempt.Branch, got, head)
	}
	if got := w.git("for-each-ref", "--format=%(refname)", "refs/heads/moeca"); got != "refs/heads/"+task.Attempt.Branch {
		w.t.Errorf("branches: %s", got)
	}
	if w.git("show", head+":lib/b.txt") != "new" || task.Files != 2 {
		w.t.Errorf("the commit does not hold the work")
	}
}

func TestHostKilledWhileTheAgentWorks(t *testing.T) {
	w := newWorld(t)
	started := make(chan struct{}, 1)
	w.driver.agent = hangs(started)
	w.start()
	w.repo()
	task := w.task("Half")
	must(w.RunTask(t.Context(), task.ID))(t)
	<-started
	w.until(task.ID, board.StatusRunning)
	c := newCrash(t, "wait") // the old host goes no further once its sandbox is swept
	w.hook = c.hook
	w = w.restart()
	task = w.look(task.ID)
	if task.Status != board.StatusFailed || !strings.Contains(task.Cause, "the host stopped while the agent was working; the work so far was kept at ") {
		t.Fatalf("task is %s: %s", task.Status, task.Cause)
	}
	if w.git("show", task.Attempt.Branch+":half.txt") != "half" {
		t.Fatal("half-done work was lost")
	}
	w.checkTrue()
}

func TestQueuedRunsStartAfterARestart(t *testing.T) {
	w := newWorld(t)
	w.set.MaxRuns = 1
	w.start()
	w.repo()
	first, second := w.task("First"), w.task("Second")
	c := newCrash(t, "tree")
	w.hook = c.hook
	must(w.RunTask(t.Context(), first.ID))(t)
	<-c.reach
	r := must(w.RunTask(t.Context(), second.ID))(t)
	w = w.restart()
	must(w.WaitRun(t.Context(), r.ID))(t)
	if got := w.look(second.ID); got.Status != board.StatusReviewing {
		t.Fatalf("queued task is %s: %s", got.Status, got.Cause)
	}
}

func TestHostKilledWhileTheGateRuns(t *testing.T) {
	for _, step := range []string{"ci-tree", "ci-prepare", "ci-release", "ci-wait"} {
		t.Run(step, func(t *testing.T) {
			w := newWorld(t).start()
			w.repo("/check")
			task := w.run(w.task("Gate").ID)
			c := newCrash(t, step)
			w.hook = c.hook
			must(w.RunCI(t.Context(), task.ID))(t)
			<-c.reach
			w = w.restart()
			r := must(w.Review(t.Context(), task.ID))(t)
			if r.CI.State != board.CIError || r.CanApprove || w.driver.alive() != 0 {
				t.Fatalf("gate is %s (%s)", r.CI.State, r.CI.Cause)
			}
			left := must(filepath.Glob(filepath.Join(w.data, "trees", "ci-*")))(t)
			if len(left) > 0 {
				t.Fatalf("left over %v", left)
			}
			if c := w.check(task.ID); c.State != board.CIPassed {
				t.Fatalf("gate after the restart %+v", c)
			}
		})
	}
}

func TestRecoverWithoutTheRepository(t *testing.T) {
	w := newWorld(t)
	started := make(chan struct{}, 1)
	w.driver.agent = hangs(started)
	w.start()
	w.repo()
	task := w.task("Gone")
	must(w.RunTask(t.Context(), task.ID))(t)
	<-started
	w.until(task.ID, board.StatusRunning)
	c := newCrash(t, "wait")
	w.hook = c.hook
	if err := os.Rename(w.path, w.path+"-away"); err != nil {
		t.Fatal(err)
	}
	w = w.restart() // it starts, and tells where the files are
	task = w.look(task.ID)
	tree := filepath.Join(w.data, "trees", task.Attempt.ID)
	if task.Status != board.StatusFailed || !strings.Contains(task.Cause, "the files are kept in "+tree) {
		t.Fatalf("task is %s: %s", task.Status, task.Cause)
	}
	if err := os.Rename(w.path+"-away", w.path); err != nil {
		t.Fatal(err)
	}
	must(w.CancelTask(t.Context(), task.ID))(t)
	if _, err := os.Stat(filepath.Join(tree, "half.txt")); err != nil {
		t.Fatalf("the only copy was removed: %v", err)
	}
}

func TestMergeThatWaitsForTheLogOrTheRepository(t *testing.T) {
	w, task := reviewed(t)
	must(w.Approve(t.Context(), task.ID, w.request(task.ID), person))(t)
	w.ledger.set(errors.New("disk full"))
	_, err := w.Merge(t.Context(), task.ID, person)
	wantCode(t, err, "audit_unavailable")
	if got := w.look(task.ID); got.Status != board.StatusMerging {
		t.Fatalf("task is %s", got.Status)
	}
	_, err = w.Merge(t.Context(), task.ID, person)
	wantCode(t, err, "audit_unavailable")
	if err := os.Rename(w.path, w.path+"-away"); err != nil {
		t.Fatal(err)
	}
	w.stop()
	w.start() // starts all the same
	if got := w.look(task.ID); got.Status != board.StatusMerging || !strings.HasPrefix(got.Cause, "the merge is not settled: ") {
		t.Fatalf("task is %s: %s", got.Status, got.Cause)
	}
	if err := os.Rename(w.path+"-away", w.path); err != nil {
		t.Fatal(err)
	}
	w.ledger.set(nil)
	m := must(w.Merge(t.Context(), task.ID, person))(t)
	if got := w.look(task.ID); got.Status != board.StatusDone || m.Seq == 0 || w.git("rev-list", "--count", "--merges", "main") != "1" {
		t.Fatalf("task is %s, merge %+v", got.Status, m)
	}
}

func TestHostKilledAtEveryStepOfAMerge(t *testing.T) {
	for _, c := range []struct {
		step   string
		merged bool
		status board.Status
	}{
		{"approval-append", false, board.StatusReviewing},
		{"approval-store", false, board.StatusReviewing},
		{"land", false, board.StatusReviewing},
		{"landed", true, board.StatusDone},
		{"merge-append", true, board.StatusDone},
		{"merge-store", true, board.StatusDone},
	} {
		for _, moved := range []bool{false, true} {
			name := c.step
			if moved {
				name += ", and the target moves on"
			}
			t.Run(name, func(t *testing.T) {
				w, task := reviewed(t)
				req := w.request(task.ID)
				stop := newCrash(t, c.step)
				w.hook = stop.hook
				go w.ApproveAndMerge(t.Context(), task.ID, req, person)
				<-stop.reach
				if moved {
					w.git("read-tree", "HEAD")
					w.git("reset", "-q", "--hard")
					w.write("later.txt", "x\n")
					w.commit("later")
				}
				w = w.restart()
				if got := w.look(task.ID); got.Status != c.status {
					t.Fatalf("task is %s: %s", got.Status, got.Cause)
				}
				merges := w.git("rev-list", "--count", "--merges", "main")
				rows := 0
				for _, k := range w.ledger.kinds() {
					if k == audit.KindMerge {
						rows++
					}
				}
				if want := map[bool]string{true: "1", false: "0"}[c.merged]; merges != want || rows != len(want)*int(want[0]-'0') {
					t.Fatalf("%s merges and %d rows, want %s", merges, rows, want)
				}
				if !c.merged {
					// Nothing of it counts: the person looks and approves again.
					if !moved {
						if _, err := w.Merge(t.Context(), task.ID, person); c.step != "land" {
							wantCode(t, err, "not_approved")
						} else if err != nil {
							t.Fatalf("merge again: %v", err)
						}
					}
					return
				}
				m := must(w.Merged(t.Context(), task.ID))(t)
				if m.Seq == 0 || !slices.Contains(strings.Fields(w.git("rev-list", "main")), m.Commit) || m.Note == "" {
					t.Fatalf("merge %+v", m)
				}
			})
		}
	}
}
