package gateway

import (
	"strconv"
	"sync"
	"time"

	"moeca/internal/audit"
)

// fold keeps a caller that is refused in a loop from filling the disk. Of each
// kind of refusal the first few are rows of their own; what follows is counted,
// and becomes one row each time the window closes, and when the fold does. A
// kind that was quiet for a whole window begins anew. What could not be written
// is kept for the next window. Kinds are gates and reasons of ours, so their
// number is bounded. Safe for concurrent use.
type fold struct {
	direct int // rows of a kind before it is counted
	window time.Duration
	queue  func(audit.Record) error

	mu     sync.Mutex
	closed bool
	kinds  map[foldKey]*folded
}

type foldKey struct{ gate, reason string }

// folded is one kind in its window.
type folded struct {
	direct      int
	row         audit.Record // of the first that was counted
	count       int64
	first, last time.Time
	timer       *time.Timer
}

func newFold(direct int, window time.Duration, queue func(audit.Record) error) *fold {
	return &fold{direct: direct, window: window, queue: queue, kinds: map[foldKey]*folded{}}
}

// add says whether the refusal is to be a row of its own. It is counted
// otherwise. After close every refusal is a row: there are as many as requests
// were under way.
func (f *fold) add(r audit.Record, at time.Time) (alone bool) { return f.put(r, at, f.direct) }

// tally is add for what is counted from the first on.
func (f *fold) tally(r audit.Record, at time.Time) (alone bool) { return f.put(r, at, 0) }

func (f *fold) put(r audit.Record, at time.Time, direct int) (alone bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		return true
	}
	key := foldKey{r.Gate, r.Reason}
	k := f.kinds[key]
	if k == nil {
		k = &folded{}
		k.timer = time.AfterFunc(f.window, func() { f.expire(key) })
		f.kinds[key] = k
	}
	if k.direct < direct {
		k.direct++
		return true
	}
	if k.count == 0 {
		k.row, k.first = countedRow(r), at
	}
	if k.row.Upstream != r.Upstream {
		k.row.Upstream, k.row.Scripted = "", false
	}
	k.count, k.last = k.count+1, at
	return false
}

// countedRow is what refusals of one kind have in common.
func countedRow(r audit.Record) audit.Record {
	return audit.Record{
		Kind: r.Kind, Source: r.Source, Actor: r.Actor, Attribution: r.Attribution,
		Upstream: r.Upstream, Scripted: r.Scripted, Gate: r.Gate, Reason: r.Reason, Status: r.Status,
	}
}

// expire ends a window.
func (f *fold) expire(key foldKey) {
	f.mu.Lock()
	defer f.mu.Unlock()
	k := f.kinds[key]
	switch {
	case f.closed || k == nil:
	case k.count == 0:
		delete(f.kinds, key)
	default:
		_ = f.write(k) // kept and tried again
		k.timer.Reset(f.window)
	}
}

// write queues the counted row of a kind.
func (f *fold) write(k *folded) error {
	r := k.row
	r.Attrs = []audit.Attr{
		{Key: "count", Value: strconv.FormatInt(k.count, 10)},
		{Key: "first", Value: k.first.UTC().Format(time.RFC3339Nano)},
		{Key: "last", Value: k.last.UTC().Format(time.RFC3339Nano)},
	}
	if err := f.queue(r); err != nil {
		return err
	}
	k.count = 0
	return nil
}

// close writes what was counted. It returns the last error: then refusals are
// lost, and the caller says so.
func (f *fold) close() (err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.closed = true
	for key, k := range f.kinds {
		k.timer.Stop()
		if k.count > 0 {
			if e := f.write(k); e != nil {
				err = e
			}
		}
		delete(f.kinds, key)
	}
	return err
}
