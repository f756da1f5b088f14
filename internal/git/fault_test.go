package git

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// An object that is not there, as in a partial clone, is named, with a way out.
func TestMissingObject(t *testing.T) {
	r := seeded(t)
	w := r.open("main")
	blob := r.git("rev-parse", "main:src/a.txt")
	if err := os.Remove(filepath.Join(r.dir, ".git/objects", blob[:2], blob[2:])); err != nil {
		t.Fatal(err)
	}
	r.git("config", "remote.origin.url", "file:///nonexistent")
	r.git("config", "remote.origin.promisor", "true")
	err := w.st.Checkout(w.ctx, w.base, filepath.Join(t.TempDir(), "tree"), Owner{-1, -1})
	if err == nil || !strings.Contains(err.Error(), blob) || !strings.Contains(err.Error(), "fetch it") {
		t.Fatal(err)
	}
}

// A lock a killed git left behind: nothing moves, the error names it, and once
// it is gone the same landing works.
func TestLandMeetsALock(t *testing.T) {
	w := seeded(t).open("main")
	w.put("new", "x")
	p := must(w.st.Preview(w.ctx, "main", w.snapshot().Commit))(t)
	lock := filepath.Join(w.dir, ".git/refs/heads/main.lock")
	put(t, lock, "")
	if _, err := w.st.Land(w.ctx, p, "Merge", Identity{}); err == nil || !strings.Contains(err.Error(), "main.lock") {
		t.Fatal(err)
	}
	if w.branchAt("main") != p.TargetOID {
		t.Fatal("moved")
	}
	if err := os.Remove(lock); err != nil {
		t.Fatal(err)
	}
	if commit := must(w.st.Land(w.ctx, p, "Merge", Identity{}))(t); w.branchAt("main") != commit {
		t.Fatal("did not move")
	}
}

// A store whose files were changed or lost is put right by opening it.
func TestStoreHeals(t *testing.T) {
	w := seeded(t).open("main")
	put(t, filepath.Join(w.st.dir, "config"), "[core]\n\tbare = false\n\tfsmonitor = touch /nonexistent\n")
	if err := os.Remove(filepath.Join(w.st.dir, "info/attributes")); err != nil {
		t.Fatal(err)
	}
	must(OpenStore(w.ctx, w.st.dir, w.src))(t)
	if got := read(t, filepath.Join(w.st.dir, "info/attributes")); got != attributes {
		t.Errorf("attributes %q", got)
	}
	if got := read(t, filepath.Join(w.st.dir, "config")); strings.Contains(got, "fsmonitor") {
		t.Errorf("config %q", got)
	}
	w.put("new", "x")
	w.snapshot()
}

// A device in a tree is neither opened nor committed.
func TestDevice(t *testing.T) {
	asRoot(t)
	w := seeded(t).open("main")
	if err := unix.Mknod(filepath.Join(w.tree, "zero"), unix.S_IFCHR|0o666, int(unix.Mkdev(1, 5))); err != nil {
		t.Skipf("needs mknod: %v", err)
	}
	if res := w.snapshot(); res.Changed || len(res.Skipped) != 1 || res.Skipped[0] != (Skipped{"zero", SkipDevice}) {
		t.Errorf("%+v", res)
	}
}
