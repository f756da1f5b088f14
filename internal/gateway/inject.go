package gateway

import (
	"encoding/base64"
	"net/http"
	"net/http/httputil"
	"strings"

	"moeca/internal/gateway/gatewayapi"
	"moeca/internal/gateway/sigv4"
)

// rewrite makes the request that goes out. ReverseProxy calls it after it
// removed hop-by-hop headers, so a caller's "Connection: x-api-key" removes
// the caller's header and never the injected one.
func (x *exchange) rewrite(pr *httputil.ProxyRequest) {
	target := *x.req.Target
	out := pr.Out
	out.URL, out.Host = &target, target.Host
	if len(x.req.Body) > 0 {
		// ReverseProxy hid that the body is in memory; known, it leaves in one
		// write with the head.
		out.Body = x.sentBody()
	}
	keepHeaders(out.Header, x.req.Upstream.Kind, x.req.Token)
	sendOnce(out.Header)
	if x.req.Upstream.Auth.NeedsKey() {
		askWhole(out.Header)
	}
	// An encoded answer could be neither scrubbed nor measured.
	out.Header.Set("Accept-Encoding", "identity")
	for name, values := range x.req.Upstream.DefaultHeaders() {
		if _, ok := out.Header[name]; !ok {
			out.Header[name] = values
		}
	}
	if _, ok := out.Header["User-Agent"]; !ok {
		out.Header.Set("User-Agent", "") // keeps the transport from adding its own
	}
	x.inject(out)
}

// sendOnce keeps the transport from repeating a request by itself. It does so
// when a connection breaks and the caller marked the request as one that may be
// repeated; a row and a reservation are for one. The marks go out under names
// that the transport does not look for and that are the same on the wire.
func sendOnce(h http.Header) {
	for _, name := range [...]string{"Idempotency-Key", "X-Idempotency-Key"} {
		if values, ok := h[name]; ok {
			delete(h, name)
			h[strings.ToLower(name)] = values
		}
	}
}

// askWhole leaves out what asks for a part of an answer: who chooses the parts
// could have a key sent back in two of them, and no filter sees either.
func askWhole(h http.Header) {
	delete(h, "Range")
	delete(h, "If-Range")
}

// inject opens the key and puts it, or what it signs, into the request. Nothing
// after it changes the request.
func (x *exchange) inject(out *http.Request) {
	auth, key := x.req.Upstream.Auth, x.req.Upstream.Key.Open()
	switch auth.Scheme {
	case gatewayapi.SchemeHeader:
		if auth.Header != "" {
			out.Header.Set(auth.Header, auth.Prefix+key)
		}
	case gatewayapi.SchemeBasic:
		value := "Basic " + base64.StdEncoding.EncodeToString([]byte(auth.Prefix+key))
		if auth.Prefix == "" && !strings.Contains(key, ":") {
			value = "Bearer " + key
		}
		out.Header.Set("Authorization", value)
	case gatewayapi.SchemeTrello:
		id, token, _ := strings.Cut(key, ":")
		out.Header.Set("Authorization", `OAuth oauth_consumer_key="`+id+`", oauth_token="`+token+`"`)
	case gatewayapi.SchemeSigV4:
		credential, err := sigv4.ParseCredential(key)
		if err != nil {
			return // a definition with such a key is refused; unsigned, the service refuses the call
		}
		sigv4.Sign(out, x.req.Body, credential, sigv4.Scope{Region: auth.Region, Service: auth.Service}, x.g.o.Now())
	}
}

// dropAnswerHeaders removes what an upstream could use to plant state, to ask
// for credentials, to lead elsewhere, or to speak in our name.
func dropAnswerHeaders(h http.Header) {
	for name := range h {
		lower := strings.ToLower(name)
		switch lower {
		case "set-cookie", "set-cookie2", "www-authenticate", "proxy-authenticate", "authentication-info", "proxy-authentication-info",
			"location", "content-location", "refresh", "alt-svc", "clear-site-data", "trailer", "strict-transport-security", "public-key-pins", "sourcemap":
			delete(h, name)
			continue
		}
		for _, prefix := range [...]string{"access-control-", "x-moeca-", "proxy-"} {
			if strings.HasPrefix(lower, prefix) {
				delete(h, name)
			}
		}
	}
}
