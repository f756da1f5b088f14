package audit

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

func mustErase(t testing.TB, l *Log, s Selection) Erased {
	t.Helper()
	e, err := l.Erase(t.Context(), Erasure{Select: s, Actor: ActorPerson, Reason: "asked to"})
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// saltsOf are the salts of the contents of a pack, by offset.
func saltsOf(pack []byte) (salts [][]byte) {
	for _, off := range bodyOffsets(pack) {
		salts = append(salts, bytes.Clone(pack[off+5:off+bodyHead]))
	}
	return salts
}

func TestEraseDestroysContentsAndNothingElse(t *testing.T) {
	dir := runsLog(t, 30)
	before := readFiles(t, dir)
	bundle, _ := mustBundle(t, dir, BundleQuery{Run: "run-1"})
	held := parseText(t, before[CheckpointFile])
	l := mustOpenLog(t, dir, Options{})
	defer l.Close()
	if e := mustErase(t, l, Selection{Run: "run-0"}); e.Bodies != 30 || e.Row == 0 || e.Bytes == 0 {
		t.Errorf("%+v", e)
	}
	if e := mustErase(t, l, Selection{Run: "run-0"}); e.Bodies != 0 {
		t.Errorf("a second time: %+v", e)
	}
	after := readFiles(t, dir)[pack1]
	salts := saltsOf(before[pack1])
	for i := range 30 {
		gone := i%2 == 0
		if bytes.Contains(after, fmt.Appendf(nil, "question %d.", i)) == gone || bytes.Contains(after, salts[2*i]) == gone || bytes.Contains(after, salts[2*i+1]) == gone {
			t.Errorf("content %d is not as it should be", i)
		}
	}
	rep := verifyDir(t, dir, VerifyOptions{Bodies: true, Held: held})
	if !rep.OK || rep.Erased != 30 || rep.Bodies != 30 {
		t.Errorf("%+v", rep)
	}
	r := openReader(t, dir)
	rec, _, err := r.At(2)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.Body(rec.Request); !errors.Is(err, ErrErased) {
		t.Errorf("read %v", err)
	}
	now, m := mustBundle(t, dir, BundleQuery{Run: "run-0"})
	if rep := readBundle(t, now); !rep.OK || m.Erased != 30 || m.Bodies != 0 {
		t.Errorf("%+v", rep)
	}
	if rep := readBundle(t, bundle); !rep.OK {
		t.Errorf("a bundle made before: %+v", rep)
	}
}

func TestEraseSaysWhatAndByWhom(t *testing.T) {
	dir := runsLog(t, 2)
	l := mustOpenLog(t, dir, Options{})
	defer l.Close()
	e := mustErase(t, l, Selection{Rows: []int64{2, 4}})
	r := openReader(t, dir)
	said, _, err := r.At(e.Row)
	if err != nil || said.Kind != KindSystem || said.Actor != ActorPerson || said.Subject != subjectErase ||
		!strings.Contains(string(said.Detail), `"rows":[2,4]`) || !strings.Contains(string(said.Detail), "asked to") || !strings.Contains(string(said.Detail), "backups") {
		t.Errorf("%+v %s, %v", said, said.Detail, err)
	}
	done, _, err := r.At(e.Row + 1)
	if err != nil || done.Subject != subjectErased || done.Ref != e.Row || done.attr("bodies") != fmt.Sprint(e.Bodies) {
		t.Errorf("%+v, %v", done, err)
	}
}

func TestSelections(t *testing.T) {
	dir := runsLog(t, 10)
	l := mustOpenLog(t, dir, Options{})
	defer l.Close()
	r := openReader(t, dir)
	third, _, err := r.At(8)
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		s  Selection
		ok bool
	}{
		"nothing":        {Selection{}, false},
		"a run and rows": {Selection{Run: "run-0", Rows: []int64{1}}, false},
		"a run and time": {Selection{Run: "run-0", Before: &third.Time}, false},
		"too many rows":  {Selection{Rows: make([]int64, maxErasedRows+1)}, false},
		"nobody's":       {Selection{Run: "nobody"}, true},
		"rows not there": {Selection{Rows: []int64{-1, 0, 1 << 60}}, true},
	} {
		if e, err := l.Erase(t.Context(), Erasure{Select: c.s}); (err == nil) != c.ok || e.Bodies != 0 {
			t.Errorf("%s: %+v, %v", name, e, err)
		}
	}
	if e := mustErase(t, l, Selection{Before: &third.Time}); e.Bodies != 4 {
		t.Errorf("before a time: %+v", e)
	}
	if e := mustErase(t, l, Selection{Task: "task-1"}); e.Bodies != 8 {
		t.Errorf("a task: %+v", e)
	}
	if rep := verifyDir(t, dir, VerifyOptions{Bodies: true}); !rep.OK || rep.Erased != 12 {
		t.Errorf("%+v", rep)
	}
}

// TestWhatIsErasedIsStillChecked turns every byte of a content that was erased,
// and erases without saying so.
func TestWhatIsErasedIsStillChecked(t *testing.T) {
	dir := runsLog(t, 2)
	l := mustOpenLog(t, dir, Options{})
	mustErase(t, l, Selection{Rows: []int64{2}})
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	files := readFiles(t, dir)
	id := logID(files[seg1][16:32])
	offsets := bodyOffsets(files[pack1])
	for at := offsets[0]; at < offsets[1]; at++ {
		f := files.clone()
		f[pack1][at] ^= 4
		rep := verifyFiles(t, filepath.Join(t.TempDir(), "l"), f, VerifyOptions{Bodies: true})
		if rep.OK || rep.FirstBroken != 2 {
			t.Errorf("byte %d: %+v", at-offsets[0], rep)
		}
	}
	f := files.clone()
	frame := f[pack1][offsets[1]:offsets[2]]
	clear(frame[5:])
	frame[4] = bodyErased
	binary.LittleEndian.PutUint32(frame[len(frame)-bodyTail:], id.checksum(frame[:len(frame)-bodyTail]))
	rep := verifyFiles(t, filepath.Join(t.TempDir(), "l"), f, VerifyOptions{Bodies: true})
	if rep.OK || rep.FirstBroken != 4 || !strings.Contains(rep.Problem, "no row says so") {
		t.Errorf("erased in silence: %+v", rep)
	}
}

// TestWhatWasErasedMustNotComeBack puts the packs of before an erasure in their
// place again, as who restores half a backup does.
func TestWhatWasErasedMustNotComeBack(t *testing.T) {
	for name, s := range map[string]Selection{"rows": {Rows: []int64{2}}, "a run": {Run: "run-0"}, "a task": {Task: "task-0"}, "a time": {Before: new(time.Date(2100, 1, 1, 0, 0, 0, 0, time.UTC))}} {
		dir := runsLog(t, 2)
		before := readFiles(t, dir)
		l := mustOpenLog(t, dir, Options{FS: unsyncedFS{}})
		mustErase(t, l, s)
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
		before.only(pack1).write(t, dir)
		rep := verifyDir(t, dir, VerifyOptions{Bodies: true})
		if rep.OK || rep.FirstBroken != 2 || rep.Records != 1 || !strings.Contains(rep.Problem, "is there again") {
			t.Errorf("%s: %+v", name, rep)
		}
		l = mustOpenLog(t, dir, Options{FS: unsyncedFS{}})
		if e := mustErase(t, l, s); e.Bodies == 0 {
			t.Errorf("%s: nothing was erased again", name)
		}
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
		if rep := verifyDir(t, dir, VerifyOptions{Bodies: true}); !rep.OK {
			t.Errorf("%s: erased again: %+v", name, rep)
		}
	}
}

func (f logFiles) only(name string) logFiles { return logFiles{name: f[name]} }

// TestEraseWhileVerifying: the row that says so lies behind those that are
// verified.
func TestEraseWhileVerifying(t *testing.T) {
	dir := runsLog(t, 600)
	l := mustOpenLog(t, dir, Options{FS: unsyncedFS{}})
	defer l.Close()
	past := time.Date(2100, 1, 1, 0, 0, 0, 0, time.UTC)
	once := sync.OnceFunc(func() { mustErase(t, l, Selection{Before: &past}) })
	rep := verifyDir(t, dir, VerifyOptions{Bodies: true, Progress: func(int64) { once() }})
	if !rep.OK || rep.Erased == 0 || rep.Bodies == 0 {
		t.Errorf("%+v", rep)
	}
	if rep := verifyDir(t, dir, VerifyOptions{Bodies: true}); !rep.OK || rep.Bodies > 0 {
		t.Errorf("afterwards: %+v", rep)
	}
}

// TestEraseConverges makes each step of an erasure fail, as an error and as a
// power cut. Once its row is durable the contents go, at the latest when the log
// is opened; before, nothing was touched.
func TestEraseConverges(t *testing.T) {
	t.Parallel()
	for _, dead := range []bool{false, true} {
		for step := 1; ; step++ {
			fs := newFaultFS(t)
			dir := filepath.Join(fs.root, "audit")
			l := mustOpenLog(t, dir, Options{FS: fs, PackBytes: 120, Now: fakeClock()})
			var last *Pending
			for i := range 3 {
				last = exchange(t, l, i)
			}
			if err := last.Wait(t.Context()); err != nil {
				t.Fatal(err)
			}
			fs.mu.Lock()
			fs.failAt, fs.dead = fs.steps+step, dead
			fs.mu.Unlock()
			past := time.Date(2100, 1, 1, 0, 0, 0, 0, time.UTC)
			_, err := l.Erase(context.Background(), Erasure{Select: Selection{Before: &past}})
			fs.mu.Lock()
			failed := fs.failed
			fs.mu.Unlock()
			if failed == "" {
				if err != nil || step < 6 {
					t.Fatalf("step %d: %v", step, err)
				}
				l.Close()
				break
			}
			for how := lostAll; how <= lostNone; how++ {
				checkErased(t, fs, how, err == nil, fmt.Sprintf("step %d (%s) dead=%v lost=%d", step, failed, dead, how))
			}
			l.Close()
		}
	}
}

// checkErased opens what a crash left: either all contents are there or none.
func checkErased(t *testing.T, fs *faultFS, how lost, acked bool, what string) {
	t.Helper()
	root := t.TempDir()
	fs.crash(t, root, how)
	dir := filepath.Join(root, "audit")
	if rep, err := Verify(t.Context(), dir, VerifyOptions{Bodies: true, Settle: instantly}); err == nil && strings.Contains(rep.Problem, "content") {
		t.Errorf("%s: before it is opened: %+v", what, rep)
	}
	l, err := Open(dir, Options{FS: unsyncedFS{}})
	if err != nil {
		t.Errorf("%s: %v", what, err)
		return
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	rep := verifyDir(t, dir, VerifyOptions{Bodies: true})
	if !rep.OK || rep.Erased != 0 && rep.Erased != 6 || acked && rep.Erased != 6 {
		t.Errorf("%s: %+v", what, rep)
	}
	packs, err := filepath.Glob(filepath.Join(dir, packDir, "*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range packs {
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if rep.Erased == 6 && (bytes.Contains(b, []byte("question")) || bytes.Contains(b, []byte("answe"))) {
			t.Errorf("%s: a content is in %s", what, filepath.Base(name))
		}
	}
}

// TestEraseBesideReaders: who reads or verifies meanwhile sees a content or that
// it was erased.
func TestEraseBesideReaders(t *testing.T) {
	dir := runsLog(t, 200)
	l := mustOpenLog(t, dir, Options{})
	defer l.Close()
	r := openReader(t, dir)
	done := make(chan error, 2)
	go func() {
		for range 3 {
			rep, err := Verify(context.Background(), dir, VerifyOptions{Bodies: true})
			if err == nil && !rep.OK {
				err = fmt.Errorf("%+v", rep)
			}
			if err != nil {
				done <- err
				return
			}
		}
		done <- nil
	}()
	go func() {
		for rec, err := range r.Range(1, 600) {
			for _, p := range parts(&rec) {
				if _, err = r.Body(p.ref); errors.Is(err, ErrErased) {
					err = nil
				}
			}
			if err != nil {
				done <- err
				return
			}
		}
		done <- nil
	}()
	for i := range 40 {
		mustErase(t, l, Selection{Rows: []int64{int64(2 + 3*i), int64(4 + 3*i)}})
	}
	for range 2 {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
	if _, err := WriteBundle(t.Context(), dir, io.Discard, BundleQuery{Run: "run-0"}); err != nil {
		t.Error(err)
	}
}

// countedFS counts what is written into packs.
type countedFS struct {
	unsyncedFS
	writes *int
}

type countedFile struct {
	File
	writes *int
}

func (f countedFile) WriteAt(b []byte, off int64) (int, error) {
	*f.writes++
	return f.File.WriteAt(b, off)
}

func (c countedFS) Open(name string) (File, error) {
	f, err := c.unsyncedFS.Open(name)
	if err == nil && filepath.Base(filepath.Dir(name)) == packDir {
		f = countedFile{f, c.writes}
	}
	return f, err
}

// TestEraseDestroysOnce: a retention selects the same contents every day, and what
// was destroyed is not written again.
func TestEraseDestroysOnce(t *testing.T) {
	writes := 0
	dir := t.TempDir()
	l := mustOpenLog(t, dir, Options{FS: countedFS{writes: &writes}})
	for range 3 {
		mustQueue(t, l, Record{Kind: KindRefusal, Attribution: Attribution{Run: "r"}}, body(100, "what was asked"))
	}
	erase := func(bodies int64, atMost int) {
		t.Helper()
		before := writes
		out, err := l.Erase(t.Context(), Erasure{Select: Selection{Run: "r"}, Actor: ActorHost})
		if err != nil || out.Bodies != bodies || writes-before > atMost {
			t.Errorf("erased %+v with %d writes, %v; want %d contents and at most %d", out, writes-before, err, bodies, atMost)
		}
	}
	erase(3, 6)
	erase(0, 0)
	mustQueue(t, l, Record{Kind: KindRefusal, Attribution: Attribution{Run: "r"}}, body(100, "what was asked later")).Wait(t.Context())
	erase(1, 3) // with the write of the content itself, where it came last
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if rep := verifyDir(t, dir, VerifyOptions{Bodies: true}); !rep.OK || rep.Erased != 4 {
		t.Errorf("%+v", rep)
	}
}
