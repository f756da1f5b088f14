package git

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
)

func (w *world) branchAt(branch string) string { return w.git("rev-parse", "refs/heads/"+branch) }

// advance commits files on branch without a checkout of it.
func (w *world) advance(branch string, files map[string]string) string {
	a := &arena{world: w}
	id := a.elsewhere(branch, files)
	w.git("update-ref", "refs/heads/"+branch, id)
	return id
}

func TestPreviewStates(t *testing.T) {
	w := seeded(t).open("main")
	w.git("branch", "other")
	w.put("README.md", "one\n2\nthree\n")
	res := w.snapshot()

	if p, err := w.st.Preview(w.ctx, "main", w.base); err != nil || !p.UpToDate || p.Ahead != 0 {
		t.Errorf("up to date: %+v %v", p, err)
	} else if _, err := w.st.Land(w.ctx, p, "x", Identity{}); !errors.Is(err, ErrNothingToDo) {
		t.Errorf("landed nothing: %v", err)
	}
	w.advance("main", map[string]string{"more": "x"})
	p, err := w.st.Preview(w.ctx, "main", res.Commit)
	if err != nil || p.Behind != 1 || p.Ahead != 1 || p.MergeBase != w.base || p.ResultTree == "" || p.ResultTree == res.Tree {
		t.Fatalf("behind: %+v %v", p, err)
	}
	if got := strings.Join(w.paths(p.ResultTree), " "); got != "README.md more src/a.txt" {
		t.Errorf("merged tree holds %s", got)
	}
	if _, err := w.st.Preview(w.ctx, "nosuch", res.Commit); !errors.Is(err, ErrNoRevision) {
		t.Error(err)
	}
	root := w.git("commit-tree", "-m", "root", w.base+"^{tree}")
	p, err = w.st.Preview(w.ctx, "main", root)
	if err != nil || !p.Unrelated || p.ResultTree != "" || len(p.Conflicts) != 1 || p.Conflicts[0].Kinds[0] != "unrelated-histories" {
		t.Errorf("unrelated: %+v %v", p, err)
	}
	if w.git("for-each-ref", "--format=%(refname)") != "refs/heads/main\nrefs/heads/other" {
		t.Error("a preview left a ref")
	}
}

// Every kind of conflict is told with its path; nothing lands.
func TestConflicts(t *testing.T) {
	r := newRepo(t)
	for _, n := range []string{"content", "gone", "kept", "odd\nname", "dir/file"} {
		r.write(n, "1\n2\n3\n")
	}
	r.commit("base")
	w := r.open("main")
	for _, n := range []string{"content", "odd\nname", "gone"} {
		w.put(n, "1\nours\n3\n")
	}
	w.put("both", "ours\n")
	w.put("blob", "ours\x00")
	res := w.snapshot()
	dir := filepath.Join(t.TempDir(), "side")
	w.git("worktree", "add", "-q", "--detach", dir, "main")
	side := repo{t, dir}
	for _, n := range []string{"content", "odd\nname"} {
		side.write(n, "1\ntheirs\n3\n")
	}
	side.git("rm", "-q", "gone")
	side.write("both", "theirs\n")
	side.write("blob", "theirs\x00")
	w.git("update-ref", "refs/heads/main", side.commit("theirs"))

	before := w.branchAt("main")
	p, err := w.st.Preview(w.ctx, "main", res.Commit)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, c := range p.Conflicts {
		got[c.Path] = fmt.Sprint(strings.Join(c.Kinds, ","), " ", len(c.Stages))
	}
	want := map[string]string{"content": "content 3", `odd\nname`: "content 3", "gone": "modify/delete 2", "both": "add/add 2", "blob": "binary,add/add 2"}
	for path, kind := range want {
		if got[path] != kind {
			t.Errorf("%s: %q, want %q", path, got[path], kind)
		}
	}
	if len(got) != len(want) || p.ResultTree != "" {
		t.Errorf("%q", got)
	}
	if _, err := w.st.Land(w.ctx, p, "x", Identity{}); !errors.Is(err, ErrConflict) || w.branchAt("main") != before {
		t.Errorf("landed a conflict: %v", err)
	}
}

func TestLandRefusesWhatWasNotSeen(t *testing.T) {
	w := seeded(t).open("main")
	w.put("new", "x")
	res := w.snapshot()
	p, err := w.st.Preview(w.ctx, "main", res.Commit)
	if err != nil {
		t.Fatal(err)
	}
	moved := w.advance("main", map[string]string{"more": "x"})
	if _, err := w.st.Land(w.ctx, p, "x", Identity{}); !errors.Is(err, ErrMoved) || w.branchAt("main") != moved {
		t.Fatalf("landed on a target that moved: %v", err)
	}
	for name, spoil := range map[string]func(p *Preview){
		"a result that is a commit":      func(p *Preview) { p.ResultTree = p.Head },
		"a result that does not exist":   func(p *Preview) { p.ResultTree = strings.Repeat("1", 40) },
		"a result that is an expression": func(p *Preview) { p.ResultTree = "main^{tree}" },
		"a head that is a tree":          func(p *Preview) { p.Head = p.ResultTree },
		"a target like an option":        func(p *Preview) { p.Target = "-f" },
		"a target outside branches":      func(p *Preview) { p.Target = "../../config" },
	} {
		q, err := w.st.Preview(w.ctx, "main", res.Commit)
		if err != nil {
			t.Fatal(err)
		}
		spoil(&q)
		if c, err := w.st.Land(w.ctx, q, "x", Identity{}); err == nil || w.branchAt("main") != moved {
			t.Errorf("%s: landed %s", name, c)
		}
	}
}

// Of many who approve at once exactly one lands.
func TestLandRace(t *testing.T) {
	w := seeded(t).open("main")
	w.put("new", "x")
	p, err := w.st.Preview(w.ctx, "main", w.snapshot().Commit)
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	var mu sync.Mutex
	var landed []string
	for i := range 6 {
		wg.Go(func() {
			c, err := w.st.Land(w.ctx, p, fmt.Sprintf("by %d", i), Identity{})
			mu.Lock()
			defer mu.Unlock()
			if err == nil {
				landed = append(landed, c)
			} else if w.branchAt("main") == p.TargetOID {
				t.Errorf("refused, and nobody landed: %v", err)
			}
		})
	}
	wg.Wait()
	if len(landed) != 1 || w.branchAt("main") != landed[0] {
		t.Fatalf("landed %v, main at %s", landed, w.branchAt("main"))
	}
}

// The target is checked out elsewhere and dirty: that place does not change.
func TestLandOnCheckedOutTarget(t *testing.T) {
	r := seeded(t)
	dir := filepath.Join(t.TempDir(), "elsewhere")
	r.git("worktree", "add", "-q", "-b", "target", dir)
	w := r.open("target")
	put(t, filepath.Join(dir, "README.md"), "dirty")
	w.put("new", "x")
	p, err := w.st.Preview(w.ctx, "target", w.snapshot().Commit)
	if err != nil {
		t.Fatal(err)
	}
	if at, err := w.src.CheckedOut(w.ctx, "target"); err != nil || at != dir {
		t.Fatalf("%q %v", at, err)
	}
	message := "Merge: weiß\n\nbody \xff\x00 end\n\n\n"
	commit, err := w.st.LandAt(w.ctx, p, message, Identity{"A <b>\nparent x", "a@b>\n"}, testTime)
	if err != nil {
		t.Fatal(err)
	}
	if read(t, filepath.Join(dir, "README.md")) != "dirty" {
		t.Error("the checkout was touched")
	}
	want := fmt.Sprintf("tree %s\nparent %s\nparent %s\nauthor A bparent x <a@b> 1772600767 +0000\ncommitter A bparent x <a@b> 1772600767 +0000\n\nMerge: weiß\n\nbody \uFFFD\uFFFD end",
		p.ResultTree, p.TargetOID, p.Head)
	if got := r.git("cat-file", "commit", commit); got != want {
		t.Errorf("commit\n%s\nwant\n%s", got, want)
	}
	if log := r.git("reflog", "show", "target"); !strings.Contains(log, "moeca: merge: Merge: weiß") {
		t.Errorf("reflog %s", log)
	}
}

func TestRefs(t *testing.T) {
	w := seeded(t).open("main")
	w.put("new", "x")
	res := w.snapshot()
	steps := []struct {
		name             string
		branch, oid, old string
		want             error
	}{
		{"creates a branch", "moeca/t-1", w.base, "", nil},
		{"creating it again is a retry", "moeca/t-1", w.base, "", nil},
		{"does not create over another value", "moeca/t-1", res.Commit, "", ErrMoved},
		{"moves from where it is", "refs/heads/moeca/t-1", res.Commit, w.base, nil},
		{"does not move from where it is not", "moeca/t-1", w.base, strings.Repeat("1", 40), ErrMoved},
		{"refuses a dash", "-x", w.base, "", ErrBadName},
		{"refuses a dash in a component", "moeca/-x", w.base, "", ErrBadName},
		{"refuses a way up", "../../config", w.base, "", ErrBadName},
		{"refuses a lock", "x.lock", w.base, "", ErrBadName},
		{"refuses HEAD", "HEAD", w.base, "", ErrBadName},
		{"refuses a space", "a b", w.base, "", ErrBadName},
		{"refuses a control character", "a\nb", w.base, "", ErrBadName},
	}
	for _, s := range steps {
		if err := w.st.SetBranch(w.ctx, s.branch, s.oid, s.old); !errors.Is(err, s.want) {
			t.Errorf("%s: %v", s.name, err)
		}
	}
	if w.branchAt("moeca/t-1") != res.Commit {
		t.Error("branch is elsewhere")
	}
	for _, oid := range []string{"", "main", w.base[:12], strings.Repeat("g", 40), "--stdin"} {
		if err := w.st.SetBranch(w.ctx, "x", oid, ""); err == nil {
			t.Errorf("took %q for an object id", oid)
		}
	}
	for range 2 {
		if err := w.st.Hold(w.ctx, "preview/t-1", res.Tree); err != nil {
			t.Fatal(err)
		}
	}
	w.git("gc", "-q", "--prune=now")
	if w.git("rev-parse", "refs/moeca/preview/t-1") != res.Tree {
		t.Error("not held")
	}
	for range 2 {
		if err := w.st.Release(w.ctx, "preview/t-1"); err != nil {
			t.Fatal(err)
		}
	}
	if got := w.git("for-each-ref", "refs/moeca"); got != "" {
		t.Error(got)
	}
}

// checkRefName refuses everything git refuses.
func FuzzRefName(f *testing.F) {
	for _, s := range []string{"main", "a/b", "a..b", "-x", "a.lock/b", "@", "a@{b", "ü", "a\x7f", "x/", "/x", "a//b", ".x", "x."} {
		f.Add(s)
	}
	r := newRepo(f)
	f.Fuzz(func(t *testing.T, name string) {
		if checkRefName(name) != nil || strings.ContainsRune(name, 0) {
			return
		}
		if _, err := r.try("check-ref-format", "refs/heads/"+name); err != nil {
			t.Fatalf("accepted %q, git does not", name)
		}
	})
}

func TestParseMergeRefusesDamage(t *testing.T) {
	whole := "T\x00100644 abc 1\tp\x00\x001\x00p\x00CONFLICT (contents)\x00text\n\x00"
	tree, conflicts, err := parseMerge([]byte(whole))
	if err != nil || tree != "T" || len(conflicts) != 1 || !slices.Equal(conflicts[0].Kinds, []string{"content"}) {
		t.Fatalf("%s %+v %v", tree, conflicts, err)
	}
	for i := range len(whole) - 1 {
		if _, c, err := parseMerge([]byte(whole[:i])); err == nil && i > 0 && whole[i-1] != 0 {
			t.Errorf("cut at %d: %+v", i, c)
		}
	}
}

// Two stores on one repository, many snapshots at once: each gets its own.
func TestSnapshotsAtOnce(t *testing.T) {
	w := seeded(t).open("main")
	var wg sync.WaitGroup
	for i := range 6 {
		dir := filepath.Join(t.TempDir(), "tree")
		if err := w.st.Checkout(w.ctx, w.base, dir, Owner{-1, -1}); err != nil {
			t.Fatal(err)
		}
		put(t, filepath.Join(dir, "mine"), fmt.Sprint(i))
		wg.Go(func() {
			st, err := OpenStore(context.Background(), w.st.dir, w.src)
			if err != nil {
				t.Error(err)
				return
			}
			req := w.request()
			req.Dir = dir
			for range 2 {
				res, err := st.Snapshot(w.ctx, req)
				if err != nil {
					t.Error(err)
					return
				}
				if got, err := st.ReadFile(w.ctx, res.Commit, "mine", 9); err != nil || string(got) != fmt.Sprint(i) {
					t.Errorf("%d: %q %v", i, got, err)
				}
			}
		})
	}
	wg.Wait()
}
