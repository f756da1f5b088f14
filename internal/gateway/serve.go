package gateway

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"sync/atomic"
	"time"

	"moeca/internal/gateway/gate"
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
	served  *live  // counts it, from when the session was known
	live    *live
	asked   string // the ask it went through
	spend   spend
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
	defer func() { x.release(); x.served.done() }()
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
	if !x.serves() {
		d := gate.Deny(http.StatusTooManyRequests, gate.ReasonBusy, "too many requests of this session are under way")
		d.Gate, d.RetryAfter = gate.Body{}.Name(), time.Second
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
	if d := x.consent(r.Context()); !d.Allowed {
		x.refuse(d)
		return
	}
	if d := (gate.Chain{reservation{x}}).Run(r.Context(), x.req); !d.Allowed {
		x.refuse(d)
		return
	}
	x.forward()
}

// serves counts the exchange among those of its session, once the session is
// known, and keeps its connection from being dropped. One session must not hold
// all connections of the loopback listener.
func (x *exchange) serves() bool {
	if x.served != nil {
		return true
	}
	_, l := x.g.foldOf(x.req.Session.ID)
	if l == nil {
		return true // it ended; entering it will say so
	}
	if l.serving.Add(1) > int64(x.g.limits.SessionConns) {
		l.serving.Add(-1)
		return false
	}
	x.served = l
	connOf(x.r.Context()).serves()
	return true
}

func (l *live) done() {
	if l != nil {
		l.serving.Add(-1)
	}
}

// load reads the body once, within the limit, within bodyTime unless it is here
// already, and within what one session may have in memory here.
func (x *exchange) load(limit int64) ([]byte, error) {
	if x.r.ContentLength == 0 {
		return nil, nil
	}
	if !x.serves() {
		return nil, gate.ErrBusy
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
	here := connOf(x.r.Context()).whole()
	if !here {
		if err := x.w.rc.SetReadDeadline(time.Now().Add(bodyTime)); err != nil {
			return nil, err
		}
	}
	var body bytes.Buffer
	if x.r.ContentLength > 0 {
		body.Grow(int(expect) + bytes.MinRead) // read without growing
	}
	n, err := body.ReadFrom(io.LimitReader(x.r.Body, limit+1))
	if err != nil {
		return nil, err
	}
	if n > limit {
		return nil, gate.ErrTooLarge
	}
	if !here {
		err = x.w.rc.SetReadDeadline(time.Time{})
	}
	return body.Bytes(), err
}

// await waits once for the intent to be durable.
func (x *exchange) await(ctx context.Context) error {
	if !x.awaited {
		x.durable, x.awaited = x.intent.Wait(ctx), true
	}
	return x.durable
}
