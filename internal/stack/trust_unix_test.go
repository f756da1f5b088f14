//go:build unix

package stack

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

func TestOnlyDirectoriesNobodyElseCanReplaceAreUsed(t *testing.T) {
	top := t.TempDir()
	mk := func(mode os.FileMode, parts ...string) string {
		dir := filepath.Join(append([]string{top}, parts...)...)
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(dir, mode); err != nil {
			t.Fatal(err)
		}
		return dir
	}
	cases := map[string]struct {
		dir string
		ok  bool
	}{
		"a private directory":                      {mk(0o700, "private"), true},
		"one that is not there yet":                {filepath.Join(top, "private", "new", "er"), true},
		"one that others may read":                 {mk(0o755, "readable"), true},
		"ours in a sticky directory like /tmp":     {mk(0o700, mkSticky(t, top), "ours"), true},
		"a directory its group may write":          {mk(0o770, "group"), false},
		"a directory everybody may write":          {mk(0o777, "everybody"), false},
		"below one everybody may write":            {filepath.Join(top, "everybody", "below"), false},
		"deep below one everybody may write":       {filepath.Join(top, "everybody", "deep", "below"), false},
		"the sticky directory itself":              {filepath.Join(top, "sticky"), false},
		"through a symlink into a writable parent": {link(t, top, filepath.Join(top, "everybody")), false},
		"below a file":                             {filepath.Join(file(t, top), "x"), false},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			if _, err := trusted(c.dir, 0o700); (err == nil) != c.ok {
				t.Errorf("trusted(%s): %v", c.dir, err)
			}
		})
	}
}

// A parent that belongs to somebody else can be renamed by them at any time;
// this was a way to the keys.
func TestDirectoryBelowAnothersIsRefused(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root to make another user's directory")
	}
	top, err := os.MkdirTemp("/tmp", "mo")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(top)
	base := filepath.Join(top, "theirs")
	if err := os.Mkdir(base, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Chown(base, 12345, 12345); err != nil {
		t.Fatal(err)
	}
	if _, err := openRuntime(base, "0123456789abcdef", identity()); !errors.Is(err, ErrUntrusted) {
		t.Errorf("runtime directory below another user's: %v", err)
	}
	if _, err := OpenDataDir(filepath.Join(base, "data")); !errors.Is(err, ErrUntrusted) {
		t.Errorf("data directory below another user's: %v", err)
	}
	if entries, err := os.ReadDir(base); err != nil || len(entries) > 1 {
		t.Errorf("%d entries were made there (%v)", len(entries), err)
	}
}

func mkSticky(t *testing.T, top string) string {
	t.Helper()
	dir := filepath.Join(top, "sticky")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(dir, 0o777|os.ModeSticky); err != nil {
		t.Fatal(err)
	}
	return "sticky"
}

func link(t *testing.T, top, to string) string {
	t.Helper()
	name := filepath.Join(top, "link")
	if err := os.Symlink(to, name); err != nil {
		t.Fatal(err)
	}
	return name
}

func file(t *testing.T, top string) string {
	t.Helper()
	name := filepath.Join(top, "file")
	if err := os.WriteFile(name, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}
