package strictjson

import (
	"bytes"
	"errors"
	"fmt"
	"unicode/utf8"
)

// MaxDepth is the deepest nesting that is read. Schemas of tools, the deepest
// documents clients send, stay below half of it.
const MaxDepth = 64

// MaxValues is how many values a document may hold: the index of one takes 16
// bytes. A whole batch of texts to embed, as numbers, is 300,000.
const MaxValues = 1 << 19

// Type is what a document must be at its top.
type Type byte

// Types of document.
const (
	Object Type = '{'
	Array  Type = '['
)

// Errors of Read and of a Document, each wrapped with the place.
var (
	ErrEncoding = errors.New("strictjson: not plain UTF-8")
	ErrSyntax   = errors.New("strictjson: not one JSON value")
	ErrType     = errors.New("strictjson: wrong type")
	ErrDepth    = errors.New("strictjson: nested too deeply")
	ErrSize     = errors.New("strictjson: too many values")
	ErrKey      = errors.New("strictjson: ambiguous key")
)

// Read checks a body and returns it as a document of the wanted type.
func Read(body []byte, want Type) (Document, error) {
	if bytes.HasPrefix(body, []byte("\xef\xbb\xbf")) {
		return Document{}, fmt.Errorf("%w: it begins with a byte order mark", ErrEncoding)
	}
	if !utf8.Valid(body) {
		return Document{}, ErrEncoding
	}
	r := reader{text: string(body)}
	if err := r.read(); err != nil {
		return Document{}, err
	}
	if r.text[r.nodes[0].begin] != byte(want) {
		return Document{}, fmt.Errorf("%w: the top must be %s", ErrType, want)
	}
	return Document{&index{r.text, r.nodes}, 0}, nil
}

// String names the type in an error.
func (t Type) String() string {
	if t == Array {
		return "an array"
	}
	return "an object"
}

// reader reads a text once, from its beginning to its end, without recursion.
type reader struct {
	text  string
	at    int
	nodes []node
	open  []level
	names []string // of the open objects, folded
}

// level is an object or array whose end was not reached.
type level struct {
	node  int
	names int             // where its names begin
	many  map[string]bool // instead of them, from some number on
	array bool
}

// manyNames is where comparing a name with each other becomes dearer than a map.
const manyNames = 24

// read fills the index.
func (r *reader) read() error {
	r.nodes = make([]node, 0, 16+len(r.text)/64)
	key := 0
	for {
		if err := r.value(key); err != nil {
			return err
		}
		more, err := r.after()
		if err != nil || !more {
			return err
		}
		if key, err = r.key(); err != nil {
			return err
		}
	}
}

// value begins a value: all of it, or the bracket that opens it.
func (r *reader) value(key int) error {
	r.blank()
	if len(r.nodes) == MaxValues {
		return fmt.Errorf("%w: more than %d", ErrSize, MaxValues)
	}
	r.nodes = append(r.nodes, node{key: uint32(key), begin: uint32(r.at)})
	ok := false
	switch c := r.peek(); c {
	case '{', '[':
		if len(r.open) == MaxDepth {
			return fmt.Errorf("%w: more than %d levels at byte %d", ErrDepth, MaxDepth, r.at)
		}
		r.open = append(r.open, level{node: len(r.nodes) - 1, names: len(r.names), array: c == '['})
		r.at++
		return nil
	case '"':
		ok = r.str()
	case 't':
		ok = r.word("true")
	case 'f':
		ok = r.word("false")
	case 'n':
		ok = r.word("null")
	default:
		ok = r.number()
	}
	if !ok {
		return r.syntax()
	}
	r.nodes[len(r.nodes)-1].end = uint32(r.at)
	r.nodes[len(r.nodes)-1].next = uint32(len(r.nodes))
	return nil
}

// after reads on to the next value of what is open, past all that ends here. It
// says whether there is one.
func (r *reader) after() (more bool, err error) {
	for {
		r.blank()
		if len(r.open) == 0 {
			if r.at < len(r.text) {
				return false, r.syntax()
			}
			return false, nil
		}
		l := &r.open[len(r.open)-1]
		first := l.node == len(r.nodes)-1
		switch c := r.peek(); {
		case l.array && c == ']', !l.array && c == '}':
			r.at++
			r.nodes[l.node].end, r.nodes[l.node].next = uint32(r.at), uint32(len(r.nodes))
			r.names, r.open = r.names[:l.names], r.open[:len(r.open)-1]
		case first && c != ',':
			return true, nil
		case !first && c == ',':
			r.at++
			return true, nil
		default:
			return false, r.syntax()
		}
	}
}

// key reads the key of the next value, and returns where it is; 0 in an array.
func (r *reader) key() (at int, err error) {
	l := &r.open[len(r.open)-1]
	if l.array {
		return 0, nil
	}
	r.blank()
	at = r.at
	if r.peek() != '"' || !r.str() {
		return 0, r.syntax()
	}
	if !r.fresh(l, Fold(unquote(r.text[at:r.at]))) {
		return 0, fmt.Errorf("%w: the key at byte %d stands twice in its object, in this or another case", ErrKey, at)
	}
	if r.blank(); r.peek() != ':' {
		return 0, r.syntax()
	}
	r.at++
	return at, nil
}

// fresh notes a name of an object and says whether it is the first of its kind.
func (r *reader) fresh(l *level, name string) bool {
	if l.many != nil {
		seen := l.many[name]
		l.many[name] = true
		return !seen
	}
	for _, other := range r.names[l.names:] {
		if other == name {
			return false
		}
	}
	r.names = append(r.names, name)
	if len(r.names)-l.names == manyNames {
		l.many = make(map[string]bool, 2*manyNames)
		for _, n := range r.names[l.names:] {
			l.many[n] = true
		}
		r.names = r.names[:l.names]
	}
	return true
}
