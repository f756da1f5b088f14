package a2a

import (
	"slices"
	"unicode/utf8"

	"github.com/tidwall/gjson"
)

// repeated is a request whose history later requests repeat, byte for byte as
// far as clients write it the same way. What they repeat is compared and not
// read again: a session of n turns is read in n steps, not n².
type repeated struct {
	dialect  Dialect
	body     string
	elements []element // of its list of messages
	listed   []Part    // instructions among them
}

// element is one message, or item, of a list as it stands in a body.
type element struct {
	start, end int
	parts      int  // of all turns up to its end
	user       bool // its last part is not the agent's, whose text may go on
	at         *node
}

// read notes where an element stands whose turn was just added.
func (q *asked) read(v gjson.Result) {
	e := element{start: v.Index, end: v.Index + len(v.Raw), parts: q.count}
	if n := len(q.turns); n > 0 {
		e.user = q.turns[n-1].role == RoleUser
	}
	q.elements = append(q.elements, e)
}

// read reads a request: all of it, or what comes after what a recent one has
// too, and the node where that ends.
func (s *session) read(x *Exchange) (q asked, from *node) {
	if !x.RequestCut {
		for i := range s.recent {
			if q, from, ok := s.recent[i].after(x); ok {
				return q, from
			}
		}
	}
	return readRequest(x), s.root
}

// after reads what a request has besides what is repeated. It fails where
// nothing is, or where the rest does not stand alone.
func (r *repeated) after(x *Exchange) (q asked, from *node, ok bool) {
	if len(r.elements) == 0 || r.dialect != x.Dialect {
		return q, nil, false
	}
	last := len(r.elements) - 1
	for same := common(r.body, x.Request); last >= 0; last-- {
		if e := &r.elements[last]; e.end <= same && e.at != nil && comma(x.Request, e.end) {
			break
		}
	}
	if last < 0 {
		return q, nil, false
	}
	known, head := r.elements[:last+1], r.elements[0].start
	cut := skip(x.Request, known[last].end) + 1 // behind the comma
	rest := append([]byte(r.body[:head]), x.Request[cut:]...)
	doc, ok := parse(rest)
	if !ok || doc.partial || !doc.value.IsObject() || !utf8.Valid(rest) {
		return q, nil, false
	}
	q.begun = true
	room := &room{maxPieces}
	dialectOf(x.Dialect, room).request(doc.value, &q)
	if room.left < 0 || len(q.turns) == 0 || q.previous != "" || q.kept != "" {
		return q, nil, false
	}
	for i := range q.elements {
		q.elements[i].start += cut - head
		q.elements[i].end += cut - head
		q.elements[i].parts += known[last].parts
	}
	q.elements = append(append([]element(nil), known...), q.elements...)
	q.instruct(r.listed)
	return q, known[last].at, true
}

// note keeps a request for those that repeat it. Its last atom is at a node.
func (s *session) note(x *Exchange, q *asked, list []atom, at *node) {
	whole := len(x.Request) > 0 && x.Request[0] == '{' && utf8.Valid(x.Request) // places in it are places in what was read
	if !whole || q.partial || q.previous != "" || q.kept != "" || len(q.elements) == 0 {
		return
	}
	before := q.elements[len(q.elements)-1].parts
	if len(list) > 0 {
		before -= list[len(list)-1].end // parts that were not read again
	}
	i := len(q.elements) - 1
	for a := len(list) - 1; a >= 0; a, at = a-1, at.parent {
		for ; i >= 0 && q.elements[i].parts-before >= list[a].end; i-- {
			if e := &q.elements[i]; e.user && e.parts-before == list[a].end {
				e.at = at
			}
		}
	}
	r := repeated{x.Dialect, string(x.Request), q.elements, slices.Clone(q.system[len(q.system)-q.listed:])}
	for i := range r.listed {
		r.listed[i].detach()
	}
	if s.recent[0].body != "" && common(s.recent[0].body, x.Request) < r.elements[0].end {
		s.recent[1] = s.recent[0] // another conversation
	}
	s.recent[0] = r
}

// common is how many bytes two bodies begin with alike.
func common(a string, b []byte) int {
	n := min(len(a), len(b))
	at := 0
	for step := 4096; at < n; {
		end := min(at+step, n)
		if a[at:end] == string(b[at:end]) {
			at = end
			continue
		}
		if step == 1 {
			break
		}
		step = max(step/16, 1)
	}
	return at
}

// skip returns the place of what comes after spaces.
func skip(b []byte, i int) int {
	for i < len(b) && (b[i] == ' ' || b[i] == '\t' || b[i] == '\r' || b[i] == '\n') {
		i++
	}
	return i
}

// comma says that a list goes on after an element that ends at i.
func comma(b []byte, i int) bool {
	i = skip(b, i)
	return i < len(b) && b[i] == ','
}
