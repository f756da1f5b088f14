package hostapi

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"
)

type exchangeIn struct {
	Body struct {
		Launch string `json:"launch_token" maxLength:"128"`
	}
}

type exchangeOut struct {
	Token  string   `json:"token"`
	Scopes []string `json:"scopes"`
}

type launchOut struct {
	Launch string `json:"launch_token"`
	TTL    int    `json:"ttl_seconds"`
}

func (s *Server) registerAuth() {
	exchange := op(publicRequest, "exchange", http.MethodPost, "/api/auth/exchange",
		"Exchange a single-use launch token for a bearer")
	exchange.Middlewares = huma.Middlewares{s.ofThisUser}
	huma.Register(s.api, exchange,
		func(_ context.Context, in *exchangeIn) (*body[exchangeOut], error) {
			bearer := s.deps.Tokens.Exchange(in.Body.Launch)
			if bearer == "" {
				return nil, &Problem{
					Title: "Unauthorized", Status: http.StatusUnauthorized, Code: "launch_used",
					Detail: "this link was already used or is too old",
					Next:   "run `moeca open` for a new one",
				}
			}
			return &body[exchangeOut]{Body: exchangeOut{Token: bearer, Scopes: scopeNames(PersonScopes())}}, nil
		})
	huma.Register(s.api, op(ScopeLaunch, "launch", http.MethodPost, "/api/auth/launch",
		"Make a launch token for a browser"),
		func(context.Context, *struct{}) (*body[launchOut], error) {
			return &body[launchOut]{Body: launchOut{
				Launch: s.deps.Tokens.Launch(), TTL: int(launchTTL.Seconds()),
			}}, nil
		})
}

// ofThisUser refuses before the token is looked at, so that the link still works
// for the one it is for.
func (s *Server) ofThisUser(ctx huma.Context, next func(huma.Context)) {
	if s.deps.OwnPeer != nil && !s.deps.OwnPeer(ctx.RemoteAddr()) {
		writeProblem(ctx, http.StatusForbidden, "other_user", "this link is for the user who runs moeca; it was not used up")
		return
	}
	next(ctx)
}

func scopeNames(scopes []Scope) []string {
	names := make([]string, len(scopes))
	for i, s := range scopes {
		names[i] = string(s)
	}
	return names
}
