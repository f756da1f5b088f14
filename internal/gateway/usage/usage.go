// Package usage reads from an answer what a call used, and from a request what
// it may use at most.
//
// A Meter watches the bytes of one answer go past and never changes, delays or
// keeps them back. It reads four dialects, each as one JSON document and as a
// stream: Anthropic Messages, OpenAI Chat Completions, OpenAI Responses, Gemini;
// embeddings have documents only. Streams are server-sent events; Gemini also
// streams one JSON array. Line ends may be LF, CR or CRLF and bytes may arrive
// split anywhere, also inside a character.
//
// Usage is known only when the answer said all of it: the document was whole,
// or the stream reached the event that carries the final totals. Everything
// else (another type, cut short, too long, not JSON, a negative number, a Chat
// stream that was not asked for include_usage) is unknown, and the caller books
// the whole reservation.
//
// While a stream runs, the meter also holds a lower bound of what was used so
// far: the totals reported until now and the pieces of output that went past. A
// stream that exceeds its reservation is stopped at the end of the frame that
// exceeded it, see Meter.Limit.
//
// A Meter belongs to one answer and one goroutine.
package usage

import (
	"bytes"
	"errors"
	"mime"
	"strings"

	"github.com/tidwall/gjson"

	"moeca/internal/audit"
)

const (
	maxDocument = 16 << 20 // JSON answers are at most some hundred kB; a longer one has unknown usage
	maxLine     = 4 << 20  // one event of a stream
	maxCount    = 1 << 40  // no call uses a tebi-token
	maxExpected = 64 << 10 // taken on the word of who announces a length
)

// ErrOver is returned by Write at the end of the frame in which the limit was
// exceeded.
var ErrOver = errors.New("usage: over the limit")

// Count is what one call used: what a row says, and the parts of it that have a
// price of their own.
type Count struct {
	audit.Usage
	AudioIn, ImageIn   int64 // contained in Input
	AudioOut, ImageOut int64 // contained in Output
	Searches           int64 // contained in ServerTools: those that are charged each
	Percent            int64 // of the ordinary price, where it was served at a dearer one; else 0
}

// Context is the input side together, which is what price tiers go by.
func (c Count) Context() int64 { return c.Input + c.CacheRead + c.CacheWrite5m + c.CacheWrite1h }

// Tokens is what a call draws from a token budget: input and output together,
// cached input counted like any other.
func (c Count) Tokens() int64 { return c.Context() + c.Output }

// Dialect is the shape of the answers of one endpoint.
type Dialect int

// Dialects. The zero value has no usage that could be read.
const (
	Other Dialect = iota
	Anthropic
	Chat
	Responses
	Embeddings // of OpenAI and Gemini: no output
	Gemini
)

// DialectOf returns the dialect of an upstream's kind at a path.
func DialectOf(kind, path string) Dialect {
	switch kind {
	case "anthropic":
		return Anthropic
	case "gemini":
		if strings.HasSuffix(path, ":embedContent") {
			return Embeddings
		}
		return Gemini
	case "openai":
		switch {
		case strings.HasSuffix(path, "/responses"):
			return Responses
		case strings.HasSuffix(path, "/embeddings"):
			return Embeddings
		}
		return Chat
	}
	return Other
}

// Meter reads usage from one answer.
type Meter struct {
	// Limit says that a count is more than may be used. It is asked after each
	// frame of a stream; nil is no limit. Set it before the first Write.
	Limit func(Count) bool

	dialect Dialect
	framing framing
	buf     bytes.Buffer // the document, the line or the array element being read
	scan    scanner      // finds the elements of an array
	lost    bool         // too long or not what it claims to be
	count   Count
	model   string
	began   bool  // the first line of a stream was read
	input   bool  // the input side was reported
	totals  bool  // totals were reported, though maybe not the last
	final   bool  // the totals are the last
	done    bool  // a candidate of Gemini said why it finished
	pieces  int64 // of output that went past, each at least a token
	text    int64 // their bytes
	last    int64 // sequence number of the last event of Responses
}

type framing int

const (
	unread framing = iota
	document
	events
	elements // of one JSON array, or one object
)

// New returns a meter for an answer of a dialect with this Content-Type.
func New(d Dialect, contentType string) *Meter {
	m := &Meter{dialect: d}
	media, _, err := mime.ParseMediaType(contentType)
	switch {
	case err != nil || d == Other:
	case media == "text/event-stream":
		m.framing = events
	case media == "application/json" && d == Gemini:
		m.framing = elements
	case media == "application/json":
		m.framing = document
	}
	return m
}

// Expect says how many bytes the answer has, as far as is known.
func (m *Meter) Expect(n int64) {
	if m.framing == document && 0 < n && n <= maxExpected {
		m.buf.Grow(int(n))
	}
}

// Write takes the next bytes of the answer. It fails with ErrOver only, and
// then tells how many bytes belong to whole frames: the rest was not read.
func (m *Meter) Write(p []byte) (int, error) {
	switch {
	case m.lost:
	case m.framing == document:
		m.keep(p, maxDocument)
	case m.framing == events:
		return m.lines(p)
	case m.framing == elements:
		return m.elements(p)
	}
	return len(p), nil
}

func (m *Meter) keep(p []byte, limit int) {
	if m.lost || m.buf.Len()+len(p) > limit {
		m.lost = true
		m.buf.Reset()
		return
	}
	m.buf.Write(p)
}

// lines feeds whole lines to frame. An empty line between CR and LF is
// harmless: it is no data line.
func (m *Meter) lines(p []byte) (int, error) {
	for at := 0; ; {
		i := bytes.IndexAny(p[at:], "\r\n")
		if m.lost || i < 0 {
			m.keep(p[at:], maxLine)
			return len(p), nil
		}
		line := p[at : at+i]
		if m.buf.Len() > 0 {
			m.keep(line, maxLine)
			line = m.buf.Bytes()
		}
		if !m.began { // a stream may begin with a byte order mark
			m.began, line = true, bytes.TrimPrefix(line, []byte("\xef\xbb\xbf"))
		}
		at += i + 1
		data, ok := bytes.CutPrefix(line, []byte("data:"))
		if ok {
			m.frame(data)
		}
		m.buf.Reset()
		if ok && m.over() {
			return at, ErrOver
		}
	}
}

// elements feeds whole objects to frame.
func (m *Meter) elements(p []byte) (int, error) {
	for at := 0; at < len(p); {
		n, end := m.scan.next(p[at:])
		if m.scan.depth > 0 || end {
			m.keep(p[at:at+n], maxDocument)
		}
		at += n
		switch {
		case m.scan.broken:
			m.lost = true
		case end:
			m.frame(bytes.TrimLeft(m.buf.Bytes(), " \t\r\n,["))
			m.buf.Reset()
			if m.scan.array && m.over() {
				return at, ErrOver
			}
		}
		if m.lost {
			break
		}
	}
	return len(p), nil
}

// frame reads one JSON object of a stream.
func (m *Meter) frame(data []byte) {
	if m.dialect == Chat && string(bytes.TrimSpace(data)) == "[DONE]" {
		m.final = m.totals
		return
	}
	if !validDocument(data) {
		return
	}
	doc := gjson.ParseBytes(data)
	switch m.dialect {
	case Anthropic:
		m.anthropicEvent(doc)
	case Chat:
		m.chatChunk(doc)
	case Responses:
		m.responsesEvent(doc)
	case Gemini:
		m.geminiChunk(doc)
	}
}

func (m *Meter) over() bool { return m.Limit != nil && !m.lost && m.Limit(m.soFar()) }

// soFar is a lower bound of what was used. A server sends at least one token
// per piece of output; one that breaks tokens up into smaller pieces is caught
// by the bytes, of which a token has four and more on average.
func (m *Meter) soFar() Count {
	c := m.count
	c.Output = max(c.Output, min(m.pieces, m.text/4))
	return c
}

// piece notes output that went past.
func (m *Meter) piece(v gjson.Result) {
	if n := len(v.Raw); n > 2 { // more than "" or {}
		m.pieces++
		m.text += int64(n)
	}
}

// Result returns what was read. ended says that the upstream finished its
// answer by itself.
func (m *Meter) Result(ended bool) (c Count, known bool) {
	switch {
	case m.lost || m.framing == unread:
		return m.count, false
	case m.framing == document:
		if !ended || !validDocument(m.buf.Bytes()) {
			return Count{}, false
		}
		m.document(gjson.ParseBytes(m.buf.Bytes()))
	case m.framing == elements && !m.scan.closed, m.dialect == Gemini && !ended:
		return m.count, false
	}
	return m.count, m.final && !m.lost
}

// SoFar is what an answer that was stopped used at least.
func (m *Meter) SoFar() Count { return m.soFar() }

// Array says that the answer is a stream in the form of one JSON array.
func (m *Meter) Array() bool { return m.framing == elements && m.scan.array }

// Sequence is the number of the last event of a Responses stream.
func (m *Meter) Sequence() int64 { return m.last }

// document reads an answer that is one object.
func (m *Meter) document(doc gjson.Result) {
	switch m.dialect {
	case Anthropic:
		m.model = doc.Get("model").String()
		u := doc.Get("usage")
		m.anthropicUsage(u)
		m.final = u.Get("input_tokens").Exists() && u.Get("output_tokens").Exists()
	case Chat:
		m.chatDocument(doc)
	case Responses:
		m.response(doc)
	case Embeddings:
		m.embeddings(doc)
	}
}

// Model returns the model the answer named; call it after Result.
func (m *Meter) Model() string { return m.model }

// number takes over a count that is present: later frames report running totals
// and leave out what did not change. A total does not fall.
func (m *Meter) number(n gjson.Result, into *int64) {
	switch {
	case !n.Exists() || n.Type == gjson.Null:
	case n.Type != gjson.Number || n.Num < 0 || n.Num > maxCount || n.Num != float64(int64(n.Num)):
		m.lost = true
	default:
		*into = max(*into, int64(n.Num))
	}
}

// less returns n without the part that is counted elsewhere; an answer whose
// part is more than the whole is not believed.
func (m *Meter) less(n, part int64) int64 {
	if part > n {
		m.lost = true
		return n
	}
	return n - part
}
