package ui

import (
	"io/fs"
	"strings"
	"testing"
)

func TestFilesAreRootedAtTheIndex(t *testing.T) {
	files, err := Files()
	if err != nil {
		t.Fatal(err)
	}
	_, err = fs.Stat(files, "index.html")
	if got := err == nil; got != built() {
		t.Fatalf("index.html at the root: %v, built: %v", got, built())
	}
}

// The host's policy is default-src 'self': a page that needs another origin or
// an inline script would not start at all.
func TestPageNeedsNothingButItself(t *testing.T) {
	files, err := Files()
	if err != nil {
		t.Fatal(err)
	}
	page, err := fs.ReadFile(files, "index.html")
	if !built() {
		if err == nil {
			t.Fatal("not built, yet there is an index.html")
		}
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, bad := range []string{"http://", "https://", "style=", "<style", "onload="} {
		if strings.Contains(string(page), bad) {
			t.Errorf("index.html contains %q", bad)
		}
	}
	for _, part := range strings.Split(string(page), "<script")[1:] {
		if !strings.Contains(part[:strings.IndexByte(part, '>')], "src=") {
			t.Errorf("index.html has an inline script: %.60q", part)
		}
	}
}

// built says whether the interface was made before this test was.
func built() bool {
	_, err := fs.Stat(dist, "dist/index.html")
	return err == nil
}
