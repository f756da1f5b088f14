package audit

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// brokenLog makes a log of a few rows in dir/audit, changes one byte in the
// middle of it, and returns what Open says.
func brokenLog(t *testing.T, dir string) *BrokenError {
	t.Helper()
	at := filepath.Join(dir, "audit")
	l := mustOpenLog(t, at, Options{FS: unsyncedFS{}})
	for range 6 {
		if err := mustQueue(t, l, Record{Kind: KindRefusal, Gate: "write"}).Wait(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(at, seg1)
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	b[len(b)/2] ^= 1
	if err := os.WriteFile(name, b, 0o600); err != nil {
		t.Fatal(err)
	}
	_, err = Open(at, Options{FS: unsyncedFS{}})
	var broken *BrokenError
	if !errors.As(err, &broken) {
		t.Fatalf("a changed byte: %v", err)
	}
	return broken
}

func keepIn(dir string) Keep {
	return Keep{Dir: filepath.Join(dir, "audit"), Next: filepath.Join(dir, "audit-next"), Kept: filepath.Join(dir, "audit-broken-1")}
}

// follow makes the log that follows inside the broken one.
func follow(t *testing.T, k Keep, broken *BrokenError) Predecessor {
	t.Helper()
	p, err := Intact(k.Dir, broken)
	if err != nil {
		t.Fatal(err)
	}
	p.Kept, p.At, p.Actor = filepath.Base(k.Kept), time.Unix(1, 0).UTC(), ActorPerson
	l := mustOpenLog(t, filepath.Join(k.Dir, NextDir), Options{FS: unsyncedFS{}, Follows: &p})
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	return p
}

func TestALogSaysWhichBrokenOneItFollows(t *testing.T) {
	dir := t.TempDir()
	broken, k := brokenLog(t, dir), keepIn(dir)
	before := snapshotDir(t, k.Dir)
	want := follow(t, k, broken)
	if want.Rows != broken.Seq-1 || want.Rows < 2 || want.Head == (Hash{}) || len(want.Log) != 32 {
		t.Fatalf("intact part: %+v, %v", want, broken)
	}
	if err := k.SetAside(); err != nil {
		t.Fatal(err)
	}
	for name, content := range before {
		if got, err := os.ReadFile(filepath.Join(k.Kept, name)); err != nil || string(got) != content {
			t.Errorf("%s of the broken log changed: %v", name, err)
		}
	}
	if left := snapshotDir(t, k.Kept); len(left) != len(before) {
		t.Errorf("the broken log has %d files, had %d", len(left), len(before))
	}
	r := openReader(t, k.Dir)
	first, _, err := r.At(1)
	if err != nil {
		t.Fatal(err)
	}
	got, ok := PredecessorOf(first)
	if !ok || got != want || got.Actor != ActorPerson {
		t.Errorf("%+v, %v, want %+v", got, ok, want)
	}
	if rep := verifyDir(t, k.Dir, VerifyOptions{Bodies: true}); !rep.OK {
		t.Errorf("the log that follows: %+v", rep)
	}
	if rep := verifyDir(t, k.Kept, VerifyOptions{}); rep.OK || rep.FirstBroken != broken.Seq || rep.Records != want.Rows || rep.Head != want.Head {
		t.Errorf("the broken log says %+v, its successor %+v", rep, want)
	}
	l := mustOpenLog(t, k.Dir, Options{FS: unsyncedFS{}})
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestBehindFindsRowsAfterTheDamage: what can be read behind it is told from
// what cannot, whatever byte of the log was changed.
func TestBehindFindsRowsAfterTheDamage(t *testing.T) {
	dir := t.TempDir()
	l := mustOpenLog(t, dir, Options{FS: unsyncedFS{}, SegmentBytes: 900})
	for range 12 {
		mustQueue(t, l, Record{Kind: KindRefusal, Gate: "write"}, body(100, "what was asked"))
	}
	l.Close()
	whole := rowsIn(t, dir)
	if len(whole) < 12 {
		t.Fatalf("%d rows", len(whole))
	}
	name := filepath.Join(dir, seg1)
	good, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	for at := 0; at < len(good); at += 7 {
		bad := append([]byte(nil), good...)
		bad[at] ^= 4
		if err := os.WriteFile(name, bad, 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := Open(dir, Options{FS: unsyncedFS{}})
		var broken *BrokenError
		if !errors.As(err, &broken) {
			t.Fatalf("byte %d: %v", at, err)
		}
		p, err := Intact(dir, broken)
		if err != nil {
			t.Fatal(err)
		}
		seen := p.Rows
		for r, err := range Behind(dir, p) {
			if err != nil || r.Seq <= seen {
				t.Fatalf("byte %d: row %d after row %d, %v", at, r.Seq, seen, err)
			}
			seen = r.Seq
		}
		if seen != int64(len(whole)) {
			t.Fatalf("byte %d: the last row read is %d of %d", at, seen, len(whole))
		}
	}
	if err := os.WriteFile(name, good, 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestOnlyAnEmptyLogFollowsAnother: rows that are there cannot be put behind a
// broken log.
func TestOnlyAnEmptyLogFollowsAnother(t *testing.T) {
	dir := t.TempDir()
	mustOpenLog(t, dir, Options{FS: unsyncedFS{}}).Close()
	if _, err := Open(dir, Options{FS: unsyncedFS{}, Follows: &Predecessor{Rows: 5}}); !errors.Is(err, errNotEmpty) {
		t.Errorf("a log with rows: %v", err)
	}
	mustOpenLog(t, dir, Options{FS: unsyncedFS{}}).Close()
	first, _, err := openReader(t, dir).At(1)
	if _, ok := PredecessorOf(first); err != nil || ok {
		t.Errorf("it follows another: %+v, %v", first, err)
	}
}

// TestSetAsideSurvivesACrash stops after each rename: either the broken log is
// still in its place and nothing was decided, or the log that follows is.
func TestSetAsideSurvivesACrash(t *testing.T) {
	for done := range 4 {
		dir := t.TempDir()
		broken, k := brokenLog(t, dir), keepIn(dir)
		follow(t, k, broken)
		steps := [][2]string{{filepath.Join(k.Dir, NextDir), k.Next}, {k.Dir, k.Kept}, {k.Next, k.Dir}}
		for _, step := range steps[:done] {
			if err := os.Rename(step[0], step[1]); err != nil {
				t.Fatal(err)
			}
		}
		for range 2 { // settling twice does nothing
			if err := k.Settle(); err != nil {
				t.Fatal(err)
			}
		}
		l, err := Open(k.Dir, Options{FS: unsyncedFS{}})
		if done < 2 {
			if !isBroken(err) {
				t.Errorf("after %d steps the broken log is gone: %v", done, err)
			}
			continue
		}
		if err != nil {
			t.Fatalf("after %d steps: %v", done, err)
		}
		l.Close()
		if first, _, err := openReader(t, k.Dir).At(1); err != nil || first.Subject != subjectRestarted {
			t.Errorf("after %d steps the log begins with %+v, %v", done, first, err)
		}
	}
}

func TestSetAsideOverwritesNothing(t *testing.T) {
	dir := t.TempDir()
	broken, k := brokenLog(t, dir), keepIn(dir)
	follow(t, k, broken)
	if err := os.Mkdir(k.Kept, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := k.SetAside(); err == nil || !strings.Contains(err.Error(), "exists") {
		t.Errorf("over another broken log: %v", err)
	}
	if _, err := Open(k.Dir, Options{FS: unsyncedFS{}}); !isBroken(err) {
		t.Errorf("the broken log is gone: %v", err)
	}
}

// snapshotDir is the content of every file below dir but those of the log that
// follows.
func snapshotDir(t *testing.T, dir string) map[string]string {
	t.Helper()
	out := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		rel, err := filepath.Rel(dir, path)
		if err == nil && !strings.HasPrefix(rel, NextDir+"/") {
			var b []byte
			b, err = os.ReadFile(path)
			out[rel] = string(b)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func rowsIn(t *testing.T, dir string) (out []Record) {
	t.Helper()
	r := openReader(t, dir)
	last, err := r.Refresh()
	if err != nil {
		t.Fatal(err)
	}
	for rec, err := range r.Range(1, last) {
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, rec)
	}
	return out
}
