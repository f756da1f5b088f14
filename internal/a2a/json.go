package a2a

import (
	"bytes"
	"encoding/json"
	"strings"
	"unicode/utf8"

	"github.com/tidwall/gjson"

	"moeca/internal/strictjson"
)

const (
	maxDepth  = 64     // nesting of a body that is read; SDKs stay below 20
	maxPieces = 20_000 // messages, or parts, of one body
)

// document is a body read as JSON.
type document struct {
	value   gjson.Result
	partial bool   // the body ended early; value is what was whole of it
	text    string // the body
	used    int    // how much of it is in value
	rest    string // its end, which could not be read
}

// parse reads a body. Bytes that are no UTF-8 are replaced. A body that ends
// early is read as far as it goes.
func parse(body []byte) (d document, ok bool) {
	body, tail := wholeText(body)
	text := strings.TrimLeft(strings.ToValidUTF8(string(body), "\uFFFD"), "\uFEFF \t\r\n")
	if b := []byte(text); len(tail) == 0 && json.Valid(b) {
		if !strictjson.Deeper(b, maxDepth) {
			return document{value: gjson.Parse(text)}, true
		}
		return document{}, false
	}
	whole, used, ok := complete(text)
	if !ok {
		return document{}, false
	}
	text += string(tail)
	return document{value: gjson.Parse(whole), partial: true, text: text, used: used, rest: strings.TrimSpace(text[used:])}, true
}

// wholeText parts a character that was cut from the end of a body.
func wholeText(body []byte) (whole, tail []byte) {
	for i := len(body) - 1; i >= 0 && i >= len(body)-utf8.UTFMax; i-- {
		if utf8.RuneStart(body[i]) {
			if !utf8.FullRune(body[i:]) {
				return body[:i], body[i:]
			}
			break
		}
	}
	return body, nil
}

// quoted returns the place after the string that begins at i, or more than
// len(s) when it does not end.
func quoted(s string, i int) int {
	for i++; i < len(s); i++ {
		switch s[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return len(s) + 1
}

// complete turns the beginning of an object or array into a whole one: it drops
// what is not a whole value at the end, keeps a string value as far as it goes,
// and closes what is open. used is how much of s is in it.
func complete(s string) (whole string, used int, ok bool) {
	var p prefix
	for i := 0; i < len(s) && !p.broken; {
		i = p.next(s, i)
	}
	if p.broken || len(p.open) == 0 {
		return "", 0, false
	}
	var b strings.Builder
	b.WriteString(s[:p.safe])
	if p.inside {
		b.WriteByte('"')
	}
	for i := len(p.open) - 1; i >= 0; i-- {
		b.WriteByte(p.open[i] + 2) // } is { + 2, ] is [ + 2
	}
	whole = b.String()
	return whole, p.safe, json.Valid([]byte(whole))
}

// prefix is the state of reading JSON that may end anywhere.
type prefix struct {
	open   []byte // brackets not closed yet
	safe   int    // everything before is whole, but for what is open
	value  bool   // a colon was read: what comes is a value
	inside bool   // safe is inside a string value
	broken bool   // no beginning of an object or array
}

// next reads one token at i and returns the place after it.
func (p *prefix) next(s string, i int) int {
	switch c := s[i]; c {
	case ' ', '\t', '\r', '\n':
		return i + 1
	case ',':
		p.value = false
		return i + 1
	case ':':
		p.value = true
		return i + 1
	case '{', '[':
		p.open = append(p.open, c)
		p.value, p.safe = false, i+1
		p.broken = len(p.open) > maxDepth
		return i + 1
	case '}', ']':
		p.broken = len(p.open) < 2 || p.open[len(p.open)-1]+2 != c
		if !p.broken {
			p.open, p.safe = p.open[:len(p.open)-1], i+1
		}
		return i + 1
	case '"':
		return p.text(s, i)
	}
	end := i + strings.IndexAny(s[i:], ",]} \t\r\n")
	p.broken = len(p.open) == 0
	if end < i {
		return len(s) // a number or a word that may go on
	}
	p.safe = end
	return max(end, i+1)
}

func (p *prefix) text(s string, i int) int {
	if p.broken = len(p.open) == 0; p.broken {
		return i
	}
	value := p.value || p.open[len(p.open)-1] == '['
	end := quoted(s, i)
	switch {
	case end > len(s) && value:
		p.safe, p.inside = wholeRunes(s, i+1), true
	case value:
		p.safe = end
	}
	return end
}

// wholeRunes returns the place before an escape or a character that is not
// whole at the end of a string whose inside begins at i.
func wholeRunes(s string, i int) int {
	last := i // behind the last whole escape or character
	for i < len(s) {
		n := 1
		if s[i] == '\\' {
			n = 2
			if i+1 < len(s) && s[i+1] == 'u' {
				n = 6
			}
		} else {
			_, n = utf8.DecodeRuneInString(s[i:])
		}
		if i += n; i > len(s) {
			break
		}
		if high := n == 6 && surrogate(s[i-6:i]); !high {
			last = i
		}
	}
	return last
}

// surrogate says that an escape is the first half of a pair.
func surrogate(escape string) bool {
	return (escape[2] == 'd' || escape[2] == 'D') && strings.IndexByte("89abAB", escape[3]) >= 0
}

// compact returns JSON without the spaces between its tokens, in memory of its
// own. It returns nil for what is no JSON or nested too deep.
func compact(raw string) json.RawMessage {
	var b bytes.Buffer
	if json.Compact(&b, []byte(raw)) != nil || b.Len() == 0 || strictjson.Deeper(b.Bytes(), maxDepth) {
		return nil
	}
	return bytes.Clone(b.Bytes())
}

// quote returns s as a JSON string.
func quote(s string) json.RawMessage {
	b, err := json.Marshal(s)
	if err != nil {
		return nil // a string always has an encoding
	}
	return b
}
