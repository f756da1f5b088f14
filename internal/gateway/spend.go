package gateway

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"strings"

	"moeca/internal/audit"
	"moeca/internal/gateway/budget"
	"moeca/internal/gateway/gate"
	"moeca/internal/gateway/gatewayapi"
	"moeca/internal/gateway/price"
	"moeca/internal/gateway/upstream"
	"moeca/internal/gateway/usage"
	"moeca/internal/session"
)

// spend is what one exchange may and does draw from budgets. It is empty for
// what is no model call.
type spend struct {
	dialect usage.Dialect
	model   string // the call asks for
	quote   price.Quote
	priced  bool
	lease   *budget.Lease
	lasting bool   // a budget that outlives the session: the intent is durable before egress
	short   string // the budget that had no room, for the row of the refusal
}

// reservation takes the upper bound of the call from every budget it belongs
// to, after the last gate and in one step with the check that it fits. It
// answers as the budget gate does.
type reservation struct{ x *exchange }

func (reservation) Name() string { return gate.NameBudget }

func (v reservation) Decide(_ context.Context, r *gate.Request) gate.Decision {
	if !r.Upstream.Model() {
		return gate.Allow()
	}
	switch r.Class {
	case upstream.Inference:
		return v.x.reserve()
	case upstream.Read, upstream.Count, upstream.Write: // files that a session was granted are priced when a call uses them
		return gate.Allow()
	}
	return gate.Deny(http.StatusForbidden, gate.ReasonUnpriced, "the gateway does not know what this path of %s costs", r.Upstream.Name)
}

func (x *exchange) reserve() gate.Decision {
	r, s := x.req, &x.spend
	s.dialect = usage.DialectOf(r.Upstream.Kind, r.Target.Path)
	s.model = usage.ModelOf(s.dialect, r.Target.Path, r.Document)
	most, err := usage.Estimate(s.dialect, r.Document, usage.Limits{Context: x.g.limits.ContextTokens, Output: x.g.limits.OutputTokens})
	switch {
	case errors.Is(err, usage.ErrUnbounded):
		return gate.Deny(http.StatusBadRequest, gate.ReasonUnbounded, "the call asks for more answers at once than can be set aside for; ask for one at a time")
	case err != nil:
		return gate.Deny(http.StatusBadRequest, gate.ReasonUnreadBody, "the body is not one JSON object without doubled keys")
	}
	who := gate.Who(r)
	money, lasting := x.g.ledger.Bounded(who)
	amount := budget.Amount{Tokens: most.Tokens()}
	if s.quote, s.priced = x.g.quote(r.Upstream, s.model); s.priced {
		amount.Cost, s.priced = s.quote.Most(most)
	}
	if money && !s.priced {
		return gate.Deny(http.StatusForbidden, gate.ReasonNoPrice,
			"a budget in money applies, and nobody knows what this call of model %q at %s costs at most: add its price (moeca price set MODEL --kind %s --input USD --output USD, per million tokens), ask for the ordinary service, bound its tools, or take the budget off",
			s.model, r.Upstream.Name, r.Upstream.Kind)
	}
	lease, err := x.g.ledger.Reserve(who, amount)
	if err != nil {
		s.short = shortOf(err)
		return exhausted(amount, err)
	}
	s.lease, s.lasting = lease, lasting
	return gate.Allow()
}

// quote is what a model costs at an upstream. A server of the user's own costs
// nothing unless a row says otherwise.
func (g *Gateway) quote(u upstream.Upstream, model string) (price.Quote, bool) {
	q, ok := g.o.Prices.Quote(u.Name, u.Kind, model)
	if !ok && u.Local {
		return price.Free(), true
	}
	return q, ok
}

func exhausted(amount budget.Amount, err error) gate.Decision {
	var e *budget.ExhaustedError
	switch {
	case !errors.As(err, &e):
		return gate.Deny(http.StatusPaymentRequired, gate.ReasonExhausted, "the call may use more than any budget")
	case e.Money:
		return gate.Deny(http.StatusPaymentRequired, gate.ReasonExhausted,
			"the call may cost up to %s USD; %s are left in the budget of the %s; ask for a shorter answer, or let a person raise it", gatewayapi.USD(amount.Cost), gatewayapi.USD(max(e.Left.Cost, 0)), e.Scope)
	}
	return gate.Deny(http.StatusPaymentRequired, gate.ReasonExhausted,
		"the call may use up to %d tokens; %d are left in the budget of the %s; ask for a shorter answer, or let a person raise it", amount.Tokens, max(e.Left.Tokens, 0), e.Scope)
}

// AttrShort names, in the row of a refusal, the budget that had no room: its
// scope and "tokens" or "money". The host tells a person by it what to raise.
const AttrShort = "short"

func shortOf(err error) string {
	var e *budget.ExhaustedError
	switch {
	case !errors.As(err, &e):
		return ""
	case e.Money:
		return string(e.Scope) + " money"
	}
	return string(e.Scope) + " tokens"
}

// shortAttr is that attribute. A call that the budget gate refused reserved
// nothing; what a single token has no room in is what refused it.
func (x *exchange) shortAttr(d gate.Decision) []audit.Attr {
	if d.Gate != gate.NameBudget || d.Reason != gate.ReasonExhausted {
		return nil
	}
	if x.spend.short == "" {
		lease, err := x.g.ledger.Reserve(gate.Who(x.req), budget.Amount{Tokens: 1})
		if err == nil {
			lease.Settle(budget.Amount{})
			return nil
		}
		x.spend.short = shortOf(err)
	}
	if x.spend.short == "" {
		return nil
	}
	return []audit.Attr{{Key: AttrShort, Value: x.spend.short}}
}

// drop gives the reservation back: nothing was sent.
func (s *spend) drop() {
	if s.lease != nil {
		s.lease.Settle(budget.Amount{})
	}
}

// reserved is what the intent row says.
func (s *spend) reserved() (attrs []audit.Attr) {
	if s.lease == nil {
		return nil
	}
	attrs = append(attrs, audit.Attr{Key: audit.AttrReserved, Value: strconv.FormatInt(s.lease.Tokens, 10)})
	if s.priced {
		attrs = append(attrs, audit.Attr{Key: audit.AttrReservedCost, Value: strconv.FormatInt(s.lease.Cost, 10)})
	}
	return attrs
}

// streamed says that the answer is one whose usage may exceed the reservation
// while it is passed on.
func (s *spend) streamed(resp *http.Response) bool {
	if s.lease == nil {
		return false
	}
	return strings.HasPrefix(resp.Header.Get("Content-Type"), "text/event-stream") || strings.HasSuffix(resp.Request.URL.Path, ":streamGenerateContent")
}

// over says that a stream drew more than was set aside for it.
func (s *spend) over(c usage.Count) bool {
	if s.lease == nil {
		return false
	}
	cost, known := s.cost(c)
	return c.Tokens() > s.lease.Tokens || known && cost > s.lease.Cost
}

func (s *spend) cost(c usage.Count) (nano int64, known bool) {
	if !s.priced {
		return 0, false
	}
	return s.quote.Cost(c)
}

// AttrOverrun marks an outcome that drew more than was set aside: by how many
// tokens, which may be none or less where it is money that was exceeded.
const AttrOverrun = "overrun"

// bill is what an exchange drew and what its outcome row says about it.
type bill struct {
	count   usage.Count
	charged budget.Amount
	attrs   []audit.Attr
}

// settle books what the call cost and returns it for the row. Only a call that
// was certainly not worked on is free: it never left, or the upstream turned
// it away before doing anything. One that drew more than its upper bound was
// bounded wrongly, so the session ends before it does that again.
func (x *exchange) settle() (b bill) {
	s := &x.spend
	if s.lease == nil {
		return b
	}
	known := false
	if x.answer != nil {
		b.count, known = x.answer.meter.Result(x.answer.ended)
	}
	turnedAway := x.answer != nil && x.answer.ended && isTurnedAway(x.answer.status)
	cost, priced := s.cost(b.count)
	switch {
	case !x.sent.Load() || !known && turnedAway:
		b.count = usage.Count{}
	case known && (priced || !s.priced):
		b.charged = budget.Amount{Tokens: b.count.Tokens(), Cost: cost}
	default:
		b.charged = s.whole(x.answer)
		b.attrs = append(b.attrs,
			audit.Attr{Key: audit.AttrCharged, Value: strconv.FormatInt(b.charged.Tokens, 10)},
			audit.Attr{Key: audit.AttrUsage, Value: audit.UsageUnknown})
	}
	s.lease.Settle(b.charged)
	if b.charged.Tokens > s.lease.Tokens || b.charged.Cost > s.lease.Cost {
		b.attrs = append(b.attrs, audit.Attr{Key: AttrOverrun, Value: strconv.FormatInt(b.charged.Tokens-s.lease.Tokens, 10)})
		if !x.req.Hosted { // what the provider was granted to run has no bound that could be set aside
			x.g.expel(x.live, OverReservation)
		}
	}
	if !s.priced {
		b.attrs = append(b.attrs, audit.Attr{Key: "price", Value: "unknown"})
	}
	return b
}

// whole is the reservation, or what was seen to be used beyond it.
func (s *spend) whole(a *answerBody) budget.Amount {
	charged := s.lease.Amount
	if a != nil {
		seen := a.meter.SoFar()
		cost, _ := s.cost(seen)
		charged = budget.Amount{Tokens: max(charged.Tokens, seen.Tokens()), Cost: max(charged.Cost, cost)}
	}
	return charged
}

// isTurnedAway: the request was refused, or the upstream was too busy for it.
// 529 is the overload status of the Anthropic API.
func isTurnedAway(status int) bool {
	return status/100 == 4 || status == http.StatusServiceUnavailable || status == 529
}

// openBudgets opens the account of a session that begins and sets the limits of
// its run and task.
func (g *Gateway) openBudgets(s session.Session) {
	g.ledger.Open(s.ID, limitOf(s.Scope.Budget))
	g.limitShared(s.Scope)
}

// limitShared sets the limits of the run and the task of a session; the latest
// that names one counts.
func (g *Gateway) limitShared(s session.Scope) {
	if s.RunBudget != nil {
		g.ledger.Limit(budget.Run, s.Run, limitOf(*s.RunBudget))
	}
	if s.TaskBudget != nil {
		g.ledger.Limit(budget.Task, s.Task, limitOf(*s.TaskBudget))
	}
}

// limitOf reads a budget: zero is no limit, and a negative one is nothing at all
// of either, so that a session without money is not left with tokens.
func limitOf(b session.Budget) budget.Amount {
	if b.Tokens < 0 || b.CostNano < 0 {
		return budget.Amount{}
	}
	limit := budget.Amount{Tokens: b.Tokens, Cost: b.CostNano}
	if limit.Tokens == 0 {
		limit.Tokens = budget.Unlimited
	}
	if limit.Cost == 0 {
		limit.Cost = budget.Unlimited
	}
	return limit
}
