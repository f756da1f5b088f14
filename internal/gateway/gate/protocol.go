package gate

import (
	"context"
	"net"
	"net/http"
	"slices"
	"strings"
)

// Protocol refuses what is HTTP but not a plain request of HTTP/1.1: tunnels,
// upgrades, targets that name another host, messages framed in two ways. On
// the loopback listener it also refuses what a web page could send: a foreign
// Host, and anything with an Origin (I10).
type Protocol struct{}

// Reasons of the protocol gate.
const (
	ReasonConnect   = "connect"
	ReasonVersion   = "http-version"
	ReasonForm      = "request-target-form"
	ReasonUpgrade   = "upgrade"
	ReasonFraming   = "framing"
	ReasonExpect    = "expectation"
	ReasonHost      = "host"
	ReasonOrigin    = "origin"
	ReasonMalformed = "malformed" // the parser itself refused; see package gateway
)

// Framing findings, as the connection reports them.
const (
	FramingFolded    = "folded-header"
	FramingLengths   = "two-lengths"
	FramingAmbiguous = "length-and-encoding"
	FramingJunk      = "junk-in-head"
)

// Name of the gate.
func (Protocol) Name() string { return "protocol" }

// Decide looks at form only.
func (Protocol) Decide(_ context.Context, r *Request) Decision {
	h := r.HTTP
	switch {
	case h.Method == http.MethodConnect:
		return Deny(http.StatusBadRequest, ReasonConnect, "this is no proxy: CONNECT is refused; send the request to /<upstream>/<path>")
	case h.ProtoMajor != 1 || h.ProtoMinor != 1:
		return Deny(http.StatusBadRequest, ReasonVersion, "only HTTP/1.1 is spoken here")
	case r.Framing != "":
		return Deny(http.StatusBadRequest, ReasonFraming, "the request is framed ambiguously (%s)", r.Framing)
	case !strings.HasPrefix(h.RequestURI, "/") || h.URL.IsAbs() || h.URL.Host != "":
		return Deny(http.StatusBadRequest, ReasonForm, "send a path that begins with a slash, not a whole URL")
	case len(h.Header["Upgrade"]) > 0 || len(h.Header["Http2-Settings"]) > 0 || mentions(h.Header["Connection"], "upgrade"):
		return Deny(http.StatusBadRequest, ReasonUpgrade, "protocol upgrades, WebSocket among them, are refused: use the request endpoints")
	case len(h.TransferEncoding) > 1 || (len(h.TransferEncoding) == 1 && h.TransferEncoding[0] != "chunked") || len(h.Trailer) > 0:
		return Deny(http.StatusBadRequest, ReasonFraming, "only plain chunked bodies without trailers are taken")
	case len(h.Header["Expect"]) > 0 && !strings.EqualFold(h.Header.Get("Expect"), "100-continue"):
		return Deny(http.StatusBadRequest, ReasonExpect, "the expectation cannot be met")
	case r.Hosts != nil && !namesListener(r.Hosts, h.Host):
		return Deny(http.StatusForbidden, ReasonHost, "the Host header does not name this listener")
	case r.Hosts != nil && (len(h.Header["Origin"]) > 0 || len(h.Header["Sec-Fetch-Site"]) > 0):
		return Deny(http.StatusForbidden, ReasonOrigin, "requests of web pages are refused")
	}
	return Allow()
}

// AnyPort stands for a port in Request.Hosts where an engine publishes the
// listener under a number of its own. What guards against rebinding is the name.
const AnyPort = "*"

func namesListener(hosts []string, host string) bool {
	name, port, err := net.SplitHostPort(host)
	if err != nil || strings.Trim(port, "0123456789") != "" {
		return false
	}
	return slices.Contains(hosts, host) || slices.Contains(hosts, net.JoinHostPort(name, AnyPort))
}

func mentions(values []string, token string) bool {
	for _, v := range values {
		for part := range strings.SplitSeq(v, ",") {
			if strings.EqualFold(strings.TrimSpace(part), token) {
				return true
			}
		}
	}
	return false
}
