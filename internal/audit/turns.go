package audit

import "time"

// A commit costs two syncs, each of them more processor time than everything
// else the gateway does for a request. So rows gather while nobody waits: commits
// that are merely wanted have their turns, turnTime apart after a few in a row,
// and lingerTime is how long the first row of a batch that nobody asked for
// stays in memory. Whoever waits ends both.
const (
	turnTime   = 4 * time.Millisecond
	turnsSaved = 4 // turns of an idle time that may be taken at once
	lingerTime = 50 * time.Millisecond
)

// take gives b to its writer. Called with mu and commits held.
func (l *Log) take(b *batch, now time.Time) {
	l.filling = nil
	if saved := now.Add(-turnsSaved * l.pace); l.turn.Before(saved) {
		l.turn = saved
	}
	if l.turn = l.turn.Add(l.pace); l.turn.After(now.Add(l.pace)) {
		l.turn = now.Add(l.pace) // those who wait take no turns of others
	}
}

// writeNow writes b on the caller's goroutine, which is about to wait for it,
// unless somebody else is at it: waking the committer and being woken by it
// takes longer than a sync does on some machines.
func (l *Log) writeNow(b *batch) {
	if !l.commits.TryLock() {
		l.want(b, wantedNow)
		return
	}
	defer l.commits.Unlock()
	l.mu.Lock()
	if l.filling != b {
		l.mu.Unlock()
		return
	}
	l.take(b, time.Now())
	l.mu.Unlock()
	l.commit(b)
}

// Hurry has what is queued written at its turn, also if nobody will wait for it.
func (l *Log) Hurry() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.filling != nil {
		l.want(l.filling, wantedSoon)
	}
}

// want notes how soon b is wanted and wakes the committer if that is sooner
// than before.
func (l *Log) want(b *batch, how int32) {
	for {
		before := b.wanted.Load()
		if before >= how {
			return
		}
		if b.wanted.CompareAndSwap(before, how) {
			break
		}
	}
	select {
	case l.wake <- struct{}{}:
	default:
	}
}

// commitLoop is the committer: it writes what nobody waits for, and what somebody
// waits for while another batch is being written. It ends when the log is
// closed and nothing is left.
func (l *Log) commitLoop() {
	defer close(l.done)
	turn := time.NewTimer(0)
	for {
		select {
		case <-l.wake:
		case <-turn.C:
		case <-l.closing:
			l.commitAll()
			return
		}
		if early := l.commitAll(); early > 0 {
			turn.Reset(early)
		}
	}
}

// commitAll commits until nothing is wanted, or says how long it is to the turn
// of what is.
func (l *Log) commitAll() (early time.Duration) {
	l.commits.Lock()
	defer l.commits.Unlock()
	for {
		l.mu.Lock()
		b := l.filling
		if b == nil || b.wanted.Load() == wantedLater {
			l.mu.Unlock()
			return 0
		}
		now := time.Now()
		if early = l.turn.Sub(now); early > 0 && b.wanted.Load() < wantedNow {
			l.mu.Unlock()
			return early
		}
		l.take(b, now)
		l.mu.Unlock()
		l.commit(b)
	}
}
