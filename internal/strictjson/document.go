package strictjson

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// index is a checked text and where its values are, in the order they stand.
type index struct {
	text  string
	nodes []node
}

// node is one value. The values of an object or array are the nodes behind it,
// each with its own, up to next.
type node struct {
	key        uint32 // of the first quote; 0: it has none
	begin, end uint32
	next       uint32
}

// Document is a value of a checked body. The zero Document is no value.
type Document struct {
	in *index
	at uint32
}

func (d Document) node() node { return d.in.nodes[d.at] }

// first is the byte that tells the type.
func (d Document) first() byte {
	if d.in == nil {
		return 0
	}
	return d.in.text[d.node().begin]
}

// Exists says whether there is a value, which null is.
func (d Document) Exists() bool { return d.in != nil }

// IsNull says whether the value is null.
func (d Document) IsNull() bool { return d.first() == 'n' }

// IsObject says whether the value is an object.
func (d Document) IsObject() bool { return d.first() == '{' }

// IsArray says whether the value is an array.
func (d Document) IsArray() bool { return d.first() == '[' }

// IsText says whether the value is a string.
func (d Document) IsText() bool { return d.first() == '"' }

// Raw is the value as it stands in the body.
func (d Document) Raw() string {
	if d.in == nil {
		return ""
	}
	n := d.node()
	return d.in.text[n.begin:n.end]
}

// Text is the value if it is a string.
func (d Document) Text() (string, bool) {
	if !d.IsText() {
		return "", false
	}
	return unquote(d.Raw()), true
}

// Bool is the value if it is true or false.
func (d Document) Bool() (value, ok bool) {
	c := d.first()
	return c == 't', c == 't' || c == 'f'
}

// Number is the value if it is a number, as the nearest float.
func (d Document) Number() (float64, bool) {
	if c := d.first(); c != '-' && (c < '0' || c > '9') {
		return 0, false
	}
	n, _ := strconv.ParseFloat(d.Raw(), 64) // out of range: infinite
	return n, true
}

// Size is the number of bytes the value takes, without blanks around it.
func (d Document) Size() int { return len(d.Raw()) }

// Values is the number of values in the document, itself included.
func (d Document) Values() int {
	if d.in == nil {
		return 0
	}
	return int(d.node().next - d.at)
}

// key is the key under which n stands, empty if it has none.
func (x *index) key(n node) string {
	if n.key == 0 {
		return ""
	}
	rest := x.text[n.key:n.begin] // up to its value: the quote, the colon, blanks
	return unquote(rest[:strings.LastIndexByte(rest, '"')+1])
}

// Each visits the entries of an object, or the elements of an array with an
// empty key, until visit returns false. Of any other value it visits nothing.
func (d Document) Each(visit func(key string, value Document) bool) {
	d.each(false, visit)
}

// All visits every value below the document, also those inside others, until
// visit returns false.
func (d Document) All(visit func(key string, value Document) bool) {
	d.each(true, visit)
}

func (d Document) each(inside bool, visit func(key string, value Document) bool) {
	if d.in == nil {
		return
	}
	end := d.node().next
	for at := d.at + 1; at < end; {
		n := d.in.nodes[at]
		if !visit(d.in.key(n), Document{d.in, at}) {
			return
		}
		if inside {
			at++
		} else {
			at = n.next
		}
	}
}

// Field returns the value of a key, absent if the object has none. A key that
// differs in case only is an error.
func (d Document) Field(name string) (Document, error) {
	if !d.IsObject() {
		return Document{}, fmt.Errorf("%w: %q asked of what is no object", ErrType, name)
	}
	var found Document
	var err error
	folded := Fold(name)
	d.Each(func(got string, value Document) bool {
		switch {
		case got == name:
			found = value
			return false
		case Fold(got) == folded:
			err = fmt.Errorf("%w: write %q in exactly this case", ErrKey, name)
		}
		return err == nil
	})
	return found, err
}

// Folded returns the value of a key, given in lower case, in whatever case it
// is spelled; absent if there is none.
func (d Document) Folded(name string) (found Document) {
	if !d.IsObject() {
		return Document{}
	}
	d.Each(func(got string, value Document) bool {
		if Fold(got) == name {
			found = value
		}
		return !found.Exists()
	})
	return found
}

// String returns the text of a key, empty if there is none or it is null. Any
// other type is an error.
func (d Document) String(name string) (string, error) {
	f, err := d.Field(name)
	if err != nil || !f.Exists() || f.IsNull() {
		return "", err
	}
	s, ok := f.Text()
	if !ok {
		return "", fmt.Errorf("%w: %q must be a string", ErrType, name)
	}
	return s, nil
}

// Only refuses an object that has a key beside those named.
func (d Document) Only(names ...string) error {
	if !d.IsObject() {
		return fmt.Errorf("%w: not an object", ErrType)
	}
	var err error
	d.Each(func(name string, _ Document) bool {
		if !slices.Contains(names, name) {
			err = fmt.Errorf("%w: %.64q is not known here", ErrKey, name)
		}
		return err == nil
	})
	return err
}
