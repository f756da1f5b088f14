package git

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

func TestRemotesAreReadAsWritten(t *testing.T) {
	r := newRepo(t)
	r.commit("first")
	src, err := Open(t.Context(), r.dir)
	if err != nil {
		t.Fatal(err)
	}
	if urls, err := src.Remotes(t.Context()); err != nil || len(urls) != 0 {
		t.Errorf("no remotes: %q, %v", urls, err)
	}
	r.git("remote", "add", "origin", "https://github.com/o/n.git")
	r.git("remote", "add", "fork", "git@github.com:me/n")
	r.git("config", "remote.origin.pushurl", "https://evil.example.org/x/y")
	r.git("config", "url.https://evil.example.org/.insteadOf", "https://github.com/")
	included := filepath.Join(t.TempDir(), "more")
	if err := os.WriteFile(included, []byte("[remote \"evil\"]\n\turl = https://github.com/evil/included\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	r.git("config", "include.path", included)
	urls, err := src.Remotes(t.Context())
	if want := []string{"https://github.com/o/n.git", "git@github.com:me/n"}; err != nil || !slices.Equal(urls, want) {
		t.Errorf("%q, %v, want %q", urls, err, want)
	}

	// A linked work tree has the remotes of its repository.
	linked := filepath.Join(t.TempDir(), "linked")
	r.git("worktree", "add", "-q", "-b", "other", linked)
	if src, err = Open(t.Context(), linked); err != nil {
		t.Fatal(err)
	}
	if urls, err := src.Remotes(t.Context()); err != nil || len(urls) != 2 {
		t.Errorf("of a work tree: %q, %v", urls, err)
	}
}
