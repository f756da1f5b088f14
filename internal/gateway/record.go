package gateway

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"moeca/internal/audit"
	"moeca/internal/session"
)

// Attribution is what a row says about who caused it. It comes from the
// session and from nowhere else (I4).
func Attribution(s session.Session) (audit.Attribution, audit.Actor) {
	a := audit.Attribution{
		Session: s.ID, Run: s.Scope.Run, Stage: s.Scope.Stage, Parent: s.Scope.Parent,
		Task: s.Scope.Task, Template: s.Scope.Template, Agent: s.Scope.Agent,
	}
	if s.Scope.Service {
		return a, audit.ActorService
	}
	return a, audit.ActorAgent
}

// row is what all rows of an exchange share.
func (x *exchange) row(kind audit.Kind) audit.Record {
	r := audit.Record{
		Kind: kind, Source: audit.SourceGateway, Upstream: x.req.Upstream.Name, Scripted: x.req.Upstream.Scripted,
		Method: audit.Clip(x.r.Method, 16), BytesIn: int64(len(x.req.Body)), Model: x.spend.model,
	}
	r.Attribution, r.Actor = Attribution(x.session())
	if x.asked != "" {
		r.Attrs = append(r.Attrs, audit.Attr{Key: AttrAsked, Value: x.asked})
	}
	switch {
	case x.req.Target != nil:
		r.Target = x.req.Target.String()
	case x.r.URL != nil: // never the query: it may carry a credential
		r.Target = audit.Clip(x.r.URL.EscapedPath(), 1024)
	}
	r.Target, r.Model = session.Redact(r.Target), session.Redact(r.Model)
	return r
}

// session is the one that calls, also where an early gate refused: on a
// sandbox socket the socket still tells.
func (x *exchange) session() session.Session {
	if x.req.Session.ID == "" && x.req.Socket != "" {
		if s, err := x.g.o.Sessions.Get(x.req.Socket); err == nil {
			return s
		}
		return session.Session{ID: x.req.Socket}
	}
	return x.req.Session
}

// queueIntent gives the request its place in the log. Nothing was sent yet.
func (x *exchange) queueIntent() error {
	r := x.row(audit.KindIntent)
	r.Attrs = append(r.Attrs, audit.Attr{Key: "class", Value: x.req.Class.String()})
	r.Attrs = append(r.Attrs, x.operations()...)
	r.Attrs = append(r.Attrs, x.spend.reserved()...)
	inOrder(r.Attrs)
	row, err := x.g.o.Log.Queue(r, x.capture(x.live), nil)
	x.intent = row
	if x.live.records.Add(2) > x.g.limits.SessionRecords && x.g.limits.SessionRecords > 0 {
		x.g.expel(x.live, OverRecords)
	}
	return err
}

// inOrder puts attributes in the order of their keys, as a row takes them.
func inOrder(attrs []audit.Attr) {
	slices.SortFunc(attrs, func(a, b audit.Attr) int { return strings.Compare(a.Key, b.Key) })
}

// operations are what the write gate found in the request, and what is noted
// of it. A model call is one operation that the class already names.
func (x *exchange) operations() (attrs []audit.Attr) {
	if len(x.req.Warnings) > 0 {
		attrs = append(attrs, audit.Attr{Key: "warning", Value: audit.Clip(strings.Join(x.req.Warnings, " "), 512)})
	}
	if x.req.Upstream.Model() {
		return attrs
	}
	var names []string
	for _, op := range x.req.Operations {
		if !slices.Contains(names, op.Name) {
			names = append(names, op.Name)
		}
	}
	return append(attrs, audit.Attr{Key: "operation", Value: audit.Clip(strings.Join(names, " "), 512)})
}

// capture keeps the request body for its row, within what the session may keep.
func (x *exchange) capture(l *live) *audit.Body {
	if len(x.req.Body) == 0 {
		return nil
	}
	return audit.CaptureOf(x.req.Body, l.keep(min(int64(len(x.req.Body)), x.g.limits.CaptureBytes), x.g.limits.SessionKept))
}

// queueOutcome ends the intent. A log that fails now has failed for good, and
// the next intent will say so.
func (x *exchange) queueOutcome(result string) {
	r := x.row(audit.KindOutcome)
	r.Ref, r.Result, r.Status, r.BytesOut = x.intent.Seq(), result, x.w.status, x.w.written
	if r.Gate, r.Reason = x.denial.Gate, x.denial.Reason; r.Status == 0 {
		r.Status = x.denial.Status
	}
	r.Duration = x.g.o.Now().Sub(x.start).Truncate(time.Microsecond)
	bill := x.settle()
	r.Usage, r.CostNano = bill.count.Usage, bill.charged.Cost
	var response *audit.Body
	if x.answer != nil {
		if !x.answer.ended {
			x.answer.capture.Cut()
		}
		response = x.answer.capture.Body()
		x.live.kept.Add(int64(len(response.Content)) - x.answer.room)
		if m := x.answer.meter.Model(); m != "" {
			r.Model = audit.Clip(m, 128)
		}
	}
	if x.answer != nil && x.answer.broken != nil {
		x.cause = x.answer.broken
	}
	if x.cause != nil {
		text := x.g.scrubs.get(x.g.o.Upstreams, x.req.Upstream.Key).String(x.cause.Error())
		r.Attrs = append(r.Attrs, audit.Attr{Key: "cause", Value: audit.Clip(text, 512)})
	}
	if x.answer != nil && x.answer.clean.Hits() > 0 {
		r.Attrs = append(r.Attrs, audit.Attr{Key: "scrubbed", Value: strconv.FormatInt(x.answer.clean.Hits(), 10)})
	}
	r.Attrs = append(r.Attrs, bill.attrs...)
	inOrder(r.Attrs)
	if _, err := x.g.o.Log.Queue(r, nil, response); err != nil {
		x.g.o.Logger.Error("audit outcome not written", "intent", r.Ref, "error", err)
	}
}
