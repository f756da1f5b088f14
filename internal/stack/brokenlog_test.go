package stack

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"moeca/internal/audit"
)

// breakLog makes a log in a data directory, breaks it, and makes the log that
// follows inside it. It returns the head the host had seen.
func breakLog(t *testing.T, k audit.Keep) audit.Head {
	t.Helper()
	l, err := audit.Open(k.Dir, audit.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for range 4 {
		if _, err := l.Queue(audit.Record{Kind: audit.KindRefusal}, nil, nil); err != nil {
			t.Fatal(err)
		}
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	seq, hash := l.Head()
	segment := filepath.Join(k.Dir, "seg-000001.log")
	raw, err := os.ReadFile(segment)
	if err != nil {
		t.Fatal(err)
	}
	raw[len(raw)/2] ^= 1
	if err := os.WriteFile(segment, raw, 0o600); err != nil {
		t.Fatal(err)
	}
	_, err = audit.Open(k.Dir, audit.Options{})
	var broken *audit.BrokenError
	if !errors.As(err, &broken) {
		t.Fatal(err)
	}
	p, err := audit.Intact(k.Dir, broken)
	if err != nil {
		t.Fatal(err)
	}
	p.Kept = filepath.Base(k.Kept)
	if l, err = audit.Open(filepath.Join(k.Dir, audit.NextDir), audit.Options{Follows: &p}); err != nil {
		t.Fatal(err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	return audit.Head{Seq: seq, Hash: hash}
}

// TestALogSetAsideTakesTheHostsHeadWithIt: what the host had seen of the broken
// log lies beside it, and the log that follows is not held against it.
func TestALogSetAsideTakesTheHostsHeadWithIt(t *testing.T) {
	data := t.TempDir()
	k := keepLog(data, "audit-broken-x")
	head := breakLog(t, k)
	v := newAuditView(data)
	if err := v.saw(head.Seq, head.Hash.String()); err != nil {
		t.Fatal(err)
	}
	if err := v.setAside(k); err != nil {
		t.Fatal(err)
	}
	if missing := v.missing(); missing != "" {
		t.Errorf("the log that follows is held against the old head: %s", missing)
	}
	if r, err := v.Verify(t.Context(), nil); err != nil || !r.OK {
		t.Errorf("%+v, %v", r, err)
	}
	if raw, err := os.ReadFile(filepath.Join(k.Kept, witnessFile)); err != nil || string(raw) != head.String()+"\n" {
		t.Errorf("kept with the broken log: %q, %v", raw, err)
	}
	if f := v.follows(); f == nil || f.Kept != "audit-broken-x" || f.Rows < 1 || f.Row != f.Rows+1 {
		t.Errorf("follows %+v", f)
	}
}

// TestSettleForgetsOnlyTheHeadThatWasKept ends a crash between the renames and
// the end of the pin; the head of the log itself stays.
func TestSettleForgetsOnlyTheHeadThatWasKept(t *testing.T) {
	data := t.TempDir()
	k := keepLog(data, "audit-broken-x")
	head := breakLog(t, k)
	v := newAuditView(data)
	if err := v.saw(head.Seq, head.Hash.String()); err != nil {
		t.Fatal(err)
	}
	pin, err := os.ReadFile(v.pinFile)
	if err != nil {
		t.Fatal(err)
	}
	settle := func() { // as the next start
		started := newAuditView(data)
		if err := errors.Join(started.settle(), started.letGo()); err != nil {
			t.Fatal(err)
		}
	}
	settle()
	if _, err := os.Stat(v.pinFile); err != nil {
		t.Error("the head of a log that was not set aside is forgotten")
	}
	if err := v.setAside(k); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(v.pinFile, pin, 0o600); err != nil { // as a crash leaves it
		t.Fatal(err)
	}
	settle()
	if v = newAuditView(data); v.pin != nil || v.missing() != "" {
		t.Errorf("the old head is still held: %v, %s", v.pin, v.missing())
	}
	if err := v.saw(head.Seq+1, head.Hash.String()); err != nil { // a head of the new log
		t.Fatal(err)
	}
	settle()
	if v = newAuditView(data); v.pin == nil {
		t.Error("the head of the log that follows is forgotten")
	}
}

// TestACrashWhileALogIsSetAside opens the data directory after each step of it.
func TestACrashWhileALogIsSetAside(t *testing.T) {
	for done := range 3 {
		data := t.TempDir()
		k := keepLog(data, "audit-broken-x")
		breakLog(t, k)
		for _, step := range [][2]string{{filepath.Join(k.Dir, audit.NextDir), k.Next}, {k.Dir, k.Kept}}[:done] {
			if err := os.Rename(step[0], step[1]); err != nil {
				t.Fatal(err)
			}
		}
		d, err := OpenDataDir(data)
		if err != nil {
			t.Fatal(err)
		}
		d.Close()
		log, err := audit.Open(k.Dir, audit.Options{})
		var broken *audit.BrokenError
		if errors.As(err, &broken) != (done < 2) {
			t.Errorf("after %d steps: %v", done, err)
		}
		if err == nil {
			err = log.Close()
		}
		if err != nil && broken == nil {
			t.Error(err)
		}
		v := newAuditView(data)
		if f := v.follows(); (f != nil) != (done == 2) {
			t.Errorf("after %d steps the log follows %+v", done, f)
		}
	}
}
