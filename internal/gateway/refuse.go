package gateway

import (
	"errors"
	"net/http"
	"strconv"

	"moeca/internal/audit"
	"moeca/internal/gateway/gate"
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
// written, the answer says that instead: there is no unrecorded answer. The
// connection of a stranger ends with it: the server would wait for a body.
func (x *exchange) refuse(d gate.Decision) {
	if x.req.Session.ID == "" {
		x.w.last = true
	}
	if err := x.recordRefusal(d); err != nil {
		d = x.g.logDown(err)
	} else if report, ok := x.pushReport(d); ok {
		x.write(http.StatusOK, receivePackResult, report)
		return
	}
	x.writeError(d)
}

// logDown is the denial for as long as nothing can be recorded.
func (g *Gateway) logDown(err error) gate.Decision {
	g.o.Logger.Error("audit log cannot be written", "error", err)
	d := gate.Deny(http.StatusServiceUnavailable, ReasonLogDown, "the audit log cannot be written, so nothing is forwarded; %s", Remedy(err))
	d.Gate = gateLog
	return d
}

// Remedy says what to do about a log that took no row.
func Remedy(err error) string {
	var broken *audit.BrokenError
	switch {
	case errors.As(err, &broken):
		return "it is broken at row " + strconv.FormatInt(broken.Seq, 10) + ", and a person decides: moeca audit restart"
	case errors.Is(err, audit.ErrFull):
		return "free disk space; requests are taken again by themselves"
	case errors.Is(err, audit.ErrBacklog):
		return "the disk is too slow for the load; try again"
	}
	return "repair what the gateway's log names, then restart it"
}

// writeError answers in the shape the caller's client understands.
func (x *exchange) writeError(d gate.Decision) {
	contentType, body := errorAnswer(x.kind(), d)
	if d.RetryAfter > 0 {
		x.w.Header().Set("Retry-After", strconv.FormatInt(gate.RetrySeconds(d.RetryAfter), 10))
	}
	x.write(d.Status, contentType, body)
}

func (x *exchange) write(status int, contentType string, body []byte) {
	h := x.w.Header()
	h.Set("Content-Type", contentType)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Cache-Control", "no-store")
	x.w.WriteHeader(status)
	_, _ = x.w.Write(body)
}
