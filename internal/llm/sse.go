package llm

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
)

// maxSSE bounds one event in bytes.
const maxSSE = 8 << 20

// SSE is one server-sent event.
type SSE struct {
	Event string
	Data  []byte
}

// SSEReader reads server-sent events (WHATWG HTML, "event stream
// interpretation"): lines end with LF, CR or CRLF, several data lines are
// joined by LF, comments and unknown fields are passed over, and an event that
// no empty line ended is dropped.
type SSEReader struct {
	r      *bufio.Reader
	afterC bool // the last line ended with CR: a LF that follows belongs to it
	first  bool
}

// NewSSEReader reads events from r.
func NewSSEReader(r io.Reader) *SSEReader {
	return &SSEReader{r: bufio.NewReader(r), first: true}
}

// Next returns the next event that has data; io.EOF at the end of the stream.
func (s *SSEReader) Next() (SSE, error) {
	var ev SSE
	size, has := 0, false
	for {
		line, err := s.line(maxSSE - size)
		if err != nil {
			return SSE{}, err
		}
		size += len(line)
		if len(line) == 0 {
			if has {
				ev.Data = bytes.TrimSuffix(ev.Data, []byte("\n"))
				return ev, nil
			}
			ev, size = SSE{}, 0
			continue
		}
		field, value, _ := bytes.Cut(line, []byte(":"))
		value = bytes.TrimPrefix(value, []byte(" "))
		switch string(field) {
		case "event":
			ev.Event = string(value)
		case "data":
			has = true
			ev.Data = append(append(ev.Data, value...), '\n')
		}
	}
}

// line returns the next line without its end. A line that the end of the stream
// cut is not one.
func (s *SSEReader) line(limit int) ([]byte, error) {
	var line []byte
	for {
		c, err := s.r.ReadByte()
		if err != nil {
			if !errors.Is(err, io.EOF) {
				err = fmt.Errorf("llm: read event stream: %w", err)
			}
			return nil, err
		}
		if s.afterC {
			s.afterC = false
			if c == '\n' {
				continue
			}
		}
		if c == '\r' || c == '\n' {
			s.afterC = c == '\r'
			if s.first {
				s.first = false
				line = bytes.TrimPrefix(line, []byte("\xef\xbb\xbf"))
			}
			return line, nil
		}
		if len(line) >= limit {
			return nil, fmt.Errorf("llm: read event stream: an event is longer than %d bytes", maxSSE)
		}
		line = append(line, c)
	}
}
