package gate

import (
	"context"
	"errors"
	"net/http"
	"time"

	"moeca/internal/gateway/policy"
)

// Body bounds the size of a request and reads it, once, so that what later
// gates check is what is sent: the same bytes. It refuses by the declared size
// before the first byte is read where there is one.
type Body struct{ Limit int64 }

// Reasons of the body gate.
const (
	ReasonTooLarge   = "too-large"
	ReasonUnreadable = "unreadable"
	ReasonEncoded    = "encoded-body"
	ReasonBusy       = "busy"
)

// ErrTooLarge is what Request.Load returns for a body over the limit.
var ErrTooLarge = errors.New("gate: body over the limit")

// ErrBusy is what Request.Load returns while the session has as much under way
// as the gateway keeps in memory for one.
var ErrBusy = errors.New("gate: session has too much under way")

// Name of the gate.
func (Body) Name() string { return "body" }

// Decide fills Body. A body under an encoding cannot be checked and is refused,
// except where nothing in it is looked at and it passes as it was sent.
func (g Body) Decide(_ context.Context, r *Request) Decision {
	for _, v := range r.HTTP.Header["Content-Encoding"] {
		if v != "" && v != "identity" && !policy.MayBeEncoded(r.Upstream.Kind, r.HTTP.Method, r.Rest) {
			return Deny(http.StatusUnsupportedMediaType, ReasonEncoded, "send the body without a content encoding")
		}
	}
	if r.HTTP.ContentLength > g.Limit {
		return g.tooLarge()
	}
	body, err := r.Load(g.Limit)
	switch {
	case errors.Is(err, ErrTooLarge) || int64(len(body)) > g.Limit:
		return g.tooLarge()
	case errors.Is(err, ErrBusy):
		d := Deny(http.StatusTooManyRequests, ReasonBusy, "too many large requests of this session are under way")
		d.RetryAfter = time.Second
		return d
	case err != nil:
		return Deny(http.StatusBadRequest, ReasonUnreadable, "the body broke off or is framed wrongly")
	}
	r.Body = body
	return Allow()
}

func (g Body) tooLarge() Decision {
	return Deny(http.StatusRequestEntityTooLarge, ReasonTooLarge, "the body is larger than %d bytes", g.Limit)
}
