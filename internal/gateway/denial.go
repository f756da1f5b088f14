package gateway

import (
	"net/http"
	"time"

	"moeca/internal/audit"
	"moeca/internal/gateway/gate"
)

// What a session may have too much of.
const (
	OverDenials     = "refusals"
	OverRecords     = "records"
	OverReservation = "reservation" // a call drew more than the most it could
)

// ReasonConnections: more connections than the listener takes.
const ReasonConnections = "connections"

const gateListener = "listener"

func (g *Gateway) newFold(direct int) *fold {
	return newFold(direct, time.Duration(g.limits.DenialSeconds)*time.Second, func(r audit.Record) error {
		_, err := g.o.Log.Queue(r, nil, nil)
		return err
	})
}

// recordRefusal writes the row of a denial and waits until it is durable, or
// counts it where a row for each would fill the disk. Bodies are kept of what
// was refused for what it would do, not of what came too often or nowhere.
func (x *exchange) recordRefusal(d gate.Decision) error {
	r := x.row(audit.KindRefusal)
	r.Gate, r.Reason, r.Status = d.Gate, d.Reason, d.Status
	r.Attrs = append(r.Attrs, x.shortAttr(d)...)
	inOrder(r.Attrs)
	r.Duration = x.g.o.Now().Sub(x.start).Truncate(time.Microsecond)
	if r.Attribution.Session == "" {
		r = strangerRow(d.Gate, d.Reason, d.Status)
	}
	f, l := x.g.foldOf(r.Attribution.Session)
	if x.live != nil { // also where it ended meanwhile: its end waits for this row
		f, l = x.live.denials, x.live
	}
	if l != nil {
		defer x.g.countDenial(l)
	}
	if !f.add(r, x.g.o.Now()) {
		return x.g.o.Log.Err()
	}
	var body *audit.Body
	if l != nil && x.req.Target != nil && d.Gate != gate.NameBudget {
		body = x.capture(l)
	}
	row, err := x.g.o.Log.Queue(r, body, nil)
	if err != nil {
		return err
	}
	return row.Wait(x.r.Context())
}

// strangerRow is all that is recorded of a caller without a session: any user
// of the machine and any page can call the loopback listener, and what they
// wrote must not look like an agent's, nor be kept at all.
func strangerRow(gate, reason string, status int) audit.Record {
	return audit.Record{Kind: audit.KindRefusal, Source: audit.SourceGateway, Gate: gate, Reason: reason, Status: status}
}

// foldOf is where refusals of a session are counted; l is nil when it is not, or
// no longer, known.
func (g *Gateway) foldOf(id string) (f *fold, l *live) {
	if id != "" {
		g.mu.Lock()
		defer g.mu.Unlock()
		if l = g.lives[id]; l != nil {
			return l.denials, l
		}
	}
	return g.strangers, nil
}

func (g *Gateway) countDenial(l *live) {
	if l.denied.Add(1) > g.limits.SessionDenials && g.limits.SessionDenials > 0 {
		g.expel(l, OverDenials)
	}
}

// recordOf is the row of a refusal that has no request: of the session whose
// socket it is, or of a stranger.
func (g *Gateway) recordOf(socket, gate, reason string, status int) audit.Record {
	r := strangerRow(gate, reason, status)
	if socket != "" {
		r.Attribution.Session, r.Actor = socket, audit.ActorAgent
		if s, err := g.o.Sessions.Get(socket); err == nil {
			r.Attribution, r.Actor = Attribution(s)
		}
	}
	return r
}

// recordMalformed is for bytes that never became a request. There is nobody
// left to answer.
func (g *Gateway) recordMalformed(c *conn) {
	r := g.recordOf(c.socket, gate.Protocol{}.Name(), gate.ReasonMalformed, http.StatusBadRequest)
	f, l := g.foldOf(c.socket)
	if l != nil {
		defer g.countDenial(l)
	}
	if f.add(r, g.o.Now()) {
		g.queueAlone(r)
	}
}

// recordFull counts connections that a listener had no room for.
func (g *Gateway) recordFull(socket string) {
	r := g.recordOf(socket, gateListener, ReasonConnections, http.StatusServiceUnavailable)
	if f, _ := g.foldOf(socket); f.tally(r, g.o.Now()) {
		g.queueAlone(r)
	}
}

func (g *Gateway) queueAlone(r audit.Record) {
	if _, err := g.o.Log.Queue(r, nil, nil); err != nil {
		g.o.Logger.Error("audit refusal not written", "reason", r.Reason, "error", err)
	}
}

// closeFold writes what was counted.
func (g *Gateway) closeFold(f *fold) {
	if err := f.close(); err != nil {
		g.o.Logger.Error("audit refusals not written", "error", err)
	}
}
