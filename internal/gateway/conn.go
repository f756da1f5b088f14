package gateway

import (
	"bytes"
	"context"
	"net"
	"strconv"
	"sync"

	"moeca/internal/gateway/gate"
)

// conn watches the request heads that pass through a connection. The standard
// server parses them and stays the only parser; it tolerates and hides a few
// things on which two readers can disagree, and those are noted here for the
// protocol gate: folded header lines, a length beside an encoding, two
// lengths, bare CR or LF as line end.
//
// It follows bodies only where a single Content-Length says how long they are.
// After a chunked body it cannot know where the next head begins, so the
// connection is closed after the answer to such a request.
//
// Of a line it keeps the beginning only: enough for the two fields it reads. A
// length that does not fit is refused.
type conn struct {
	net.Conn
	socket string // session of the sandbox socket, empty on the loopback listener
	door   *door  // it came through; nil: none

	mu      sync.Mutex
	known   bool   // a request on it named a session
	busy    bool   // and one is served
	finding string // sticky: such a connection is closed after its answer
	begun   int    // heads of which at least one byte came
	handled int    // requests the server handed to the handler
	refused bool   // the protocol gate refused: what follows is not looked at
	head    headScan
}

type headScan struct {
	state     scanState
	line      []byte // beginning of the current line, without its end
	long      bool   // the line has more
	cr        bool   // its last byte is a CR, which is kept off line
	bare      bool   // a CR inside
	lines     int    // whole lines of this head
	lengths   int
	encodings int
	length    int64
	skip      int64 // body bytes before the next head
}

type scanState int

const (
	inHead scanState = iota
	inBody
	opaque
)

// maxLine is how much of a line is kept.
const maxLine = 96

// Read passes bytes on and looks at them.
func (c *conn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if n > 0 {
		c.mu.Lock()
		c.scan(p[:n])
		c.mu.Unlock()
	}
	return n, err
}

// CloseWrite lets the server end an answer before the caller's unread body is
// thrown away, so that the caller can still read why.
func (c *conn) CloseWrite() error {
	if half, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return nil
}

func (c *conn) scan(p []byte) {
	h := &c.head
	for len(p) > 0 {
		switch h.state {
		case opaque:
			return
		case inBody:
			n := min(h.skip, int64(len(p)))
			h.skip, p = h.skip-n, p[n:]
			if h.skip == 0 {
				h.state = inHead
			}
		case inHead:
			if h.lines == 0 && len(h.line) == 0 && !h.cr {
				c.begun++
			}
			i := bytes.IndexByte(p, '\n')
			if i < 0 {
				c.keep(p)
				return
			}
			c.keep(p[:i])
			p = p[i+1:]
			c.endLine()
		}
	}
}

// keep takes more of the current line.
func (c *conn) keep(p []byte) {
	h := &c.head
	if len(p) == 0 {
		return
	}
	if h.cr { // the one before was not the last
		h.add([]byte("\r"))
	}
	p, h.cr = bytes.CutSuffix(p, []byte("\r"))
	h.add(p)
}

func (h *headScan) add(p []byte) {
	h.bare = h.bare || bytes.IndexByte(p, '\r') >= 0
	room := min(maxLine-len(h.line), len(p))
	h.line = append(h.line, p[:room]...)
	h.long = h.long || room < len(p)
}

func (c *conn) endLine() {
	h := &c.head
	if !h.cr || h.bare {
		c.found(gate.FramingJunk)
	}
	switch line := h.line; {
	case h.lines == 0: // the request line
	case len(line) == 0:
		c.endHead()
		return
	case line[0] == ' ' || line[0] == '\t':
		c.found(gate.FramingFolded)
	default:
		c.field(line)
	}
	h.lines++
	h.line, h.long, h.cr, h.bare = h.line[:0], false, false, false
}

func (c *conn) field(line []byte) {
	name, value, _ := bytes.Cut(line, []byte(":"))
	switch string(bytes.ToLower(bytes.TrimSpace(name))) {
	case "content-length":
		c.head.lengths++
		n, err := strconv.ParseUint(string(bytes.TrimSpace(value)), 10, 63)
		if err != nil || c.head.long {
			c.found(gate.FramingLengths)
		}
		c.head.length = int64(n)
	case "transfer-encoding":
		c.head.encodings++
	}
}

func (c *conn) endHead() {
	h := c.head
	switch {
	case h.lengths > 0 && h.encodings > 0:
		c.found(gate.FramingAmbiguous)
	case h.lengths > 1 || h.encodings > 1:
		c.found(gate.FramingLengths)
	}
	c.head = headScan{line: h.line[:0]}
	switch {
	case h.encodings > 0 || c.finding != "":
		c.head.state = opaque
	case h.length > 0:
		c.head.state, c.head.skip = inBody, h.length
	}
}

func (c *conn) found(what string) {
	if c.finding == "" {
		c.finding = what
	}
}

// request is called once by the handler for each request; it returns what was
// noticed and whether the connection must end with this answer.
func (c *conn) request() (finding string, last bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.handled++
	return c.finding, c.finding != "" || c.head.state == opaque
}

// whole says that the body of the request being handled has come.
func (c *conn) whole() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.head.state == inHead
}

// serves is called when the session of a request is known.
func (c *conn) serves() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.known, c.busy = true, true
}

// rest is called when the answer is out and the connection waits.
func (c *conn) rest() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.busy = false
}

// use says whether a request of a session is served, and whether one ever was.
func (c *conn) use() (busy, known bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.busy, c.known
}

// Close also gives back the place.
func (c *conn) Close() error {
	if c.door != nil {
		c.door.leave(c)
	}
	return c.Conn.Close()
}

// refuse marks the connection as one whose caller does not speak our protocol.
func (c *conn) refuse() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.refused = true
}

// unhandled says whether bytes came that never became a request: the parser
// refused them, or they ended before a request did.
func (c *conn) unhandled() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.begun > c.handled && !c.refused
}

type connKey struct{}

func withConn(ctx context.Context, c net.Conn) context.Context {
	return context.WithValue(ctx, connKey{}, c)
}

func connOf(ctx context.Context) *conn {
	c, _ := ctx.Value(connKey{}).(*conn)
	return c
}
