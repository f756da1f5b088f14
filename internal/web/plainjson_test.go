package web

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"unicode"
)

func TestPlainJSONIsTheSameDocument(t *testing.T) {
	for _, s := range []string{
		"", "plain", "日本語 🙂 é", "\x1b[2J\x00\n", "\u009b31m", "\u202e\u2066", "\x7f", "\u00ad\u200b\ufeff", "\U000E0041 tag", `\u202e`, `"\`,
	} {
		var b bytes.Buffer
		e := json.NewEncoder(PlainJSON(&b))
		e.SetEscapeHTML(false)
		if err := e.Encode(map[string]string{s: s}); err != nil {
			t.Fatal(err)
		}
		got := map[string]string{}
		if err := json.Unmarshal(b.Bytes(), &got); err != nil || got[s] != s {
			t.Errorf("%q became %q, %v", s, b.String(), err)
		}
		if strings.ContainsFunc(strings.TrimSuffix(b.String(), "\n"), func(r rune) bool { return unicode.IsControl(r) || unicode.Is(unicode.Cf, r) }) {
			t.Errorf("%q is written as %q", s, b.String())
		}
	}
}
