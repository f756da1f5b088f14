package budget

import (
	"cmp"
	"maps"
	"slices"
	"time"
)

// Accounts lists every account that outlives a session and says anything: it has
// a limit, or something was drawn on it. What is reserved counts as spent.
func (l *Ledger) Accounts() []State {
	l.mu.Lock()
	defer l.mu.Unlock()
	var out []State
	for _, a := range l.accounts {
		s := a.state()
		s.Spent, s.Reserved = s.Spent.plus(s.Reserved), Amount{}
		if s.Scope != Session && (s.Spent != Amount{} || s.Limit != noLimit()) {
			out = append(out, s)
		}
	}
	slices.SortFunc(out, func(a, b State) int {
		return cmp.Or(cmp.Compare(a.Scope, b.Scope), cmp.Compare(a.ID, b.ID), cmp.Compare(a.Day, b.Day))
	})
	return out
}

// Limits lists the limits of days and providers.
func (l *Ledger) Limits() []State {
	l.mu.Lock()
	defer l.mu.Unlock()
	var out []State
	if l.daily != noLimit() {
		out = append(out, State{Scope: Day, Limit: l.daily})
	}
	for _, id := range slices.Sorted(maps.Keys(l.providers)) {
		out = append(out, State{Scope: Provider, ID: id, Limit: l.providers[id]})
	}
	return out
}

// Narrow is Limit that never gives more than there is.
func (l *Ledger) Narrow(scope Scope, id string, limit Amount) {
	now := noLimit()
	l.mu.Lock()
	switch scope {
	case Day:
		now = l.daily
	case Provider:
		if of, ok := l.providers[id]; ok {
			now = of
		}
	default:
		now = l.account(key{scope: scope, id: id}).limit
	}
	l.mu.Unlock()
	l.Limit(scope, id, Amount{min(limit.Tokens, now.Tokens), min(limit.Cost, now.Cost)})
}

// Carry puts back an account of another ledger. One of a day that is over says
// nothing any more; the limits of days and providers are set by Limit.
func (l *Ledger) Carry(s State) {
	l.mu.Lock()
	defer l.mu.Unlock()
	k := key{scope: s.Scope, id: s.ID}
	switch s.Scope {
	case Day, Provider:
		day, err := time.Parse(time.DateOnly, s.Day)
		if err != nil {
			return
		}
		l.turn(day)
		if k.day = s.Day; k.day != l.day {
			return
		}
	case Run, Task:
		l.account(k).limit = s.Limit
	default:
		return
	}
	a := l.account(k)
	a.spent = a.spent.plus(s.Spent)
}
