package gateway

import (
	"encoding/json"
	"errors"
	"net/http"
	"strconv"

	"moeca/internal/audit"
	"moeca/internal/gateway/gate"
	"moeca/internal/gateway/gatewayapi"
	"moeca/internal/gateway/upstream"
)

// Gates that are no part of the chain and still refuse.
const (
	gateLog      = "audit"
	gateUpstream = "upstream"
	gateProxy    = "proxy"
)

// Reasons outside the chain.
const (
	ReasonLogDown     = "log-unwritable"
	ReasonUnreachable = "unreachable"
	ReasonTimeout     = "timeout"
	ReasonEncoding    = "encoded-answer"
	ReasonSwitch      = "switched-protocol"
	ReasonPanic       = "panic"
	ReasonEnded       = "session-ended"
)

// refuse records the denial and then answers it. While the log cannot be
// written, the answer says that instead: there is no unrecorded answer.
func (x *exchange) refuse(d gate.Decision) {
	if err := x.recordRefusal(d); err != nil {
		d = x.g.logDown(err)
	}
	x.writeError(d)
}

// logDown is the denial for as long as nothing can be recorded.
func (g *Gateway) logDown(err error) gate.Decision {
	g.o.Logger.Error("audit log cannot be written", "error", err)
	next := "repair what the gateway's log names, then restart it"
	switch {
	case errors.Is(err, audit.ErrFull):
		next = "free disk space; requests are taken again by themselves"
	case errors.Is(err, audit.ErrBacklog):
		next = "the disk is too slow for the load; try again"
	}
	d := gate.Deny(http.StatusServiceUnavailable, ReasonLogDown, "the audit log cannot be written, so nothing is forwarded; %s", next)
	d.Gate = gateLog
	return d
}

// writeError answers in the shape the caller's client understands.
func (x *exchange) writeError(d gate.Decision) {
	h := x.w.Header()
	h.Set("Content-Type", "application/json")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Cache-Control", "no-store")
	if d.RetryAfter > 0 {
		h.Set("Retry-After", strconv.FormatInt(gate.RetrySeconds(d.RetryAfter), 10))
	}
	x.w.WriteHeader(d.Status)
	_, _ = x.w.Write(errorBody(x.kind(), d))
}

// kind is the dialect of the route, known or only asked for.
func (x *exchange) kind() string {
	if x.req.Upstream.Kind != "" || x.r.URL == nil {
		return x.req.Upstream.Kind
	}
	name, _ := gate.SplitRoute(x.r.URL.EscapedPath())
	u, _ := x.g.o.Upstreams.Get(name)
	return u.Kind
}

// anthropicError is Error with the fields of the dialect added, so that the
// SDK of the provider shows gate, reason and message.
type anthropicError struct {
	Type  string             `json:"type"`
	Error anthropicErrorBody `json:"error"`
}

type anthropicErrorBody struct {
	Type string `json:"type"`
	gatewayapi.ErrorBody
}

func errorBody(kind string, d gate.Decision) []byte {
	body := gatewayapi.ErrorBody{Gate: d.Gate, Reason: d.Reason, Message: d.Message}
	var v any = gatewayapi.Error{Error: body}
	if kind == upstream.KindAnthropic {
		body.Message = "moeca gateway, " + d.Gate + "/" + d.Reason + ": " + d.Message
		v = anthropicError{Type: "error", Error: anthropicErrorBody{Type: anthropicType(d.Status), ErrorBody: body}}
	}
	b, err := json.Marshal(v)
	if err != nil { // strings only: cannot happen, and must not be an empty answer
		return []byte(`{"error":{"gate":"gateway","reason":"failed","message":"refused"}}`)
	}
	return append(b, '\n')
}

func anthropicType(status int) string {
	switch status {
	case http.StatusBadRequest:
		return "invalid_request_error"
	case http.StatusUnauthorized:
		return "authentication_error"
	case http.StatusPaymentRequired:
		return "billing_error"
	case http.StatusForbidden:
		return "permission_error"
	case http.StatusNotFound:
		return "not_found_error"
	case http.StatusRequestEntityTooLarge:
		return "request_too_large"
	case http.StatusTooManyRequests:
		return "rate_limit_error"
	case http.StatusGatewayTimeout:
		return "timeout_error"
	}
	return "api_error"
}
