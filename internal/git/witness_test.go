package git

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func (r repo) store() *Store {
	r.t.Helper()
	src := must(Open(r.t.Context(), r.dir))(r.t)
	return must(OpenStore(r.t.Context(), r.t.TempDir(), src))(r.t)
}

// TestWitnessHistory keeps states under the ref of witnesses: they come back, the
// user's own history, log and files stay as they were, and a push carries them.
func TestWitnessHistory(t *testing.T) {
	for _, format := range []string{"sha1", "sha256"} {
		r := newRepo(t, "--object-format="+format)
		r.write("a.txt", "a\n")
		r.commit("first")
		// What a repository can be configured to run must not run.
		r.git("config", "core.hooksPath", filepath.Join(r.dir, "hooks"))
		put(t, filepath.Join(r.dir, "hooks", "reference-transaction"), "#!/bin/sh\ntouch "+filepath.Join(r.dir, "ran")+"\n")
		if err := os.Chmod(filepath.Join(r.dir, "hooks", "reference-transaction"), 0o755); err != nil {
			t.Fatal(err)
		}
		r.git("config", "log.showSignature", "true")
		before := r.git("log", "--all", "--oneline")
		st := r.store()
		if got, err := st.Witnessed(t.Context(), 10); err != nil || len(got) != 0 {
			t.Fatalf("%v, %v", got, err)
		}
		at := time.Date(2026, 3, 1, 10, 0, 0, 0, time.UTC)
		for i := range 6 {
			content := []byte(fmt.Sprintf("state %d\n", i/2)) // each twice, kept once
			if err := st.AddWitness(t.Context(), content, "Checkpoint", Identity{"moeca", "moeca@localhost"}, at.Add(time.Duration(i)*time.Hour)); err != nil {
				t.Fatal(err)
			}
		}
		got, err := st.Witnessed(t.Context(), 10)
		if err != nil || len(got) != 3 || string(got[0].Content) != "state 2\n" || string(got[2].Content) != "state 0\n" || !got[2].At.Equal(at) {
			t.Fatalf("%s: %+v, %v", format, got, err)
		}
		if got, err := st.Witnessed(t.Context(), 1); err != nil || len(got) != 1 || string(got[0].Content) != "state 2\n" {
			t.Fatalf("%+v, %v", got, err)
		}
		if text := r.git("show", WitnessRef+":checkpoint"); text != "state 2" {
			t.Errorf("others read %q", text)
		}
		if now := r.git("log", "--branches", "--tags", "--oneline"); now != before {
			t.Errorf("the user's log was %q, is %q", before, now)
		}
		if status := r.git("status", "--porcelain", "--", "a.txt"); status != "" {
			t.Errorf("the work tree: %q", status)
		}
		if _, err := os.Stat(filepath.Join(r.dir, "ran")); err == nil {
			t.Error("a hook ran")
		}
		r.git("fsck", "--strict")
		bare := filepath.Join(t.TempDir(), "bare")
		r.git("init", "-q", "--bare", "--object-format="+format, bare)
		r.git("-c", "core.hooksPath=/dev/null", "push", "-q", bare, WitnessRef)
	}
}

// TestWitnessRefThatIsNotOurs: a ref of that name that leads to the user's work
// is left alone.
func TestWitnessRefThatIsNotOurs(t *testing.T) {
	for what, point := range map[string]func(r repo){
		"a symbolic ref to a branch": func(r repo) { r.git("symbolic-ref", WitnessRef, "refs/heads/main") },
		"a commit of the user":       func(r repo) { r.git("update-ref", WitnessRef, "HEAD") },
	} {
		r := newRepo(t)
		r.write("a.txt", "a\n")
		head := r.commit("first")
		point(r)
		st := r.store()
		err := st.AddWitness(t.Context(), []byte("state\n"), "Checkpoint", Identity{}, time.Unix(1, 0))
		if err == nil || !strings.Contains(err.Error(), WitnessRef) {
			t.Errorf("%s: %v", what, err)
		}
		if now := r.git("rev-parse", "main"); now != head {
			t.Errorf("%s: the branch moved to %s", what, now)
		}
	}
	// Even a branch that holds a file of that name does not move.
	r := newRepo(t)
	r.write("checkpoint", "mine\n")
	head := r.commit("first")
	r.git("symbolic-ref", WitnessRef, "refs/heads/main")
	st := r.store()
	_ = st.AddWitness(t.Context(), []byte("state\n"), "Checkpoint", Identity{}, time.Unix(1, 0)) // may fail or replace the symbolic ref
	if now := r.git("rev-parse", "main"); now != head {
		t.Errorf("the branch moved to %s", now)
	}
}
