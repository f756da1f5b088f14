package handoff

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"

	"moeca/internal/strictjson"
)

// Limits bound what a Reader accepts. Zero values mean the defaults.
type Limits struct {
	Line  int   // bytes of one line, 256 KiB by default; what is longer is cut
	Total int64 // bytes of the whole stream, 64 MiB by default; ErrTooMuch beyond
}

// Defaults of Limits, and bounds of what an event may hold.
const (
	DefaultLine  = 256 << 10
	DefaultTotal = 64 << 20

	maxName  = 128 // bytes of role, tool, id and cause
	maxDepth = 64  // nesting of a line
)

// ErrTooMuch means that the stream is longer than Limits.Total. The caller ends
// the sandbox: what follows is not read.
var ErrTooMuch = errors.New("more output than the limit")

var eventTypes = []string{
	EventReady, EventStarted, EventText, EventThinking, EventToolUse,
	EventResult, EventOutput, EventNote, EventDone,
}

// Reader turns an untrusted stream into events.
type Reader struct {
	r      *bufio.Reader
	limits Limits
	read   int64
}

// NewReader reads events from r.
func NewReader(r io.Reader, limits Limits) *Reader {
	if limits.Line <= 0 {
		limits.Line = DefaultLine
	}
	if limits.Total <= 0 {
		limits.Total = DefaultTotal
	}
	return &Reader{r: bufio.NewReaderSize(r, 64<<10), limits: limits}
}

// Bytes says how many bytes were read so far, newlines included.
func (r *Reader) Bytes() int64 { return r.read }

// Next returns the next event, io.EOF at the end of the stream, or ErrTooMuch.
// Strings in the event are valid UTF-8 and may hold control characters. Empty
// lines are passed over.
func (r *Reader) Next() (Event, error) {
	for {
		line, cut, err := r.line()
		if len(line) == 0 && err != nil {
			if errors.Is(err, io.EOF) {
				return Event{}, io.EOF
			}
			return Event{}, fmt.Errorf("handoff: read events: %w", err)
		}
		// A last line without a newline is an event like the others; the error
		// comes again with the next call.
		if line = bytes.TrimRight(line, "\r\n"); len(line) > 0 {
			return parseEvent(line, cut), nil
		}
	}
}

// line returns the next line, at most limits.Line bytes of it.
func (r *Reader) line() (line []byte, cut bool, err error) {
	for {
		if r.read >= r.limits.Total {
			return line, cut, ErrTooMuch
		}
		chunk, err := r.r.ReadSlice('\n')
		if left := r.limits.Total - r.read; int64(len(chunk)) > left {
			chunk, err = chunk[:left], ErrTooMuch
		}
		r.read += int64(len(chunk))
		if room := r.limits.Line - len(line); len(chunk) > room {
			cut = cut || len(bytes.TrimRight(chunk, "\r\n")) > room
			chunk = chunk[:room]
		}
		line = append(line, chunk...)
		if !errors.Is(err, bufio.ErrBufferFull) {
			return line, cut, err
		}
	}
}

func parseEvent(line []byte, cut bool) Event {
	line = bytes.ToValidUTF8(line, []byte("\uFFFD"))
	if cut || strictjson.Deeper(line, maxDepth) {
		return Event{Type: EventOutput, Text: string(line), Cut: cut}
	}
	var e Event
	if json.Unmarshal(line, &e) != nil || !slices.Contains(eventTypes, e.Type) {
		return Event{Type: EventOutput, Text: string(line)}
	}
	for _, s := range []*string{&e.Role, &e.Tool, &e.ID, &e.Cause} {
		if len(*s) > maxName {
			*s, _ = CutText(*s, maxName)
			e.Cut = true
		}
	}
	if string(e.Input) == "null" {
		e.Input = nil
	}
	e.Turn = max(e.Turn, 0)
	if e.Usage != nil {
		e.Usage.Input, e.Usage.Output = max(e.Usage.Input, 0), max(e.Usage.Output, 0)
	}
	return e
}
