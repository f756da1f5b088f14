package gateway

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"moeca/internal/gateway/gatewayapi"
	"moeca/internal/session"
)

// CallAnswer is what a call of the host itself got.
type CallAnswer struct {
	Status  int
	Header  http.Header
	Body    []byte
	Latency time.Duration
}

// maxCallAnswer bounds the answer of a call of the host itself.
const maxCallAnswer = 4 << 20

// callTime bounds such a call.
const callTime = 30 * time.Second

// Call makes one GET to an upstream for the host itself. It is no way around
// anything: it has a service session of its own, for this upstream only, and
// passes every gate, the log, injection and scrub like the request of an agent.
// Its budget is one token, so it can read and never infer. Of repositories it
// reads those named.
func (g *Gateway) Call(ctx context.Context, upstream, target string, repos ...string) (answer CallAnswer, err error) {
	ctx, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	m, err := g.Mint(gatewayapi.MintRequest{
		Scope: session.Scope{Service: true, Upstreams: []string{upstream}, Repos: repos, Budget: session.Budget{Tokens: 1}},
		TTL:   int64(2 * callTime / time.Second),
	})
	if err != nil {
		return CallAnswer{}, err
	}
	if err := m.Serve(); err != nil {
		m.Drop()
		return CallAnswer{}, err
	}
	defer g.Revoke(context.WithoutCancel(ctx), m.Session.ID)
	r, err := ownRequest(ctx, m.Session.ID, "/"+upstream+target)
	if err != nil {
		return CallAnswer{}, err
	}
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("gateway: call %s: broke off", upstream)
		}
	}()
	begin := time.Now()
	w := &callWriter{header: http.Header{}}
	g.serve(w, r)
	return CallAnswer{Status: w.status, Header: w.header, Body: w.body.Bytes(), Latency: time.Since(begin)}, nil
}

// ownRequest is a request as a sandbox socket would have delivered it.
func ownRequest(ctx context.Context, session, target string) (*http.Request, error) {
	u, err := url.ParseRequestURI(target)
	if err != nil {
		return nil, fmt.Errorf("gateway: call %s: %w", target, err)
	}
	r, err := http.NewRequestWithContext(withConn(ctx, &conn{socket: session}), http.MethodGet, "http://gateway/", http.NoBody)
	if err != nil {
		return nil, fmt.Errorf("gateway: call %s: %w", target, err)
	}
	r.URL, r.RequestURI, r.RemoteAddr = u, target, "host"
	r.Header.Set("Accept", "application/json")
	return r, nil
}

// callWriter keeps an answer in memory. Deadlines are those of the context.
type callWriter struct {
	header http.Header
	status int
	body   bytes.Buffer
}

var errCallTooLong = errors.New("gateway: answer to a call of the host is too long")

func (w *callWriter) Header() http.Header { return w.header }

func (w *callWriter) WriteHeader(status int) {
	if w.status == 0 {
		w.status = status
	}
}

func (w *callWriter) Write(p []byte) (int, error) {
	w.WriteHeader(http.StatusOK)
	if w.body.Len()+len(p) > maxCallAnswer {
		return 0, errCallTooLong
	}
	return w.body.Write(p)
}

// Flush, SetReadDeadline and SetWriteDeadline are what a server's writer has.
func (w *callWriter) Flush() {}

func (w *callWriter) SetReadDeadline(time.Time) error { return nil }

func (w *callWriter) SetWriteDeadline(time.Time) error { return nil }
