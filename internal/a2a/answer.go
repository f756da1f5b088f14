package a2a

import (
	"encoding/json"
	"strings"

	"github.com/tidwall/gjson"
)

// asked is what a request to a model says.
type asked struct {
	system   []Part
	tools    json.RawMessage
	turns    []turn
	previous string // id of the answer it goes on after
	kept     string // id of the conversation that the provider keeps
	partial  bool
	begun    bool // turns that were read before come before these
	count    int  // parts of turns
	elements []element
	listed   int // parts at the end of system that stand in the list of messages
}

// said is what an answer says.
type said struct {
	id, model string
	parts     []Part
	items     []item
	stop      string
	declined  bool
	failure   *Failure
	streamed  bool
	whole     bool // it ended the way its dialect ends
	cut       bool // it ended inside a value
}

// item is a piece of an answer that a later request may name by its id.
type item struct {
	id    string
	parts []Part
}

// dialect reads the bodies of one kind of endpoint.
type dialect interface {
	request(doc gjson.Result, q *asked)
	answer(doc gjson.Result) said
	stream() stream
}

// stream gathers the events of one answer.
type stream interface {
	event(doc gjson.Result)
	said() said
}

func dialectOf(d Dialect, r *room) dialect {
	switch d {
	case Chat:
		return chat{r}
	case Responses:
		return responses{r}
	case Gemini:
		return gemini{r}
	}
	return anthropic{r}
}

// room bounds how many messages and parts are read from one body.
type room struct{ left int }

// take says that there was room for one more.
func (r *room) take() bool {
	r.left--
	return r.left >= 0
}

// each calls f for the elements of a list while there is room.
func (r *room) each(list gjson.Result, f func(gjson.Result)) {
	if !list.IsArray() {
		return
	}
	list.ForEach(func(_, v gjson.Result) bool {
		if !r.take() {
			return false
		}
		f(v)
		return true
	})
}

// readRequest reads the request of a model call. What cannot be read is one
// turn of raw bytes.
func readRequest(x *Exchange) asked {
	if len(x.Request) == 0 {
		return asked{partial: true}
	}
	doc, ok := parse(x.Request)
	var q asked
	r := &room{maxPieces}
	if ok && doc.value.IsObject() {
		dialectOf(x.Dialect, r).request(doc.value, &q)
	}
	q.partial = q.partial || x.RequestCut || doc.partial
	if r.left < 0 || len(q.turns) == 0 && q.previous == "" && q.kept == "" {
		return asked{partial: true, turns: []turn{{role: RoleUser, parts: []Part{rawPart(string(x.Request))}}}}
	}
	if q.partial && len(q.turns) > 0 {
		last := &q.turns[len(q.turns)-1]
		last.parts[len(last.parts)-1].Metadata.Info.Partial = true
		if doc.rest != "" {
			last.parts = append(last.parts, rawPart(doc.rest))
		}
	}
	return q
}

// add appends a turn, which has at least one part.
func (q *asked) add(role Role, origin string, parts []Part) {
	if len(parts) == 0 {
		parts = []Part{textPart(PartText, "")}
	}
	q.turns = append(q.turns, turn{role, origin, parts})
	q.count += len(parts)
}

// instruct adds instructions that stand in the list of messages.
func (q *asked) instruct(parts []Part) {
	q.system = append(q.system, parts...)
	q.listed += len(parts)
}

// leading says that no turn was read before.
func (q *asked) leading() bool { return len(q.turns) == 0 && !q.begun }

// join appends parts to the turn before if it is of the same kind: dialects
// that have a message per part say in several what is one.
func (q *asked) join(role Role, origin string, parts []Part) {
	if n := len(q.turns); n > 0 && q.turns[n-1].role == role && q.turns[n-1].origin == origin && len(parts) > 0 {
		q.turns[n-1].parts = append(q.turns[n-1].parts, parts...)
		q.count += len(parts)
		return
	}
	q.add(role, origin, parts)
}

// readAnswer reads the answer of a model call.
func readAnswer(x *Exchange) said {
	if len(x.Response) == 0 {
		return said{}
	}
	body := strings.TrimLeft(strings.TrimPrefix(string(x.Response[:min(len(x.Response), 64)]), "\uFEFF"), " \t\r\n")
	var a said
	r := &room{maxPieces}
	switch {
	case strings.HasPrefix(body, "{"), strings.HasPrefix(body, "["):
		a = readDocument(x, dialectOf(x.Dialect, r))
	case isStream(body):
		a = readStream(x, dialectOf(x.Dialect, r).stream())
	default:
		a = said{parts: []Part{rawPart(string(x.Response))}}
	}
	if r.left < 0 {
		a = said{parts: []Part{rawPart(string(x.Response))}, id: a.id, stop: a.stop, streamed: a.streamed}
	}
	return a
}

func readDocument(x *Exchange, reader dialect) said {
	doc, ok := parse(x.Response)
	if !ok {
		return said{parts: []Part{rawPart(string(x.Response))}}
	}
	var a said
	if doc.value.IsArray() {
		a = readArray(&doc, reader.stream())
	} else {
		a = reader.answer(doc.value)
		a.whole = len(a.parts) > 0 || a.failure != nil || a.stop != ""
	}
	if len(a.parts) == 0 && a.failure == nil && a.stop == "" && !doc.partial { // not an answer of this dialect
		a.parts = []Part{otherPart(doc.value)}
	}
	a.cut = doc.partial
	return a.cutAt(doc.partial, doc.rest)
}

// readArray reads a stream in the form of one array, as Gemini has it. An
// element that was cut is no event.
func readArray(doc *document, s stream) said {
	doc.value.ForEach(func(_, v gjson.Result) bool {
		if doc.partial && v.Index+len(v.Raw) > doc.used {
			doc.rest = doc.text[v.Index:]
			return false
		}
		s.event(v)
		return true
	})
	a := s.said()
	a.streamed = true
	return a
}

func readStream(x *Exchange, s stream) said {
	body, tail := wholeText(x.Response)
	count, unread := events(strings.ToValidUTF8(string(body), "\uFFFD"), s.event)
	if count == 0 {
		return said{parts: []Part{rawPart(string(x.Response))}}
	}
	a := s.said()
	a.streamed = true
	return a.cutAt(!a.whole && a.failure == nil, strings.TrimSpace(unread+string(tail)))
}

// tell takes what one document of an answer says of all of it, where it does: its
// id and its model, under the dialect's names, and an error.
func (a *said) tell(doc gjson.Result, id, model string) {
	if v := doc.Get(id).String(); v != "" {
		a.id = v
	}
	if v := doc.Get(model).String(); v != "" {
		a.model = v
	}
	if f := failureOf(doc); f != nil {
		a.failure = f
	}
}

// eachChoice calls f for each of several answers to one request, with its index:
// its place, where it does not say, or what says it was cut. Chunks of a stream
// are many; what they make new is counted where it is made.
func eachChoice(list gjson.Result, f func(index int64, v gjson.Result)) {
	if !list.IsArray() {
		return
	}
	place := int64(0)
	list.ForEach(func(_, v gjson.Result) bool {
		index := place
		if says := v.Get("index"); says.Exists() {
			index = says.Int()
		}
		place++
		f(index, v)
		return true
	})
}

// cutAt marks the last part of an answer that was not whole, and keeps what
// could not be read of it.
func (a said) cutAt(partial bool, rest string) said {
	if partial {
		a.whole = false
		if n := len(a.parts); n > 0 {
			a.parts[n-1].Metadata.Info.Partial = true
		}
	}
	if rest != "" {
		a.parts = append(a.parts, rawPart(rest))
	}
	return a
}

// failureOf reads the error of a document, which all dialects have at the same
// place.
func failureOf(doc gjson.Result) *Failure {
	e := doc.Get("error")
	switch {
	case e.Type == gjson.String:
		return &Failure{Message: strings.Clone(e.Str), raw: e.Raw}
	case !e.IsObject():
		return nil
	}
	f := &Failure{Message: strings.Clone(e.Get("message").String()), raw: e.Raw}
	for _, key := range []string{"type", "status", "code"} {
		if v := e.Get(key); f.Type == "" && v.Type != gjson.Null && v.Exists() {
			f.Type = strings.Clone(v.String())
		}
	}
	return f
}

// content reads what may be a string, one block, or a list of blocks.
func (r *room) content(v gjson.Result, kind PartKind, block func(gjson.Result) []Part) (parts []Part) {
	switch {
	case !v.Exists() || v.Type == gjson.Null:
		return nil
	case v.Type == gjson.String:
		return []Part{textPart(kind, v.Str)}
	case v.IsArray():
		r.each(v, func(b gjson.Result) {
			if b.Type == gjson.String {
				parts = append(parts, textPart(kind, b.Str))
			} else {
				parts = append(parts, block(b)...)
			}
		})
		return parts
	case v.IsObject():
		return block(v)
	}
	return []Part{otherPart(v)}
}
