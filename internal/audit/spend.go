package audit

import (
	"iter"
	"maps"
	"slices"
	"strconv"
)

// Attributes of rows that say what a model call may cost and did cost.
const (
	AttrReserved     = "reserved"      // of an intent: tokens set aside
	AttrReservedCost = "reserved_cost" // of an intent: 1e-9 USD set aside
	AttrUsage        = "usage"         // of an outcome: "unknown" when no answer told it
	AttrCharged      = "charged"       // of an outcome: tokens booked where Usage does not tell them
)

// UsageUnknown is the value of AttrUsage.
const UsageUnknown = "unknown"

// Spend is what a model call drew from its budgets.
type Spend struct{ Tokens, Cost int64 }

// Spending reads from rows, in their order, what each model call drew: what its
// outcome says, and the whole reservation where the outcome was never written
// or was found missing after a crash (I6). It is for one goroutine.
type Spending struct {
	open map[int64]Record
}

// Add takes the next row. When the row ends a call it returns the call's intent
// and what it drew.
func (s *Spending) Add(r Record) (intent Record, spent Spend, ended bool) {
	switch r.Kind {
	case KindIntent:
		if reservation(r) != (Spend{}) {
			if s.open == nil {
				s.open = map[int64]Record{}
			}
			s.open[r.Seq] = r
		}
	case KindOutcome:
		if intent, ended = s.open[r.Ref]; ended {
			delete(s.open, r.Ref)
			return intent, drawn(intent, r), true
		}
	}
	return Record{}, Spend{}, false
}

// Open returns the intents that have no outcome yet, in their order, and their
// whole reservations.
func (s *Spending) Open() iter.Seq2[Record, Spend] {
	return func(yield func(Record, Spend) bool) {
		for _, seq := range slices.Sorted(maps.Keys(s.open)) {
			if r := s.open[seq]; !yield(r, reservation(r)) {
				return
			}
		}
	}
}

func reservation(r Record) Spend {
	return Spend{Tokens: r.number(AttrReserved), Cost: r.number(AttrReservedCost)}
}

func drawn(intent, outcome Record) Spend {
	_, charged := outcome.Attr(AttrCharged)
	usage, _ := outcome.Attr(AttrUsage)
	switch {
	case outcome.Result == ResultUnknown || usage == UsageUnknown && !charged:
		return reservation(intent)
	case charged:
		return Spend{Tokens: outcome.number(AttrCharged), Cost: outcome.CostNano}
	}
	u := outcome.Usage
	return Spend{Tokens: u.Input + u.Output + u.CacheRead + u.CacheWrite5m + u.CacheWrite1h, Cost: outcome.CostNano}
}

// Attr returns the value of a named attribute.
func (r Record) Attr(key string) (value string, ok bool) {
	for _, a := range r.Attrs {
		if a.Key == key {
			return a.Value, true
		}
	}
	return "", false
}

// number reads an attribute that is a count; absent or not one is none.
func (r Record) number(key string) int64 {
	value, _ := r.Attr(key)
	n, err := strconv.ParseInt(value, 10, 64)
	if err != nil || n < 0 {
		return 0
	}
	return n
}
