package board

import (
	"errors"
	"fmt"
	"strings"
	"syscall"
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
	if e.Err != nil && !strings.Contains(s, e.Err.Error()) {
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

// diskFull returns the Error for a disk, or a quota, that has no room left, or
// nil when err is about something else.
func diskFull(err error) error {
	// What the database's driver and a git process say of it.
	var code interface{ Code() int }
	full := errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) ||
		errors.As(err, &code) && (code.Code() == sqliteFull || code.Code() == sqliteNoShm) ||
		err != nil && strings.Contains(strings.ToLower(err.Error()), syscall.ENOSPC.Error())
	switch {
	case !full:
		return nil
	case CodeOf(err) == codeDiskFull:
		return err
	}
	return &Error{
		Kind: Unavailable, Code: codeDiskFull, Err: err, Message: "the disk is full; nothing was changed",
		Next: "free space on the disk that holds the data directory, then try again",
	}
}

const (
	codeDiskFull = "disk_full"
	sqliteFull   = 13         // SQLITE_FULL
	sqliteNoShm  = 10 | 19<<8 // SQLITE_IOERR_SHMSIZE: no room for the index of the write-ahead log
)
