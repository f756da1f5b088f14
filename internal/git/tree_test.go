package git

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// rawTree stores a tree object git itself would refuse to make.
func (r repo) rawTree(entries ...string) string {
	r.t.Helper()
	var data []byte
	for _, e := range entries { // "mode name kind oid"
		f := strings.SplitN(e, "|", 3)
		oid := make([]byte, len(f[2])/2)
		for i := range oid {
			oid[i] = unhex(f[2][2*i])<<4 | unhex(f[2][2*i+1])
		}
		data = append(append(append(data, f[0]+" "+f[1]...), 0), oid...)
	}
	cmd := exec.Command("git", "hash-object", "-w", "-t", "tree", "--literally", "--stdin")
	cmd.Dir, cmd.Stdin = r.dir, strings.NewReader(string(data))
	out, err := cmd.Output()
	if err != nil {
		r.t.Fatal(err)
	}
	return strings.TrimSpace(string(out))
}

func unhex(c byte) byte { return byte(strings.IndexByte("0123456789abcdef", c)) }

// A tree made to write outside its directory, or to become a git directory, is
// refused before anything is written.
func TestCheckoutRefusesHostileTrees(t *testing.T) {
	r := seeded(t)
	outside := t.TempDir()
	put(t, filepath.Join(r.dir, "target"), outside)
	blob := r.git("rev-parse", "main:src/a.txt")
	link := r.git("hash-object", "-w", "target")
	file := func(name string) string { return "100644|" + name + "|" + blob }
	sub := r.rawTree(file("evil"))
	empty := r.git("hash-object", "-w", "-t", "blob", "/dev/null")
	w := r.open("main")
	for name, tree := range map[string]string{
		"a name that leads up":             r.rawTree(file("..")),
		"a directory that leads up":        r.rawTree("40000|..|" + sub),
		"a slash in a name":                r.rawTree(file("a/b")),
		"an absolute name":                 r.rawTree(file("/etc/x")),
		"a dot":                            r.rawTree("40000|.|" + sub),
		"a git directory":                  r.rawTree("40000|.git|" + sub),
		"a git directory in another case":  r.rawTree("40000|.GiT|" + sub),
		"a short name of a git directory":  r.rawTree("40000|git~1|" + sub),
		"a git file deeper down":           r.rawTree("40000|d|" + r.rawTree(file(".git"))),
		"a git directory by a backslash":   r.rawTree(file(`.git\config`)),
		"a symlink and a directory of one": r.rawTree("120000|d|"+link, "40000|d|"+sub),
		"the same file twice":              r.rawTree(file("x"), file("x")),
		"a name of 256 bytes":              r.rawTree(file(strings.Repeat("n", 256))),
		"an empty symlink":                 r.rawTree("120000|l|" + empty),
		"a file that is a tree":            r.rawTree("100644|f|" + sub),
	} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "tree")
			err := w.st.Checkout(w.ctx, tree, dir, Owner{-1, -1})
			if err == nil {
				t.Fatal("checked out")
			}
			for _, p := range []string{filepath.Join(outside, "evil"), filepath.Join(filepath.Dir(dir), "evil"), dir + "/.git", "/etc/x"} {
				if _, err := os.Lstat(p); err == nil {
					t.Fatalf("wrote %s", p)
				}
			}
		})
	}
}

// Symlinks of the base stay what they are, wherever they point.
func TestCheckoutKeepsLinksAndModes(t *testing.T) {
	r := seeded(t)
	outside := t.TempDir()
	put(t, filepath.Join(outside, "x"), "outside")
	for name, to := range map[string]string{"abs": outside, "src/up": "../README.md", "dangling": "nowhere"} {
		if err := os.Symlink(to, filepath.Join(r.dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	r.write("tool", "#!/bin/sh\n")
	r.git("update-index", "--add", "--chmod=+x", "tool")
	r.git("config", "core.fileMode", "false")
	r.commit("links")
	old := unix.Umask(0o077)
	w := r.open("main")
	unix.Umask(old)
	for name, want := range map[string]fs.FileMode{"tool": 0o755, "README.md": 0o644, "src": fs.ModeDir | 0o755, ".": fs.ModeDir | 0o755} {
		if fi, err := os.Lstat(filepath.Join(w.tree, name)); err != nil || fi.Mode() != want {
			t.Errorf("%s: %v %v", name, fi.Mode(), err)
		}
	}
	if got, err := os.Readlink(filepath.Join(w.tree, "abs")); err != nil || got != outside {
		t.Errorf("link %q %v", got, err)
	}
	if res := w.snapshot(); res.Changed || res.Commit != w.base {
		t.Errorf("an untouched tree changed: %+v", res)
	}
	if err := w.st.Checkout(w.ctx, w.base, w.tree, Owner{-1, -1}); err == nil {
		t.Error("checked out over an existing tree")
	}
}

func TestReadFileAndList(t *testing.T) {
	w := seeded(t).open("main")
	if got, err := w.st.ReadFile(w.ctx, "main", "src/a.txt", 6); err != nil || string(got) != "alpha\n" {
		t.Errorf("%q %v", got, err)
	}
	for path, want := range map[string]error{"src/a.txt": ErrTooLarge, "nosuch": fs.ErrNotExist, "../x": ErrHostileName, "src/": ErrHostileName} {
		if _, err := w.st.ReadFile(w.ctx, "main", path, 5); !errors.Is(err, want) {
			t.Errorf("%s: %v", path, err)
		}
	}
	if _, err := w.st.ReadFile(w.ctx, "main", "src", 5); err == nil {
		t.Error("read a directory")
	}
	list, err := w.st.List(w.ctx, "main")
	if err != nil || len(list) != 2 || list[1].Path != "src/a.txt" || list[1].Size != 6 || list[1].Kind != "blob" {
		t.Errorf("%+v %v", list, err)
	}
}

// Unreadable and odd directories go; what a symlink points to stays.
func TestRemoveAndReap(t *testing.T) {
	w := seeded(t).open("main")
	outside := t.TempDir()
	put(t, filepath.Join(outside, "keep"), "x")
	if err := os.Symlink(outside, filepath.Join(w.tree, "link")); err != nil {
		t.Fatal(err)
	}
	w.put("locked/deeper/file", "x")
	for _, d := range []string{"locked/deeper", "locked"} {
		if err := os.Chmod(filepath.Join(w.tree, d), 0); err != nil {
			t.Fatal(err)
		}
	}
	nest(t, w.tree, 1200)
	trash := filepath.Join(t.TempDir(), "trash")
	for range 2 { // the second time it is gone already
		if err := RemoveTree(w.tree, trash); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := os.Lstat(w.tree); !errors.Is(err, fs.ErrNotExist) {
		t.Fatal("still there")
	}
	if err := Reap(w.ctx, trash); err != nil {
		t.Fatal(err)
	}
	if left, err := os.ReadDir(trash); err != nil || len(left) != 0 {
		t.Fatalf("%v %v", left, err)
	}
	if read(t, filepath.Join(outside, "keep")) != "x" {
		t.Fatal("followed a symlink")
	}
	if err := Reap(w.ctx, filepath.Join(trash, "none")); err != nil {
		t.Fatal(err)
	}
}

// A tree of the base deeper than the walk goes is kept as it is, not lost.
func TestDeepBaseIsKept(t *testing.T) {
	r := seeded(t)
	tree := r.rawTree("100644|f|" + r.git("rev-parse", "main:README.md"))
	for range maxDepth + 20 {
		tree = r.rawTree("40000|d|" + tree)
	}
	base := r.git("commit-tree", "-m", "deep", tree)
	r.git("update-ref", "refs/heads/deep", base)
	w := r.open("deep")
	w.put("new", "x")
	res := w.snapshot()
	if len(res.Skipped) != 1 || res.Skipped[0].Reason != SkipTooDeep {
		t.Fatalf("%+v", res.Skipped)
	}
	set := must(w.st.Diff(w.ctx, base, res.Commit, DiffOptions{}))(t)
	if len(set.Files) != 1 || set.Files[0].Path != "new" {
		t.Fatalf("%+v", set.Files)
	}
}
