package gateway

import (
	"encoding/json"
	"errors"
	"fmt"
	"iter"

	"moeca/internal/audit"
	"moeca/internal/gateway/budget"
	"moeca/internal/gateway/gatewayapi"
	"moeca/internal/gateway/price"
	"moeca/internal/gateway/upstream"
	"moeca/internal/session"
)

// Actions of admin rows that a start reads back.
const (
	ActionMint   = "session.mint" // sets the limits of a run and a task
	ActionBudget = "budget.set"
	ActionPrices = "price.patch"
)

// ErrSetting is wrapped by refusals of a setting.
var ErrSetting = errors.New("gateway: setting refused")

// ErrBudget is wrapped by refusals of a budget.
var ErrBudget = errors.New("gateway: budget refused")

// Restore puts back from the log what must outlive this process: what was drawn
// on the budgets of runs, tasks, days and providers, their limits, and changes of
// prices. The rows are all there are, in order; nobody is served before it
// returned. A call without an outcome counts as its whole reservation.
func (g *Gateway) Restore(rows iter.Seq2[audit.Record, error]) error {
	return g.RestoreBroken(rows, func(func(audit.Record, error) bool) {})
}

// RestoreBroken is Restore from a log that is broken. What can be read behind the
// damage proves nothing: it changes no price and widens no limit. What it says
// was drawn counts, and so does a narrower limit, so that damage refills no
// budget; and contents are kept as long as any row says.
func (g *Gateway) RestoreBroken(intact, behind iter.Seq2[audit.Record, error]) error {
	var calls audit.Spending
	for r, err := range intact {
		if err != nil {
			return fmt.Errorf("gateway: restore budgets: %w", err)
		}
		g.book(&calls, r)
		if err := g.restoreRow(r); err != nil {
			g.o.Logger.Warn("a change in the log does not fit any more", "row", r.Seq, "error", err)
		}
	}
	for r, err := range behind {
		if err != nil {
			return fmt.Errorf("gateway: restore budgets from behind the damage: %w", err)
		}
		g.book(&calls, r)
		g.narrow(r)
	}
	for intent, spent := range calls.Open() {
		g.ledger.Book(whoOf(intent), budget.Amount(spent))
	}
	return nil
}

// book takes the next row of the log.
func (g *Gateway) book(calls *audit.Spending, r audit.Record) {
	if intent, spent, ended := calls.Add(r); ended {
		g.ledger.Book(whoOf(intent), budget.Amount(spent))
	}
}

func whoOf(intent audit.Record) budget.Who {
	a := intent.Attribution
	return budget.Who{Session: a.Session, Run: a.Run, Task: a.Task, Provider: intent.Upstream, At: intent.Time}
}

// narrow applies the limits that a row behind the damage says were set, as far as
// they give less. What cannot be read is nothing.
func (g *Gateway) narrow(r audit.Record) {
	var mint struct{ Scope session.Scope }
	var put gatewayapi.BudgetPut
	var kept gatewayapi.Retention
	switch action, _ := r.Attr("action"); {
	case r.Kind != audit.KindAdmin || r.Source != audit.SourceGateway:
	case action == ActionMint && json.Unmarshal(r.Detail, &mint) == nil:
		if s := mint.Scope; s.RunBudget != nil && s.Run != "" {
			g.ledger.Narrow(budget.Run, s.Run, limitOf(*s.RunBudget))
		}
		if s := mint.Scope; s.TaskBudget != nil && s.Task != "" {
			g.ledger.Narrow(budget.Task, s.Task, limitOf(*s.TaskBudget))
		}
	case action == ActionRetention && json.Unmarshal(r.Detail, &kept) == nil:
		if apply, err := g.PlanRetention(kept); err == nil && keepsLonger(kept, g.Retention()) {
			apply()
		}
	case action == ActionBudget && json.Unmarshal(r.Detail, &put) == nil:
		if _, err := g.PlanBudget(put); err == nil {
			g.ledger.Narrow(budget.Scope(put.Scope), put.ID, limitOf(put.Budget))
		}
	}
}

// restoreRow makes a change again that an admin row of this zone says was made.
func (g *Gateway) restoreRow(r audit.Record) error {
	if r.Kind != audit.KindAdmin || r.Source != audit.SourceGateway {
		return nil
	}
	switch action, _ := r.Attr("action"); action {
	case ActionMint:
		var mint struct{ Scope session.Scope }
		if err := json.Unmarshal(r.Detail, &mint); err != nil {
			return err
		}
		g.limitShared(mint.Scope)
	case ActionBudget:
		var put gatewayapi.BudgetPut
		if err := json.Unmarshal(r.Detail, &put); err != nil {
			return err
		}
		apply, err := g.PlanBudget(put)
		if err != nil {
			return err
		}
		apply()
	case ActionRetention:
		return g.restoreRetention(r.Detail)
	case ActionCarried:
		return g.carry(r.Detail)
	case ActionPrices:
		var patch gatewayapi.PricePatch
		if err := json.Unmarshal(r.Detail, &patch); err != nil {
			return err
		}
		c, err := g.o.Prices.Plan(patch)
		if err != nil {
			return err
		}
		c.Apply()
	}
	return nil
}

// Prices is the price table.
func (g *Gateway) Prices() *price.Table { return g.o.Prices }

// PlanBudget checks a limit of a day or a provider and returns what sets it.
func (g *Gateway) PlanBudget(put gatewayapi.BudgetPut) (apply func(), err error) {
	switch put.Scope {
	case gatewayapi.BudgetDay:
		if put.ID != "" {
			return nil, fmt.Errorf("%w: the budget of a day is for all providers; leave the id out", ErrBudget)
		}
	case gatewayapi.BudgetProvider:
		if err := upstream.CheckName(put.ID); err != nil {
			return nil, fmt.Errorf("%w: %w", ErrBudget, err)
		}
	default:
		return nil, fmt.Errorf("%w: the scope is day or provider; those of a run or a task come with its sessions", ErrBudget)
	}
	return func() { g.ledger.Limit(budget.Scope(put.Scope), put.ID, limitOf(put.Budget)) }, nil
}

// Budgets lists the budgets that outlive a session.
func (g *Gateway) Budgets() []gatewayapi.BudgetState {
	states := g.ledger.States(g.o.Now())
	out := make([]gatewayapi.BudgetState, 0, len(states))
	for _, s := range states {
		out = append(out, shown(s))
	}
	return out
}

func shown(s budget.State) gatewayapi.BudgetState {
	return gatewayapi.BudgetState{
		Scope: string(s.Scope), ID: s.ID, Day: s.Day, Limit: limitShown(s.Limit), Spent: drawn(s.Spent), Reserved: drawn(s.Reserved),
	}
}

func drawn(a budget.Amount) session.Budget { return session.Budget{Tokens: a.Tokens, CostNano: a.Cost} }

// limitShown is limitOf the other way round.
func limitShown(limit budget.Amount) *session.Budget {
	bound := func(n int64) int64 {
		switch n {
		case budget.Unlimited:
			return 0
		case 0:
			return -1
		}
		return n
	}
	if limit.Tokens == budget.Unlimited && limit.Cost == budget.Unlimited {
		return nil
	}
	return &session.Budget{Tokens: bound(limit.Tokens), CostNano: bound(limit.Cost)}
}
