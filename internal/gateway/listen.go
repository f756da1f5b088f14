package gateway

import (
	"errors"
	"net"
	"net/http"
	"strconv"
	"sync"
	"time"

	"moeca/internal/gateway/gate"
)

// Bounds on a head, which is read before anybody is known. Nobody known sends
// more than a few hundred bytes to the loopback listener.
const (
	headTime      = 10 * time.Second
	sandboxHead   = 32 << 10
	strangersHead = 12 << 10 // the server adds 4 KiB
)

// newServer returns the hardened server both kinds of listener use: HTTP/1.1
// only, bounded heads, bounded time for a head, no logging of what a caller
// sent. Bodies and answers have deadlines of their own.
func (g *Gateway) newServer(head int) *http.Server {
	var p http.Protocols
	p.SetHTTP1(true)
	return &http.Server{
		Handler:                      http.HandlerFunc(g.serve),
		ReadHeaderTimeout:            headTime,
		IdleTimeout:                  2 * time.Minute,
		MaxHeaderBytes:               head,
		DisableGeneralOptionsHandler: true,
		Protocols:                    &p,
		ErrorLog:                     silent,
		ConnContext:                  withConn,
		ConnState:                    g.connState,
	}
}

// connState records what never became a request, when its connection ends.
func (g *Gateway) connState(nc net.Conn, s http.ConnState) {
	c, ok := nc.(*conn)
	switch {
	case ok && s == http.StateIdle:
		c.rest()
	case ok && s == http.StateClosed && c.unhandled():
		g.recordMalformed(c)
	}
}

// ServeTokens serves clients that present a token, until l is closed or the
// gateway is.
func (g *Gateway) ServeTokens(l net.Listener) error {
	g.hosts.set(l.Addr(), g.o.Published)
	srv := g.newServer(strangersHead)
	if !g.adopt(srv) {
		_ = l.Close()
		return http.ErrServerClosed
	}
	err := srv.Serve(listener{Listener: l, door: newDoor(g.limits.ClientConns, func() { g.recordFull("") })})
	if errors.Is(err, http.ErrServerClosed) || errors.Is(err, net.ErrClosed) {
		return nil
	}
	return err
}

// hostList is the Host allowlist of the loopback listener.
type hostList struct {
	mu    sync.RWMutex
	names []string
	srv   []*http.Server
}

func (h *hostList) set(a net.Addr, anyPort bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.names = []string{a.String()}
	if tcp, ok := a.(*net.TCPAddr); ok {
		port := strconv.Itoa(tcp.Port)
		if anyPort {
			port = gate.AnyPort
		}
		h.names = append(h.names, "127.0.0.1:"+port, "localhost:"+port, "[::1]:"+port)
	}
}

func (h *hostList) get() []string {
	h.mu.RLock()
	defer h.mu.RUnlock()
	if h.names == nil {
		return []string{}
	}
	return h.names
}

// adopt keeps a server so that Close ends it.
func (g *Gateway) adopt(srv *http.Server) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		return false
	}
	g.hosts.mu.Lock()
	defer g.hosts.mu.Unlock()
	g.hosts.srv = append(g.hosts.srv, srv)
	return true
}
