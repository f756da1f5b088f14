package git

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func seeded(t testing.TB, args ...string) repo {
	r := newRepo(t, args...)
	r.write("README.md", "one\ntwo\nthree\n")
	r.write("src/a.txt", "alpha\n")
	r.commit("base")
	return r
}

// Each bad input gets its own error, and the error says what to do.
func TestOpenRefuses(t *testing.T) {
	plain := t.TempDir()
	put(t, filepath.Join(plain, "file"), "x")
	unborn := newRepo(t)
	inside := seeded(t)
	broken := t.TempDir()
	put(t, filepath.Join(broken, ".git"), "gitdir: /nonexistent/elsewhere\n")
	link := filepath.Join(plain, "link")
	if err := os.Symlink(filepath.Join(inside.dir, "src"), link); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		path string
		want error
		says string
	}{
		"a symlink into a repository":    {link, ErrNotRepository, inside.dir},
		"a plain directory":              {plain, ErrNotRepository, "git init"},
		"a file":                         {filepath.Join(plain, "file"), ErrNotRepository, "name the repository's directory"},
		"a path that is gone":            {filepath.Join(plain, "gone"), ErrGone, "restore"},
		"a repository without a commit":  {unborn.dir, ErrUnborn, "first commit"},
		"a directory below a repository": {filepath.Join(inside.dir, "src"), ErrNotRepository, inside.dir},
		"a pointer to nowhere":           {broken, ErrNotRepository, "/nonexistent/elsewhere"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Open(context.Background(), c.path)
			if !errors.Is(err, c.want) || !strings.Contains(err.Error(), c.says) || !strings.Contains(err.Error(), c.path) {
				t.Fatalf("%v", err)
			}
		})
	}
}

func TestVersions(t *testing.T) {
	for out, ok := range map[string]bool{
		"git version 2.39.5\n": true, "git version 2.38.0": true, "git version 3.0.1.windows.1": true,
		"git version 2.37.9": false, "git version 1.99": false, "hub 2": false,
	} {
		if err := checkVersion(out); (err == nil) != ok {
			t.Errorf("%q: %v", out, err)
		}
	}
	if err := checkVersion("git version 2.37.9"); !errors.Is(err, ErrTooOld) || !strings.Contains(err.Error(), "2.37.9") {
		t.Error(err)
	}
}

// The whole job works from every shape of repository.
func TestShapes(t *testing.T) {
	shapes := map[string]struct {
		make  func(t *testing.T) repo
		check func(t *testing.T, i Info)
	}{
		"bare": {func(t *testing.T) repo {
			r := seeded(t)
			dir := filepath.Join(t.TempDir(), "bare.git")
			r.git("clone", "-q", "--bare", r.dir, dir)
			return repo{t, dir}
		}, func(t *testing.T, i Info) {
			if !i.Bare || i.DefaultBranch != "main" {
				t.Errorf("%+v", i)
			}
		}},
		"linked work tree": {func(t *testing.T) repo {
			r := seeded(t)
			dir := filepath.Join(t.TempDir(), "linked")
			r.git("worktree", "add", "-q", "-b", "side", dir)
			return repo{t, dir}
		}, func(t *testing.T, i Info) {
			if i.Head != "side" || i.Bare || !slices.Equal(i.Branches, []string{"main", "side"}) {
				t.Errorf("%+v", i)
			}
		}},
		"detached head": {func(t *testing.T) repo {
			r := seeded(t)
			r.git("checkout", "-q", "--detach")
			return r
		}, func(t *testing.T, i Info) {
			if i.Head != "" || i.HeadOID == "" || i.DefaultBranch != "main" {
				t.Errorf("%+v", i)
			}
		}},
		"unborn branch checked out beside others": {func(t *testing.T) repo {
			r := seeded(t)
			r.git("checkout", "-q", "--orphan", "fresh")
			return r
		}, func(t *testing.T, i Info) {
			if i.Head != "fresh" || i.HeadOID != "" || i.DefaultBranch != "main" {
				t.Errorf("%+v", i)
			}
		}},
		"shallow": {func(t *testing.T) repo {
			r := seeded(t)
			r.write("more", "x")
			r.commit("second")
			dir := filepath.Join(t.TempDir(), "shallow")
			r.git("clone", "-q", "--depth=1", "file://"+r.dir, dir)
			return repo{t, dir}
		}, func(t *testing.T, i Info) {
			if !i.Shallow {
				t.Errorf("%+v", i)
			}
		}},
		"packed refs and objects": {func(t *testing.T) repo {
			r := seeded(t)
			r.git("gc", "-q")
			return r
		}, nil},
		"default branch of the remote": {func(t *testing.T) repo {
			r := seeded(t)
			r.git("branch", "trunk")
			r.git("update-ref", "refs/remotes/origin/trunk", "HEAD")
			r.git("symbolic-ref", "refs/remotes/origin/HEAD", "refs/remotes/origin/trunk")
			return r
		}, func(t *testing.T, i Info) {
			if i.DefaultBranch != "trunk" || i.Head != "main" {
				t.Errorf("%+v", i)
			}
		}},
		"large files and submodules": {func(t *testing.T) repo {
			r := seeded(t)
			r.write(".gitattributes", "*.bin filter=lfs\n")
			r.git("add", "-A")
			r.git("update-index", "--add", "--cacheinfo", "160000,1234567890123456789012345678901234567890,lib")
			r.git("commit", "-q", "-m", "both")
			return r
		}, func(t *testing.T, i Info) {
			if !i.LFS || !i.Submodules {
				t.Errorf("%+v", i)
			}
		}},
		"shared by a group": {func(t *testing.T) repo {
			r := seeded(t)
			r.git("config", "core.sharedRepository", "group")
			return r
		}, nil},
		"a symlink to the repository": {func(t *testing.T) repo {
			link := filepath.Join(t.TempDir(), "link")
			if err := os.Symlink(seeded(t).dir, link); err != nil {
				t.Fatal(err)
			}
			return repo{t, link}
		}, nil},
		"a path with a line end": {func(t *testing.T) repo {
			r := seeded(t)
			dir := filepath.Join(t.TempDir(), "odd\nname 'x'")
			if err := os.Rename(r.dir, dir); err != nil {
				t.Fatal(err)
			}
			return repo{t, dir}
		}, nil},
	}
	for name, s := range shapes {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := s.make(t)
			w := r.open("main")
			i := w.src.Info()
			if s.check != nil {
				s.check(t, i)
			}
			if i.ObjectFormat != "sha1" || i.Path != r.dir {
				t.Errorf("%+v", i)
			}
			w.put("new", "x")
			res := w.snapshot()
			p, err := w.st.Preview(w.ctx, "main", res.Commit)
			if err != nil {
				t.Fatal(err)
			}
			commit, err := w.st.Land(w.ctx, p, "Merge", Identity{})
			if err != nil {
				t.Fatal(err)
			}
			if got := r.git("rev-parse", "refs/heads/main", "main^{tree}", "main^1", "main^2"); got != strings.Join([]string{commit, res.Tree, p.TargetOID, res.Commit}, "\n") {
				t.Errorf("landed %s", got)
			}
			r.git("fsck", "--strict")
		})
	}
}

func TestResolve(t *testing.T) {
	r := seeded(t)
	first := r.git("rev-parse", "HEAD")
	r.write("x", "x")
	second := r.commit("second")
	r.git("branch", "feature", first)
	r.git("tag", "-a", "-m", "v1", "v1", first)
	r.git("tag", "main", first) // a tag with the name of a branch
	src, err := Open(context.Background(), r.dir)
	if err != nil {
		t.Fatal(err)
	}
	for rev, want := range map[string]string{
		"main": second, "refs/heads/main": second, "refs/tags/main": first, "feature": first, "v1": first, "HEAD": second,
		"HEAD~1": first, second[:10]: second, second: second,
	} {
		if got, err := src.Resolve(context.Background(), rev); err != nil || got != want {
			t.Errorf("%s: %s %v", rev, got, err)
		}
	}
	for rev, want := range map[string]error{
		"": ErrBadName, "-h": ErrBadName, "--all": ErrBadName, "nosuch": ErrNoRevision, "main:x": ErrNoRevision,
		"main..feature": ErrNoRevision, strings.Repeat("0", 40): ErrNoRevision, "a\x00b": ErrBadName, "main\nfeature": ErrNoRevision,
	} {
		if got, err := src.Resolve(context.Background(), rev); !errors.Is(err, want) {
			t.Errorf("%q: %s %v", rev, got, err)
		}
	}
}

func TestCheckedOut(t *testing.T) {
	r := seeded(t)
	dir := filepath.Join(t.TempDir(), "linked")
	r.git("branch", "idle")
	r.git("worktree", "add", "-q", "-b", "side", dir)
	src, err := Open(context.Background(), r.dir)
	if err != nil {
		t.Fatal(err)
	}
	for branch, want := range map[string]string{"main": r.dir, "refs/heads/side": dir, "idle": ""} {
		if got, err := src.CheckedOut(context.Background(), branch); err != nil || got != want {
			t.Errorf("%s: %q %v", branch, got, err)
		}
	}
}

// A repository that vanishes while it is in use is named as gone.
func TestGoneLater(t *testing.T) {
	w := seeded(t).open("main")
	if err := os.RemoveAll(w.dir); err != nil {
		t.Fatal(err)
	}
	if _, err := w.st.List(w.ctx, w.base); !errors.Is(err, ErrGone) {
		t.Fatal(err)
	}
	if _, err := w.st.Snapshot(w.ctx, w.request()); !errors.Is(err, ErrGone) {
		t.Fatal(err)
	}
}

// Nothing of the host's environment reaches git.
func TestEnvironmentIsExact(t *testing.T) {
	t.Setenv("GIT_DIR", "/nonexistent")
	t.Setenv("GIT_EXTERNAL_DIFF", "false")
	t.Setenv("GIT_CONFIG_COUNT", "1")
	t.Setenv("GIT_CONFIG_KEY_0", "core.bare")
	t.Setenv("GIT_CONFIG_VALUE_0", "nonsense")
	t.Setenv("HOME", t.TempDir())
	put(t, filepath.Join(os.Getenv("HOME"), ".gitconfig"), "[broken\n")
	r := seeded(t)
	w := r.open("main")
	w.put("new", "x")
	w.snapshot()
}

// A call cancelled while git answers says so, not that the answer is short.
func TestCancelledMidway(t *testing.T) {
	w := seeded(t).open("main")
	ctx, cancel := context.WithCancel(w.ctx)
	blob := w.git("rev-parse", "main:README.md")
	err := w.st.readObjects(ctx, []string{blob, blob}, func(_ int, _ object, r io.Reader) error {
		cancel()
		_, err := io.Copy(io.Discard, r)
		return err
	})
	if !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	stop := errors.New("enough")
	err = w.st.readObjects(w.ctx, []string{blob, blob}, func(int, object, io.Reader) error { return stop })
	if !errors.Is(err, stop) {
		t.Error(err)
	}
}

// A cancelled call ends and says why.
func TestCancelled(t *testing.T) {
	w := seeded(t).open("main")
	ctx, cancel := context.WithCancel(w.ctx)
	cancel()
	if _, err := w.st.Snapshot(ctx, w.request()); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if _, err := Open(ctx, w.dir); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}
