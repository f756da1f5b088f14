package git

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// repo is a user's repository made for one test, driven by an ordinary git.
type repo struct {
	t   testing.TB
	dir string
}

func newRepo(t testing.TB, args ...string) repo {
	t.Helper()
	r := repo{t, filepath.Join(t.TempDir(), "repo")}
	if err := os.Mkdir(r.dir, 0o755); err != nil {
		t.Fatal(err)
	}
	r.git(append([]string{"init", "-q", "-b", "main"}, args...)...)
	r.git("config", "user.name", "User")
	r.git("config", "user.email", "user@example.org")
	r.git("config", "gc.auto", "0") // no background process outlives a test
	return r
}

// git runs the machine's git as a user would.
func (r repo) git(args ...string) string {
	r.t.Helper()
	out, err := r.try(args...)
	if err != nil {
		r.t.Fatalf("git %v: %v\n%s", args, err, out)
	}
	return strings.TrimSuffix(out, "\n")
}

func (r repo) try(args ...string) (string, error) {
	cmd := exec.Command("git", args...)
	cmd.Dir = r.dir
	cmd.Env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=/nonexistent", "GIT_CONFIG_NOSYSTEM=1",
		"GIT_AUTHOR_DATE=2026-01-01T00:00:00Z", "GIT_COMMITTER_DATE=2026-01-01T00:00:00Z",
	}
	out, err := cmd.CombinedOutput()
	return string(out), err
}

func (r repo) write(name, text string) {
	r.t.Helper()
	put(r.t, filepath.Join(r.dir, name), text)
}

// commit commits everything and returns the commit.
func (r repo) commit(message string) string {
	r.t.Helper()
	r.git("add", "-A")
	r.git("commit", "-q", "--allow-empty", "-m", message)
	return r.git("rev-parse", "HEAD")
}

func put(t testing.TB, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func read(t testing.TB, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// world is a repository, our store for it and one checked-out tree.
type world struct {
	repo
	ctx  context.Context
	st   *Store
	src  *Source
	base string
	tree string // directory of the agent's tree
}

// open opens the repository and checks out rev.
func (r repo) open(rev string) *world {
	r.t.Helper()
	w := &world{repo: r, ctx: context.Background()}
	var err error
	if w.src, err = Open(w.ctx, r.dir); err != nil {
		r.t.Fatal(err)
	}
	if w.st, err = OpenStore(w.ctx, filepath.Join(r.t.TempDir(), "store"), w.src); err != nil {
		r.t.Fatal(err)
	}
	if w.base, err = w.src.Resolve(w.ctx, rev); err != nil {
		r.t.Fatal(err)
	}
	w.tree = filepath.Join(r.t.TempDir(), "tree")
	if err := w.st.Checkout(w.ctx, w.base, w.tree, Owner{-1, -1}); err != nil {
		r.t.Fatal(err)
	}
	return w
}

func (w *world) put(name, text string) {
	w.t.Helper()
	put(w.t, filepath.Join(w.tree, name), text)
}

var testTime = time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)

func (w *world) request() SnapshotRequest {
	return SnapshotRequest{
		Dir: w.tree, Parent: w.base, Base: w.base, Message: "work", When: testTime,
		Author: Identity{"Agent", "agent@example.org"},
	}
}

func (w *world) snapshot() SnapshotResult {
	w.t.Helper()
	res, err := w.st.Snapshot(w.ctx, w.request())
	if err != nil {
		w.t.Fatal(err)
	}
	w.git("fsck", "--strict", res.Commit)
	return res
}

// paths lists the files of a commit.
func (w *world) paths(commit string) []string {
	w.t.Helper()
	list, err := w.st.List(w.ctx, commit)
	if err != nil {
		w.t.Fatal(err)
	}
	var out []string
	for _, e := range list {
		out = append(out, string(e.Raw))
	}
	return out
}
