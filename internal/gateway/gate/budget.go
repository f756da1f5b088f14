package gate

import (
	"context"
	"net/http"

	"moeca/internal/gateway/budget"
)

// Budget refuses a model call when no token is left at all. What the call may
// cost is known only when its target is; the reservation is taken after the
// last gate, in one step with the check that it fits every budget.
type Budget struct {
	Ledger interface {
		Left(who budget.Who) budget.Amount
	}
}

// Reasons of the budget gate.
const (
	ReasonExhausted  = "exhausted"
	ReasonUnpriced   = "unpriced-path"       // a path of a model upstream whose cost is not known
	ReasonNoPrice    = "unknown-price"       // a budget in money, and no price for the call
	ReasonUnreadBody = "ambiguous-body"      // what it costs cannot be read in one way only
	ReasonUnbounded  = "unbounded"           // more answers at once than can be set aside for
	ReasonUsedUp     = "reservation-used-up" // a stream that drew more than was set aside for it
)

// NameBudget also stands in refusals of the reservation.
const NameBudget = "budget"

// Who says whose budgets a request draws on.
func Who(r *Request) budget.Who {
	s := r.Session
	return budget.Who{Session: s.ID, Run: s.Scope.Run, Task: s.Scope.Task, Provider: r.Upstream.Name, At: r.Now}
}

// Name of the gate.
func (Budget) Name() string { return NameBudget }

// Decide asks whether anything is left.
func (g Budget) Decide(_ context.Context, r *Request) Decision {
	if !r.Upstream.Model() || g.Ledger.Left(Who(r)).Tokens > 0 {
		return Allow()
	}
	return Deny(http.StatusPaymentRequired, ReasonExhausted,
		"no token is left in the budget of this session, of its run or task, of the day or of %s; a person can raise it", r.Upstream.Name)
}
