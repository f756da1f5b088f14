package strictjson

import (
	"fmt"
	"strings"
)

// peek is the next byte, 0 at the end. A NUL is nowhere valid.
func (r *reader) peek() byte {
	if r.at < len(r.text) {
		return r.text[r.at]
	}
	return 0
}

func (r *reader) blank() {
	for r.at < len(r.text) {
		switch r.text[r.at] {
		case ' ', '\t', '\r', '\n':
			r.at++
		default:
			return
		}
	}
}

// str reads a string from its first quote to its last.
func (r *reader) str() bool {
	for i := r.at + 1; i < len(r.text); i++ {
		for len(r.text)-i >= 8 && isPlain(r.text[i:i+8]) {
			i += 8
		}
		if i == len(r.text) {
			break
		}
		switch c := r.text[i]; {
		case c == '"':
			r.at = i + 1
			return true
		case c < ' ':
			r.at = i
			return false
		case c == '\\':
			n := escapeLen(r.text[i:])
			if n == 0 {
				r.at = i
				return false
			}
			i += n - 1
		}
	}
	r.at = len(r.text)
	return false
}

// isPlain says that none of 8 bytes is a quote, a backslash or a control: no byte
// of x is below a bound if subtracting it from each borrows from no high bit.
func isPlain(s string) bool {
	const ones, high = 0x0101010101010101, 0x8080808080808080
	x := uint64(s[0]) | uint64(s[1])<<8 | uint64(s[2])<<16 | uint64(s[3])<<24 |
		uint64(s[4])<<32 | uint64(s[5])<<40 | uint64(s[6])<<48 | uint64(s[7])<<56
	quote, slash := x^('"'*ones), x^('\\'*ones)
	return ((x-' '*ones)&^x|(quote-ones)&^quote|(slash-ones)&^slash)&high == 0
}

// escapeLen is the length of the escape a text begins with, 0 if it is none.
func escapeLen(text string) int {
	if len(text) < 2 {
		return 0
	}
	switch text[1] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return 2
	case 'u':
		if len(text) < 6 || strings.Trim(text[2:6], "0123456789abcdefABCDEF") != "" {
			return 0
		}
		return 6
	}
	return 0
}

func (r *reader) word(word string) bool {
	if !strings.HasPrefix(r.text[r.at:], word) {
		return false
	}
	r.at += len(word)
	return true
}

// number reads what JSON calls a number.
func (r *reader) number() bool {
	if r.peek() == '-' {
		r.at++
	}
	if r.peek() == '0' {
		r.at++
	} else if !r.digits() {
		return false
	}
	if r.peek() == '.' {
		r.at++
		if !r.digits() {
			return false
		}
	}
	if c := r.peek(); c != 'e' && c != 'E' {
		return true
	}
	r.at++
	if c := r.peek(); c == '+' || c == '-' {
		r.at++
	}
	return r.digits()
}

func (r *reader) digits() bool {
	from := r.at
	for c := r.peek(); '0' <= c && c <= '9'; c = r.peek() {
		r.at++
	}
	return r.at > from
}

func (r *reader) syntax() error { return fmt.Errorf("%w: at byte %d", ErrSyntax, r.at) }
