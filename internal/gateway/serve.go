package gateway

import (
	"context"
	"errors"
	"io"
	"net/http"
	"sync/atomic"
	"time"

	"moeca/internal/gateway/budget"
	"moeca/internal/gateway/gate"
	"moeca/internal/gateway/upstream"
	"moeca/internal/gateway/usage"
)

// bodyTime bounds how long a caller may take to send its body.
const bodyTime = 60 * time.Second

// exchange is one request on its way through. It belongs to one goroutine,
// except where a field says otherwise.
type exchange struct {
	g     *Gateway
	w     *answerWriter
	r     *http.Request
	start time.Time
	req   *gate.Request

	release func() // gives back the memory of the body
	live    *live
	lease   *budget.Lease
	dialect usage.Dialect
	model   string // the call asks for
	intent  Row
	awaited bool
	durable error       // of the intent, valid when awaited
	sent    atomic.Bool // the upstream may have seen the request

	answer  *answerBody
	denial  gate.Decision // what ended the exchange after its intent
	stopped error         // the clock of ours that ended it
	cause   error         // why the upstream gave no answer
}

// serve is the handler of every listener.
func (g *Gateway) serve(w http.ResponseWriter, r *http.Request) {
	c := connOf(r.Context())
	finding, last := c.request()
	x := &exchange{g: g, r: r, start: g.o.Now(), w: newAnswerWriter(w, last), release: func() {}}
	defer func() { x.release() }()
	x.req = &gate.Request{HTTP: r, Framing: finding, Socket: c.socket, Now: x.start, Load: x.load}
	if c.socket == "" {
		x.req.Hosts = g.hosts.get()
	}
	if d := g.chain.Run(r.Context(), x.req); !d.Allowed {
		if d.Gate == (gate.Protocol{}).Name() {
			c.refuse()
			x.w.last = true
		}
		x.refuse(d)
		return
	}
	l, ok := g.enter(x.req.Session.ID)
	if !ok {
		d := gate.Deny(http.StatusUnauthorized, gate.ReasonUnknown, "the session is over")
		d.Gate = gate.Session{}.Name()
		x.refuse(d)
		return
	}
	defer l.leave()
	x.live = l
	if d := (gate.Chain{reservation{x}}).Run(r.Context(), x.req); !d.Allowed {
		x.refuse(d)
		return
	}
	x.forward()
}

// load reads the body once, within the limit, within bodyTime, and within what
// one session may have in memory here.
func (x *exchange) load(limit int64) ([]byte, error) {
	if x.r.ContentLength == 0 {
		return nil, nil
	}
	expect := limit
	if n := x.r.ContentLength; n > 0 {
		expect = min(n, limit)
	}
	release, ok := x.g.hold(x.req.Session.ID, expect)
	if !ok {
		return nil, gate.ErrBusy
	}
	x.release = release
	rc := http.NewResponseController(x.w.ResponseWriter)
	if err := rc.SetReadDeadline(time.Now().Add(bodyTime)); err != nil {
		return nil, err
	}
	body, err := io.ReadAll(io.LimitReader(x.r.Body, limit+1))
	if err != nil {
		return nil, err
	}
	if int64(len(body)) > limit {
		return nil, gate.ErrTooLarge
	}
	return body, rc.SetReadDeadline(time.Time{})
}

// reservation takes the upper bound of the call from the session's budget,
// after the last gate and in one step with the check that it fits. It answers
// as the budget gate does.
type reservation struct{ x *exchange }

func (reservation) Name() string { return gate.NameBudget }

func (v reservation) Decide(_ context.Context, r *gate.Request) gate.Decision {
	if !r.Upstream.Model() {
		return gate.Allow()
	}
	switch r.Class {
	case upstream.Inference:
		return v.x.reserveInference()
	case upstream.Read, upstream.Count:
		return gate.Allow()
	}
	return gate.Deny(http.StatusForbidden, gate.ReasonUnpriced, "the gateway does not know what this path of %s costs", r.Upstream.Name)
}

func (x *exchange) reserveInference() gate.Decision {
	limits := usage.Limits{Context: x.g.limits.ContextTokens, Output: x.g.limits.OutputTokens}
	x.dialect = usage.DialectOf(x.req.Upstream.Kind, x.req.Target.Path)
	most, err := usage.Estimate(x.dialect, x.req.Body, limits)
	bound := most.Tokens()
	switch {
	case errors.Is(err, usage.ErrUnbounded):
		return gate.Deny(http.StatusForbidden, gate.ReasonUnbounded, "the call uses a feature that runs at the provider and has no upper cost")
	case err != nil:
		return gate.Deny(http.StatusBadRequest, gate.ReasonUnreadBody, "the body is not one JSON object without doubled keys")
	}
	lease, err := x.g.ledger.Reserve(x.req.Session.ID, bound)
	if err != nil {
		return gate.Deny(http.StatusPaymentRequired, gate.ReasonExhausted,
			"the call may use up to %d tokens; %d are left in the budget of this session", bound, x.g.ledger.Left(x.req.Session.ID))
	}
	x.lease, x.model = lease, usage.ModelOf(x.dialect, x.req.Target.Path, x.req.Body)
	return gate.Allow()
}

// settle books what the call cost and returns it for the row. Only a call that
// was certainly not worked on is free: it never left, or the upstream turned
// it away before doing anything.
func (x *exchange) settle() (u usage.Count, known bool) {
	if x.answer != nil && x.answer.meter != nil {
		u, known = x.answer.meter.Result(x.answer.ended)
	}
	if x.lease == nil {
		return u, known
	}
	switch {
	case !x.sent.Load():
		x.lease.Settle(0)
		return usage.Count{}, true
	case known:
		x.lease.Settle(u.Tokens())
	case x.answer != nil && x.answer.ended && turnedAway(x.answer.status):
		x.lease.Settle(0)
		return usage.Count{}, true
	default:
		x.lease.SettleWhole()
	}
	return u, known
}

// turnedAway: the request was refused, or the upstream was too busy for it.
// 529 is the overload status of the Anthropic API.
func turnedAway(status int) bool {
	return status/100 == 4 || status == http.StatusServiceUnavailable || status == 529
}

// await waits once for the intent to be durable.
func (x *exchange) await(ctx context.Context) error {
	if !x.awaited {
		x.durable, x.awaited = x.intent.Wait(ctx), true
	}
	return x.durable
}
