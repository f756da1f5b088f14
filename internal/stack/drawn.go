package stack

import (
	"context"
	"maps"

	"moeca/internal/audit"
)

// tally is what sessions drew by calls that have ended, added up as rows come: a
// person may look every few seconds at a session that lives for a day. No row of
// a session is before those that were read when it was minted.
type tally struct {
	seen  int64 // rows that were read
	calls audit.Spending
	ended map[string]audit.Spend // by the gateway's id
}

// follow reads the rows after from that were not read yet, for the sessions of
// these ids, and drops what others drew.
func (t *tally) follow(ctx context.Context, log *AuditView, from, last int64, ids map[string]bool) error {
	if t.ended == nil || t.seen > last { // of a log that gave way to another one
		*t = tally{ended: map[string]audit.Spend{}}
	}
	maps.DeleteFunc(t.ended, func(id string, _ audit.Spend) bool { return !ids[id] })
	for t.seen = max(t.seen, from); t.seen < last; t.seen++ {
		if err := ctx.Err(); err != nil {
			return err
		}
		rec, _, err := log.At(t.seen + 1)
		if err != nil {
			return unreadable(err)
		}
		id := rec.Attribution.Session
		if _, one, ended := t.calls.Add(rec); ended && ids[id] {
			t.ended[id] = plus(t.ended[id], one)
		}
	}
	return nil
}

func plus(a, b audit.Spend) audit.Spend {
	return audit.Spend{Tokens: a.Tokens + b.Tokens, Cost: a.Cost + b.Cost}
}

// drawn is what each session spent by calls that have ended. It also forgets
// programs' sessions whose time is over.
func (s *sessions) drawn(ctx context.Context) (map[string]audit.Spend, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	last, err := s.log.Refresh()
	if err != nil {
		return nil, unreadable(err)
	}
	ids, from := map[string]bool{}, last
	for name, l := range s.live {
		if l.request.WithToken && !s.now().Before(l.expires) {
			delete(s.live, name)
			continue
		}
		if from = min(from, l.from); l.id != "" {
			ids[l.id] = true
		}
	}
	if err := s.drew.follow(ctx, s.log, from, last, ids); err != nil {
		return nil, err
	}
	out := map[string]audit.Spend{}
	for name, l := range s.live {
		out[name] = plus(l.spent, s.drew.ended[l.id])
	}
	return out, nil
}
