package diff

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Printable returns s as text that can be shown without lying: control
// characters, bytes that are not UTF-8 and characters that change the reading
// direction are written as \n, \t, \xNN or \u{NN}. A name that needs no escape
// comes back as it is; the raw bytes are kept elsewhere for whoever needs them.
func Printable(s string) string {
	if plain(s, false) {
		return s
	}
	return escape(s, false)
}

// printableLine does the same for a line of text, where a tab and a carriage
// return are ordinary.
func printableLine(s string) string {
	if plain(s, true) {
		return s
	}
	return escape(s, true)
}

// plain reports whether s needs no escape. In a line only bytes that cannot be
// text need one; the reader of a diff sees the rest through warnings.
func plain(s string, line bool) bool {
	if !utf8.ValidString(s) {
		return false
	}
	if line {
		return true
	}
	return strings.IndexFunc(s, hidden) < 0
}

// hidden reports characters that a reader would not see as what they are.
func hidden(r rune) bool {
	return unicode.IsControl(r) || isBidi(r) || unicode.Is(unicode.Cf, r) || r == '\u2028' || r == '\u2029'
}

// isBidi reports the controls that reorder text (UAX #9).
func isBidi(r rune) bool {
	return r >= 0x202a && r <= 0x202e || r >= 0x2066 && r <= 0x2069 || r == 0x200e || r == 0x200f || r == 0x061c
}

func escape(s string, line bool) string {
	var b strings.Builder
	for len(s) > 0 {
		r, n := utf8.DecodeRuneInString(s)
		switch {
		case r == utf8.RuneError && n == 1:
			fmt.Fprintf(&b, `\x%02x`, s[0])
		case line:
			b.WriteString(s[:n])
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\t':
			b.WriteString(`\t`)
		case hidden(r):
			fmt.Fprintf(&b, `\u{%x}`, r)
		default:
			b.WriteString(s[:n])
		}
		s = s[n:]
	}
	return b.String()
}
