package gate

import (
	"context"
	"net/http"
	"strings"

	"moeca/internal/session"
)

// Session says who calls. On a sandbox socket that is the session the socket
// was made for, and a token in the request is never looked at. On the loopback
// listener it is the token in X-Moeca-Session, else in the credential slot of
// the caller's dialect. Whatever else the caller claims to be is dropped when
// the request is sent on.
type Session struct{ Table *session.Table }

// Reasons of the session gate.
const (
	ReasonNoSession = "no-session"
	ReasonUnknown   = "unknown-session"
	ReasonTwoTokens = "two-sessions"
)

// HeaderSession is the header for a session token.
const HeaderSession = "X-Moeca-Session"

// Name of the gate.
func (Session) Name() string { return "session" }

// Decide fills Session and Token.
func (g Session) Decide(_ context.Context, r *Request) Decision {
	if r.Socket != "" {
		s, err := g.Table.Get(r.Socket)
		if err != nil {
			return Deny(http.StatusUnauthorized, ReasonUnknown, "the session of this sandbox is over")
		}
		r.Session = s
		return Allow()
	}
	token, two := presented(r.HTTP.Header)
	switch {
	case two:
		return Deny(http.StatusUnauthorized, ReasonTwoTokens, "the request carries two different session tokens")
	case token == "":
		return Deny(http.StatusUnauthorized, ReasonNoSession, "send a session token as %s or as the API key of your client", HeaderSession)
	}
	r.Token = token
	s, err := g.Table.ByToken(token)
	if err != nil {
		return Deny(http.StatusUnauthorized, ReasonUnknown, "the session token is unknown, expired or revoked")
	}
	r.Session = s
	return Allow()
}

// presented returns the one session token of the request. A value without our
// prefix in a credential slot is no session token: it is stripped later.
func presented(h http.Header) (token string, two bool) {
	for _, name := range [...]string{HeaderSession, "X-Api-Key", "Authorization", "X-Goog-Api-Key"} {
		for _, v := range h[name] {
			if name == "Authorization" {
				scheme, rest, _ := strings.Cut(v, " ")
				if !strings.EqualFold(scheme, "Bearer") {
					continue
				}
				v = strings.TrimSpace(rest)
			}
			if !strings.HasPrefix(v, session.TokenPrefix) || v == token {
				continue
			}
			if token != "" {
				return "", true
			}
			token = v
		}
	}
	return token, false
}
