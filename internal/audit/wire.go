package audit

import (
	"errors"
	"fmt"
	"math"
	"time"
	"unicode/utf8"

	"google.golang.org/protobuf/encoding/protowire"
)

// This file is the canonical subset of the protobuf wire format. A message is a
// table of fields; put appends a field unless it is zero, take reads one.

// field is one field of message M. typ is always varint or bytes.
type field[M any] struct {
	num   protowire.Number
	name  string
	typ   protowire.Type
	must  bool  // present even where its value is zero
	many  bool  // may follow itself
	shape shape // the same rules for a glance
	put   func(dst []byte, m *M) ([]byte, error)
	take  func(m *M, n uint64, b []byte) error // n for varint, b for bytes
}

const (
	maxInt    = math.MaxInt64
	maxByte   = math.MaxUint8
	maxStatus = 999
)

var (
	errZero    = errors.New("a field with its zero value must be absent")
	errMinimal = errors.New("varint is longer than needed")
)

func encodeMessage[M any](dst []byte, fields []field[M], m *M) ([]byte, error) {
	for i := range fields {
		var err error
		if dst, err = fields[i].put(dst, m); err != nil {
			return nil, fmt.Errorf("%s: %w", fields[i].name, err)
		}
	}
	return dst, nil
}

func decodeMessage[M any](b []byte, fields []field[M], m *M) error {
	at := 0 // fields before it were passed
	for len(b) > 0 {
		tag, n, err := minimalVarint(b)
		if err != nil {
			return fmt.Errorf("tag: %w", err)
		}
		b = b[n:]
		num, typ := protowire.DecodeTag(tag)
		for at < len(fields) && fields[at].num < num {
			if fields[at].must {
				return fmt.Errorf("%s: missing", fields[at].name)
			}
			at++
		}
		if at == len(fields) || fields[at].num != num || fields[at].typ != typ {
			return fmt.Errorf("field %d of type %d: unknown, repeated or out of order", num, typ)
		}
		f := &fields[at]
		if b, err = takeValue(f, b, m); err != nil {
			return fmt.Errorf("%s: %w", f.name, err)
		}
		if !f.many {
			at++
		}
	}
	for ; at < len(fields); at++ {
		if fields[at].must {
			return fmt.Errorf("%s: missing", fields[at].name)
		}
	}
	return nil
}

// takeValue reads the value of f from b and returns what follows it.
func takeValue[M any](f *field[M], b []byte, m *M) ([]byte, error) {
	v, n, err := minimalVarint(b)
	if err != nil {
		return nil, err
	}
	b = b[n:]
	if f.typ == protowire.VarintType {
		if v == 0 {
			return nil, errZero
		}
		return b, f.take(m, v, nil)
	}
	if v > uint64(len(b)) {
		return nil, fmt.Errorf("%d bytes announced, %d left", v, len(b))
	}
	if v == 0 {
		return nil, errZero
	}
	return b[v:], f.take(m, 0, b[:v])
}

func minimalVarint(b []byte) (v uint64, n int, err error) {
	v, n = protowire.ConsumeVarint(b)
	if n < 0 {
		return 0, 0, protowire.ParseError(n)
	}
	if n != protowire.SizeVarint(v) {
		return 0, 0, errMinimal
	}
	return v, n, nil
}

func putVarint(dst []byte, num protowire.Number, v uint64) []byte {
	if v == 0 {
		return dst
	}
	return protowire.AppendVarint(protowire.AppendTag(dst, num, protowire.VarintType), v)
}

func putBytes(dst []byte, num protowire.Number, b []byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(dst, num, protowire.BytesType), b)
}

// putMessage appends a message with its length before it, and nothing for an
// empty one unless it must be there.
func putMessage[M any](dst []byte, num protowire.Number, fields []field[M], m *M, must bool) ([]byte, error) {
	out := protowire.AppendTag(dst, num, protowire.BytesType)
	at := len(out)
	out, err := encodeMessage(append(out, 0), fields, m)
	if err != nil {
		return nil, err
	}
	n := len(out) - at - 1
	if n == 0 && !must {
		return dst, nil
	}
	if more := protowire.SizeVarint(uint64(n)) - 1; more > 0 {
		out = append(out, make([]byte, more)...)
		copy(out[at+1+more:], out[at+1:at+1+n])
	}
	protowire.AppendVarint(out[:at], uint64(n))
	return out, nil
}

type integer interface{ ~int | ~int64 | ~uint8 }

func number[M any, N integer](num protowire.Number, name string, limit uint64, at func(*M) *N) field[M] {
	return field[M]{
		num: num, name: name, typ: protowire.VarintType, shape: shape{form: aNumber, limit: limit},
		put: func(dst []byte, m *M) ([]byte, error) {
			v := int64(*at(m))
			if v < 0 || uint64(v) > limit {
				return nil, fmt.Errorf("%d is not in 0..%d", v, limit)
			}
			return putVarint(dst, num, uint64(v)), nil
		},
		take: func(m *M, v uint64, _ []byte) error {
			if v > limit {
				return fmt.Errorf("%d is over %d", v, limit)
			}
			*at(m) = N(v)
			return nil
		},
	}
}

// versionField is a number that ends decoding before an unknown field can:
// rows of a newer version are told apart from damaged ones.
func versionField[M any](num protowire.Number, name string, at func(*M) *int) field[M] {
	f := number(num, name, math.MaxInt32, at)
	f.shape.limit = FormatVersion
	take := f.take
	f.take = func(m *M, v uint64, b []byte) error {
		if v > FormatVersion {
			return fmt.Errorf("%w: row version %d, this program knows %d", ErrNewerVersion, v, FormatVersion)
		}
		return take(m, v, b)
	}
	return f
}

func truth[M any](num protowire.Number, name string, at func(*M) *bool) field[M] {
	return field[M]{
		num: num, name: name, typ: protowire.VarintType, shape: shape{form: aNumber, limit: 1},
		put: func(dst []byte, m *M) ([]byte, error) {
			if !*at(m) {
				return dst, nil
			}
			return putVarint(dst, num, 1), nil
		},
		take: func(m *M, v uint64, _ []byte) error {
			if v != 1 {
				return fmt.Errorf("%d is not a truth value", v)
			}
			*at(m) = true
			return nil
		},
	}
}

func text[M any](num protowire.Number, name string, limit int, at func(*M) *string) field[M] {
	check := func(n int, valid bool) error {
		switch {
		case n > limit:
			return fmt.Errorf("%d bytes, at most %d", n, limit)
		case !valid:
			return errors.New("not UTF-8")
		}
		return nil
	}
	return field[M]{
		num: num, name: name, typ: protowire.BytesType, shape: shape{form: aText, limit: uint64(limit)},
		put: func(dst []byte, m *M) ([]byte, error) {
			s := *at(m)
			if s == "" {
				return dst, nil
			}
			if err := check(len(s), utf8.ValidString(s)); err != nil {
				return nil, err
			}
			return protowire.AppendString(protowire.AppendTag(dst, num, protowire.BytesType), s), nil
		},
		take: func(m *M, _ uint64, b []byte) error {
			*at(m) = string(b)
			return check(len(b), utf8.Valid(b))
		},
	}
}

func blob[M any](num protowire.Number, name string, limit int, at func(*M) *[]byte) field[M] {
	return field[M]{
		num: num, name: name, typ: protowire.BytesType, shape: shape{form: aBlob, limit: uint64(limit)},
		put: func(dst []byte, m *M) ([]byte, error) {
			b := *at(m)
			if len(b) == 0 {
				return dst, nil
			}
			if len(b) > limit {
				return nil, fmt.Errorf("%d bytes, at most %d", len(b), limit)
			}
			return putBytes(dst, num, b), nil
		},
		take: func(m *M, _ uint64, b []byte) error {
			if len(b) > limit {
				return fmt.Errorf("%d bytes, at most %d", len(b), limit)
			}
			*at(m) = append([]byte(nil), b...)
			return nil
		},
	}
}

// digest is a hash. One that is always present may be zero; another is absent
// then.
func digest[M any](num protowire.Number, name string, must bool, at func(*M) *Hash) field[M] {
	return field[M]{
		num: num, name: name, typ: protowire.BytesType, must: must, shape: shape{form: aHash},
		put: func(dst []byte, m *M) ([]byte, error) {
			h := at(m)
			if !must && *h == (Hash{}) {
				return dst, nil
			}
			return putBytes(dst, num, h[:]), nil
		},
		take: func(m *M, _ uint64, b []byte) error {
			if len(b) != HashSize {
				return fmt.Errorf("%d bytes are not a hash", len(b))
			}
			copy(at(m)[:], b)
			if !must && *at(m) == (Hash{}) {
				return errZero
			}
			return nil
		},
	}
}

// instant is a time in nanoseconds since 1970, absent for the zero time.
func instant[M any](num protowire.Number, name string, at func(*M) *time.Time) field[M] {
	return field[M]{
		num: num, name: name, typ: protowire.VarintType, shape: shape{form: aNumber, limit: lastInstant},
		put: func(dst []byte, m *M) ([]byte, error) {
			t := *at(m)
			if t.IsZero() {
				return dst, nil
			}
			if y := t.UTC().Year(); y < 1970 || y > 2261 {
				return nil, fmt.Errorf("year %d cannot be written", y)
			}
			return putVarint(dst, num, uint64(t.UnixNano())), nil
		},
		take: func(m *M, v uint64, _ []byte) error {
			if v > maxInt || time.Unix(0, int64(v)).UTC().Year() > 2261 {
				return fmt.Errorf("%d is not a time", v)
			}
			*at(m) = time.Unix(0, int64(v)).UTC()
			return nil
		},
	}
}

func micros[M any](num protowire.Number, name string, at func(*M) *time.Duration) field[M] {
	const limit = math.MaxInt64 / int64(time.Microsecond)
	return field[M]{
		num: num, name: name, typ: protowire.VarintType, shape: shape{form: aNumber, limit: uint64(limit)},
		put: func(dst []byte, m *M) ([]byte, error) {
			if *at(m) < 0 {
				return nil, errors.New("is negative")
			}
			return putVarint(dst, num, uint64(at(m).Microseconds())), nil
		},
		take: func(m *M, v uint64, _ []byte) error {
			if v > uint64(limit) {
				return fmt.Errorf("%d µs is too long", v)
			}
			*at(m) = time.Duration(v) * time.Microsecond
			return nil
		},
	}
}

// embedded is a message that is absent when all its fields are.
func embedded[M, E any](num protowire.Number, name string, fields []field[E], at func(*M) *E) field[M] {
	return field[M]{
		num: num, name: name, typ: protowire.BytesType, shape: shape{form: aMessage, sub: layoutOf(fields)},
		put: func(dst []byte, m *M) ([]byte, error) {
			return putMessage(dst, num, fields, at(m), false)
		},
		take: func(m *M, _ uint64, b []byte) error { return decodeMessage(b, fields, at(m)) },
	}
}

// optional is a message that is absent when its pointer is nil.
func optional[M, E any](num protowire.Number, name string, fields []field[E], at func(*M) **E) field[M] {
	return field[M]{
		num: num, name: name, typ: protowire.BytesType, shape: shape{form: aMessage},
		put: func(dst []byte, m *M) ([]byte, error) {
			if *at(m) == nil {
				return dst, nil
			}
			return putMessage(dst, num, fields, *at(m), true)
		},
		take: func(m *M, _ uint64, b []byte) error {
			e := new(E)
			*at(m) = e
			return decodeMessage(b, fields, e)
		},
	}
}

func repeated[M, E any](num protowire.Number, name string, limit int, fields []field[E], at func(*M) *[]E) field[M] {
	return field[M]{
		num: num, name: name, typ: protowire.BytesType, shape: shape{form: aMessage}, many: true,
		put: func(dst []byte, m *M) ([]byte, error) {
			if n := len(*at(m)); n > limit {
				return nil, fmt.Errorf("%d of them, at most %d", n, limit)
			}
			for i := range *at(m) {
				var err error
				if dst, err = putMessage(dst, num, fields, &(*at(m))[i], true); err != nil {
					return nil, err
				}
			}
			return dst, nil
		},
		take: func(m *M, _ uint64, b []byte) error {
			if len(*at(m)) == limit {
				return fmt.Errorf("more than %d of them", limit)
			}
			var e E
			if err := decodeMessage(b, fields, &e); err != nil {
				return err
			}
			*at(m) = append(*at(m), e)
			return nil
		},
	}
}
