package audit

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// workload writes through fs until something fails and returns the rows whose
// Wait returned nil. Batches are made of one, two and three rows.
func workload(fs FS, dir string) (acked map[int64]Hash, l *Log, err error) {
	acked = map[int64]Hash{}
	l, err = Open(dir, Options{FS: fs, SegmentBytes: 900, PackBytes: 300, Reserve: 1, Now: fakeClock()})
	if err != nil {
		return acked, nil, err
	}
	seq, hash := l.Head()
	acked[seq] = hash
	for i := range 12 {
		p, err := l.Queue(Record{Kind: KindIntent, Upstream: "demo"}, body(100, fmt.Sprintf("question %d", i)), nil)
		if err != nil {
			return acked, l, err
		}
		rows := []*Pending{p}
		for range i % 3 {
			if p, err = l.Queue(Record{Kind: KindRefusal, Gate: "write", Reason: "not-allowed"}, nil, nil); err != nil {
				return acked, l, err
			}
			rows = append(rows, p)
		}
		if p, err = l.Queue(Record{Kind: KindOutcome, Ref: rows[0].Seq(), Result: ResultOK}, nil, body(4, fmt.Sprintf("answer %d", i))); err != nil {
			return acked, l, err
		}
		for _, p := range append(rows, p) {
			if err := p.Wait(context.Background()); err != nil {
				return acked, l, err
			}
			acked[p.Seq()] = p.Hash()
		}
	}
	err = l.Close()
	return acked, l, err
}

// TestNoRowIsAcknowledgedAndLost makes each step of the workload fail, as an
// error the program survives and as a power cut, then loses what was not synced
// in four ways, and opens what is left.
func TestNoRowIsAcknowledgedAndLost(t *testing.T) {
	t.Parallel()
	clean := newFaultFS(t)
	if _, _, err := workload(clean, filepath.Join(clean.root, "audit")); err != nil {
		t.Fatal(err)
	}
	if clean.steps < 100 {
		t.Fatalf("only %d steps", clean.steps)
	}
	for _, dead := range []bool{false, true} {
		for step := 1; step <= clean.steps; step++ {
			fs := newFaultFS(t)
			fs.failAt, fs.dead = step, dead
			dir := filepath.Join(fs.root, "audit")
			acked, l, err := workload(fs, dir)
			if fs.failed == "" {
				break // how many steps there are depends on what shared a batch
			}
			if err == nil && dead {
				t.Errorf("step %d (%s): a power cut went unnoticed", step, fs.failed)
			}
			checkEnded(t, fs, l, err)
			for how := lostAll; how <= lostNone; how++ {
				if !dead && how > lostAll {
					break // what was written before the step is the same
				}
				checkSurvivors(t, fs, acked, how, fmt.Sprintf("step %d (%s) dead=%v lost=%d", step, fs.failed, dead, how))
			}
			if l != nil {
				l.Close()
			}
		}
	}
}

// checkEnded: after a failed write or sync the log refuses everything; after a
// failed allocation it goes on.
func checkEnded(t *testing.T, fs *faultFS, l *Log, err error) {
	t.Helper()
	if l == nil || err == nil {
		return
	}
	fatal := strings.HasPrefix(fs.failed, "write") || strings.HasPrefix(fs.failed, "sync")
	if !fatal {
		return
	}
	if l.Err() == nil {
		t.Errorf("%s: Err is nil", fs.failed)
	}
	if !errors.Is(err, syscall.EIO) && !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("%s: the cause is lost: %v", fs.failed, err)
	}
	before := fs.steps
	for _, k := range []Kind{KindIntent, KindRefusal, KindSystem} {
		if _, err := l.Queue(Record{Kind: k}, nil, nil); err == nil {
			t.Errorf("%s: a later %v was queued", fs.failed, k)
		}
	}
	if fs.steps != before {
		t.Errorf("%s: something was tried again", fs.failed)
	}
}

func checkSurvivors(t *testing.T, fs *faultFS, acked map[int64]Hash, how lost, what string) {
	t.Helper()
	root := t.TempDir()
	fs.crash(t, root, how)
	dir := filepath.Join(root, "audit")
	l, err := Open(dir, Options{FS: unsyncedFS{}})
	if err != nil {
		t.Errorf("%s: %v", what, err)
		return
	}
	defer l.Close()
	rep := verifyDir(t, dir, VerifyOptions{Bodies: true})
	if !rep.OK || len(rep.OpenIntents) > 0 {
		t.Errorf("%s: %+v", what, rep)
		return
	}
	r := openReader(t, dir)
	for seq, want := range acked {
		if _, got, err := r.At(seq); err != nil || got != want {
			t.Errorf("%s: acknowledged row %d is %v, %v", what, seq, got, err)
		}
	}
}

func TestAFailedSyncIsNeverRepeated(t *testing.T) {
	fs := newFaultFS(t)
	l := mustOpenLog(t, filepath.Join(fs.root, "audit"), Options{FS: fs})
	fs.mu.Lock()
	fs.failAt = fs.steps + 2 // after the write
	syncs := fs.syncs[seg1]
	fs.mu.Unlock()
	p := mustQueue(t, l, Record{Kind: KindRefusal})
	if err := p.Wait(t.Context()); !errors.Is(err, syscall.EIO) || fs.failed != "sync "+seg1 {
		t.Fatalf("%s: %v", fs.failed, err)
	}
	if err := p.Wait(t.Context()); !errors.Is(err, syscall.EIO) {
		t.Errorf("a second Wait: %v", err)
	}
	if err := l.Close(); !errors.Is(err, syscall.EIO) {
		t.Errorf("close: %v", err)
	}
	if fs.syncs[seg1] != syncs {
		t.Error("the file was synced again")
	}
	if seq, _ := l.Head(); seq != p.Seq()-1 {
		t.Errorf("head is %d", seq)
	}
}

func TestFullDiskRefusesIntentsAndKeepsOutcomes(t *testing.T) {
	fs := newFaultFS(t)
	dir := filepath.Join(fs.root, "audit")
	l := mustOpenLog(t, dir, Options{FS: fs, Reserve: 8 << 10, SegmentBytes: 4 << 10, PackBytes: 1 << 10})
	var open []int64
	for range 20 {
		open = append(open, mustQueue(t, l, Record{Kind: KindIntent}).Seq())
	}
	fs.mu.Lock()
	fs.full = true
	fs.mu.Unlock()
	// What was allocated ahead may still be used; then only the reserve is left.
	var err error
	for err == nil {
		var p *Pending
		if p, err = l.Queue(Record{Kind: KindIntent, Detail: []byte(`"` + strings.Repeat("x", 900) + `"`)}, nil, nil); err == nil {
			open = append(open, p.Seq())
		}
	}
	if !errors.Is(err, ErrFull) || !errors.Is(err, syscall.ENOSPC) || l.Err() != nil {
		t.Fatalf("intent: %v, log: %v", err, l.Err())
	}
	if err := l.Full(); !errors.Is(err, ErrFull) {
		t.Errorf("Full says %v on a full disk", err)
	}
	for _, k := range []Kind{KindRefusal, KindAdmin, KindApproval} {
		if _, err := l.Queue(Record{Kind: k, Detail: []byte(`"` + strings.Repeat("x", 900) + `"`)}, nil, nil); !errors.Is(err, ErrFull) {
			t.Errorf("%v: %v", k, err)
		}
	}
	var last *Pending
	for _, seq := range open[:20] {
		last = mustQueue(t, l, Record{Kind: KindOutcome, Ref: seq, Result: ResultOK}, nil, body(1<<20, strings.Repeat("b", 4<<20)))
	}
	if err := last.Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
	rec, _, err := openReader(t, dir).At(last.Seq())
	if err != nil || rec.Response == nil || rec.Response.Size != 4<<20 || rec.Response.Stored != 0 || !rec.Response.Truncated {
		t.Errorf("the body that found no space is %+v, %v", rec.Response, err)
	}
	fs.mu.Lock()
	fs.full = false
	fs.mu.Unlock()
	if err := mustQueue(t, l, Record{Kind: KindIntent}, body(10, "again")).Wait(t.Context()); err != nil {
		t.Errorf("after space came back: %v", err)
	}
	if err := l.Full(); err != nil {
		t.Errorf("Full says %v after space came back", err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if rep := verifyDir(t, dir, VerifyOptions{Bodies: true}); !rep.OK {
		t.Errorf("%+v", rep)
	}
}

func TestBacklogRefusesIntents(t *testing.T) {
	fs := &slowFS{gate: make(chan struct{})}
	dir := t.TempDir()
	l := mustOpenLog(t, dir, Options{QueueBytes: 1000})
	l.Close()
	close(fs.gate)
	l = mustOpenLog(t, dir, Options{QueueBytes: 1000, FS: fs})
	fs.hold()
	var err error
	var first *Pending
	for err == nil {
		var p *Pending
		if p, err = l.Queue(Record{Kind: KindIntent}, nil, nil); first == nil {
			first = p
		}
	}
	if !errors.Is(err, ErrBacklog) {
		t.Fatal(err)
	}
	last := mustQueue(t, l, Record{Kind: KindOutcome, Ref: first.Seq()})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := last.Wait(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("a wait that was given up: %v", err)
	}
	fs.release()
	if err := last.Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := mustQueue(t, l, Record{Kind: KindIntent}).Wait(t.Context()); err != nil {
		t.Errorf("after the disk caught up: %v", err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
}

// slowFS holds every sync while its gate is closed.
type slowFS struct {
	osFS
	gate chan struct{} // closed: syncs pass
}

type slowFile struct {
	File
	fs *slowFS
}

func (s *slowFS) hold()    { s.gate = make(chan struct{}) }
func (s *slowFS) release() { close(s.gate) }

func (s *slowFS) Open(name string) (File, error) {
	f, err := s.osFS.Open(name)
	return slowFile{f, s}, err
}

func (f slowFile) Sync() error {
	<-f.fs.gate
	return f.File.Sync()
}
