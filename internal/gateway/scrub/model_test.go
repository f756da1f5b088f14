package scrub

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"
)

// The model: every form of every key, looked for at every place by trying all
// spellings of each character. It shares no code with the automaton but the
// list of forms.

type span struct{ from, to int }

// occurrences returns all places where a form of a key stands.
func occurrences(s *Set, text string) []span {
	var all []span
	for _, k := range s.keys {
		for _, part := range parts(k) {
			for _, form := range forms(part) {
				for from := range len(text) {
					for _, to := range readings(text, from, form) {
						all = append(all, span{from, to})
					}
				}
			}
		}
	}
	return all
}

// readings returns where the form can end that begins at from.
func readings(text string, from int, form string) []int {
	ends := []int{from}
	for i := range len(form) {
		var next []int
		for _, at := range ends {
			for _, n := range spelled(text[at:], form[i]) {
				if !slices.Contains(next, at+n) {
					next = append(next, at+n)
				}
			}
		}
		if ends = next; len(ends) == 0 {
			return nil
		}
	}
	return ends
}

// spelled returns the lengths of the spellings of c that text begins with.
func spelled(text string, c byte) (lengths []int) {
	if text != "" && text[0] == c {
		lengths = append(lengths, 1)
	}
	if strings.ContainsRune(`/"\`, rune(c)) && strings.HasPrefix(text, `\`+string(rune(c))) {
		lengths = append(lengths, 2)
	}
	if len(text) >= 3 && strings.EqualFold(text[:3], fmt.Sprintf("%%%02x", c)) {
		lengths = append(lengths, 3)
	}
	if len(text) >= 6 && text[:2] == `\u` && strings.EqualFold(text[2:6], fmt.Sprintf("%04x", c)) {
		lengths = append(lengths, 6)
	}
	return lengths
}

func masked(text string, spans []span) string {
	b := []byte(text)
	for _, s := range spans {
		for i := s.from; i < s.to; i++ {
			b[i] = '*'
		}
	}
	return string(b)
}

// checkModel pushes text in the chunks that cuts name and compares with the
// model: what is no key stays, what is one is gone.
func checkModel(t interface{ Fatalf(string, ...any) }, set *Set, text string, cuts []int) {
	f := set.Filter()
	var out []byte
	at := 0
	for _, c := range cuts {
		c = min(at+c, len(text))
		out = f.Push(out, []byte(text[at:c]))
		at = c
	}
	out = f.Flush(f.Push(out, []byte(text[at:])))
	want := masked(text, occurrences(set, text))
	if string(out) != want {
		t.Fatalf("keys %q, cuts %v:\n text %q\n gave %q\n want %q", set.keys, cuts, text, out, want)
	}
	if left := occurrences(set, string(out)); len(left) > 0 {
		t.Fatalf("keys %q: %q still holds one at %v", set.keys, out, left)
	}
	if f.earliest() != f.end || len(f.live) > 0 {
		t.Fatalf("not as new after Flush")
	}
}

// alphabets that make forms of different keys and readings of escapes overlap.
var alphabets = []string{
	"ab", "0123456789abcdef", "46", "%46", `\u06`, `\/"`, "sk-ant0123456789_ABCDEFxyz/+=:", `%\u0/"a4:`,
}

func TestModel(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		alphabet := rapid.SampledFrom(alphabets).Draw(rt, "alphabet")
		word := rapid.StringOfN(rapid.RuneFrom([]rune(alphabet)), Min, 14, -1)
		set := New(rapid.SliceOfN(word, 1, 4).Draw(rt, "keys")...)
		var text strings.Builder
		for range rapid.IntRange(0, 6).Draw(rt, "pieces") {
			text.WriteString(piece(rt, set, alphabet))
		}
		checkModel(rt, set, text.String(), rapid.SliceOfN(rapid.IntRange(0, 9), 0, 40).Draw(rt, "cuts"))
	})
}

// piece draws noise, or a form of a key, whole or cut, in random spellings.
func piece(rt *rapid.T, set *Set, alphabet string) string {
	if rapid.IntRange(0, 3).Draw(rt, "noise") == 0 {
		return rapid.StringOfN(rapid.RuneFrom([]rune(alphabet+"%\\u0")), 0, 12, -1).Draw(rt, "text")
	}
	form := rapid.SampledFrom(forms(rapid.SampledFrom(set.keys).Draw(rt, "key"))).Draw(rt, "form")
	form = form[:rapid.IntRange(len(form)/2, len(form)).Draw(rt, "length")]
	if rapid.Bool().Draw(rt, "plain") {
		return form
	}
	var b strings.Builder
	for i := range len(form) {
		all := append(escapes(form[i]), form[i:i+1])
		b.WriteString(all[rapid.IntRange(0, len(all)-1).Draw(rt, "spelling")])
	}
	return b.String()
}

func FuzzFilter(f *testing.F) {
	f.Add("aabaaaab\nabababab", "aaabaabaaaabab", []byte{3, 1})
	f.Add("41414141", "%41%341%34%31414141", []byte{2})
	f.Add(`\\\\\\\/`, `\\\\\\\\\\\\\\\\\\\/`, []byte{1, 1, 1})
	f.Add("sk-abc/+", `sk%2dabc\/\u002b c2stYWJjLys=`, []byte{5})
	f.Fuzz(func(t *testing.T, keys, text string, sizes []byte) {
		list := strings.Split(keys, "\n")
		if len(keys) > 64 || len(list) > 3 || len(text) > 256 || strings.ContainsAny(keys, "* ") || !utf8.ValidString(keys) {
			return
		}
		cuts := make([]int, len(sizes))
		for i, n := range sizes {
			cuts[i] = int(n)
		}
		checkModel(t, New(list...), text, cuts)
	})
}
