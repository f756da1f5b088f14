package git

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// hostile is one attack: what the user's repository holds, what the agent
// wrote, and what must be true after the whole job. Every case also checks that
// the canary was not touched, that no object holds the secret from outside the
// tree, and that the user's work tree and index did not change.
type hostile struct {
	name   string
	user   func(a *arena) // before the base commit
	after  func(a *arena) // after the base commit, before it is opened
	agent  func(a *arena)
	skips  []string // expected "path reason"
	files  string   // expected files of the result that the base does not have, space separated
	check  func(a *arena)
	shared bool           // the secret is in the tree under a name of its own
	naive  func(a *arena) // an ordinary git that falls for it, where one exists
}

// arena is where one attack happens.
type arena struct {
	*world
	canary  string // touched by anything that gets executed
	outside string // a directory with the file "secret"
	res     SnapshotResult
	preview Preview
	landed  string
	final   string // checkout of the landed tree
}

const secret = "SECRET-OUTSIDE-THE-TREE"

// evil is a command line that proves execution. It passes input through, so
// that a filter or driver that runs does not fail.
func (a *arena) evil() string { return "touch " + a.canary + "; cat #" }

// arm puts every driver and hook git knows into the user's own configuration.
func (a *arena) arm() {
	for key, value := range map[string]string{
		"filter.evil.clean": a.evil(), "filter.evil.smudge": a.evil(), "filter.evil.process": "touch " + a.canary,
		"diff.evil.command": a.evil(), "diff.evil.textconv": a.evil(), "merge.evil.driver": "touch " + a.canary + " #",
		"core.fsmonitor": "touch " + a.canary + " #", "core.sshCommand": a.evil(), "core.pager": a.evil(),
		"credential.helper": "!" + a.evil(), "diff.external": a.evil(), "interactive.diffFilter": a.evil(),
	} {
		a.git("config", key, value)
	}
}

func (a *arena) hook(path string) {
	put(a.t, path, "#!/bin/sh\ntouch "+a.canary+"\ncat >/dev/null\n")
	if err := os.Chmod(path, 0o755); err != nil {
		a.t.Fatal(err)
	}
}

func (a *arena) must(err error) {
	a.t.Helper()
	if err != nil {
		a.t.Fatal(err)
	}
}

func (a *arena) in(name string) string { return filepath.Join(a.tree, name) }

func (a *arena) executed() bool {
	_, err := os.Lstat(a.canary)
	return err == nil
}

// naively runs an ordinary git in the agent's tree.
func (a *arena) naively(args ...string) { _, _ = repo{a.t, a.tree}.try(args...) }

// fullConfig is a git directory whose configuration runs something.
func (a *arena) fullConfig(dir string) {
	put(a.t, a.in(dir+"/HEAD"), "ref: refs/heads/main\n")
	put(a.t, a.in(dir+"/config"), "[core]\n\trepositoryformatversion = 0\n\tbare = false\n\tworktree = "+a.tree+
		"\n\tfsmonitor = \"touch "+a.canary+" #\"\n[safe]\n\tdirectory = *\n")
	put(a.t, a.in(dir+"/objects/info/x"), "")
	put(a.t, a.in(dir+"/refs/x"), "")
	a.hook(a.in(dir + "/hooks/reference-transaction"))
}

func (h hostile) run(t *testing.T) {
	r := newRepo(t)
	a := &arena{world: &world{repo: r}, canary: filepath.Join(t.TempDir(), "canary"), outside: t.TempDir()}
	put(t, filepath.Join(a.outside, "secret"), secret)
	r.write("README.md", "one\ntwo\nthree\n")
	r.write("src/a.txt", "alpha\n")
	if h.user != nil {
		h.user(a)
	}
	r.commit("base")
	if h.after != nil {
		h.after(a)
	}
	_ = os.Remove(a.canary) // the user's own git may well have run the user's own programs
	r.write("README.md", "the user's uncommitted work\n")
	index := read(t, filepath.Join(r.dir, ".git/index"))

	a.world = r.open("main")
	h.agent(a)
	a.job(h.shared)
	if a.executed() {
		t.Fatal("something of the agent or of the repository was executed")
	}
	if read(t, filepath.Join(r.dir, "README.md")) != "the user's uncommitted work\n" || read(t, filepath.Join(r.dir, ".git/index")) != index {
		t.Fatal("the user's work tree or index changed")
	}
	h.expect(a)
	if h.check != nil {
		h.check(a)
	}
	if h.naive != nil {
		h.naive(a)
		if !a.executed() {
			t.Fatal("the attack does not work on ordinary git either: this case proves nothing")
		}
	}
}

// job is everything moeca does with a tree.
func (a *arena) job(shared bool) {
	a.t.Helper()
	var err error
	a.res, err = a.st.Snapshot(a.ctx, a.request())
	a.must(err)
	a.must(a.st.SetBranch(a.ctx, "moeca/1", a.res.Commit, ""))
	set, err := a.st.Diff(a.ctx, a.base, a.res.Commit, DiffOptions{})
	a.must(err)
	for _, f := range set.Files {
		for _, h := range f.Hunks {
			for _, l := range h.Lines {
				if !shared && strings.Contains(l.Text, secret) {
					a.t.Fatalf("the diff of %s shows a file outside the tree", f.Path)
				}
			}
		}
	}
	a.preview, err = a.st.Preview(a.ctx, "main", a.res.Commit)
	a.must(err)
	if !a.res.Changed {
		return
	}
	a.landed, err = a.st.Land(a.ctx, a.preview, "Merge", Identity{"Person", "p@example.org"})
	a.must(err)
	a.final = filepath.Join(a.t.TempDir(), "final")
	a.must(a.st.Checkout(a.ctx, a.landed, a.final, Owner{-1, -1}))
}

// expect checks what the case says about files and skipped paths.
func (h hostile) expect(a *arena) {
	a.t.Helper()
	var skips []string
	for _, s := range a.res.Skipped {
		skips = append(skips, s.Path+" "+s.Reason)
	}
	slices.Sort(skips)
	slices.Sort(h.skips)
	if !slices.Equal(skips, h.skips) {
		a.t.Errorf("skipped %q, want %q", skips, h.skips)
	}
	base := a.paths(a.base)
	var added []string
	for _, p := range a.paths(a.res.Commit) {
		if !slices.Contains(base, p) {
			added = append(added, p)
		}
		data, err := a.st.ReadFile(a.ctx, a.res.Commit, p, 1<<30)
		if err == nil && bytes.Contains(data, []byte(secret)) && !h.shared {
			a.t.Errorf("%q holds a file from outside the tree", p)
		}
	}
	if got := strings.Join(added, " "); got != h.files {
		a.t.Errorf("new files %q, want %q", got, h.files)
	}
}

func TestHostile(t *testing.T) {
	for _, cases := range [][]hostile{plantedCases(), attributeCases(), userCases(), kindCases(), hidingCases()} {
		for _, h := range cases {
			t.Run(h.name, func(t *testing.T) {
				t.Parallel()
				h.run(t)
			})
		}
	}
}

// plantedCases: what an agent leaves for a git that would walk into its tree.
func plantedCases() []hostile {
	return []hostile{
		{
			name:  "git directory with fsmonitor and hooks",
			agent: func(a *arena) { a.fullConfig(".git") },
			skips: []string{".git git-directory"},
			naive: func(a *arena) { a.naively("status") },
		},
		{
			name:  "git directory in a subdirectory",
			agent: func(a *arena) { a.fullConfig("sub/.git"); a.put("sub/file", "x") },
			skips: []string{"sub/.git git-directory"}, files: "sub/file",
			naive: func(a *arena) {
				a.git("config", "-f", a.in("sub/.git/config"), "core.worktree", a.in("sub"))
				repo{a.t, a.in("sub")}.try("status")
			},
		},
		{
			name: "other spellings of .git",
			agent: func(a *arena) {
				for _, n := range []string{
					".GIT", ".giT", "git~1", "GIT~1", ".git ", ".git.", ".git . .", ".git::$INDEX_ALLOCATION",
					".g\u200cit", "\ufeff.git", ".git\u200d", `x\.git`, `.git\config`,
				} {
					a.put(n+"/config", "[core]\n\tfsmonitor = touch "+a.canary+"\n")
				}
			},
			skips: []string{
				".GIT git-directory", ".giT git-directory", "git~1 git-directory", "GIT~1 git-directory", ".git  git-directory",
				".git. git-directory", ".git . . git-directory", ".git::$INDEX_ALLOCATION git-directory", `.g\u{200c}it git-directory`,
				`\u{feff}.git git-directory`, `.git\u{200d} git-directory`, `x\.git git-directory`, `.git\config git-directory`,
			},
		},
		{
			name: "names that only resemble .git are files",
			agent: func(a *arena) {
				for _, n := range []string{".gitx", "git", ".git-blame-ignore-revs", "git~2", ".github/x", "a.git"} {
					a.put(n, "x")
				}
			},
			files: ".git-blame-ignore-revs .github/x .gitx a.git git git~2",
		},
		{
			name: "git pointer file to a git directory elsewhere",
			agent: func(a *arena) {
				a.fullConfig("evil")
				a.put(".git", "gitdir: "+a.in("evil")+"\n")
			},
			skips: []string{".git git-directory"},
			files: "evil/HEAD evil/config evil/hooks/reference-transaction evil/objects/info/x evil/refs/x",
			naive: func(a *arena) { a.naively("status") },
		},
		{
			name: "git symlink to the user's repository",
			agent: func(a *arena) {
				a.must(os.Symlink(filepath.Join(a.dir, ".git"), a.in(".git")))
				a.put("new", "x")
			},
			skips: []string{".git git-directory"}, files: "new",
		},
		{
			name:  "git as a fifo",
			agent: func(a *arena) { a.must(unix.Mkfifo(a.in(".git"), 0o666)); a.put("new", "x") },
			skips: []string{".git git-directory"}, files: "new",
		},
		{
			name: "a bare repository at the top of the tree",
			agent: func(a *arena) {
				a.fullConfig(".")
				a.git("config", "-f", a.in("config"), "core.bare", "true")
				a.git("config", "-f", a.in("config"), "--unset", "core.worktree")
			},
			files: "HEAD config hooks/reference-transaction objects/info/x refs/x",
			naive: func(a *arena) {
				blob, err := repo{a.t, a.tree}.try("hash-object", "-w", "README.md")
				a.must(err)
				a.naively("update-ref", "refs/tags/x", strings.TrimSpace(blob))
			},
		},
		{
			name: "objects as a symlink and alternates of its own",
			agent: func(a *arena) {
				a.must(os.MkdirAll(a.in(".git"), 0o755))
				a.must(os.Symlink(a.outside, a.in(".git/objects")))
				a.put("sub/.git/objects/info/alternates", a.outside+"\n")
				a.put("objects/info/alternates", a.outside+"\n")
			},
			skips: []string{".git git-directory", "sub/.git git-directory"}, files: "objects/info/alternates",
		},
		{
			name: "gitmodules with an update command",
			agent: func(a *arena) {
				a.put(".gitmodules", "[submodule \"x\"]\n\tpath = x\n\turl = -u./evil\n\tupdate = !touch "+a.canary+"\n")
				a.put("x/.git", "gitdir: ../evil\n")
				a.put("x/file", "x")
			},
			skips: []string{"x/.git git-directory"}, files: ".gitmodules x/file",
		},
		{
			name: "gitmodules as a symlink",
			agent: func(a *arena) {
				a.must(os.Symlink(filepath.Join(a.outside, "secret"), a.in(".gitmodules")))
				a.must(os.Symlink("x", a.in(".GitModules")))
			},
			skips: []string{".gitmodules symlinked-gitmodules", ".GitModules symlinked-gitmodules"},
		},
		{
			name: "hooks in every place",
			agent: func(a *arena) {
				for _, h := range []string{"post-checkout", "pre-commit", "post-index-change", "reference-transaction", "post-merge"} {
					a.hook(a.in(".git/hooks/" + h))
					a.hook(a.in("hooks/" + h))
				}
			},
			skips: []string{".git git-directory"},
			files: "hooks/post-checkout hooks/post-index-change hooks/post-merge hooks/pre-commit hooks/reference-transaction",
			check: func(a *arena) {
				if fi, err := os.Stat(filepath.Join(a.final, "hooks/pre-commit")); err != nil || fi.Mode().Perm() != 0o755 {
					a.t.Errorf("an executable file stays one: %v %v", fi, err)
				}
			},
		},
	}
}

// attributeCases: drivers that attributes choose and configuration defines.
func attributeCases() []hostile {
	return []hostile{
		{
			name:  "clean filter named by the agent, defined by the user",
			user:  func(a *arena) { a.arm() },
			agent: func(a *arena) { a.put(".gitattributes", "* filter=evil\n"); a.put("new", "raw\n") },
			files: ".gitattributes new",
			naive: func(a *arena) {
				a.git("config", "--unset", "core.fsmonitor")
				_, _ = a.try("--work-tree="+a.tree, "add", "-A")
			},
		},
		{
			name:  "smudge filter named by the base",
			user:  func(a *arena) { a.write(".gitattributes", "*.txt filter=evil\n") },
			after: func(a *arena) { a.arm() },
			agent: func(a *arena) { a.put("src/a.txt", "beta\n") },
			naive: func(a *arena) {
				a.git("config", "--unset", "core.fsmonitor")
				a.git("config", "--unset", "filter.evil.process")
				a.git("checkout", "-q", "-f", "main", "--", ".")
				a.must(os.Remove(filepath.Join(a.dir, "src/a.txt")))
				a.git("checkout", "-q", "--", "src/a.txt")
			},
		},
		{
			name:  "external diff and textconv named by the agent",
			user:  func(a *arena) { a.arm() },
			agent: func(a *arena) { a.put(".gitattributes", "* diff=evil\n"); a.put("README.md", "one\n2\n") },
			files: ".gitattributes",
			naive: func(a *arena) {
				a.git("config", "--unset", "core.fsmonitor")
				_, _ = a.try("-c", "core.pager=cat", "diff", a.base, a.res.Commit)
			},
		},
		{
			name: "merge driver named by the base",
			user: func(a *arena) {
				a.write(".gitattributes", "* merge=evil\n")
				a.write("m", "1\n2\n3\n4\n5\n6\n7\n8\n9\n")
			},
			after: func(a *arena) { a.arm() },
			agent: func(a *arena) {
				a.put("m", "1\n2\n3\n4\n5\n6\n7\n8\nnine\n")
				moved := a.elsewhere("main", map[string]string{"m": "one\n2\n3\n4\n5\n6\n7\n8\n9\n"})
				a.git("update-ref", "refs/heads/main", moved)
				a.must(os.RemoveAll(a.canary))
			},
			check: func(a *arena) {
				if got := read(a.t, filepath.Join(a.final, "m")); got != "one\n2\n3\n4\n5\n6\n7\n8\nnine\n" {
					a.t.Errorf("merged text %q", got)
				}
			},
			naive: func(a *arena) {
				a.git("config", "--unset", "core.fsmonitor")
				dir := filepath.Join(a.t.TempDir(), "naive")
				a.git("worktree", "add", "-q", "--detach", dir, a.preview.TargetOID)
				_, _ = repo{a.t, dir}.try("merge", a.res.Commit)
			},
		},
		{
			name: "conversions named by the base leave bytes alone",
			user: func(a *arena) {
				a.write("crlf", "a\r\nb\r\n")
				a.write("ident", "$Id$\n")
				a.write("lf", "a\nb\n")
				a.write("utf16", "plain\n")
			},
			after: func(a *arena) {
				a.write(".gitattributes", "crlf text\nlf text eol=crlf\nident ident\nutf16 text working-tree-encoding=UTF-16\n* text=auto\n")
				a.git("add", ".gitattributes")
				a.git("commit", "-q", "-m", "attributes")
			},
			agent: func(a *arena) {
				for name, want := range map[string]string{"crlf": "a\r\nb\r\n", "ident": "$Id$\n", "lf": "a\nb\n", "utf16": "plain\n"} {
					if got := read(a.t, a.in(name)); got != want {
						a.t.Errorf("checked out %s: %q", name, got)
					}
				}
				a.put("lf", "a\r\nb\nc\r")
				a.put("utf16", "\xff\xfeh\x00i\x00")
			},
			check: func(a *arena) {
				for name, want := range map[string]string{"crlf": "a\r\nb\r\n", "lf": "a\r\nb\nc\r", "utf16": "\xff\xfeh\x00i\x00"} {
					if got, err := a.st.ReadFile(a.ctx, a.landed, name, 100); err != nil || string(got) != want {
						a.t.Errorf("committed %s: %q %v", name, got, err)
					}
				}
			},
		},
		{
			name: "attribute macro that redefines a built-in name",
			user: func(a *arena) { a.arm() },
			agent: func(a *arena) {
				a.put(".gitattributes", "[attr]text filter=evil diff=evil merge=evil\n* text\n")
				a.put("new", "x\n")
			},
			files: ".gitattributes new",
		},
		{
			name: "attributes that call text binary do not hide it",
			agent: func(a *arena) {
				a.put(".gitattributes", "* -diff -text binary\n")
				a.put("README.md", "one\nevil\nthree\n")
			},
			files: ".gitattributes",
			check: func(a *arena) {
				set, err := a.st.Diff(a.ctx, a.base, a.res.Commit, DiffOptions{})
				a.must(err)
				for _, f := range set.Files {
					if f.Kind != "text" || len(f.Hunks) == 0 {
						a.t.Errorf("%s is shown as %s", f.Path, f.Kind)
					}
				}
			},
		},
	}
}

// elsewhere commits files on top of rev without touching the user's checkout.
func (a *arena) elsewhere(rev string, files map[string]string) string {
	a.t.Helper()
	dir := filepath.Join(a.t.TempDir(), "elsewhere")
	a.git("clone", "-q", "--shared", "--no-checkout", a.dir, dir)
	c := repo{a.t, dir}
	c.git("config", "user.name", "Other")
	c.git("config", "user.email", "other@example.org")
	c.git("checkout", "-q", "--detach", "origin/"+rev)
	for name, text := range files {
		c.write(name, text)
	}
	id := c.commit("elsewhere")
	a.git("-c", "core.fsmonitor=false", "fetch", "-q", dir, id)
	return id
}
