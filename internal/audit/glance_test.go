package audit

import (
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// TestGlanceReadsWhatEncodeWrites: the fast path is taken for every row a log
// can hold, and sees what Decode sees.
func TestGlanceReadsWhatEncodeWrites(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := drawRecord(t)
		if r.Time.IsZero() {
			r.Time = time.Unix(0, 1).UTC() // the log sets a time
		}
		row, err := Encode(nil, &r)
		if err != nil {
			t.Fatal(err)
		}
		var g glance
		if !g.read(row) {
			t.Fatalf("a row of the log needs Decode: %x", row)
		}
		if g != r.glance() {
			t.Fatalf("glance %+v, decoded %+v", g, r.glance())
		}
	})
}

// FuzzGlance holds that a glance accepts nothing that Decode refuses, and sees
// no other values.
func FuzzGlance(f *testing.F) {
	m, all := minimal(), full()
	f.Add(encodeOK(f, m))
	f.Add(encodeOK(f, all))
	for _, row := range refusedRows() {
		f.Add([]byte(row))
	}
	f.Fuzz(func(t *testing.T, row []byte) {
		var g glance
		if !g.read(row) {
			return
		}
		r, err := Decode(row)
		if err != nil {
			t.Fatalf("accepted at a glance, refused by Decode: %v", err)
		}
		if g != r.glance() {
			t.Fatalf("glance %+v, decoded %+v", g, r.glance())
		}
	})
}

// TestRowsShareASync: a row nobody waits for goes to the disk with the next one,
// at its turn when somebody hurried it, by itself when nothing else comes, and
// at once with everything before it when somebody waits.
func TestRowsShareASync(t *testing.T) {
	fs := newFaultFS(t)
	l := mustOpenLog(t, fs.root, Options{FS: fs})
	defer l.Close()
	syncs := func() int {
		fs.mu.Lock()
		defer fs.mu.Unlock()
		return fs.syncs[seg1]
	}
	pauses := func(linger, pace time.Duration) {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.linger, l.pace = linger, pace
	}
	durable := func(p *Pending) {
		t.Helper()
		if err := p.Wait(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	outcome := func(p *Pending) *Pending {
		return mustQueue(t, l, Record{Kind: KindOutcome, Ref: p.Seq(), Result: ResultOK})
	}
	pauses(time.Hour, time.Hour)
	intent := mustQueue(t, l, Record{Kind: KindIntent})
	durable(intent)
	before := syncs()
	outcome(intent)
	mustQueue(t, l, Record{Kind: KindRefusal})
	l.Hurry() // it is not its turn
	next := mustQueue(t, l, Record{Kind: KindIntent})
	durable(next)
	if got := syncs() - before; got != 1 {
		t.Errorf("four rows took %d syncs", got)
	}
	pauses(time.Hour, 0)
	durable(outcome(next)) // after it, it is always the next one's turn
	<-mustQueue(t, l, Record{Kind: KindRefusal}).batch.done
	hurried := mustQueue(t, l, Record{Kind: KindIntent})
	l.Hurry()
	<-hurried.batch.done
	pauses(time.Nanosecond, 0)
	<-outcome(hurried).batch.done
	pauses(time.Nanosecond, time.Millisecond)
	<-mustQueue(t, l, Record{Kind: KindRefusal}).batch.done
	<-mustQueue(t, l, Record{Kind: KindRefusal}).batch.done // its turn comes
}

// TestRowHashInPlace: the hash taken in the frame is the leaf hash of the row.
func TestRowHashInPlace(t *testing.T) {
	for _, batch := range []int64{1, 1 << 40, 1 << 60} {
		row := []byte(strings.Repeat("r", 100))
		_, raw := closeFrame(append(openFrame(nil, batch), row...), logID{1})
		f, err := parseFrame(raw, logID{1})
		if err != nil {
			t.Fatal(err)
		}
		if f.hash() != RowHash(row) {
			t.Errorf("batch %d: another hash", batch)
		}
	}
}
