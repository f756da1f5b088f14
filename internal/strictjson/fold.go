package strictjson

import (
	"encoding/json"
	"strings"
	"unicode"
	"unicode/utf8"
)

// unquote decodes a valid JSON string.
func unquote(quoted string) string {
	if strings.IndexByte(quoted, '\\') < 0 {
		return quoted[1 : len(quoted)-1]
	}
	var s string
	if json.Unmarshal([]byte(quoted), &s) != nil { // it is valid: cannot happen, and then stays as it is
		return quoted
	}
	return s
}

// Fold maps a name so that names which any case-insensitive reader may take
// for each other become equal: to lower case, where that is plain ASCII.
func Fold(name string) string {
	plain := true
	for i := 0; i < len(name) && plain; i++ {
		plain = name[i] < utf8.RuneSelf && (name[i] < 'A' || name[i] > 'Z')
	}
	if plain {
		return name
	}
	return strings.Map(func(r rune) rune {
		if r = upper(r); r < utf8.RuneSelf {
			return unicode.ToLower(r)
		}
		return r
	}, name)
}

// upper is one upper case for all letters that fold into each other.
func upper(r rune) rune {
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
}
