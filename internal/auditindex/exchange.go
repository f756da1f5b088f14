package auditindex

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"moeca/internal/a2a"
	"moeca/internal/audit"
)

// Bounds of the contents that are read for one answer.
const (
	exchangeCalls = 2000
	exchangeBytes = 96 << 20
)

// Exchanges returns the calls a filter selects with their contents, oldest
// first. Beyond its bounds the oldest calls, or their contents, are left out,
// and note says so: a later request repeats what an earlier one said.
func (x *Index) Exchanges(ctx context.Context, f Filter) (list []a2a.Exchange, note string, err error) {
	page, err := x.Calls(ctx, Query{Filter: f, Limit: exchangeCalls, Uncounted: true})
	if err != nil {
		return nil, "", err
	}
	if page.Next != "" {
		note = fmt.Sprintf("only the last %d calls are shown", exchangeCalls)
	}
	room := int64(exchangeBytes)
	for _, c := range page.Items { // newest first
		if err := ctx.Err(); err != nil {
			return nil, "", err
		}
		e, size, err := x.exchange(c, room)
		if err != nil {
			return nil, "", err
		}
		full := room < 0
		if room -= size; room < 0 && !full {
			note = fmt.Sprintf("contents of calls before row %d are left out: more than %d MiB", c.Seq+1, exchangeBytes>>20)
		}
		list = append(list, e)
	}
	slices.Reverse(list)
	return list, note, nil
}

// exchange reads a call with at most room bytes of contents; size is what there
// is of them.
func (x *Index) exchange(c Call, room int64) (e a2a.Exchange, size int64, err error) {
	intent, _, err := x.log.At(c.Seq)
	if err != nil {
		return e, 0, err
	}
	var outcome audit.Record
	if c.Outcome > 0 {
		if outcome, _, err = x.log.At(c.Outcome); err != nil {
			return e, 0, err
		}
	}
	for _, ref := range []*audit.BodyRef{intent.Request, intent.Response, outcome.Request, outcome.Response} {
		if ref != nil {
			size += ref.Stored
		}
	}
	e = ExchangeOf(intent, outcome)
	e.Request, e.RequestCut, e.RequestErased = content(x.log, intent.Request, room >= size)
	e.Response, e.ResponseCut, e.ResponseErased = content(x.log, outcome.Response, room >= size)
	return e, size, nil
}

// content reads a body.
func content(log Log, ref *audit.BodyRef, wanted bool) (b []byte, cut, erased bool) {
	switch {
	case ref == nil:
		return nil, false, false
	case ref.Pack == 0 || !wanted:
		return nil, ref.Size > 0, false
	}
	b, err := log.Body(ref)
	if err != nil {
		return nil, true, errors.Is(err, audit.ErrErased)
	}
	return b, ref.Truncated, false
}

// ExchangeOf is what two rows say of an exchange, without contents. The second
// is the zero row while the call is open, and for a refusal.
func ExchangeOf(first, outcome audit.Record) a2a.Exchange {
	a := first.Attribution
	e := a2a.Exchange{
		Seq: first.Seq, Time: first.Time,
		Session: a.Session, Run: a.Run, Stage: a.Stage, Parent: a.Parent, Task: a.Task, Agent: a.Agent, Template: a.Template,
		Dialect: dialectOf(first), Upstream: first.Upstream, Method: first.Method, Target: first.Target,
		Status: first.Status, Model: first.Model, Scripted: first.Scripted, Replayed: first.Replayed,
	}
	if first.Kind == audit.KindRefusal {
		e.Refusal = a2a.Refusal{Gate: first.Gate, Reason: first.Reason}
	}
	if outcome.Seq == 0 {
		return e
	}
	e.OutcomeSeq, e.End, e.Status, e.Result = outcome.Seq, outcome.Time, outcome.Status, outcome.Result
	e.Scripted, e.Replayed = e.Scripted || outcome.Scripted, e.Replayed || outcome.Replayed
	e.Cause, _ = outcome.Attr("cause")
	if outcome.Model != "" {
		e.Model = outcome.Model
	}
	if outcome.Gate != "" {
		e.Refusal = a2a.Refusal{Gate: outcome.Gate, Reason: outcome.Reason}
	}
	u := outcome.Usage
	e.Usage = a2a.Usage{
		Input: u.Input, Output: u.Output, CacheRead: u.CacheRead, CacheWrite5m: u.CacheWrite5m, CacheWrite1h: u.CacheWrite1h,
		Reasoning: u.Reasoning, ServerTools: u.ServerTools, CostNano: outcome.CostNano,
	}
	return e
}

// dialectOf is the dialect of a row that is a model call.
func dialectOf(r audit.Record) a2a.Dialect {
	if class, ok := r.Attr("class"); ok && class != "inference" {
		return a2a.Other
	}
	return a2a.DialectOf(r.Target)
}
