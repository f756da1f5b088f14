package git

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"moeca/internal/testreq"
)

var errNotRoot = errors.New("only root can act as several users")

// asRoot needs root, which can give files away and become somebody else.
func asRoot(t *testing.T) {
	t.Helper()
	if os.Geteuid() != 0 {
		testreq.Need(t, "root", errNotRoot)
	}
}

// The tree belongs to the sandbox's user: checkout gives it away, a snapshot
// reads what that user wrote and locked.
func TestTreeOfAnotherUser(t *testing.T) {
	asRoot(t)
	r := seeded(t)
	r.git("update-index", "--add", "--cacheinfo", "160000,1234567890123456789012345678901234567890,lib")
	if err := os.Symlink("x", filepath.Join(r.dir, "link")); err != nil {
		t.Fatal(err)
	}
	r.git("add", "link")
	r.git("commit", "-q", "-m", "more")
	w := r.open("main")
	w.tree = filepath.Join(t.TempDir(), "theirs")
	if err := w.st.Checkout(w.ctx, "main", w.tree, Owner{65532, 65531}); err != nil {
		t.Fatal(err)
	}
	for _, n := range []string{".", "src", "src/a.txt", "link", "lib", "README.md"} {
		var s unix.Stat_t
		if err := unix.Lstat(filepath.Join(w.tree, n), &s); err != nil || s.Uid != 65532 || s.Gid != 65531 {
			t.Errorf("%s belongs to %d:%d %v", n, s.Uid, s.Gid, err)
		}
	}
	w.put("mine/file", "x")
	for _, n := range []string{"mine/file", "mine"} {
		if err := errors.Join(os.Chown(filepath.Join(w.tree, n), 65532, 65532), os.Chmod(filepath.Join(w.tree, n), 0)); err != nil {
			t.Fatal(err)
		}
	}
	res := w.snapshot()
	if got, err := w.st.ReadFile(w.ctx, res.Commit, "mine/file", 9); err != nil || string(got) != "x" {
		t.Errorf("%q %v", got, err)
	}
}

// Root works in a repository of somebody else: what it writes there belongs to
// that user, whose own git goes on working.
func TestRepositoryOfAnotherUser(t *testing.T) {
	asRoot(t)
	r := seeded(t)
	home := openToAll(t, r.dir)
	give(t, r.dir, 12345)
	w := r.open("main")
	for _, n := range []string{"a", "b", "c", "d", "e", "f", "g", "h"} {
		w.put(n+"/new", "text of "+n)
	}
	res := must(w.st.Snapshot(w.ctx, w.request()))(t)
	p := must(w.st.Preview(w.ctx, "main", res.Commit))(t)
	if err := w.st.SetBranch(w.ctx, "moeca/t-1", res.Commit, ""); err != nil {
		t.Fatal(err)
	}
	must(w.st.Land(w.ctx, p, "Merge", Identity{}))(t)
	_ = filepath.Walk(filepath.Join(r.dir, ".git"), func(path string, fi os.FileInfo, err error) error {
		if err == nil && fi.Sys().(*syscall.Stat_t).Uid != 12345 {
			t.Errorf("%s belongs to %d", path, fi.Sys().(*syscall.Stat_t).Uid)
		}
		return nil
	})
	cmd := exec.Command("git", "-c", "user.name=U", "-c", "user.email=u@x", "commit", "-q", "--allow-empty", "-m", "the user goes on")
	cmd.Dir, cmd.Env = r.dir, []string{"PATH=" + os.Getenv("PATH"), "HOME=" + home}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 12345, Gid: 12345}}
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
}

func must[T any](v T, err error) func(testing.TB) T {
	return func(t testing.TB) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

// openToAll lets other users reach dir and returns it.
func openToAll(t *testing.T, dir string) string {
	t.Helper()
	for d := dir; d != "/" && d != "/tmp"; d = filepath.Dir(d) {
		if err := os.Chmod(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func give(t *testing.T, dir string, uid int) {
	t.Helper()
	err := filepath.Walk(dir, func(path string, _ os.FileInfo, err error) error {
		return errors.Join(err, os.Lchown(path, uid, uid))
	})
	if err != nil {
		t.Fatal(err)
	}
}

// unprivileged is what TestUnprivileged's child is told on its command line.
type unprivileged struct{ Repo, Store, Tree, Trash string }

const childFlag = "MOECA_TEST_CHILD"

// Without privileges, what an agent locked is listed and the parent's version
// is kept; deleting opens it again. Root reads everything, so this runs in a
// child with another uid.
func TestUnprivileged(t *testing.T) {
	if arg := os.Getenv(childFlag); arg != "" {
		runUnprivileged(t, arg)
		return
	}
	asRoot(t)
	r := seeded(t)
	r.write("dir/a", "kept a")
	r.write("dir/b", "kept b")
	r.commit("more")
	top := openToAll(t, t.TempDir())
	bin := filepath.Join(top, "test")
	data := must(os.ReadFile("/proc/self/exe"))(t)
	if err := os.WriteFile(bin, data, 0o755); err != nil {
		t.Fatal(err)
	}
	openToAll(t, r.dir)
	give(t, r.dir, 12345)
	give(t, top, 12345)
	arg := must(json.Marshal(unprivileged{r.dir, filepath.Join(top, "store"), filepath.Join(top, "tree"), filepath.Join(top, "trash")}))(t)
	cmd := exec.Command(bin, "-test.run=^TestUnprivileged$", "-test.v")
	cmd.Dir, cmd.Env = top, []string{"PATH=" + os.Getenv("PATH"), "TMPDIR=" + top, childFlag + "=" + string(arg)}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 12345, Gid: 12345}}
	if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), "--- PASS") {
		t.Fatalf("%v\n%s", err, out)
	}
}

func runUnprivileged(t *testing.T, arg string) {
	var u unprivileged
	if err := json.Unmarshal([]byte(arg), &u); err != nil {
		t.Fatal(err)
	}
	ctx := context.Background()
	src := must(Open(ctx, u.Repo))(t)
	st := must(OpenStore(ctx, u.Store, src))(t)
	if err := st.Checkout(ctx, "main", u.Tree, Owner{-1, -1}); err != nil {
		t.Fatal(err)
	}
	put(t, filepath.Join(u.Tree, "new/secret"), "x")
	for _, n := range []string{"dir", "README.md", "new/secret"} {
		if err := os.Chmod(filepath.Join(u.Tree, n), 0); err != nil {
			t.Fatal(err)
		}
	}
	head := must(src.Resolve(ctx, "main"))(t)
	res := must(st.Snapshot(ctx, SnapshotRequest{Dir: u.Tree, Parent: head}))(t)
	if res.Changed || len(res.Skipped) != 3 {
		t.Fatalf("%+v", res)
	}
	for _, s := range res.Skipped {
		if s.Reason != SkipUnreadable {
			t.Errorf("%+v", s)
		}
	}
	if err := errors.Join(RemoveTree(u.Tree, u.Trash), Reap(ctx, u.Trash)); err != nil {
		t.Fatal(err)
	}
	if left := must(os.ReadDir(u.Trash))(t); len(left) > 0 {
		t.Fatalf("%v", left)
	}
}
