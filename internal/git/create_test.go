package git

import (
	"path/filepath"
	"testing"
)

// A repository moeca began is an ordinary one, always with the same commit; a
// landing in it is found again, and only that one.
func TestCreateAndLanded(t *testing.T) {
	files := []NewFile{{Path: "README.md", Content: []byte("one\n")}, {Path: "bin/tool", Content: []byte("#!/bin/sh\n"), Executable: true}}
	dirs := []string{filepath.Join(t.TempDir(), "a"), filepath.Join(t.TempDir(), "b")}
	var ids [2]string
	for i, dir := range dirs {
		ids[i] = must(Create(t.Context(), dir, "main", files, "begin", Identity{"moeca", "m@localhost"}, testTime))(t)
	}
	if ids[0] != ids[1] {
		t.Fatalf("not deterministic: %v", ids)
	}
	if _, err := Create(t.Context(), dirs[0], "main", files, "begin", Identity{}, testTime); err == nil {
		t.Fatal("began a repository over another")
	}
	w := repo{t, dirs[0]}.open("main")
	w.put("new", "x")
	p := must(w.st.Preview(w.ctx, "main", w.snapshot().Commit))(t)
	if got := must(w.st.Landed(w.ctx, p))(t); got != "" {
		t.Fatalf("found %s before it landed", got)
	}
	commit := must(w.st.Land(w.ctx, p, "Merge", Identity{}))(t)
	w.git("config", "user.name", "U")
	w.git("config", "user.email", "u@x")
	w.git("commit", "-q", "--allow-empty", "-m", "later")
	if got := must(w.st.Landed(w.ctx, p))(t); got != commit {
		t.Fatalf("found %q, landed %s", got, commit)
	}
	p.Head = p.TargetOID
	if got := must(w.st.Landed(w.ctx, p))(t); got != "" {
		t.Fatalf("found %s for another head", got)
	}
}
