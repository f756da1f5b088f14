package witness

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestAVolumeThatIsGone is shown since when, stops nothing, is never made again in
// the empty place where it was, and is gone on with when it is back.
func TestAVolumeThatIsGone(t *testing.T) {
	r := newRig(t)
	r.all()
	volume := filepath.Dir(r.list)
	before := r.view(KindFile).State
	if err := os.Rename(volume, volume+".away"); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(volume, 0o700); err != nil { // the mount point stays
		t.Fatal(err)
	}
	r.rows("work", 5)
	r.tell()
	s := r.view(KindFile).State
	if s.Problem == "" || s.Diverged || !s.At.Equal(before.At) || !strings.Contains(s.Problem, "not there") {
		t.Errorf("%+v", s)
	}
	if left, err := os.ReadDir(volume); err != nil || len(left) != 0 {
		t.Errorf("%v, %v", left, err)
	}
	if err := r.k.Trust(t.Context()); err != nil {
		t.Error(err)
	}
	if err := errors.Join(os.Remove(volume), os.Rename(volume+".away", volume)); err != nil {
		t.Fatal(err)
	}
	r.tell()
	if s := r.view(KindFile).State; s.Problem != "" || !s.At.After(before.At) {
		t.Errorf("%+v", s)
	}
	// An entry that was cut off when the volume went loses nothing else.
	b := read(t, r.list)
	if err := os.WriteFile(r.list, []byte(b+"at 2026-03-01T10:00:00Z\nmoeca/"), 0o600); err != nil {
		t.Fatal(err)
	}
	r.rows("work", 5)
	r.tell()
	if f := r.findings()[KindFile]; !f.OK || f.Entries != 3 || f.Note == "" {
		t.Errorf("%+v", f)
	}
	// One that was put in its place is told.
	if err := os.WriteFile(r.list, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	r.rows("work", 5)
	r.tell()
	if s := r.view(KindFile).State; !s.Diverged || !strings.Contains(s.Problem, "replaced") {
		t.Errorf("%+v", s)
	}
}

// TestFilesThatAreNoWitness: a list is made where a person says and nowhere else.
func TestFilesThatAreNoWitness(t *testing.T) {
	r := newRig(t)
	dir := filepath.Dir(r.list)
	other := filepath.Join(dir, "diary.txt")
	if err := os.WriteFile(other, []byte("Dear diary\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, to := range map[string]string{"link": r.data, "file-link": other, "up": filepath.Join(dir, "..")} {
		if err := os.Symlink(to, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	foreign := newRig(t)
	foreign.all()
	copyFile(t, foreign.list, filepath.Join(dir, "foreign.txt"))
	for what, path := range map[string]string{
		"no path": "", "a relative path": "list.txt", "a path with dots": dir + "/../volume/x", "the data directory": filepath.Join(r.data, "list.txt"),
		"below it": filepath.Join(r.data, "audit", "list.txt"), "through a link": filepath.Join(dir, "link", "x"), "a link": filepath.Join(dir, "file-link"),
		"a link upwards": filepath.Join(dir, "up", "x"), "no directory": filepath.Join(dir, "none", "x"), "a directory": dir, "another file": other,
		"the list of another log": filepath.Join(dir, "foreign.txt"),
	} {
		if err := r.k.Put(Setting{Kind: KindFile, Path: path}); !errors.Is(err, ErrSetting) {
			t.Errorf("%s: %v", what, err)
		}
	}
	if read(t, other) != "Dear diary\n" || read(t, filepath.Join(dir, "foreign.txt")) != read(t, foreign.list) {
		t.Error("a file was changed")
	}
	for what, s := range map[string]Setting{
		"nothing": {}, "another kind": {Kind: "host"}, "no repository": {Kind: KindRepo}, "no key": {Kind: KindURL, URL: r.witness.URL, Local: true},
		"http without the opt-in": {Kind: KindURL, URL: r.witness.URL, Key: r.witness.Vkey},
	} {
		if err := r.k.Put(s); !errors.Is(err, ErrSetting) {
			t.Errorf("%s: %v", what, err)
		}
	}
	if err := r.k.Remove("file:/none"); !errors.Is(err, ErrUnknown) {
		t.Error(err)
	}
	if n := len(r.k.Views()); n != 1 {
		t.Errorf("%d witnesses", n)
	}
}
