package strictjson

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/tidwall/gjson"
)

// MaxDepth is the deepest nesting that is read. Schemas of tools, the deepest
// documents clients send, stay below half of it.
const MaxDepth = 64

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
	if at := tooDeep(body); at >= 0 {
		return Document{}, fmt.Errorf("%w: more than %d levels at byte %d", ErrDepth, MaxDepth, at)
	}
	if !json.Valid(body) {
		return Document{}, ErrSyntax
	}
	if top := bytes.TrimLeft(body, " \t\r\n"); top[0] != byte(want) {
		return Document{}, fmt.Errorf("%w: the top must be %s", ErrType, want)
	}
	if at := doubledKey(body); at >= 0 {
		return Document{}, fmt.Errorf("%w: the key at byte %d stands twice in its object, in this or another case", ErrKey, at)
	}
	return Document{gjson.ParseBytes(body)}, nil
}

// String names the type in an error.
func (t Type) String() string {
	if t == Array {
		return "an array"
	}
	return "an object"
}

// tooDeep counts brackets outside strings and returns where the limit is
// passed, or -1. It runs before any other reader.
func tooDeep(body []byte) int {
	depth, quoted := 0, false
	for i := 0; i < len(body); i++ {
		switch c := body[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '{' || c == '[':
			if depth++; depth > MaxDepth {
				return i
			}
		case c == '}' || c == ']':
			depth--
		}
	}
	return -1
}

// doubledKey returns where a valid document repeats a key of an object, or -1.
func doubledKey(body []byte) int {
	var stack []map[string]bool // the keys of each open object; nil for an array
	key := false                // the next string is a key
	for i := 0; i < len(body); i++ {
		switch body[i] {
		case '{':
			stack, key = append(stack, map[string]bool{}), true
		case '[':
			stack, key = append(stack, nil), false
		case '}', ']':
			stack, key = stack[:len(stack)-1], false
		case ',':
			key = stack[len(stack)-1] != nil
		case '"':
			end := stringEnd(body, i)
			if key {
				name, seen := Fold(unquote(body[i:end])), stack[len(stack)-1]
				if seen[name] {
					return i
				}
				seen[name], key = true, false
			}
			i = end - 1
		}
	}
	return -1
}

// stringEnd returns the index behind the string that begins at i.
func stringEnd(body []byte, i int) int {
	for i++; body[i] != '"'; i++ {
		if body[i] == '\\' {
			i++
		}
	}
	return i + 1
}

// unquote decodes a valid JSON string.
func unquote(quoted []byte) string {
	if bytes.IndexByte(quoted, '\\') < 0 {
		return string(quoted[1 : len(quoted)-1])
	}
	var s string
	if json.Unmarshal(quoted, &s) != nil { // it is valid: cannot happen, and then stays as it is
		return string(quoted)
	}
	return s
}

// Fold maps a name so that names which any case-insensitive reader may take
// for each other become equal.
func Fold(name string) string {
	return strings.Map(func(r rune) rune {
		if r < utf8.RuneSelf {
			return unicode.ToUpper(r)
		}
		r = unicode.ToLower(unicode.ToUpper(r))
		for {
			next := unicode.SimpleFold(r)
			if next <= r {
				return unicode.ToUpper(next)
			}
			r = next
		}
	}, name)
}
