package board_test

import (
	"context"
	"database/sql"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"moeca/internal/board"
	"moeca/internal/git"
	"moeca/internal/handoff"
	"moeca/internal/pubsub"
	"moeca/internal/sandbox"
	"moeca/internal/sqlite"
)

var person = board.Actor{Person: true, Name: "Ada"}

// world is a Service on a real repository with a fake engine, gateway and log,
// which outlive it.
type world struct {
	*board.Service
	t       *testing.T
	data    string
	path    string // user's repository
	db      *sqlite.DB
	driver  *fakeDriver
	gateway *fakeGateway
	sockets *fakeSockets
	ledger  *fakeLedger
	signer  signer
	bus     *pubsub.Bus
	opens   atomic.Int64 // repositories opened
	hook    func(step string)
	set     board.Settings
	log     error  // why the log is not to be relied on
	stop    func() // ends service and database in order
}

// countingRepos counts what asks git.
type countingRepos struct {
	board.Repositories
	n *atomic.Int64
}

func (c countingRepos) Open(ctx context.Context, path string) (board.Source, error) {
	c.n.Add(1)
	return c.Repositories.Open(ctx, path)
}

func newWorld(t *testing.T) *world {
	t.Helper()
	t.Parallel()
	w := &world{t: t, data: t.TempDir(), driver: newDriver(), gateway: &fakeGateway{}, sockets: &fakeSockets{}, ledger: &fakeLedger{}, signer: newSigner('k')}
	w.path = filepath.Join(t.TempDir(), "project")
	w.git("init", "-q", "-b", "main", w.path)
	w.write("README.md", "hello\n")
	w.write("lib/a.txt", "one\ntwo\nthree\n")
	w.write("Makefile", "test:\n\ttrue\n")
	w.commit("first")
	w.driver.agent = edits(map[string]string{"lib/a.txt": "one\n2\nthree\n", "lib/b.txt": "new\n"})
	w.driver.command = exits(0)
	return w
}

// start opens the database and recovers, as the host does at its start.
func (w *world) start() *world {
	w.t.Helper()
	w.open()
	if err := w.Recover(w.t.Context()); err != nil {
		w.t.Fatalf("recover: %v", err)
	}
	return w
}

func (w *world) open() {
	w.t.Helper()
	db, err := sqlite.Open(w.t.Context(), filepath.Join(w.data, "host.db"), board.Schema(), sqlite.Options{})
	if err != nil {
		w.t.Fatal(err)
	}
	w.bus = &pubsub.Bus{}
	who := git.Identity{Name: "Host", Email: "host@example.org"}
	svc, err := board.New(board.Deps{
		DB: db, Bus: w.bus, Driver: w.driver, Gateway: w.gateway, Sockets: w.sockets, Providers: w.gateway, Ledger: w.ledger, Log: w.ledger,
		Repos:  countingRepos{board.NewRepositories(board.GitOptions{Data: w.data, Owner: git.Owner{UID: -1, GID: -1}, Identity: who}), &w.opens},
		Trust:  func(context.Context) error { return w.log },
		Signer: w.signer, Data: w.data, Owner: "test", UID: 1000, GID: 1000, Identity: who, Settings: w.set,
		Hook: func(step string) {
			if h := w.hook; h != nil {
				h(step)
			}
		},
	})
	if err != nil {
		w.t.Fatal(err)
	}
	w.Service, w.db = svc, db
	w.stop = sync.OnceFunc(func() {
		if err := errors.Join(svc.Close(), db.Close()); err != nil {
			w.t.Error(err)
		}
	})
	w.t.Cleanup(w.stop)
}

func (w *world) git(args ...string) string {
	w.t.Helper()
	if args[0] != "init" {
		args = append([]string{"-C", w.path}, args...)
	}
	out, err := w.tryGit(args...)
	if err != nil {
		w.t.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return out
}

func (w *world) tryGit(args ...string) (string, error) {
	cmd := exec.Command("git", args...)
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null",
		"GIT_AUTHOR_NAME=U", "GIT_AUTHOR_EMAIL=u@example.org", "GIT_COMMITTER_NAME=U", "GIT_COMMITTER_EMAIL=u@example.org")
	out, err := cmd.CombinedOutput()
	return strings.TrimSpace(string(out)), err
}

func (w *world) write(name, text string) {
	w.t.Helper()
	file := filepath.Join(w.path, name)
	if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, []byte(text), 0o644)); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) commit(message string) string {
	w.t.Helper()
	w.git("add", "-A")
	w.git("commit", "-q", "-m", message)
	return w.git("rev-parse", "HEAD")
}

// repo adds the repository, with a gate of this command unless it is empty.
func (w *world) repo(argv ...string) board.Repo {
	w.t.Helper()
	var gate *board.Gate
	if len(argv) > 0 {
		gate = &board.Gate{Policy: "base", Argv: argv, Timeout: 60}
	}
	return must(w.AddRepo(w.t.Context(), w.path, "project", "", gate))(w.t)
}

func (w *world) task(title string) board.Task {
	w.t.Helper()
	return must(w.CreateTask(w.t.Context(), board.NewTask{RepoID: "project", Title: title}))(w.t)
}

// run runs a task to the end of its run.
func (w *world) run(id string) board.Task {
	w.t.Helper()
	r := must(w.RunTask(w.t.Context(), id))(w.t)
	must(w.WaitRun(w.t.Context(), r.ID))(w.t)
	return w.look(id)
}

// check runs the gate to its end.
func (w *world) check(id string) board.CI {
	w.t.Helper()
	must(w.RunCI(w.t.Context(), id))(w.t)
	return must(w.WaitCI(w.t.Context(), id))(w.t)
}

func (w *world) look(id string) board.Task {
	w.t.Helper()
	return must(w.Task(w.t.Context(), id))(w.t)
}

// until waits for a task's status.
func (w *world) until(id string, status board.Status) board.Task {
	w.t.Helper()
	changed := w.bus.Subscribe(w.t.Context(), board.TopicTasks)
	for {
		t := w.look(id)
		if t.Status == status {
			return t
		}
		if _, open := <-changed; !open {
			w.t.Fatalf("task is %s, waited for %s", t.Status, status)
		}
	}
}

// request approves what the review shows now, acknowledging all it asks for.
func (w *world) request(id string) board.ApproveRequest {
	w.t.Helper()
	r := must(w.Review(w.t.Context(), id))(w.t)
	return board.ApproveRequest{Head: r.Preview.Head, TargetOID: r.Preview.TargetOID, ResultTree: r.Preview.ResultTree, Acks: r.Acks}
}

func must[T any](v T, err error) func(*testing.T) T {
	return func(t *testing.T) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

func wantCode(t *testing.T, err error, code string) {
	t.Helper()
	if err == nil {
		t.Fatalf("no error, want %s", code)
	}
	if got := board.CodeOf(err); got != code {
		t.Fatalf("error %s (%v), want %s", got, err, code)
	}
}

// edits is an agent that writes files (an empty text removes one) and succeeds.
func edits(files map[string]string) program {
	return func(_ context.Context, tree string, _ handoff.WorkOrder, say func(handoff.Event)) sandbox.Exit {
		say(handoff.Event{Type: handoff.EventStarted})
		for name, text := range files {
			file := filepath.Join(tree, name)
			err := os.Remove(file)
			if text != "" {
				err = errors.Join(os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, []byte(text), 0o644))
			}
			if err != nil {
				return sandbox.Exit{Code: 1, Cause: sandbox.CauseFailed, Detail: err.Error()}
			}
		}
		say(handoff.Event{Type: handoff.EventText, Text: "working"})
		say(handoff.Event{Type: handoff.EventDone, Text: "I changed it."})
		return sandbox.Exit{Cause: sandbox.CauseDone}
	}
}

// exits is a command that prints a line and ends with a code.
func exits(code int) program {
	return func(_ context.Context, _ string, _ handoff.WorkOrder, say func(handoff.Event)) sandbox.Exit {
		say(handoff.Event{Type: handoff.EventOutput, Text: "checked\n"})
		say(handoff.Event{Type: handoff.EventDone, Code: code, Error: code != 0})
		cause := sandbox.CauseDone
		if code != 0 {
			cause = sandbox.CauseFailed
		}
		return sandbox.Exit{Code: code, Cause: cause}
	}
}

// hangs is an agent that writes one file and then works until it is stopped.
func hangs(started chan<- struct{}) program {
	return func(ctx context.Context, tree string, o handoff.WorkOrder, say func(handoff.Event)) sandbox.Exit {
		edits(map[string]string{"half.txt": "half\n"})(ctx, tree, o, func(e handoff.Event) {
			if e.Type != handoff.EventDone {
				say(e)
			}
		})
		started <- struct{}{}
		<-ctx.Done()
		return sandbox.Exit{Code: 137, Cause: sandbox.CauseStopped}
	}
}

// sql changes the database behind the service's back.
func (w *world) sql(query string) {
	w.t.Helper()
	if err := w.db.Write(w.t.Context(), func(tx *sql.Tx) error {
		_, err := tx.ExecContext(w.t.Context(), query)
		return err
	}); err != nil {
		w.t.Fatal(err)
	}
}
