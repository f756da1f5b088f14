package budget

import (
	"cmp"
	"maps"
	"slices"
	"time"
)

// State is one account as a person sees it.
type State struct {
	Scope           Scope
	ID              string // run, task or provider
	Day             string // of a day or a provider
	Limit           Amount
	Spent, Reserved Amount
}

func (a *account) state() State {
	return State{a.scope, a.id, a.day, a.limit, a.spent, a.reserved}
}

// OfSession is the account of a live session; zero for any other.
func (l *Ledger) OfSession(id string) State {
	l.mu.Lock()
	defer l.mu.Unlock()
	a := l.accounts[key{scope: Session, id: id}]
	if a == nil {
		return State{}
	}
	return a.state()
}

// States lists the accounts of today, every provider's with a limit or a call
// among them, and those of runs and tasks that have a limit.
func (l *Ledger) States(now time.Time) []State {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.turn(now)
	l.account(key{Day, "", l.day})
	for _, name := range slices.Sorted(maps.Keys(l.providers)) {
		l.account(key{Provider, name, l.day})
	}
	var out []State
	for _, a := range l.accounts {
		if a.scope == Session || a.day == "" && a.limit == noLimit() {
			continue
		}
		out = append(out, a.state())
	}
	slices.SortFunc(out, func(a, b State) int {
		return cmp.Or(cmp.Compare(a.Scope, b.Scope), cmp.Compare(a.ID, b.ID))
	})
	return out
}
