package strictjson

import "bytes"

// Deeper says whether brackets outside strings are nested deeper than limit. The
// text need not be JSON: it is asked before a reader that recurses is given it.
func Deeper(text []byte, limit int) bool {
	depth := 0
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '"':
			i = stringEnd(text, i+1)
		case '{', '[':
			if depth++; depth > limit {
				return true
			}
		case '}', ']':
			depth--
		}
	}
	return false
}

// stringEnd is the place of the quote that ends the string whose inside begins
// at i, or the end of the text. Most of a body is inside strings, so it is
// skipped and not walked; the next quote is looked for once.
func stringEnd(body []byte, i int) int {
	for quote := -1; i < len(body); {
		if quote < i {
			n := bytes.IndexByte(body[i:], '"')
			if n < 0 {
				return len(body)
			}
			quote = i + n
		}
		escape := bytes.IndexByte(body[i:quote], '\\')
		if escape < 0 {
			return quote
		}
		i += escape + 2
	}
	return len(body)
}
