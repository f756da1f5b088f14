package web

import (
	"io"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// PlainJSON returns a writer of JSON that a terminal does not obey: control and
// formatting characters, which encoding/json leaves as they are beyond U+001F,
// become escapes. Each call of Write takes whole characters, as those of a
// json.Encoder do.
func PlainJSON(w io.Writer) io.Writer { return plainJSON{w} }

type plainJSON struct{ w io.Writer }

// Write implements io.Writer.
func (p plainJSON) Write(b []byte) (int, error) {
	if _, err := p.w.Write(escaped(b)); err != nil {
		return 0, err
	}
	return len(b), nil
}

// escaped is b itself where there is nothing to escape.
func escaped(b []byte) []byte {
	var out []byte
	done := 0
	for i := 0; i < len(b); {
		if b[i] < 0x7f { // below U+0020 only line ends stand outside of strings
			i++
			continue
		}
		r, size := utf8.DecodeRune(b[i:])
		if unicode.IsControl(r) || unicode.Is(unicode.Cf, r) {
			out = append(out, b[done:i]...)
			for _, unit := range utf16.AppendRune(nil, r) {
				out = append(out, '\\', 'u', hexDigits[unit>>12], hexDigits[unit>>8&15], hexDigits[unit>>4&15], hexDigits[unit&15])
			}
			done = i + size
		}
		i += size
	}
	if done == 0 {
		return b
	}
	return append(out, b[done:]...)
}

const hexDigits = "0123456789abcdef"
