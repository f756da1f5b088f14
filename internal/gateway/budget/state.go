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
	for k, a := range l.accounts {
		if k.scope == Session || k.day == "" && a.limit == (Amount{Unlimited, Unlimited}) {
			continue
		}
		out = append(out, State{k.scope, k.id, k.day, a.limit, a.spent, a.reserved})
	}
	slices.SortFunc(out, func(a, b State) int {
		return cmp.Or(cmp.Compare(a.Scope, b.Scope), cmp.Compare(a.ID, b.ID))
	})
	return out
}
