package strictjson

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// TestDepthIsCountedOutsideStrings compares with a reader that looks at each
// byte.
func TestDepthIsCountedOutsideStrings(t *testing.T) {
	for body, deep := range map[string]bool{
		`[[1]]`: false, `[[[1]]]`: true, `["[[[["]`: false, `["\"[[[["]`: false, `["\\",[[1]]]`: true, `"[[[`: false, `["\`: false, `["\"`: false,
	} {
		if got := Deeper([]byte(body), 2); got != deep {
			t.Errorf("%s: deep is %v", body, got)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		body := strings.Join(rapid.SliceOf(rapid.SampledFrom([]string{`\`, `"`, `[`, `{`, `]`, `}`, `a`, `\"`, `\\`})).Draw(t, "parts"), "")
		limit := rapid.IntRange(0, 5).Draw(t, "limit")
		if got, want := Deeper([]byte(body), limit), deepByByte(body, limit); got != want {
			t.Fatalf("%s at %d: %v, by byte %v", body, limit, got, want)
		}
	})
}

func deepByByte(body string, limit int) bool {
	depth, quoted := 0, false
	for i := 0; i < len(body); i++ {
		switch c := body[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '{' || c == '[':
			if depth++; depth > limit {
				return true
			}
		case c == '}' || c == ']':
			depth--
		}
	}
	return false
}
