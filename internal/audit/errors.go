package audit

import (
	"errors"
	"fmt"
)

// Errors a caller tells apart. They arrive wrapped.
var (
	// ErrLocked: another process writes this log.
	ErrLocked = errors.New("another process is writing this log; stop it or use another data directory")
	// ErrNewerVersion: the log was written by a newer program. Nothing was changed.
	ErrNewerVersion = errors.New("the log was written by a newer moeca; update moeca or use another data directory, nothing was changed")
	// ErrClosed: Close was called.
	ErrClosed = errors.New("the log is closed")
	// ErrFull: no space for another intent. Outcomes of running requests are
	// still recorded; intents are accepted again once there is space.
	ErrFull = errors.New("no space left for new requests; what is running is still recorded, free disk space and try again")
	// ErrBacklog: the disk is too slow for what is queued. Nothing was queued.
	ErrBacklog = errors.New("the disk cannot keep up with the log; try again later")
	// ErrErased: the body was erased together with its salt.
	ErrErased = errors.New("the body was erased")
	// ErrNotStored: the row commits to a body of which nothing was kept.
	ErrNotStored = errors.New("the body was not kept")
	// ErrNoLog: the directory holds no log.
	ErrNoLog = errors.New("no audit log here")
	// ErrNoRow: the log has no such row (yet).
	ErrNoRow = errors.New("no such row")
)

// BrokenError is damage that no crash explains. The log can be read up to the
// row before Seq and cannot be written any more.
type BrokenError struct {
	Seq    int64  // first row that is damaged, missing or out of place
	File   string // base name of the segment
	Offset int64  // where in the segment
	Cause  error
}

func (e *BrokenError) Error() string {
	return fmt.Sprintf("audit: row %d is broken (%s, byte %d): %v; the rows before it are intact and readable, "+
		"nothing was changed: `moeca audit restart --keep` keeps them all as evidence and begins another log",
		e.Seq, e.File, e.Offset, e.Cause)
}

func (e *BrokenError) Unwrap() error { return e.Cause }
