package git

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"moeca/internal/diff"
)

// userCases: the user's own repository as a source of surprises.
func userCases() []hostile {
	return []hostile{
		{
			name: "hooks of the user's repository",
			after: func(a *arena) {
				for _, h := range []string{"reference-transaction", "post-checkout", "post-merge", "pre-commit", "update", "post-update", "post-index-change"} {
					a.hook(filepath.Join(a.dir, ".git/hooks", h))
				}
			},
			agent: func(a *arena) { a.put("new", "x") }, files: "new",
			naive: func(a *arena) { a.git("update-ref", "refs/heads/naive", a.base) },
		},
		{
			name: "configuration included by the user's repository",
			after: func(a *arena) {
				put(a.t, filepath.Join(a.outside, "included"), "[core]\n\thooksPath = "+a.outside+"/hooks\n\tfsmonitor = touch "+a.canary+
					"\n[diff]\n\texternal = touch "+a.canary+"\n[alias]\n\tdiff-tree = !touch "+a.canary+"\n")
				a.hook(filepath.Join(a.outside, "hooks/reference-transaction"))
				a.git("config", "include.path", filepath.Join(a.outside, "included"))
			},
			agent: func(a *arena) { a.put("new", "x") }, files: "new",
			naive: func(a *arena) { a.git("update-ref", "refs/heads/naive", a.base) },
		},
		{
			name: "replace refs do not change what is checked out",
			after: func(a *arena) {
				a.write("evil", "replaced\n")
				a.git("replace", a.git("rev-parse", "main:src/a.txt"), a.git("hash-object", "-w", "evil"))
				a.must(os.Remove(filepath.Join(a.dir, "evil")))
			},
			agent: func(a *arena) {
				if got := read(a.t, a.in("src/a.txt")); got != "alpha\n" {
					a.t.Errorf("checked out %q", got)
				}
				a.put("new", "x")
			},
			files: "new",
		},
		{
			name: "grafts do not change history",
			after: func(a *arena) {
				a.write("second", "x")
				a.commit("second")
				put(a.t, filepath.Join(a.dir, ".git/info/grafts"), a.git("rev-parse", "main")+"\n")
			},
			agent: func(a *arena) { a.put("new", "x") }, files: "new",
			check: func(a *arena) {
				if a.preview.Ahead != 1 || a.preview.MergeBase != a.base {
					a.t.Errorf("preview %+v", a.preview)
				}
				if n, err := a.st.git.line(a.ctx, "rev-list", "--count", a.base); err != nil || n != "2" {
					a.t.Errorf("history of %s commits, %v", n, err)
				}
			},
		},
		{
			name: "branches named like options",
			after: func(a *arena) {
				for _, n := range []string{"--upload-pack=touch", "-d", "--output=x"} {
					put(a.t, filepath.Join(a.dir, ".git/refs/heads", n), a.git("rev-parse", "main")+"\n")
				}
			},
			agent: func(a *arena) { a.put("new", "x") }, files: "new",
			check: func(a *arena) {
				for _, n := range []string{"-d", "--output=x", "refs/heads/-d", "--upload-pack=touch"} {
					if n[0] == '-' {
						if _, err := a.src.Resolve(a.ctx, n); err == nil {
							a.t.Errorf("resolved %q", n)
						}
					}
					if err := a.st.SetBranch(a.ctx, n, a.base, ""); err == nil {
						a.t.Errorf("moved %q", n)
					}
					if _, err := a.st.Preview(a.ctx, n, a.base); err == nil {
						a.t.Errorf("previewed %q", n)
					}
				}
			},
		},
		{
			name: "objects borrowed through alternates",
			after: func(a *arena) {
				dir := filepath.Join(a.t.TempDir(), "lender")
				a.git("clone", "-q", "--bare", a.dir, dir)
				a.must(os.RemoveAll(filepath.Join(a.dir, ".git/objects")))
				put(a.t, filepath.Join(a.dir, ".git/objects/info/alternates"), dir+"/objects\n")
			},
			agent: func(a *arena) { a.put("new", "x") }, files: "new",
		},
		{
			name: "sparse checkout of the user",
			after: func(a *arena) {
				a.git("sparse-checkout", "set", "--no-cone", "/README.md")
			},
			agent: func(a *arena) {
				if got := read(a.t, a.in("src/a.txt")); got != "alpha\n" {
					a.t.Errorf("checked out %q", got)
				}
				a.put("new", "x")
			},
			files: "new",
		},
		{
			name: "pointer of large file storage stays one",
			user: func(a *arena) { a.write("big.bin", lfsPointer("a")) },
			agent: func(a *arena) {
				a.put(".gitattributes", "*.bin filter=lfs diff=lfs\n")
				a.put("big.bin", lfsPointer("b"))
			},
			files: ".gitattributes",
			check: func(a *arena) {
				set, err := a.st.Diff(a.ctx, a.base, a.res.Commit, DiffOptions{})
				a.must(err)
				if i := slices.IndexFunc(set.Files, func(f diff.File) bool { return f.Path == "big.bin" && f.Kind == "lfs" }); i < 0 {
					a.t.Errorf("%+v", set.Files)
				}
			},
		},
		{
			name: "submodule stays what it was",
			user: func(a *arena) {
				a.git("update-index", "--add", "--cacheinfo", "160000,1234567890123456789012345678901234567890,lib")
				a.git("update-index", "--add", "--cacheinfo", "160000,1234567890123456789012345678901234567890,full")
				a.git("commit", "-q", "-m", "submodule")
				a.must(os.MkdirAll(filepath.Join(a.dir, "lib"), 0o755))
				a.must(os.MkdirAll(filepath.Join(a.dir, "full"), 0o755))
			},
			agent: func(a *arena) {
				a.put("full/file", "filled")
				a.put("full/.git/config", "[core]\n\tfsmonitor = touch "+a.canary+"\n")
				a.put("new", "x")
			},
			skips: []string{"full inside-submodule"}, files: "new",
			check: func(a *arena) {
				for _, name := range []string{"lib", "full"} {
					if got := a.git("ls-tree", a.landed, name); !strings.HasPrefix(got, "160000 commit 1234567890") {
						a.t.Errorf("%s is %q", name, got)
					}
				}
			},
		},
	}
}

func lfsPointer(id string) string {
	return "version https://git-lfs.github.com/spec/v1\noid sha256:" + strings.Repeat(id, 64) + "\nsize 12345\n"
}

// kindCases: things in a tree that are no ordinary files.
func kindCases() []hostile {
	return []hostile{
		{
			name: "symlink to a secret is committed as a link",
			agent: func(a *arena) {
				a.must(os.Symlink(filepath.Join(a.outside, "secret"), a.in("link")))
				a.must(os.Symlink("/etc/passwd", a.in("passwd")))
				a.must(os.Symlink("../../../../../../etc", a.in("up")))
			},
			files: "link passwd up",
			check: func(a *arena) {
				if got, err := os.Readlink(filepath.Join(a.final, "passwd")); err != nil || got != "/etc/passwd" {
					a.t.Errorf("link %q %v", got, err)
				}
			},
		},
		{
			name:  "symlink to a directory outside is not entered",
			agent: func(a *arena) { a.must(os.Symlink(a.outside, a.in("dir"))) },
			files: "dir",
		},
		{
			name: "tracked directory swapped for a symlink",
			agent: func(a *arena) {
				a.must(os.RemoveAll(a.in("src")))
				put(a.t, filepath.Join(a.outside, "a.txt"), secret)
				a.must(os.Symlink(a.outside, a.in("src")))
			},
			files: "src",
			check: func(a *arena) {
				if fi, err := os.Lstat(filepath.Join(a.final, "src")); err != nil || fi.Mode()&os.ModeSymlink == 0 {
					a.t.Errorf("%v %v", fi, err)
				}
			},
		},
		{
			name: "file swapped for a directory and back",
			agent: func(a *arena) {
				a.must(os.Remove(a.in("README.md")))
				a.put("README.md/inside", "x")
				a.must(os.RemoveAll(a.in("src")))
				a.put("src", "now a file")
			},
			files: "README.md/inside src",
		},
		{
			name: "fifo in place of a tracked file does not block",
			agent: func(a *arena) {
				a.must(os.Remove(a.in("README.md")))
				a.must(unix.Mkfifo(a.in("README.md"), 0o666))
			},
			skips: []string{"README.md fifo"},
		},
		{
			name: "socket",
			agent: func(a *arena) {
				// The path of a socket is short, a test's directory may not be.
				at, err := os.MkdirTemp("/tmp", "s")
				a.must(err)
				defer os.RemoveAll(at)
				l, err := net.Listen("unix", at+"/s")
				a.must(err)
				a.must(os.Rename(at+"/s", a.in("sock")))
				_ = l.Close()
				a.put("new", "x")
			},
			skips: []string{"sock socket"}, files: "new",
		},
		{
			name: "hard link to a file outside",
			agent: func(a *arena) {
				a.must(os.Link(filepath.Join(a.outside, "secret"), a.in("linked")))
				a.must(os.Link(a.in("README.md"), a.in("twin")))
			},
			files: "linked twin", shared: true, // a file of the tree, whoever else has a name for it
			check: func(a *arena) {
				trash := filepath.Join(a.t.TempDir(), "trash")
				a.must(RemoveTree(a.tree, trash))
				a.must(Reap(a.ctx, trash))
				if read(a.t, filepath.Join(a.outside, "secret")) != secret {
					a.t.Error("the file outside changed")
				}
			},
		},
		{
			name: "sparse file of a tebibyte",
			agent: func(a *arena) {
				a.put("new", "x")
				a.put("huge", "")
				a.must(os.Truncate(a.in("huge"), 1<<40))
			},
			skips: []string{"huge too-large"}, files: "new",
		},
		{
			name: "three thousand nested directories",
			agent: func(a *arena) {
				nest(a.t, a.tree, 3000)
				a.put("new", "x")
			},
			files: "new",
			skips: []string{strings.Repeat("d/", maxDepth) + "d too-deep"},
			check: func(a *arena) {
				trash := filepath.Join(a.t.TempDir(), "trash")
				a.must(RemoveTree(a.tree, trash))
				a.must(Reap(a.ctx, trash))
				if left, err := os.ReadDir(trash); err != nil || len(left) > 0 {
					a.t.Errorf("left %v %v", left, err)
				}
			},
		},
		{
			name: "setuid and world-writable bits vanish, the executable bit stays",
			agent: func(a *arena) {
				a.put("tool", "x")
				a.must(unix.Chmod(a.in("tool"), 0o6777))
				a.put("plain", "x")
				a.must(unix.Chmod(a.in("plain"), 0o666))
			},
			files: "plain tool",
			check: func(a *arena) {
				for name, want := range map[string]os.FileMode{"tool": 0o755, "plain": 0o644} {
					if fi, err := os.Stat(filepath.Join(a.final, name)); err != nil || fi.Mode() != want {
						a.t.Errorf("%s: %v %v", name, fi.Mode(), err)
					}
				}
			},
		},
		{
			name: "empty directories vanish",
			agent: func(a *arena) {
				a.must(os.MkdirAll(a.in("empty/very/empty"), 0o755))
				a.must(os.RemoveAll(a.in("src/a.txt")))
				a.put("new", "x")
			},
			files: "new",
			check: func(a *arena) {
				if _, err := os.Stat(filepath.Join(a.final, "src")); err == nil {
					a.t.Error("src should be gone")
				}
			},
		},
		{
			name: "names git has to quote",
			agent: func(a *arena) {
				for _, n := range oddNames {
					a.put(n, "x "+n)
				}
			},
			files: strings.Join(sorted(oddNames), " "),
			check: func(a *arena) {
				for _, n := range oddNames {
					if got := read(a.t, filepath.Join(a.final, n)); got != "x "+n {
						a.t.Errorf("%q: %q", n, got)
					}
				}
			},
		},
	}
}

// oddNames are ordinary files with extraordinary names.
var oddNames = []string{
	"new\nline", "tab\there", `quo"te`, `back\slash`, "-rf", "--output=x", " lead", "trail ", "dot.", "caf\xe9", "\xff\xfe",
	"caf\u00e9", "cafe\u0301", strings.Repeat("n", 255), "*", "[a]", "?", ":(exclude)x", "a b", "#x", "!x", "$(touch x)", "`x`",
	"\x01", "\x7f", "CON", "a:b", "日本語", "~", "..x", "...", "-/--/x", "e\x1b[31mred", "\u202egnp.exe",
}

func sorted(s []string) []string {
	s = slices.Clone(s)
	slices.Sort(s)
	return s
}

// nest makes a chain of directories too long for a path.
func nest(t testing.TB, dir string, depth int) {
	t.Helper()
	at, err := openDir(unix.AT_FDCWD, dir)
	if err != nil {
		t.Fatal(err)
	}
	for range depth {
		if err := unix.Mkdirat(at, "d", 0o755); err != nil {
			t.Fatal(err)
		}
		next, err := openDir(at, "d")
		if err != nil {
			t.Fatal(err)
		}
		closeDirs(at)
		at = next
	}
	closeDirs(at)
}

// hidingCases: ways to keep a change out of sight.
func hidingCases() []hostile {
	return []hostile{
		{
			name:  "the agent's own ignore file hides nothing",
			agent: func(a *arena) { a.put(".gitignore", "*\n"); a.put("backdoor", "x"); a.put("d/.gitignore", "*\n") },
			files: ".gitignore backdoor d/.gitignore",
		},
		{
			name:  "an exclude file in a planted git directory hides nothing",
			agent: func(a *arena) { a.put(".git/info/exclude", "*\n"); a.put("backdoor", "x") },
			skips: []string{".git git-directory"}, files: "backdoor",
		},
		{
			name: "ignore rules of the base hold though the agent removed them",
			user: func(a *arena) { a.write(".gitignore", "*.log\nbuild/\n!keep.log\n") },
			agent: func(a *arena) {
				a.must(os.Remove(a.in(".gitignore")))
				a.put("x.log", "noise")
				a.put("keep.log", "kept")
				a.put("build/out", "noise")
				a.put("src/build", "a file")
			},
			files: "keep.log src/build",
			check: func(a *arena) {
				if a.res.Ignored != 2 {
					a.t.Errorf("%d ignored", a.res.Ignored)
				}
			},
		},
		{
			name: "tracked files are never ignored",
			user: func(a *arena) {
				a.write("build/tracked", "1")
				a.git("add", "-A")
				a.git("commit", "-q", "-m", "tracked")
				a.write(".gitignore", "build/\n*.md\n")
			},
			agent: func(a *arena) {
				a.put("build/tracked", "changed")
				a.put("build/other", "noise")
				a.put("README.md", "changed\n")
				a.put("other.md", "noise")
			},
			check: func(a *arena) {
				for name, want := range map[string]string{"build/tracked": "changed", "README.md": "changed\n"} {
					if got, err := a.st.ReadFile(a.ctx, a.res.Commit, name, 100); err != nil || string(got) != want {
						a.t.Errorf("%s: %q %v", name, got, err)
					}
				}
			},
		},
		{
			name: "a flood of odd files is counted, not listed without end",
			agent: func(a *arena) {
				for i := range 1500 {
					a.must(unix.Mkfifo(a.in(fmt.Sprintf("fifo%04d", i)), 0o600))
				}
			},
			skips: func() (out []string) {
				for i := range maxSkipped {
					out = append(out, fmt.Sprintf("fifo%04d fifo", i))
				}
				return out
			}(),
			check: func(a *arena) {
				if a.res.SkippedTotal != 1500 {
					a.t.Errorf("%d skipped", a.res.SkippedTotal)
				}
			},
		},
	}
}
