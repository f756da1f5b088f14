package git

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// The main job: check out, change, snapshot, compare, preview, land. The
// user's work tree and index stay as they were.
func TestFlow(t *testing.T) {
	for _, format := range []string{"sha1", "sha256"} {
		t.Run(format, func(t *testing.T) {
			r := newRepo(t, "--object-format="+format)
			r.write("README.md", "one\ntwo\nthree\n")
			r.write("src/main.go", "package main\n")
			r.write("src/old.txt", "some text\nthat stays\nthe same\n")
			r.commit("first")
			w := r.open("main")
			r.write("README.md", "dirty in the user's checkout\n")
			before := r.git("status", "--porcelain")

			w.put("README.md", "one\n2\nthree\n")
			w.put("new/deep/file", "hello")
			if err := os.Rename(filepath.Join(w.tree, "src/old.txt"), filepath.Join(w.tree, "src/moved.txt")); err != nil {
				t.Fatal(err)
			}
			res := w.snapshot()
			if !res.Changed || res.Files != 4 {
				t.Fatalf("snapshot: %+v", res)
			}
			again := w.snapshot()
			if again.Commit != res.Commit {
				t.Fatalf("not deterministic: %s, %s", again.Commit, res.Commit)
			}
			if err := w.st.SetBranch(w.ctx, "refs/heads/moeca/t-1", res.Commit, ""); err != nil {
				t.Fatal(err)
			}
			set, err := w.st.Diff(w.ctx, w.base, res.Commit, DiffOptions{})
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, f := range set.Files {
				got = append(got, f.Status+" "+f.Path)
			}
			want := []string{"modified README.md", "added new/deep/file", "renamed src/moved.txt"}
			if !slices.Equal(got, want) {
				t.Fatalf("diff: %q", got)
			}
			files, added, deleted, err := w.st.Stat(w.ctx, w.base, res.Commit)
			if err != nil || files != 3 || added != 2 || deleted != 1 || set.Added != 2 || set.Deleted != 1 {
				t.Fatalf("stat: %d +%d -%d %v", files, added, deleted, err)
			}
			p, err := w.st.Preview(w.ctx, "main", res.Commit)
			if err != nil {
				t.Fatal(err)
			}
			if p.ResultTree != res.Tree || p.Ahead != 1 || p.Behind != 0 || p.MergeBase != w.base {
				t.Fatalf("preview: %+v", p)
			}
			commit, err := w.st.Land(w.ctx, p, "Merge task", Identity{"Person", "p@example.org"})
			if err != nil {
				t.Fatal(err)
			}
			if r.git("rev-parse", "main") != commit || r.git("rev-parse", "main^2") != res.Commit || r.git("rev-parse", "main^{tree}") != p.ResultTree {
				t.Fatal("main is not the merge")
			}
			if read(t, filepath.Join(r.dir, "README.md")) != "dirty in the user's checkout\n" {
				t.Fatal("the user's checkout was touched")
			}
			if _, err := w.st.Land(w.ctx, p, "again", Identity{}); !errors.Is(err, ErrMoved) {
				t.Fatalf("landing twice: %v", err)
			}
			r.git("read-tree", p.TargetOID)
			if after := r.git("status", "--porcelain"); before == "" || after == "" {
				t.Fatal("status")
			}
			r.git("fsck", "--strict")
		})
	}
}
