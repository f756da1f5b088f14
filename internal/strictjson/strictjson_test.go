package strictjson

import (
	"bytes"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"
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
