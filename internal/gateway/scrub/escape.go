package scrub

import "fmt"

// escapes returns the spellings of a character other than itself.
func escapes(c byte) []string {
	all := make([]string, 0, 9)
	for _, format := range [...]string{"%%%02x", "%%%02X", "\\u%04x", "\\u%04X"} {
		all = append(all, fmt.Sprintf(format, c))
	}
	if c == '/' || c == '"' || c == '\\' {
		all = append(all, string([]byte{'\\', c}))
	}
	return all
}

// escape is an escape under way, and what was read before it.
type escape struct {
	open   bool
	lead   byte  // % or \
	at     int64 // where it began
	length int   // bytes read
	value  byte  // of the digits read
	before []thread
}

func isLead(b byte) bool { return b == '%' || b == '\\' }

// next takes the byte that follows. It may end the escape; if that makes a
// character, done is set and value is it.
func (e *escape) next(b byte) (done bool) {
	digit, isHex := hexDigit(b)
	e.length++
	switch {
	case e.lead == '\\' && e.length == 2 && b == 'u':
	case e.lead == '\\' && e.length == 2:
		e.open, e.value = false, b
		return b == '/' || b == '"' || b == '\\'
	case !isHex || e.lead == '\\' && e.length <= 4 && b != '0':
		e.open = false
	default:
		e.value = e.value<<4 | digit
		e.open = !(e.length == 3 && e.lead == '%' || e.length == 6)
		return !e.open
	}
	return false
}

func hexDigit(b byte) (byte, bool) {
	switch {
	case '0' <= b && b <= '9':
		return b - '0', true
	case 'a' <= b && b <= 'f':
		return b - 'a' + 10, true
	case 'A' <= b && b <= 'F':
		return b - 'A' + 10, true
	}
	return 0, false
}
