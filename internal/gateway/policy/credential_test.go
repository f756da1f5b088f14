package policy

import (
	"net/http"
	"strings"
	"testing"

	"moeca/internal/gateway/upstream"
)

func TestTrelloTakesNoCredentialOfTheCallersOwn(t *testing.T) {
	const form, json, parts = "application/x-www-form-urlencoded", "application/json", "multipart/form-data; boundary=b"
	part := func(disposition string) string {
		return "--b\r\nContent-Disposition: " + disposition + "\r\n\r\nx\r\n--b--\r\n"
	}
	for name, c := range map[string]struct {
		kind, body string
		never      bool
	}{
		"a card":                       {json, `{"name":"a key","idList":"1","desc":"{\"key\":1}"}`, false},
		"a card as a form":             {form, "name=key%3Dtoken&idList=1", false},
		"an attachment":                {parts, part(`form-data; name="file"; filename="key"`), false},
		"nothing":                      {"", "", false},
		"a key":                        {json, `{"name":"x","key":"mine"}`, true},
		"a token with an escape":       {json, `{"name":"x","tok\u0065n":"mine"}`, true},
		"a key in capitals":            {json, `{"KEY":"mine"}`, true},
		"a key twice":                  {json, `{"a":1,"a":2}`, true},
		"a token in a form":            {form, "name=x&token=mine", true},
		"a token escaped in a form":    {form, "name=x&%74oken=mine", true},
		"a list of keys":               {form, "key%5B%5D=mine", true},
		"a semicolon in a form":        {form, "name=x;key=mine", true},
		"a broken escape":              {form, "%zz=1", true},
		"a token among parts":          {parts, part(`form-data; name="token"`), true},
		"a part without a name":        {parts, part(`form-data`), true},
		"parts without a boundary":     {"multipart/form-data", part(`form-data; name="a"`), true},
		"another type":                 {"text/plain", "key=mine", true},
		"no type":                      {"", "key=mine", true},
		"JSON that is sent as a form":  {form, `{"name":"x","key":"mine"}`, false}, // a form reads no key there
		"a form that is sent as JSON":  {json, "key=mine", true},
		"JSON in other characters, 16": {json + "; charset=utf-16", `{"name":"x"}`, true},
	} {
		h := http.Header{}
		if c.kind != "" {
			h.Set("Content-Type", c.kind)
		}
		ops, err := Parse(Input{Kind: upstream.KindTrello, Method: "POST", Path: "/1/cards", Header: h, Body: []byte(c.body)})
		if err != nil || len(ops) != 1 || (ops[0].Never != "") != c.never {
			t.Errorf("%s: %+v, %v", name, ops, err)
		}
	}
	two := http.Header{"Content-Type": {json, form}}
	if ops, _ := Parse(Input{Kind: upstream.KindTrello, Method: "POST", Path: "/1/cards", Header: two, Body: []byte(`{}`)}); !strings.Contains(ops[0].Never, "key") {
		t.Error("a body of two types")
	}
}

func TestNoBodyReplacesTheMethodThatWasJudged(t *testing.T) {
	const form, json = "application/x-www-form-urlencoded", "application/json; charset=utf-8"
	for name, c := range map[string]struct {
		kind, body string
		never      bool
	}{
		"a form":                  {form, "a=1&_method=DELETE", true},
		"a form, escaped":         {form, "%5Fmethod=DELETE", true},
		"a form, capitals":        {form, "_METHOD=delete", true},
		"a form that is broken":   {form, "_method=DELETE&%zz", true},
		"JSON":                    {json, `{"_method":"DELETE"}`, true},
		"form data":               {"multipart/form-data; boundary=b", "--b\r\nContent-Disposition: form-data; name=\"_method\"\r\n\r\nDELETE\r\n--b--\r\n", true},
		"JSON, twice":             {json, `{"_method":"GET","_method":"DELETE"}`, true},
		"JSON, twice by escapes":  {json, `{"a":1,"a":2,"\u005f\u006dethod":"DELETE"}`, true},
		"JSON behind a mark":      {json, "\ufeff" + `{"_method":"DELETE"}`, true},
		"JSON with a comment":     {json, `{/**/"_method":"DELETE"}`, true},
		"calls of a tool server":  {json, `[{"jsonrpc":"2.0","method":"tools/call"}]`, false},
		"a call of a tool server": {json, `{"jsonrpc":"2.0","method":"tools/call","params":{"_method":"x"}}`, false},
		"a method in a form":      {form, "method=post", false},
		"bytes":                   {"application/octet-stream", "_method=DELETE", false},
	} {
		ops, err := Parse(Input{Kind: upstream.KindCustom, Method: "POST", Path: "/x", Header: http.Header{"Content-Type": {c.kind}}, Body: []byte(c.body)})
		if err != nil || len(ops) != 1 || (ops[0].Never != "") != c.never {
			t.Errorf("%s: %+v, %v", name, ops, err)
		}
	}
}
