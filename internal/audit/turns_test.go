package audit

import (
	"testing"
	"time"
)

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

// TestTurnsAreSavedUpAndNotTaken: an idle time allows a few commits in a row, and
// those of who waits put off no turn by more than one.
func TestTurnsAreSavedUpAndNotTaken(t *testing.T) {
	l := &Log{pace: time.Second}
	now := time.Now()
	row := 0
	for ; !l.turn.After(now); row++ {
		l.take(nil, now)
	}
	if row != turnsSaved+1 {
		t.Errorf("%d commits at once", row)
	}
	for range 100 {
		l.take(nil, now)
	}
	if early := l.turn.Sub(now); early != l.pace {
		t.Errorf("the next turn is in %s", early)
	}
}
