package gateway

import (
	"context"
	"encoding/json"

	"moeca/internal/audit"
	"moeca/internal/gateway/gatewayapi"
)

// Actions of the rows of sessions that the gateway ends by itself.
const (
	ActionExpired = "session.expired"
	ActionExpel   = "session.revoke"
)

// expel ends a session that has too much of something. The caller is one of
// its requests, so it does not wait.
func (g *Gateway) expel(l *live, over string) {
	if !l.ending.Swap(true) {
		go g.endByItself(l.id, ActionExpel, over)
	}
}

// endByItself ends a session that nobody asked to end, and records it. A
// gateway that closes ends all of them anyway.
func (g *Gateway) endByItself(id, action, over string) {
	g.mu.Lock()
	if g.closed {
		g.mu.Unlock()
		return
	}
	g.ends.Add(1)
	g.mu.Unlock()
	defer g.ends.Done()
	ctx, cancel := context.WithTimeout(context.Background(), settleTime)
	defer cancel()
	g.endSession(ctx, id, func(l *live, out gatewayapi.Revoked) { g.recordEnd(l, out, action, over) })
}

// recordEnd is the last row of the session, after those of what it had under
// way. An end also happens while the log cannot be written.
func (g *Gateway) recordEnd(l *live, out gatewayapi.Revoked, action, over string) {
	detail, err := json.Marshal(out)
	r := audit.Record{
		Kind: audit.KindAdmin, Source: audit.SourceGateway, Subject: l.id, Detail: detail,
		Attrs: []audit.Attr{{Key: "action", Value: action}},
	}
	r.Attribution, _ = Attribution(l.who)
	if over != "" {
		r.Attrs = append(r.Attrs, audit.Attr{Key: "over", Value: over})
	}
	if err == nil {
		_, err = g.o.Log.Queue(r, nil, nil)
	}
	if err != nil {
		g.o.Logger.Error("audit end of session not written", "session", l.id, "error", err)
	}
}

// keep sets aside room for a body in the log, at most want, within the quota of
// the session. What finds no room is in the log by its commitment.
func (l *live) keep(want, quota int64) int64 {
	for {
		before := l.kept.Load()
		n := min(want, max(quota-before, 0))
		if l.kept.CompareAndSwap(before, before+n) {
			return n
		}
	}
}
