package gate

import (
	"context"
	"net/http"
	"strings"

	"moeca/internal/gateway/upstream"
)

// Route finds the upstream. Names are single path segments, so the longest
// prefix that can match is the first segment, and no name is a prefix of
// another's path.
type Route struct {
	Upstreams interface {
		Get(name string) (upstream.Upstream, bool)
	}
}

// Reasons of the route gate.
const (
	ReasonNoRoute = "no-route" // the first path segment names no upstream
	ReasonNoHost  = "no-host"  // the second does not name a host to fetch from
)

// Name of the gate.
func (Route) Name() string { return "route" }

// Decide fills Upstream and Rest. The segment is compared as it was sent: a
// name needs no escape, so an escaped one is not the name. An upstream that
// leads to more than one place is settled on one of them here.
func (g Route) Decide(_ context.Context, r *Request) Decision {
	name, rest := SplitRoute(r.HTTP.URL.EscapedPath())
	u, ok := g.Upstreams.Get(name)
	if !ok {
		return Deny(http.StatusNotFound, ReasonNoRoute, "no upstream of that name; the path is /<upstream>/<path>")
	}
	if r.Upstream, r.Rest, ok = u.Select(rest); !ok {
		r.Upstream = u
		return Deny(http.StatusNotFound, ReasonNoHost, "the path of %s is /%s/<host>/<path>, with a public host name in lower case", name, name)
	}
	return Allow()
}

// SplitRoute cuts an escaped path into the name of an upstream and the rest,
// which is empty or begins with a slash.
func SplitRoute(escaped string) (name, rest string) {
	escaped = strings.TrimPrefix(escaped, "/")
	if i := strings.IndexByte(escaped, '/'); i >= 0 {
		return escaped[:i], escaped[i:]
	}
	return escaped, ""
}
