package board

import (
	"errors"
	"fmt"
)

// Kind sorts errors for callers; hostapi maps each to one HTTP status.
type Kind int

// Kinds. The zero value is an internal error, whose text stays in the log.
const (
	Internal    Kind = iota
	NotFound         // 404
	Invalid          // 422: what was asked cannot be meant
	Conflict         // 409: the state does not allow it
	Locked           // 423: approval or merge is not open
	Unavailable      // 503: something this needs is not there now
	Forbidden        // 403: this actor may not
)

// Error is what every method returns when it refuses. Code is stable, Message
// says what happened and what was kept, Next what to do.
type Error struct {
	Code    string
	Message string
	Next    string
	Kind    Kind
	Err     error // cause, when there is one
}

func (e *Error) Error() string {
	s := e.Message
	if e.Err != nil {
		s += ": " + e.Err.Error()
	}
	return s
}

func (e *Error) Unwrap() error { return e.Err }

// KindOf returns the kind of the first Error in err's chain.
func KindOf(err error) Kind {
	var e *Error
	if errors.As(err, &e) {
		return e.Kind
	}
	return Internal
}

// CodeOf returns the code of the first Error in err's chain, or "internal".
func CodeOf(err error) string {
	var e *Error
	if errors.As(err, &e) {
		return e.Code
	}
	return "internal"
}

func refuse(kind Kind, code, next, format string, args ...any) *Error {
	return &Error{Kind: kind, Code: code, Next: next, Message: fmt.Sprintf(format, args...)}
}

func notFound(what, id string) *Error {
	return refuse(NotFound, what+"_not_found", "list what there is and use its id", "there is no %s %q", what, id)
}
