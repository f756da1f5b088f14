// Package gate decides whether a request may pass. One gate per file; the
// chain in package gateway gives their order, and the order is the security
// property: who calls is known before anything is looked at, what the request
// is aimed at is settled before it is allowed.
//
// A gate is a struct with a Name and a Decide. It reads the request and what
// earlier gates found, adds what it found itself, and answers. It does no I/O,
// except that the body gate waits for the caller to send. Three things make a
// denial of whatever goes wrong (I5): the zero Decision denies, a panic in a
// gate denies, and an empty chain denies.
//
// Every denial carries one of the Reason constants; tests assert them and the
// audit shows them. Messages are for a person: what was refused and what would
// have to change. They never repeat a credential.
package gate

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"
	"unicode"

	"moeca/internal/gateway/gatewayapi"
	"moeca/internal/gateway/policy"
	"moeca/internal/gateway/upstream"
	"moeca/internal/session"
	"moeca/internal/strictjson"
)

// Request is what is known about one request. The server fills the first part;
// each gate adds to the second.
type Request struct {
	HTTP    *http.Request                     // as parsed; read only
	Framing string                            // what the connection saw that the parser hides
	Hosts   []string                          // Host values of the loopback listener; nil on a sandbox socket
	Socket  string                            // session id the sandbox socket names; empty on the loopback listener
	Load    func(limit int64) ([]byte, error) // reads the body once
	Now     time.Time

	Token    string // presented by the caller, to be kept out of what is sent on
	Session  session.Session
	Upstream upstream.Upstream
	Rest     string // escaped path after the upstream's name
	Body     []byte
	Target   *url.URL
	Class    upstream.Class
	Hosted   bool // a granted capability acts at the provider: durable before egress

	Document strictjson.Document // the Body of a model call, read once

	Policy     gatewayapi.Policy  // of the upstream
	Operations []policy.Operation // what the request would do, all of it
	Warnings   []string           // operations that pass and are noted
	Asks       []Asking           // operations a person is asked about before they pass
}

// Decision is the answer of a gate. The zero value denies.
type Decision struct {
	Allowed    bool
	Gate       string
	Reason     string
	Message    string
	Status     int
	RetryAfter time.Duration
}

// Allow lets the request pass to the next gate.
func Allow() Decision { return Decision{Allowed: true} }

// maxMessage bounds what a refusal says.
const maxMessage = 1024

// Deny refuses with a status, a reason constant and a sentence. What a caller
// wrote may be in the sentence: it gets no longer than it needs to be and holds
// nothing that a terminal would act on.
func Deny(status int, reason, format string, args ...any) Decision {
	message := fmt.Sprintf(format, args...)
	if len(message) > maxMessage {
		message = message[:maxMessage-len(" …")] + " …"
	}
	message = strings.Map(func(c rune) rune {
		if unicode.IsGraphic(c) && !unicode.Is(unicode.Bidi_Control, c) {
			return c
		}
		return '?'
	}, strings.ToValidUTF8(message, "?"))
	return Decision{Status: status, Reason: reason, Message: message}
}

// Gate is one decision.
type Gate interface {
	Name() string
	Decide(ctx context.Context, r *Request) Decision
}

// Reasons of the chain itself.
const (
	ReasonUndecided = "undecided" // the gate gave no answer
	ReasonFailed    = "failed"    // the gate panicked
	ReasonCancelled = "cancelled" // time ran out, or the caller went away
)

// Chain is an ordered list of gates.
type Chain []Gate

// Run asks the gates in order and returns the first denial, or allows when
// every one allowed.
func (c Chain) Run(ctx context.Context, r *Request) Decision {
	d := Decision{Gate: "chain"}
	for _, g := range c {
		if d = ask(ctx, g, r); !d.Allowed {
			break
		}
	}
	return d.settled()
}

// ask turns a panic, a dead context and an empty answer into a denial.
func ask(ctx context.Context, g Gate, r *Request) (d Decision) {
	defer func() {
		if recover() != nil {
			d = Deny(http.StatusInternalServerError, ReasonFailed, "the %s gate could not decide; nothing was sent", g.Name())
		}
		d.Gate = g.Name()
	}()
	if ctx.Err() != nil {
		return Deny(http.StatusServiceUnavailable, ReasonCancelled, "the request ended before it was decided")
	}
	return g.Decide(ctx, r)
}

// settled completes a denial that a gate left without words.
func (d Decision) settled() Decision {
	if d.Allowed {
		return d
	}
	if d.Reason == "" {
		d.Reason = ReasonUndecided
	}
	if d.Status < 400 || d.Status > 599 {
		d.Status = http.StatusForbidden
	}
	if d.Message == "" {
		d.Message = "refused"
	}
	return d
}
