package gate

import (
	"context"
	"net/http"
)

// Budget refuses a model call when nothing is left at all. What the call may
// cost is known only when its target is; the reservation is taken after the
// last gate, in one step with the check that it fits.
type Budget struct {
	Ledger interface{ Left(session string) int64 }
}

// Reasons of the budget gate.
const (
	ReasonExhausted  = "exhausted"
	ReasonUnpriced   = "unpriced-path"  // a path of a model upstream whose cost is not known
	ReasonUnbounded  = "unbounded"      // the call has no upper cost
	ReasonUnreadBody = "ambiguous-body" // what it costs cannot be read in one way only
)

// NameBudget also stands in refusals of the reservation.
const NameBudget = "budget"

// Name of the gate.
func (Budget) Name() string { return NameBudget }

// Decide asks whether anything is left.
func (g Budget) Decide(_ context.Context, r *Request) Decision {
	if !r.Upstream.Model() || g.Ledger.Left(r.Session.ID) > 0 {
		return Allow()
	}
	return Deny(http.StatusPaymentRequired, ReasonExhausted, "the token budget of this session is used up")
}
