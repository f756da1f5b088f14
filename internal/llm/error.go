package llm

import (
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// Class is what kind of failure an Error is; it decides about a retry.
type Class string

// Classes. Only the first four are worth another try.
const (
	ClassRate       Class = "rate limit"
	ClassOverloaded Class = "overloaded"
	ClassServer     Class = "server"
	ClassNetwork    Class = "network" // no answer, or it broke off
	ClassDenied     Class = "denied"  // a gate of our gateway
	ClassRequest    Class = "request" // the provider does not accept the request
	ClassAuth       Class = "auth"
	ClassAnswer     Class = "answer" // an answer that is not one of the dialect
)

// Error is a failed request.
type Error struct {
	Class   Class
	Status  int    // HTTP status, 0 when there was no answer
	Type    string // the provider's own word
	Message string // for a person; untrusted text
	Gate    string // the gate of our gateway that refused, with its reason
	Reason  string
	After   time.Duration // Retry-After, 0 when not given
	Err     error
}

// Error names class and cause, and the gate where one refused.
func (e *Error) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "llm: %s", e.Class)
	if e.Status != 0 {
		fmt.Fprintf(&b, " (HTTP %d)", e.Status)
	}
	if e.Gate != "" {
		fmt.Fprintf(&b, ": gate %s: %s", e.Gate, e.Reason)
	}
	if e.Message != "" {
		fmt.Fprintf(&b, ": %s", e.Message)
	}
	if e.Err != nil {
		fmt.Fprintf(&b, ": %v", e.Err)
	}
	return b.String()
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// Retryable says whether the same request may be sent again. An unknown class
// may not.
func (e *Error) Retryable() bool {
	switch e.Class {
	case ClassRate, ClassOverloaded, ClassServer, ClassNetwork:
		return true
	}
	return false
}

// ClassOf tells the class of a status. A gate's refusal is a denial unless it
// is about pace or the gateway itself is in trouble.
func ClassOf(status int, gate string) Class {
	switch {
	case status == http.StatusTooManyRequests:
		return ClassRate
	case status == 529 || status == http.StatusServiceUnavailable:
		return ClassOverloaded
	case status >= 500:
		return ClassServer
	case gate != "":
		return ClassDenied
	case status == http.StatusRequestTimeout || status == http.StatusConflict:
		return ClassServer
	case status == http.StatusUnauthorized || status == http.StatusForbidden:
		return ClassAuth
	}
	return ClassRequest
}

// RetryAfter reads the header in both of its forms; 0 when it is absent,
// malformed or past.
func RetryAfter(h http.Header, now time.Time) time.Duration {
	v := strings.TrimSpace(h.Get("Retry-After"))
	if v == "" {
		return 0
	}
	if s, err := strconv.ParseFloat(v, 64); err == nil {
		if !(s > 0) {
			return 0
		}
		return time.Duration(min(s, 24*3600) * float64(time.Second))
	}
	if t, err := http.ParseTime(v); err == nil {
		return max(t.Sub(now), 0)
	}
	return 0
}

// AsError finds the *Error in err; what is none becomes one of the class given.
func AsError(err error, class Class) *Error {
	var e *Error
	if errors.As(err, &e) {
		return e
	}
	return &Error{Class: class, Err: err}
}
