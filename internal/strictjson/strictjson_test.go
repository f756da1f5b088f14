package strictjson

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestReadRefusesWhatTwoReadersCouldReadInTwoWays(t *testing.T) {
	for name, c := range map[string]struct {
		body string
		want error
	}{
		"an object":                           {`{"a":1,"b":{"a":2},"c":[{"a":1},{"a":2}]}`, nil},
		"an object in white space":            {" \r\n\t{} \n", nil},
		"a key as a value":                    {`{"a":"b","b":"a"}`, nil},
		"a key twice":                         {`{"a":1,"a":2}`, ErrKey},
		"a key twice, equal values":           {`{"a":1,"a":1}`, ErrKey},
		"a key twice, deep inside":            {`{"x":[[{"y":{"a":1,"b":2,"a":3}}]]}`, ErrKey},
		"a key twice around an object":        {`{"a":{"b":1},"a":2}`, ErrKey},
		"a key in another case":               {`{"ref":1,"Ref":2}`, ErrKey},
		"a key spelled with an escape":        {`{"ref":1,"r\u0065f":2}`, ErrKey},
		"a key with an escape in other case":  {`{"ref":1,"r\u0045f":2}`, ErrKey},
		"a Kelvin sign for a k":               {`{"key":1,"\u212aey":2}`, ErrKey},
		"a long s for an s":                   {`{"sha":1,"ſha":2}`, ErrKey},
		"a dotless i for an i":                {`{"id":1,"ıd":2}`, ErrKey},
		"a dotted capital I for an i":         {`{"id":1,"İd":2}`, ErrKey},
		"two lone surrogates, read as one":    {`{"\ud800":1,"\ud801":2}`, ErrKey},
		"an empty key twice":                  {`{"":1,"":2}`, ErrKey},
		"a quote inside a key":                {`{"a\"b":1,"a\"B":2}`, ErrKey},
		"a byte order mark":                   {"\xef\xbb\xbf{}", ErrEncoding},
		"UTF-16":                              {"{\x00}\x00", ErrSyntax},
		"bytes that are not UTF-8":            {"{\"a\":\"\xff\"}", ErrEncoding},
		"a surrogate in UTF-8":                {"{\"a\":\"\xed\xa0\x80\"}", ErrEncoding},
		"data behind it":                      {`{}{}`, ErrSyntax},
		"a word behind it":                    {`{} x`, ErrSyntax},
		"a NUL behind it":                     {"{}\x00", ErrSyntax},
		"nothing":                             {``, ErrSyntax},
		"white space":                         {` `, ErrSyntax},
		"half an object":                      {`{"a":`, ErrSyntax},
		"a comment":                           {`{/**/}`, ErrSyntax},
		"a comma at the end":                  {`{"a":1,}`, ErrSyntax},
		"a control inside a string":           {"{\"a\":\"\n\"}", ErrSyntax},
		"single quotes":                       {`{'a':1}`, ErrSyntax},
		"NaN":                                 {`{"a":NaN}`, ErrSyntax},
		"an array":                            {`[{}]`, ErrType},
		"a string":                            {`"{}"`, ErrType},
		"null":                                {`null`, ErrType},
		"nesting at the limit":                {strings.Repeat(`{"a":`, MaxDepth-1) + "{}" + strings.Repeat("}", MaxDepth-1), nil},
		"nesting over the limit":              {strings.Repeat(`{"a":`, MaxDepth) + "{}" + strings.Repeat("}", MaxDepth), ErrDepth},
		"nesting that would exhaust a stack":  {strings.Repeat("[", 8<<20), ErrDepth},
		"a key twice behind many":             {manyKeys(100, `"k70":0`), ErrKey},
		"many keys":                           {manyKeys(100, `"k100":0`), nil},
		"many keys in each of two":            {`[` + manyKeys(100, `"x":0`) + `]`, ErrType},
		"half a literal":                      {`{"a":tru}`, ErrSyntax},
		"a number with a zero":                {`{"a":01}`, ErrSyntax},
		"a bare minus":                        {`{"a":-}`, ErrSyntax},
		"a number without end":                {`{"a":1.}`, ErrSyntax},
		"an exponent without end":             {`{"a":1e+}`, ErrSyntax},
		"numbers":                             {`{"a":[0,-0,1.5,-12.25e-3,1E9]}`, nil},
		"an escape of no letter":              {`{"a":"\x"}`, ErrSyntax},
		"half an escape":                      {`{"a":"\u12g4"}`, ErrSyntax},
		"a string without end":                {`{"a":"bcdefghijklmnop`, ErrSyntax},
		"another closing bracket":             {`{"a":[1}]`, ErrSyntax},
		"no comma":                            {`{"a":[1 2]}`, ErrSyntax},
		"no colon":                            {`{"a" 1}`, ErrSyntax},
		"a comma first":                       {`{"a":[,1]}`, ErrSyntax},
		"too many values":                     {`{"a":[` + strings.Repeat("0,", MaxValues) + `0]}`, ErrSize},
		"brackets in a string are no nesting": {`{"a":"` + strings.Repeat("[", 1000) + `\"["}`, nil},
	} {
		if _, err := Read([]byte(c.body), Object); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", name, err, c.want)
		}
	}
	if _, err := Read([]byte(`[]`), Array); err != nil {
		t.Error(err)
	}
	if _, err := Read([]byte(`{}`), Array); !errors.Is(err, ErrType) {
		t.Error(err)
	}
}

// manyKeys is an object with n keys and one more member.
func manyKeys(n int, more string) string {
	var b strings.Builder
	b.WriteByte('{')
	for i := range n {
		fmt.Fprintf(&b, `"k%d":{"k%d":1},`, i, i)
	}
	return b.String() + more + "}"
}

// TestEveryByteOfAStringIsLookedAt: also those that are read eight at a time.
func TestEveryByteOfAStringIsLookedAt(t *testing.T) {
	for c := range 256 {
		for at := range 20 {
			text := []byte(`{"a":"` + strings.Repeat("x", 20) + `"}`)
			text[6+at] = byte(c)
			_, err := Read(text, Object)
			if (err == nil) != (json.Valid(text) && utf8.Valid(text)) {
				t.Fatalf("%q: %v", text, err)
			}
		}
	}
}

func TestValuesAreRead(t *testing.T) {
	d, err := Read([]byte(`{ "a" : [1.5, true, null, "x\ny", {"b":false}] , "B":{} }`), Object)
	if err != nil {
		t.Fatal(err)
	}
	var keys, raw []string
	d.All(func(key string, v Document) bool {
		keys, raw = append(keys, key), append(raw, v.Raw())
		return true
	})
	if got := strings.Join(keys, ","); got != "a,,,,,,b,B" {
		t.Errorf("keys %s", got)
	}
	if got := strings.Join(raw[1:], "|"); got != `1.5|true|null|"x\ny"|{"b":false}|false|{}` {
		t.Errorf("values %s", got)
	}
	if d.Values() != 9 || d.Folded("b").Values() != 1 || d.Folded("B").Exists() || (Document{}).Values() != 0 {
		t.Errorf("%d values", d.Values())
	}
	a, _ := d.Field("a")
	var list []Document
	a.Each(func(_ string, v Document) bool { list = append(list, v); return true })
	n, isNumber := list[0].Number()
	on, isBool := list[1].Bool()
	text, isText := list[3].Text()
	if n != 1.5 || !isNumber || !on || !isBool || !list[2].IsNull() || text != "x\ny" || !isText || !list[4].IsObject() {
		t.Errorf("%v %v %v %q", n, on, list[2].Raw(), text)
	}
}

func BenchmarkRead(b *testing.B) {
	body := fmt.Appendf(nil, `{"model":"x","max_tokens":1000,"messages":[{"role":"user","content":"%s"}]}`, strings.Repeat(`A sentence of the prompt with \"quotes\" and a line\n`, 36))
	b.SetBytes(int64(len(body)))
	for b.Loop() {
		if _, err := Read(body, Object); err != nil {
			b.Fatal(err)
		}
	}
}

func TestFieldIsFoundByExactNameOnly(t *testing.T) {
	d, err := Read([]byte(`{"a.b":"dot","a":{"b":"inner"},"Case":1,"s\u0068a":"x","n":null,"*":"star"}`), Object)
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"a.b": "dot", "sha": "x", "n": "", "absent": "", "*": "star", "?": ""} {
		if got, err := d.String(name); got != want || err != nil {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
	for _, name := range []string{"case", "CASE", "A.B", "SHA"} {
		if _, err := d.Field(name); !errors.Is(err, ErrKey) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := d.String("a"); !errors.Is(err, ErrType) {
		t.Errorf("an object as text: %v", err)
	}
	if err := d.Only("a.b", "a", "Case", "sha", "n", "*"); err != nil {
		t.Error(err)
	}
	if err := d.Only("a"); !errors.Is(err, ErrKey) {
		t.Errorf("an unknown key: %v", err)
	}
	if _, err := (Document{}).Field("a"); !errors.Is(err, ErrType) {
		t.Errorf("a field of nothing: %v", err)
	}
}

// keysOf lists every key with its place, as encoding/json sees them.
func keysOf(v any, at string, out map[string]bool) {
	switch v := v.(type) {
	case map[string]any:
		for k, e := range v {
			out[at+"/"+k] = true
			keysOf(e, at+"/"+k, out)
		}
	case []any:
		for _, e := range v {
			keysOf(e, at+"/[]", out)
		}
	}
}

func keysOfDocument(d Document, at string, out map[string]bool) {
	if !d.IsObject() && !d.IsArray() {
		return
	}
	d.Each(func(key string, value Document) bool {
		if d.IsArray() {
			key = "[]"
		} else {
			out[at+"/"+key] = true
		}
		keysOfDocument(value, at+"/"+key, out)
		return true
	})
}

func FuzzRead(f *testing.F) {
	for _, s := range []string{`{"a":{"b":[1,{"c":null}]}}`, `{"a":1,"A":2}`, `{"\u212a":1}`, `{"a":"\ud800"}`, `{"a":1e999}`, "\xef\xbb\xbf{}", `{"":{"":""}}`, `{"a\\":"\\"}`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		before := bytes.Clone(body)
		d, err := Read(body, Object)
		if !bytes.Equal(before, body) {
			t.Fatal("the body was changed")
		}
		if err != nil {
			if errors.Is(err, ErrSyntax) && json.Valid(body) {
				t.Fatalf("refused %q: %v", body, err)
			}
			return
		}
		decoder := json.NewDecoder(bytes.NewReader(body))
		decoder.UseNumber()
		var v map[string]any
		if err := decoder.Decode(&v); err != nil {
			t.Fatalf("accepted %q: %v", body, err)
		}
		want, got := map[string]bool{}, map[string]bool{}
		keysOf(v, "", want)
		keysOfDocument(d, "", got)
		if !maps.Equal(want, got) {
			t.Fatalf("%q: %v, encoding/json sees %v", body, slices.Sorted(maps.Keys(got)), slices.Sorted(maps.Keys(want)))
		}
		for k := range v {
			if f, err := d.Field(k); err != nil || !f.Exists() {
				t.Fatalf("%q: field %q: %v", body, k, err)
			}
		}
	})
}
