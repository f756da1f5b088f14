// Package web holds what every loopback HTTP service of the host shares: the
// guard that makes a page in the user's browser harmless (I10), the security
// headers, and the listener.
//
// A request passes the guard when its Host is exactly one the service answers
// to, so that a rebinding name is refused; when its Origin, if it has one, is
// the service's own, compared as a whole and never by prefix; and, for
// anything that changes state, when net/http's cross-origin protection agrees.
// No CORS header is ever sent. Tokens are not the guard's business: it refuses
// before one is looked at.
//
// PlainJSON is for what prints such JSON on a terminal.
package web

import (
	"fmt"
	"net"
	"net/http"
	"strings"
)

// Guard wraps a handler. Hosts lists the exact host:port values that may stand
// in the Host header, in lower case. It is safe for concurrent use.
type Guard struct {
	hosts   map[string]bool
	origins map[string]bool
	cross   *http.CrossOriginProtection
	next    http.Handler
}

// NewGuard returns a guard for a service that listens on addr (host:port, host
// a loopback address). It answers to the address itself and to "localhost".
func NewGuard(addr string, next http.Handler) (*Guard, error) {
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return nil, fmt.Errorf("web: listen address %q: %w", addr, err)
	}
	ip := net.ParseIP(host)
	if ip == nil || !ip.IsLoopback() {
		return nil, fmt.Errorf("web: listen address %q is not a loopback address: "+
			"moeca serves this machine only; use ssh -L to reach it from another", addr)
	}
	g := &Guard{
		hosts:   map[string]bool{},
		origins: map[string]bool{},
		cross:   http.NewCrossOriginProtection(),
		next:    next,
	}
	for _, name := range []string{net.JoinHostPort(host, port), net.JoinHostPort("localhost", port)} {
		g.hosts[name] = true
		g.origins["http://"+name] = true
	}
	return g, nil
}

// ServeHTTP implements http.Handler.
func (g *Guard) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	SecurityHeaders(w.Header())
	if !g.hosts[strings.ToLower(r.Host)] {
		refuse(w, http.StatusMisdirectedRequest, "host", "this service does not answer to that host name")
		return
	}
	if origins := r.Header.Values("Origin"); len(origins) > 1 ||
		len(origins) == 1 && !g.origins[origins[0]] {
		refuse(w, http.StatusForbidden, "origin", "requests from other pages are refused")
		return
	}
	if err := g.cross.Check(r); err != nil {
		refuse(w, http.StatusForbidden, "cross-origin", "requests from other pages are refused")
		return
	}
	g.next.ServeHTTP(w, r)
}

// ContentSecurityPolicy allows nothing but the service's own files: no inline
// script or style, no remote origin.
const ContentSecurityPolicy = "default-src 'none'; script-src 'self'; style-src 'self'; " +
	"img-src 'self'; font-src 'self'; connect-src 'self'; " +
	"base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// SecurityHeaders sets the headers every answer carries.
func SecurityHeaders(h http.Header) {
	h.Set("Content-Security-Policy", ContentSecurityPolicy)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Cache-Control", "no-store")
}

// refuse answers with an RFC 9457 problem document.
func refuse(w http.ResponseWriter, status int, code, detail string) {
	w.Header().Set("Content-Type", "application/problem+json")
	w.WriteHeader(status)
	fmt.Fprintf(w, `{"title":%q,"status":%d,"code":%q,"detail":%q}`+"\n",
		http.StatusText(status), status, code, detail)
}
