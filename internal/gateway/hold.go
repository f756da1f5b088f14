package gateway

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"time"
	"unicode/utf8"

	"moeca/internal/audit"
	"moeca/internal/gateway/gate"
	"moeca/internal/gateway/gatewayapi"
	"moeca/internal/session"
)

// A request that the forbidden gate asks about waits here, after every gate let
// it pass and before anything is set aside for it or recorded as sent. It goes on
// when a person allowed it and the row of that answer is durable; the gates then
// decide once more, since a rule, a definition or the session may have changed
// meanwhile. Whatever else happens is a refusal of the forbidden gate and one row.

// Actions of the rows of answers.
const (
	ActionAskAllow  = "ask.allow"
	ActionAskRefuse = "ask.refuse"
)

// AttrAsked names the ask that a row of a request went through.
const AttrAsked = "asked"

const maxAskText = 2000 // bytes of a body that are shown to a person

// consent waits for a person where one is to be asked.
func (x *exchange) consent(ctx context.Context) (d gate.Decision) {
	if len(x.req.Asks) == 0 {
		return gate.Allow()
	}
	defer func() {
		if recover() != nil {
			d = gate.Deny(http.StatusInternalServerError, gate.ReasonFailed, "the gateway could not ask a person; nothing was sent")
		}
		if d.Gate == "" {
			d.Gate = gate.Forbidden{}.Name()
		}
		if ctx.Err() != nil { // nobody is left to answer, and still the row is waited for
			x.r = x.r.WithContext(context.WithoutCancel(ctx))
		}
	}()
	if d = x.hold(ctx); !d.Allowed {
		return d
	}
	return x.again(ctx)
}

// hold waits. The exchange counts among those of its session, so that the end of
// the session waits for the row.
func (x *exchange) hold(ctx context.Context) gate.Decision {
	g, what := x.g, x.question()
	by, _ := Attribution(x.req.Session)
	a, ok := g.asks.add(what, by, int64(len(x.req.Body)))
	if !ok {
		return gate.Deny(http.StatusForbidden, gate.ReasonManyAsks, "%s needs a person, and as many requests as may wait for one already do; wait for their answers", what.Operations[0])
	}
	x.asked = a.ID
	timer := time.NewTimer(what.ExpiresAt.Sub(what.AskedAt))
	defer timer.Stop()
	for {
		select {
		case allow := <-a.answer:
			if !allow {
				return gate.Deny(http.StatusForbidden, gate.ReasonRefused, "a person refused %s at %s; do not try it again", what.Operations[0], what.Upstream)
			}
			return gate.Allow()
		case <-x.live.ctx.Done():
			g.asks.leave(a, "its session is over", true)
			return gate.Deny(http.StatusForbidden, ReasonEnded, "the session ended while a person was asked")
		case <-ctx.Done():
			if x.live.ctx.Err() != nil {
				continue // the session that ended took the connection along
			}
			g.asks.leave(a, "its caller hung up", true)
			return gate.Deny(http.StatusForbidden, gate.ReasonCancelled, "the caller hung up while a person was asked")
		case <-timer.C:
			if g.asks.leave(a, "nobody answered in time", false) {
				return gate.Deny(http.StatusForbidden, gate.ReasonNoAnswer, "%s needs a person at %s, and nobody answered within %d seconds; ask again when somebody is there", what.Operations[0], what.Upstream, g.limits.AskSeconds)
			}
			timer.Reset(time.Second) // an answer is being recorded
		}
	}
}

// question is what a person is told.
func (x *exchange) question() gatewayapi.Ask {
	r, now := x.req, x.g.o.Now()
	scope := r.Session.Scope
	what := gatewayapi.Ask{
		Session: r.Session.ID, Run: scope.Run, Stage: scope.Stage, Task: scope.Task, Agent: scope.Agent,
		Upstream: r.Upstream.Name, Method: r.HTTP.Method, Target: r.Target.String(), Rule: r.Asks[0].Rule,
		Body: beginning(r.Body), BodyBytes: int64(len(r.Body)),
		AskedAt: now, ExpiresAt: now.Add(time.Duration(x.g.limits.AskSeconds) * time.Second),
	}
	for _, op := range r.Operations {
		if !slices.Contains(what.Operations, op.Name) {
			what.Operations = append(what.Operations, op.Name)
		}
		what.Refs = append(what.Refs, op.Refs...)
	}
	return what
}

// beginning is the head of a body that is text, else nothing.
func beginning(body []byte) string {
	if !utf8.Valid(body) {
		return ""
	}
	return audit.Clip(string(body[:min(len(body), maxAskText+utf8.UTFMax)]), maxAskText)
}

// again lets the gates decide a second time, except those that read the caller's
// bytes or count. A person allowed one thing at one place; if the request is by
// now another thing, or another rule asks, the answer was to something else.
func (x *exchange) again(ctx context.Context) gate.Decision {
	r := x.req
	target, operations, asked := r.Target.String(), r.Operations, r.Asks
	r.Now = x.g.o.Now()
	r.Operations, r.Asks, r.Warnings, r.Hosted = nil, nil, nil, false
	d := x.g.second.Run(ctx, r)
	if !d.Allowed {
		return d
	}
	same := r.Target.String() == target && len(r.Operations) == len(operations)
	for i := 0; same && i < len(operations); i++ {
		same = r.Operations[i].Name == operations[i].Name && slices.Equal(r.Operations[i].Refs, operations[i].Refs)
	}
	for _, a := range r.Asks {
		same = same && slices.Contains(asked, a)
	}
	if !same {
		return gate.Deny(http.StatusForbidden, gate.ReasonChanged, "the rules or the place of %s changed while a person was asked; send the request again", r.Upstream.Name)
	}
	return d
}

// secondLook are the gates that decide again after a person did.
func secondLook(all gate.Chain) (out gate.Chain) {
	once := []string{(gate.Protocol{}).Name(), (gate.Body{}).Name(), (&gate.Rate{}).Name(), gate.NameBudget}
	for _, g := range all {
		if !slices.Contains(once, g.Name()) {
			out = append(out, g)
		}
	}
	return out
}

// AnswerAsk records the answer of a person to an ask and then gives it. The error
// wraps ErrAskUnknown, ErrAskEnded or ErrAskAnswered where there was nothing to
// answer; any other means that the log could not be written, and that the request
// waits on.
func (g *Gateway) AnswerAsk(id string, allow bool) (seq int64, err error) {
	a, err := g.asks.claim(id)
	if err != nil {
		return 0, err
	}
	if seq, err = g.recordAnswer(a, allow); err != nil {
		g.asks.unclaim(a)
		return 0, err
	}
	return seq, g.asks.settle(a, allow)
}

// recordAnswer waits without a bound: the log writes or fails for good.
func (g *Gateway) recordAnswer(a *ask, allow bool) (int64, error) {
	action := ActionAskRefuse
	if allow {
		action = ActionAskAllow
	}
	shown := a.Ask
	shown.Body = "" // the row of the request holds it
	detail, err := json.Marshal(shown)
	if err != nil {
		return 0, fmt.Errorf("gateway: encode answer to %s: %w", a.ID, err)
	}
	row, err := g.o.Log.Queue(audit.Record{
		Kind: audit.KindAdmin, Source: audit.SourceGateway, Actor: audit.ActorPerson, Attribution: a.by, Subject: a.ID, Detail: detail,
		Upstream: a.Upstream, Method: a.Method, Target: session.Redact(a.Target), Attrs: []audit.Attr{{Key: "action", Value: action}},
	}, nil, nil)
	if err == nil {
		err = row.Wait(context.Background())
	}
	if err != nil {
		return 0, fmt.Errorf("gateway: record answer to %s: %w", a.ID, err)
	}
	return row.Seq(), nil
}
