package audit

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	if dir := os.Getenv(killDir); dir != "" {
		writeUntilKilled(dir)
	}
	goleak.VerifyTestMain(m)
}

func TestQueueSetsWhatTheCallerMustNot(t *testing.T) {
	dir := t.TempDir()
	l := mustOpenLog(t, dir, Options{Now: fakeClock()})
	defer l.Close()
	forged := full()
	forged.Kind, forged.Source, forged.Ref = KindRefusal, 0, 0
	p := mustQueue(t, l, forged, body(100, "whole body"))
	if err := p.Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
	r, h, err := openReader(t, dir).At(p.Seq())
	if err != nil || h != p.Hash() {
		t.Fatal(err)
	}
	_, first, err := openReader(t, dir).At(1)
	if err != nil {
		t.Fatal(err)
	}
	if r.Seq != 2 || r.Prev != first || r.Version != FormatVersion || r.Source != SourceGateway || r.Time.Year() != 2026 || r.Time.Equal(forged.Time) {
		t.Errorf("the log took over %+v", r)
	}
	if r.Request.Stored != 10 || r.Response != nil {
		t.Errorf("bodies are %+v, %+v", r.Request, r.Response)
	}
}

func TestQueueRefuses(t *testing.T) {
	l := mustOpenLog(t, t.TempDir(), Options{})
	intent := mustQueue(t, l, Record{Kind: KindIntent}).Seq()
	other := mustQueue(t, l, Record{Kind: KindRefusal}).Seq()
	mustQueue(t, l, Record{Kind: KindOutcome, Ref: intent})
	wrong := body(10, "abc")
	wrong.Content = []byte("abd")
	grown := body(10, "abc")
	grown.Size = 2
	for name, c := range map[string]struct {
		r Record
		b *Body
	}{
		"no kind":                    {Record{}, nil},
		"an unknown kind":            {Record{Kind: 99}, nil},
		"an unknown source":          {Record{Kind: KindAdmin, Source: 99}, nil},
		"an unknown actor":           {Record{Kind: KindAdmin, Actor: 99}, nil},
		"a detail that is not JSON":  {Record{Kind: KindAdmin, Detail: []byte("{")}, nil},
		"a second outcome":           {Record{Kind: KindOutcome, Ref: intent}, nil},
		"an outcome of no intent":    {Record{Kind: KindOutcome, Ref: other}, nil},
		"an outcome of nothing":      {Record{Kind: KindOutcome}, nil},
		"an outcome of a later row":  {Record{Kind: KindOutcome, Ref: 1000}, nil},
		"an id that is too long":     {Record{Kind: KindAdmin, Attribution: Attribution{Run: strings.Repeat("x", MaxID+1)}}, nil},
		"a body with another hash":   {Record{Kind: KindAdmin}, wrong},
		"a body longer than it says": {Record{Kind: KindAdmin}, grown},
	} {
		if _, err := l.Queue(c.r, c.b, nil); err == nil {
			t.Errorf("%s was queued", name)
		}
	}
	if p := mustQueue(t, l, Record{Kind: KindAdmin}); p.Seq() != other+2 {
		t.Errorf("a refused row took a number: next is %d", p.Seq())
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := l.Queue(Record{Kind: KindAdmin}, nil, nil); !errors.Is(err, ErrClosed) {
		t.Errorf("after Close: %v", err)
	}
	if err := errors.Join(l.Close(), l.Close()); err != nil || !errors.Is(l.Err(), ErrClosed) {
		t.Errorf("Close twice: %v, Err: %v", err, l.Err())
	}
}

func TestTimeNeverGoesBack(t *testing.T) {
	dir := t.TempDir()
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	clock := func() time.Time { return now }
	for range 2 {
		l := mustOpenLog(t, dir, Options{Now: clock})
		for _, jump := range []time.Duration{time.Hour, -24 * time.Hour, time.Minute, -1} {
			now = now.Add(jump)
			mustQueue(t, l, Record{Kind: KindRefusal})
		}
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
		now = now.Add(-time.Hour)
	}
	r := openReader(t, dir)
	last, before := int64(0), time.Time{}
	for rec, err := range r.Range(1, 12) {
		if err != nil || rec.Time.Before(before) {
			t.Fatalf("row %d: %v is before %v, %v", rec.Seq, rec.Time, before, err)
		}
		last, before = rec.Seq, rec.Time
	}
	if last != 12 {
		t.Errorf("%d rows", last)
	}
}

// TestManyWriters appends from many goroutines while a reader tails and Verify
// runs. Every acknowledged row is where its Pending said.
func TestManyWriters(t *testing.T) {
	dir := t.TempDir()
	l := mustOpenLog(t, dir, Options{SegmentBytes: 8 << 10, PackBytes: 4 << 10})
	const writers, each = 32, 20
	var acked sync.Map
	var writing sync.WaitGroup
	for w := range writers {
		writing.Go(func() {
			for i := range each {
				p, err := l.Queue(Record{Kind: KindIntent, Upstream: fmt.Sprint(w)}, body(100, fmt.Sprint(w, i)), nil)
				if err != nil {
					t.Error(err)
					return
				}
				o, err := l.Queue(Record{Kind: KindOutcome, Ref: p.Seq(), Result: ResultOK}, nil, body(1, fmt.Sprint(i)))
				if err != nil {
					t.Error(err)
					return
				}
				for _, p := range []*Pending{o, p} {
					if err := p.Wait(t.Context()); err != nil {
						t.Error(err)
					}
					if seq, _ := l.Head(); seq < p.Seq() {
						t.Errorf("row %d is durable and the head is %d", p.Seq(), seq)
					}
					acked.Store(p.Seq(), p.Hash())
				}
			}
		})
	}
	var stop atomic.Bool
	var watching sync.WaitGroup
	r := openReader(t, dir)
	watching.Go(func() { tailUntil(t, r, &stop) })
	watching.Go(func() { tailUntil(t, r, &stop) })
	watching.Go(func() {
		for !stop.Load() {
			if rep, err := Verify(context.Background(), dir, VerifyOptions{Bodies: true}); err != nil || !rep.OK {
				t.Errorf("verify beside the writer: %+v, %v", rep, err)
				return
			}
		}
	})
	writing.Wait()
	stop.Store(true)
	watching.Wait()
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	last, err := r.Refresh()
	if want := int64(2*writers*each + 2); err != nil || last != want {
		t.Fatalf("%d rows of %d, %v", last, want, err)
	}
	acked.Range(func(seq, hash any) bool {
		if _, got, err := r.At(seq.(int64)); err != nil || got != hash {
			t.Errorf("row %d: %v, %v", seq, got, err)
		}
		return true
	})
	if rep := verifyDir(t, dir, VerifyOptions{Bodies: true}); !rep.OK || rep.Records != last || len(rep.OpenIntents) > 0 {
		t.Errorf("%+v", rep)
	}
}

func tailUntil(t *testing.T, r *Reader, stop *atomic.Bool) {
	seen := int64(0)
	for !stop.Load() {
		last, err := r.Refresh()
		if err != nil || last < seen {
			t.Errorf("refresh went from %d to %d: %v", seen, last, err)
			return
		}
		for seq := seen + 1; seq <= last; seq++ {
			rec, _, err := r.At(seq)
			if err != nil || rec.Seq != seq {
				t.Errorf("row %d: %v", seq, err)
				return
			}
			for _, ref := range []*BodyRef{rec.Request, rec.Response} {
				if ref == nil {
					continue
				}
				if _, err := r.Body(ref); err != nil {
					t.Errorf("body of row %d: %v", seq, err)
				}
			}
		}
		seen = last
	}
}

func TestRowsThatWaitShareASync(t *testing.T) {
	fs := newFaultFS(t)
	slow := &gatedFS{faultFS: fs, gate: make(chan struct{}), reached: make(chan struct{}, 100)}
	l := mustOpenLog(t, fs.root, Options{FS: fs})
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	go func() { // the rows of Open
		slow.gate <- struct{}{}
	}()
	l = mustOpenLog(t, fs.root, Options{FS: slow})
	<-slow.reached
	fs.mu.Lock()
	before := fs.syncs[seg1]
	fs.mu.Unlock()
	mustQueue(t, l, Record{Kind: KindRefusal})
	<-slow.reached // its sync has begun
	var last *Pending
	for range 100 {
		last = mustQueue(t, l, Record{Kind: KindRefusal})
	}
	close(slow.gate)
	if err := last.Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
	fs.mu.Lock()
	syncs := fs.syncs[seg1] - before
	fs.mu.Unlock()
	if syncs != 2 {
		t.Errorf("101 rows took %d syncs", syncs)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
}

// gatedFS lets a sync pass when something is received from gate.
type gatedFS struct {
	*faultFS
	gate    chan struct{}
	reached chan struct{}
}

type gatedFile struct {
	File
	fs *gatedFS
}

func (g *gatedFS) Open(name string) (File, error) {
	f, err := g.faultFS.Open(name)
	return gatedFile{f, g}, err
}

func (f gatedFile) Sync() error {
	f.fs.reached <- struct{}{}
	<-f.fs.gate
	return f.File.Sync()
}

// killDir makes the test binary a writer that is killed.
const killDir = "MOECA_AUDIT_TEST_KILL"

// writeUntilKilled prints each row after its Wait returned. It never returns.
func writeUntilKilled(dir string) {
	l, err := Open(dir, Options{SegmentBytes: 16 << 10, PackBytes: 8 << 10})
	if err != nil {
		fmt.Println("error", err)
		os.Exit(1)
	}
	for w := range 8 {
		go func() {
			for i := 0; ; i++ {
				p, err := l.Queue(Record{Kind: KindIntent, Attribution: Attribution{Run: fmt.Sprint(w)}}, body(500, strings.Repeat("b", i%700)), nil)
				if err == nil {
					err = p.Wait(context.Background())
				}
				if err != nil {
					fmt.Println("error", err)
					os.Exit(1)
				}
				fmt.Printf("row %v\n", Head{p.Seq(), p.Hash()})
				if i%3 > 0 {
					l.Queue(Record{Kind: KindOutcome, Ref: p.Seq(), Result: ResultOK}, nil, nil)
				}
			}
		}()
	}
	select {}
}

func TestKilledWriterLosesNothing(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for round := range 30 {
		acked := killedWriter(t, dir, 5+round*3)
		l := mustOpenLog(t, dir, Options{SegmentBytes: 16 << 10})
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
		r := openReader(t, dir)
		for _, h := range acked {
			if _, got, err := r.At(h.Seq); err != nil || got != h.Hash {
				t.Fatalf("round %d: acknowledged row %d is %v, %v", round, h.Seq, got, err)
			}
		}
		head := acked[len(acked)-1]
		if rep := verifyDir(t, dir, VerifyOptions{Bodies: true, Head: &head}); !rep.OK || len(rep.OpenIntents) > 0 {
			t.Fatalf("round %d: %+v", round, rep)
		}
	}
}

// killedWriter kills a writer after it acknowledged n rows and returns all it
// acknowledged.
func killedWriter(t *testing.T, dir string, n int) (acked []Head) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), killDir+"="+dir)
	out, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stdout, cmd.Stderr = w, w
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	w.Close()
	defer out.Close()
	lines := newLines(out)
	for line := range lines {
		text, ok := strings.CutPrefix(line, "row ")
		if !ok {
			t.Fatalf("writer says %q", line)
		}
		h, err := ParseHead(text)
		if err != nil {
			t.Fatal(err)
		}
		if acked = append(acked, h); len(acked) == n {
			if err := cmd.Process.Kill(); err != nil {
				t.Fatal(err)
			}
		}
	}
	cmd.Wait()
	return acked
}
