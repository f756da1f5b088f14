package gateway

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/http/httputil"
	"sync"
	"time"

	"moeca/internal/audit"
	"moeca/internal/gateway/decode"
	"moeca/internal/gateway/gate"
	"moeca/internal/netguard"
)

// Causes of a cut.
var (
	errIdle  = errors.New("gateway: no byte from the upstream within the idle limit")
	errTotal = errors.New("gateway: exchange over the total limit")
)

var silent = log.New(io.Discard, "", 0)

// newTransport is the one transport: guarded dialer, no proxy, no compression,
// TLS of our own choice.
func newTransport(guard *netguard.Guard, written func()) *http.Transport {
	return &http.Transport{
		DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
			c, err := guard.DialContext(ctx, network, address)
			if err != nil {
				return nil, err
			}
			return upstreamConn{c, written}, nil
		},
		Proxy:                  nil,
		DisableCompression:     true,
		ForceAttemptHTTP2:      true,
		TLSClientConfig:        &tls.Config{MinVersion: tls.VersionTLS12},
		TLSHandshakeTimeout:    10 * time.Second,
		MaxIdleConnsPerHost:    32,
		MaxIdleConns:           256,
		IdleConnTimeout:        90 * time.Second,
		MaxResponseHeaderBytes: 256 << 10,
	}
}

// upstreamConn tells when bytes left for an upstream: the time to have the log
// written, which would otherwise take the processor from the request.
type upstreamConn struct {
	net.Conn
	written func()
}

func (c upstreamConn) Write(p []byte) (int, error) {
	n, err := c.Conn.Write(p)
	c.written()
	return n, err
}

// forward records, sends, streams and settles. From queueIntent on there is an
// outcome row whatever happens.
func (x *exchange) forward() {
	if err := x.queueIntent(); err != nil {
		x.spend.drop()
		x.writeError(x.g.logDown(err))
		return
	}
	defer x.finish()
	ctx, cancel := context.WithCancelCause(x.r.Context())
	defer cancel(nil)
	defer context.AfterFunc(x.live.ctx, func() { cancel(context.Canceled) })()
	if !x.req.Class.Early() || x.req.Hosted || x.spend.lasting {
		if err := x.await(ctx); err != nil {
			x.end(x.logOrGone(err))
			return
		}
	}
	idleLimit := time.Duration(x.g.limits.IdleSeconds) * time.Second
	idle := time.AfterFunc(idleLimit, func() { cancel(errIdle) })
	total := time.AfterFunc(time.Duration(x.g.limits.TotalSeconds)*time.Second, func() { cancel(errTotal) })
	defer func() {
		idle.Stop()
		total.Stop()
		x.stopped = ourClock(ctx)
	}()
	x.proxy(func() { idle.Reset(idleLimit) }).ServeHTTP(x.w, x.outgoing(ctx))
}

// outgoing is the caller's request with the body that was checked.
func (x *exchange) outgoing(ctx context.Context) *http.Request {
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		GotConn: func(httptrace.GotConnInfo) { x.sent.Store(true) },
	})
	out := x.r.WithContext(ctx)
	out.TransferEncoding, out.ContentLength = nil, int64(len(x.req.Body))
	out.Body, out.GetBody = http.NoBody, nil
	if len(x.req.Body) > 0 {
		out.Body = x.sentBody()
		out.GetBody = func() (io.ReadCloser, error) { return x.sentBody(), nil }
	}
	return out
}

func (x *exchange) sentBody() io.ReadCloser { return io.NopCloser(bytes.NewReader(x.req.Body)) }

// copyBuffers are what answers are copied through. Each copy reads only what it
// wrote, so nothing of one answer gets into another.
type copyBuffers struct{ sync.Pool }

func (c *copyBuffers) Get() []byte {
	if b, ok := c.Pool.Get().(*[32 << 10]byte); ok {
		return b[:]
	}
	return new([32 << 10]byte)[:]
}

func (c *copyBuffers) Put(b []byte) { c.Pool.Put((*[32 << 10]byte)(b)) }

// proxy is the standard library's, with our four hooks. It flushes what streams
// and leaves an answer of known length whole. The error log is off: what it
// says could hold what an upstream sent.
func (x *exchange) proxy(alive func()) *httputil.ReverseProxy {
	return &httputil.ReverseProxy{
		Rewrite:        x.rewrite,
		Transport:      x.g.transport,
		BufferPool:     &x.g.copies,
		ModifyResponse: func(resp *http.Response) error { return x.modify(resp, alive) },
		ErrorHandler:   func(_ http.ResponseWriter, r *http.Request, err error) { x.upstreamFailed(r.Context(), err) },
		ErrorLog:       silent,
	}
}

// Errors of modify.
var (
	errEncoded  = errors.New("gateway: answer under a content encoding")
	errSwitched = errors.New("gateway: upstream switched protocols")
	errStatus   = errors.New("gateway: answer under a status that is none")
)

// modify runs before the first byte of the answer is written.
func (x *exchange) modify(resp *http.Response, alive func()) error {
	alive()
	x.g.o.Upstreams.Used(x.req.Upstream.Name)
	if err := x.await(resp.Request.Context()); err != nil {
		return err
	}
	if resp.StatusCode == http.StatusSwitchingProtocols {
		return errSwitched
	}
	if resp.StatusCode < http.StatusOK { // would be taken for success, since no final answer has it
		return errStatus
	}
	if err := decoded(resp); err != nil {
		return err
	}
	if x.req.Upstream.Auth.NeedsKey() && unreadable(resp.Header) {
		return errEncoded
	}
	if x.spend.streamed(resp) { // the end may come earlier than was announced
		resp.ContentLength = -1
		resp.Header.Del("Content-Length")
	}
	resp.Trailer = nil
	dropAnswerHeaders(resp.Header)
	turnPages(resp.Header, x.req.Target.Host, "http://"+x.r.Host+x.r.URL.EscapedPath())
	clean := x.g.scrubs.get(x.g.o.Upstreams, x.req.Upstream.Key).Filter()
	scrubHeaders(resp.Header, clean)
	x.answer = x.newAnswerBody(resp, clean, alive)
	resp.Body = x.answer
	return nil
}

// decoded takes a content encoding off the answer, which nobody asked for.
func decoded(resp *http.Response) error {
	plain, err := decode.Reader(resp.Body, resp.Header["Content-Encoding"])
	if err != nil || plain != io.Reader(resp.Body) && resp.StatusCode == http.StatusPartialContent {
		return errEncoded // a part of encoded bytes is no part of the content
	}
	resp.Header.Del("Content-Encoding")
	if plain != io.Reader(resp.Body) {
		resp.Body = struct {
			io.Reader
			io.Closer
		}{plain, resp.Body}
		resp.ContentLength = -1
		for _, name := range [...]string{"Content-Length", "Content-Md5", "Digest", "Content-Digest", "Repr-Digest", "Etag"} {
			resp.Header.Del(name) // were of the encoded bytes
		}
	}
	return nil
}

// upstreamFailed answers when there is no answer to pass on.
func (x *exchange) upstreamFailed(ctx context.Context, err error) {
	x.cause = err
	if werr := x.await(x.r.Context()); werr != nil {
		x.end(x.logOrGone(werr))
		return
	}
	name := x.req.Upstream.Name
	d := gate.Deny(http.StatusBadGateway, ReasonUnreachable, "%s did not answer; try again", name)
	d.Gate = gateUpstream
	var refused *netguard.RefusedError
	switch {
	case errors.As(err, &refused):
		d = gate.Deny(http.StatusForbidden, gate.ReasonAddress, "the host of %s must not be reached: %s", name, refused.Reason)
		d.Gate = gate.Address{}.Name()
	case errors.Is(err, errEncoded):
		d.Reason, d.Message = ReasonEncoding, name+" answered under a content encoding that the gateway does not know"
	case errors.Is(err, errSwitched):
		d.Reason, d.Message = ReasonSwitch, name+" switched protocols"
	case x.live.ctx.Err() != nil:
		d.Reason, d.Message = ReasonEnded, "the session ended"
	case ourClock(ctx) != nil:
		d.Status, d.Reason, d.Message = http.StatusGatewayTimeout, ReasonTimeout, name+" took too long"
	}
	x.end(d)
}

// ourClock returns the limit that ended the exchange, if one did.
func ourClock(ctx context.Context) error {
	if c := context.Cause(ctx); c == errIdle || c == errTotal {
		return c
	}
	return nil
}

// logOrGone: waiting for the intent failed because the log did, or because the
// caller is gone.
func (x *exchange) logOrGone(err error) gate.Decision {
	if x.g.o.Log.Err() == nil && errors.Is(err, context.Canceled) {
		d := gate.Deny(http.StatusServiceUnavailable, ReasonEnded, "the request ended before its record was written")
		d.Gate = gateLog
		return d
	}
	return x.g.logDown(err)
}

// end answers with a denial that belongs to the outcome.
func (x *exchange) end(d gate.Decision) {
	x.denial = d
	x.writeError(d)
}

// finish lets the answer out, as far as it came, and writes the outcome row,
// whatever ended the exchange.
func (x *exchange) finish() {
	failure := recover()
	_ = x.w.FlushError() // kept in x.w
	panicked := failure != nil && failure != http.ErrAbortHandler
	if panicked {
		x.denial = gate.Deny(http.StatusInternalServerError, ReasonPanic, "the gateway failed on this request; it was recorded")
		x.denial.Gate = gateProxy
	}
	x.queueOutcome(x.result(panicked))
	switch {
	case panicked && x.w.status == 0:
		d := x.denial
		if err := x.await(x.r.Context()); err != nil {
			d = x.logOrGone(err)
		}
		x.writeError(d)
	case failure != nil:
		panic(http.ErrAbortHandler) // half an answer is out: the connection is of no use any more
	}
}

// result says how the exchange ended.
func (x *exchange) result(panicked bool) string {
	switch {
	case panicked:
		return audit.ResultPanic
	case x.answer != nil && x.answer.ended && x.w.failed == nil:
		return audit.ResultOK
	case x.answer != nil && x.answer.cut:
		return audit.ResultCut
	case x.live.ctx.Err() != nil || x.stopped != nil:
		return audit.ResultCut
	case x.r.Context().Err() != nil || x.w.failed != nil:
		return audit.ResultClientGone
	}
	return audit.ResultUpstreamError
}
