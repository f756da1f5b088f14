package scrub

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"io"
	"net/url"
	"strings"
	"testing"
	"testing/iotest"
)

const (
	key   = "sk-ant-aab-aaab-SECRET/+1"
	other = "0123456789abcdef0123456789abcdef"
	basic = "ann@example.com:ATATT3xFfGF0-9"

	signer = "AKIDEXAM:wJalrXUtnFEM:IQoJb3JpZ2lu"
)

func clean(s *Set, chunks ...string) string {
	f := s.Filter()
	var out []byte
	for _, c := range chunks {
		out = f.Push(out, []byte(c))
	}
	return string(f.Flush(out))
}

func stars(s string) string { return strings.Repeat("*", len(s)) }

func percent(s string, format func(string) string) string {
	var b strings.Builder
	for i := range len(s) {
		b.WriteString("%" + format(hex.EncodeToString([]byte{s[i]})))
	}
	return b.String()
}

func jsonText(v any) string {
	b, _ := json.Marshal(v)
	return string(b)
}

func same(s string) string { return s }

// escaped spells each character as \u00XX.
func escaped(s string) string {
	return strings.ReplaceAll(percent(s, same), "%", `\u00`)
}

func TestEveryFormIsReplaced(t *testing.T) {
	set := New(key, other, basic, signer)
	std, raw := base64.StdEncoding, base64.RawURLEncoding
	for name, text := range map[string]string{
		"as it is":                      key,
		"after a prefix":                "Bearer " + key,
		"another provider's":            "token=" + other + "&x=1",
		"twice, touching":               key + key,
		"lower hex":                     hex.EncodeToString([]byte(key)),
		"upper hex":                     strings.ToUpper(hex.EncodeToString([]byte(key))),
		"hex of the header":             hex.EncodeToString([]byte("Bearer " + key)),
		"base64":                        std.EncodeToString([]byte(key)),
		"base64, one byte before":       std.EncodeToString([]byte("x" + key)),
		"base64, two bytes before":      std.EncodeToString([]byte("xy" + key)),
		"base64, neighbours":            std.EncodeToString([]byte("user:" + key + "\n")),
		"base64 for URLs":               raw.EncodeToString([]byte(key)),
		"base64 for URLs, after one":    raw.EncodeToString([]byte("~" + key)),
		"base64 for URLs, after two":    raw.EncodeToString([]byte("~~" + key)),
		"the Basic credential":          "Basic " + std.EncodeToString([]byte(basic)),
		"its password":                  "token ATATT3xFfGF0-9.",
		"its password in another Basic": "Basic " + std.EncodeToString([]byte("x:ATATT3xFfGF0-9")),
		"hex of the Basic credential":   hex.EncodeToString([]byte("Basic " + std.EncodeToString([]byte(basic)))),
		"base64 of that credential":     std.EncodeToString([]byte("Basic " + std.EncodeToString([]byte(basic)))),
		"a piece of three":              "X-Amz-Security-Token: " + signer[len(signer)-12:],
		"another piece of three":        "secret " + signer[9:21] + " end",
		"percent where needed":          url.QueryEscape(key),
		"percent in a path":             url.PathEscape(key),
		"percent everywhere":            percent(key, same),
		"percent in capitals":           percent(key, strings.ToUpper),
		"percent in part":               percent(key[:3], same) + key[3:9] + percent(key[9:], strings.ToUpper),
		"percent of base64":             url.QueryEscape(std.EncodeToString([]byte(key))),
		"percent sign before hex":       "%" + other,
		"percent sign before both":      "%" + other[:4] + percent(other[4:], same),
		"a broken escape before":        "%%3" + key,
		"JSON":                          jsonText(map[string]string{"k": key}),
		"JSON that escapes slashes":     strings.ReplaceAll(key, "/", `\/`),
		"JSON escapes everywhere":       escaped(key),
		"JSON escapes in capitals":      strings.ReplaceAll(percent(key, strings.ToUpper), "%", `\u00`),
		"JSON escapes of base64":        strings.ReplaceAll(std.EncodeToString([]byte(key+"\xff\xff\xff")), "/", `\/`),
		"JSON in JSON":                  jsonText(jsonText(map[string]string{"k": key})),
		"every spelling at once":        key[:2] + percent(key[2:4], same) + escaped(key[4:12]) + key[12:22] + `\/` + key[23:],
		"a backslash before an escape":  `\` + escaped(key),
	} {
		got := clean(set, text)
		if got == text || len(got) != len(text) || !strings.Contains(got, "********") {
			t.Errorf("%s: %q became %q", name, text, got)
		}
		if hits := occurrences(set, text); got != masked(text, hits) {
			t.Errorf("%s: %q became %q, want %q", name, text, got, masked(text, hits))
		}
		for i := range text {
			if cut := clean(set, text[:i], text[i:]); cut != got {
				t.Errorf("%s cut at %d: %q", name, i, cut)
			}
		}
		if one := set.String(text); one != got {
			t.Errorf("%s as one text: %q", name, one)
		}
	}
}

func TestSecretIsFoundInEverySplit(t *testing.T) {
	text := "before sk-ant-aab-aa" + key + " sk-" + key + key + " after sk-ant-aab-aaab-SECRE"
	want := strings.ReplaceAll(text, key, stars(key))
	set := New(key)
	for i := range len(text) + 1 {
		for j := i; j <= len(text); j++ {
			if got := clean(set, text[:i], text[i:j], text[j:]); got != want {
				t.Fatalf("split at %d and %d: %q", i, j, got)
			}
		}
	}
}

func TestEverythingElseStaysAsItIs(t *testing.T) {
	set := New(key, other, basic)
	for name, text := range map[string]string{
		"all but the last character": key[:len(key)-1],
		"another case":               strings.ToLower(key),
		"events":                     "event: x\ndata: {\"t\":\"\\u00e9 \\n 100% \\\\ sk-ant\"}\n\n",
		"the user of a credential":   `{"emailAddress":"ann@example.com"}`,
		"escapes of other text":      percent("hello", same) + escaped("hello") + "%zz%4",
		"bytes":                      "\x00\xff%\\\x80",
		"reversed":                   "1+/TERCES-baaa-baa-tna-ks",
		"over two strings":           `["` + key[:9] + `","` + key[9:] + `"]`,
		"two layers of percent":      strings.ReplaceAll(percent(key, same), "%", "%25"),
	} {
		if got := clean(set, text); got != text {
			t.Errorf("%s: %q became %q", name, text, got)
		}
	}
}

func TestNothingButABeginningIsHeldBack(t *testing.T) {
	set := New(key, other)
	b64 := base64.StdEncoding.EncodeToString([]byte(key))
	for _, row := range []struct{ name, before, held string }{
		{"an event passes whole", "event: ping\ndata: {\"k\":\"" + key[:9] + "\"}\n\n", ""},
		{"an event with an escape at its end", "data: \"\\u00\n\n", ""},
		{"a beginning", "x", key[:5]},
		{"a beginning in base64", "x: ", b64[:12]},
		{"a beginning in percent", "?k=", percent(key[:7], same)},
		{"an open escape", "!", "%7"},
		{"an open escape after a beginning", "!", key[:4] + `\u00`},
		{"a backslash", "!", `\`},
	} {
		f := set.Filter()
		if got := string(f.Push(nil, []byte(row.before+row.held))); got != row.before {
			t.Errorf("%s: passed %q", row.name, got)
		}
		if got := string(f.Push(nil, []byte("\n"))); got != row.held+"\n" {
			t.Errorf("%s: held back %q", row.name, got)
		}
	}
	f := set.Filter()
	if got := string(f.Push(nil, []byte(key))); got != stars(key) {
		t.Errorf("a whole key is held back: %q", got)
	}
}

func TestHeldBackIsBounded(t *testing.T) {
	set := New(key, other)
	bound := 6 * 2 * len(other)
	for _, unit := range []string{percent("0", same), escaped("0"), "0", `\u00`, "%", `\`, "0123456789abcdef", other[:31], percent(other[:31], same)} {
		f := set.Filter()
		in, out := 0, 0
		for range 4000 {
			in += len(unit)
			out += len(f.Push(nil, []byte(unit)))
			if in-out > bound || cap(f.buf) > 1<<12 || len(f.live) > 4 {
				t.Fatalf("%q: %d bytes held back, %d readings", unit, in-out, len(f.live))
			}
		}
	}
}

func TestMaskIsInNoKey(t *testing.T) {
	set := New("********", "ab*cd*ef")
	for _, text := range []string{"**********", "ab*cd*ef", "ab" + "ab*cd*ef"} {
		if got := clean(set, text); strings.Contains(got, "********") || strings.Contains(got, "ab*cd*ef") {
			t.Errorf("%q became %q", text, got)
		}
	}
}

func TestKeysThatAreNotLookedFor(t *testing.T) {
	for _, set := range []*Set{New(), New(""), New("short")} {
		if got := clean(set, "a short", " text"); got != "a short text" || set.Filter().Named("short") {
			t.Error(got)
		}
	}
	set := New(key, key, other)
	if !set.Holds(key) || !set.Holds("") || set.Holds(basic) {
		t.Error("wrong idea of what it holds")
	}
}

func TestNamesHaveNoCase(t *testing.T) {
	set := New(key, other)
	for name, want := range map[string]bool{
		"X-" + strings.ToUpper(key):                                      true,
		"X-" + strings.ToUpper(hex.EncodeToString([]byte(key))) + "-Key": true,
		"Anthropic-Ratelimit-Requests-Remaining":                         false,
		"X-Sk-Ant":                                                       false,
	} {
		if set.Filter().Named(name) != want {
			t.Errorf("%s: %v", name, !want)
		}
	}
}

// TestReaderAndFilterAgree: whatever lands in the caller's buffer at once, and
// however small that is.
func TestReaderAndFilterAgree(t *testing.T) {
	set := New(key)
	text := strings.Repeat("words, 100% of them, s", 3) + key + `sk-ant\u0073k %73k` + key[:12] + key + "sk" + strings.Repeat("-", 40) + key[:5]
	f := set.Filter()
	want := string(f.Flush(f.Push(nil, []byte(text))))
	for chunk := 1; chunk < len(text); chunk++ {
		for size := 1; size < 90; size += 7 {
			r := NewReader(&chunks{text, chunk}, set.Filter())
			got, err := io.ReadAll(struct{ io.Reader }{&small{r, size}})
			if err != nil || string(got) != want || r.Hits() != 2 {
				t.Fatalf("%d bytes at once into %d: %q, %v", chunk, size, got, err)
			}
		}
	}
}

// chunks is read n bytes at a time.
type chunks struct {
	left string
	n    int
}

func (c *chunks) Read(p []byte) (int, error) {
	if c.left == "" {
		return 0, io.EOF
	}
	n := copy(p, c.left[:min(c.n, len(c.left))])
	c.left = c.left[n:]
	return n, nil
}

// small offers its source n bytes of room.
type small struct {
	r io.Reader
	n int
}

func (s *small) Read(p []byte) (int, error) { return s.r.Read(p[:min(s.n, len(p))]) }

func TestReaderKeepsLengthAndError(t *testing.T) {
	text, set := "a"+key+"b", New(key)
	for name, src := range map[string]io.Reader{
		"whole": strings.NewReader(text), "byte by byte": iotest.OneByteReader(strings.NewReader(text)),
		"data with error": iotest.DataErrReader(strings.NewReader(text)),
	} {
		r := NewReader(src, set.Filter())
		got, err := io.ReadAll(r)
		if err != nil || string(got) != "a"+stars(key)+"b" || r.Hits() != 1 {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
	broken := io.MultiReader(strings.NewReader("sk-ant"), iotest.ErrReader(io.ErrUnexpectedEOF))
	got, err := io.ReadAll(NewReader(broken, set.Filter()))
	if string(got) != "sk-ant" || err != io.ErrUnexpectedEOF {
		t.Fatalf("%q, %v", got, err)
	}
}
