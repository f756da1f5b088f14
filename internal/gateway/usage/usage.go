// Package usage reads from an answer what a call cost in tokens.
//
// A Meter watches the bytes of one answer go past and never changes, delays or
// keeps them back. Two shapes of the Anthropic dialect are read: one JSON
// document, and server-sent events, where message_start carries the input side
// and message_delta the running totals of the output side. Line ends may be
// LF, CR or CRLF and bytes may arrive split anywhere, also inside a character.
//
// Usage is known only when the answer said all of it: the JSON document was
// whole, or the stream reached message_stop after a message_delta. Everything
// else (another type, cut short, too long, not JSON, a negative number) is
// unknown, and the caller books the whole reservation.
//
// A Meter belongs to one answer and one goroutine.
package usage

import (
	"bytes"
	"mime"

	"github.com/tidwall/gjson"

	"moeca/internal/audit"
)

const (
	maxDocument = 16 << 20 // JSON answers are at most some hundred kB; a longer one has unknown usage
	maxLine     = 4 << 20  // one event of a stream
	maxCount    = 1 << 40  // no call uses a tebi-token
)

// Meter reads usage from one answer.
type Meter struct {
	kind  kind
	buf   bytes.Buffer // the document, or the line being read
	lost  bool         // too long or not what it claims to be
	usage audit.Usage
	model string
	delta bool // message_delta was seen
	stop  bool // message_stop was seen
}

type kind int

const (
	other kind = iota
	document
	events
)

// New returns a meter for an answer with this Content-Type.
func New(contentType string) *Meter {
	m := &Meter{}
	switch media, _, _ := mime.ParseMediaType(contentType); media {
	case "application/json":
		m.kind = document
	case "text/event-stream":
		m.kind = events
	}
	return m
}

// Write takes the next bytes of the answer. It never fails.
func (m *Meter) Write(p []byte) (int, error) {
	switch {
	case m.lost:
	case m.kind == document:
		m.keep(p, maxDocument)
	case m.kind == events:
		m.lines(p)
	}
	return len(p), nil
}

func (m *Meter) keep(p []byte, limit int) {
	if m.buf.Len()+len(p) > limit {
		m.lost = true
		m.buf.Reset()
		return
	}
	m.buf.Write(p)
}

// lines feeds whole lines to event. An empty line between CR and LF is
// harmless: it is no data line.
func (m *Meter) lines(p []byte) {
	for !m.lost {
		i := bytes.IndexAny(p, "\r\n")
		if i < 0 {
			m.keep(p, maxLine)
			return
		}
		m.keep(p[:i], maxLine)
		m.event(m.buf.Bytes())
		m.buf.Reset()
		p = p[i+1:]
	}
}

func (m *Meter) event(line []byte) {
	data, ok := bytes.CutPrefix(line, []byte("data:"))
	if !ok || !validDocument(data) {
		return
	}
	doc := gjson.ParseBytes(data)
	switch doc.Get("type").String() {
	case "message_start":
		m.model = doc.Get("message.model").String()
		m.read(doc.Get("message.usage"))
	case "message_delta":
		m.delta = true
		m.read(doc.Get("usage"))
	case "message_stop":
		m.stop = m.delta
	}
}

// Result returns what was read. ended says that the upstream finished its
// answer by itself.
func (m *Meter) Result(ended bool) (u audit.Usage, known bool) {
	switch {
	case m.lost || m.kind == other:
		return m.usage, false
	case m.kind == events:
		return m.usage, m.stop && !m.lost
	case !ended || !validDocument(m.buf.Bytes()):
		return audit.Usage{}, false
	}
	doc := gjson.ParseBytes(m.buf.Bytes())
	m.model = doc.Get("model").String()
	reported := doc.Get("usage")
	m.read(reported)
	known = !m.lost && reported.Get("input_tokens").Exists() && reported.Get("output_tokens").Exists()
	return m.usage, known
}

// Model returns the model the answer named; call it after Result.
func (m *Meter) Model() string { return m.model }

// read takes over the counts that are present: later frames report running
// totals and leave out what did not change.
func (m *Meter) read(u gjson.Result) {
	m.count(u.Get("input_tokens"), &m.usage.Input)
	m.count(u.Get("output_tokens"), &m.usage.Output)
	m.count(u.Get("cache_read_input_tokens"), &m.usage.CacheRead)
	m.count(u.Get("output_tokens_details.thinking_tokens"), &m.usage.Reasoning)
	if split := u.Get("cache_creation"); split.IsObject() {
		m.count(split.Get("ephemeral_5m_input_tokens"), &m.usage.CacheWrite5m)
		m.count(split.Get("ephemeral_1h_input_tokens"), &m.usage.CacheWrite1h)
	} else if m.usage.CacheWrite1h == 0 {
		m.count(u.Get("cache_creation_input_tokens"), &m.usage.CacheWrite5m)
	}
	var tools int64
	u.Get("server_tool_use").ForEach(func(_, n gjson.Result) bool {
		var one int64
		m.count(n, &one)
		tools += one
		return true
	})
	m.usage.ServerTools = max(m.usage.ServerTools, tools)
}

func (m *Meter) count(n gjson.Result, into *int64) {
	switch {
	case !n.Exists() || n.Type == gjson.Null:
	case n.Type != gjson.Number || n.Num < 0 || n.Num > maxCount || n.Num != float64(int64(n.Num)):
		m.lost = true
	default:
		*into = int64(n.Num)
	}
}

// Tokens is what a call draws from a token budget: input and output together,
// cached input counted like any other.
func Tokens(u audit.Usage) int64 {
	return u.Input + u.Output + u.CacheRead + u.CacheWrite5m + u.CacheWrite1h
}
