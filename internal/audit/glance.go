package audit

import (
	"unicode/utf8"

	"google.golang.org/protobuf/encoding/protowire"
)

// glance is what the chain needs of a row, and Open of most. Reading it checks
// the whole row and keeps nothing else, which is several times faster than Decode.
//
// It may only ever be stricter than Decode: what it accepts Decode accepts, with
// the same values. What it refuses is given to Decode, which decides and says
// what is wrong. A fuzz test holds that.
type glance struct {
	seq, time, ref int64
	prev           Hash
	kind           Kind
	bodies         [2]bodyEnd // request and response
}

// bodyEnd is where a content ends in its pack; zero where none of it was kept.
type bodyEnd struct{ pack, end int64 }

func (b *BodyRef) end() bodyEnd {
	if b == nil || b.Pack == 0 {
		return bodyEnd{}
	}
	return bodyEnd{b.Pack, b.Offset + b.frameSize()}
}

// glance is what a glance at the encoding of r would show.
func (r *Record) glance() glance {
	g := glance{seq: r.Seq, ref: r.Ref, prev: r.Prev, kind: r.Kind, bodies: [2]bodyEnd{r.Request.end(), r.Response.end()}}
	if !r.Time.IsZero() {
		g.time = r.Time.UnixNano()
	}
	return g
}

// shape is what a field may look like. Shapes are taken from the tables of
// fields, so that a format has one description.
type shape struct {
	form  form
	many  bool
	limit uint64 // of a number, or length of bytes
	sub   *layout
}

// form is the rule of a value; the zero form is no field.
type form uint8

const (
	aNumber  form = iota + 1 // 1..limit
	aText                    // UTF-8
	aBlob                    // bytes
	aHash                    // of HashSize bytes
	aMessage                 // layout sub
)

// layout is a message: the shape of each field by its number.
type layout struct {
	shapes [48]shape
	must   uint64 // bits of the fields that are always there
}

func layoutOf[M any](fields []field[M], must ...protowire.Number) *layout {
	l := new(layout)
	for _, f := range fields {
		l.shapes[f.num] = f.shape
		l.shapes[f.num].many = f.many
		if f.must {
			l.must |= 1 << f.num
		}
	}
	for _, num := range must {
		l.must |= 1 << num
	}
	return l
}

var (
	bodyLayout = layoutOf(bodyFields)
	attrLayout = layoutOf(attrFields, 1)
	rowLayout  = layoutOf(recordFields, 1, 2, 3, 5, 6)
)

// walk goes through the fields of a message.
type walk struct {
	rest []byte
	last uint
	seen uint64
}

// next checks the next field: n is the value of a number, b that of anything
// else.
func (w *walk) next(l *layout) (num uint, n uint64, b []byte, ok bool) {
	tag, ok := w.varint()
	num = uint(tag >> 3)
	if !ok || num >= uint(len(l.shapes)) {
		return 0, 0, nil, false
	}
	s := &l.shapes[num]
	if num < w.last || num == w.last && !s.many {
		return 0, 0, nil, false
	}
	w.last, w.seen = num, w.seen|1<<num
	if n, ok = w.varint(); !ok || n == 0 {
		return 0, 0, nil, false
	}
	if s.form == aNumber {
		return num, n, nil, tag&7 == uint64(protowire.VarintType) && n <= s.limit
	}
	if tag&7 != uint64(protowire.BytesType) || n > uint64(len(w.rest)) {
		return 0, 0, nil, false
	}
	b, w.rest = w.rest[:n], w.rest[n:]
	switch s.form {
	case aText:
		ok = n <= s.limit && utf8.Valid(b)
	case aBlob:
		ok = n <= s.limit
	case aHash:
		ok = n == HashSize
	case aMessage:
		ok = s.sub == nil || plain(s.sub, b)
	default:
		ok = false
	}
	return num, 0, b, ok
}

// varint reads a varint of minimal length.
func (w *walk) varint() (uint64, bool) {
	b := w.rest
	if len(b) > 0 && b[0] < 0x80 {
		w.rest = b[1:]
		return uint64(b[0]), true
	}
	var v uint64
	for i := 0; i < len(b) && i < 9; i++ { // nine bytes hold every value up to maxInt
		v |= uint64(b[i]&0x7f) << (7 * i)
		if b[i] < 0x80 {
			w.rest = b[i+1:]
			return v, b[i] != 0
		}
	}
	return 0, false
}

// plain checks a message of which no value is needed.
func plain(l *layout, b []byte) bool {
	w := walk{rest: b}
	for len(w.rest) > 0 {
		if _, _, _, ok := w.next(l); !ok {
			return false
		}
	}
	return w.seen&l.must == l.must
}

// read takes the values out of an encoded row. False says that Decode must look.
func (g *glance) read(row []byte) bool {
	if len(row) > MaxRow {
		return false
	}
	w, attrs := walk{rest: row}, 0
	var key []byte
	for len(w.rest) > 0 {
		num, n, b, ok := w.next(rowLayout)
		if !ok {
			return false
		}
		switch num {
		case 2:
			g.seq = int64(n)
		case 3:
			g.time = int64(n)
		case 4:
			g.prev = Hash(b)
		case 5:
			g.kind = Kind(n)
		case 20:
			g.ref = int64(n)
		case 34, 35:
			g.bodies[num-34], ok = glanceBody(b)
		case 40:
			attrs++
			key, ok = glanceAttr(b, key)
			ok = ok && attrs <= MaxAttrs
		}
		if !ok {
			return false
		}
	}
	return w.seen&rowLayout.must == rowLayout.must
}

// glanceBody also checks what BodyRef.check asks of the fields together.
func glanceBody(b []byte) (end bodyEnd, ok bool) {
	var ref BodyRef
	w := walk{rest: b}
	for len(w.rest) > 0 {
		num, n, b, ok := w.next(bodyLayout)
		if !ok {
			return bodyEnd{}, false
		}
		switch num {
		case 2:
			ref.Size = int64(n)
		case 3:
			ref.Stored = int64(n)
		case 4:
			ref.Truncated = true
		case 5:
			ref.Pack = int64(n)
		case 6:
			ref.Offset = int64(n)
		case 7:
			if ref.Kept = Hash(b); ref.Kept == (Hash{}) {
				return bodyEnd{}, false
			}
		}
	}
	return ref.end(), w.seen&bodyLayout.must == bodyLayout.must && ref.check() == nil
}

// glanceAttr returns the key, which must come after the one before.
func glanceAttr(b, before []byte) (key []byte, ok bool) {
	w := walk{rest: b}
	for len(w.rest) > 0 {
		num, _, value, ok := w.next(attrLayout)
		if !ok {
			return nil, false
		}
		if num == 1 {
			key = value
		}
	}
	return key, string(key) > string(before)
}

// lastInstant is the last nanosecond of the year 2261.
const lastInstant = 9_214_646_400_000_000_000 - 1
