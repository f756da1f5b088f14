package gateway

import (
	"net/http"
	"testing"
)

func TestLinksTurnPagesAndLeadNowhereElse(t *testing.T) {
	const host, own = "api.github.com", "http://127.0.0.1:1/github/repos/acme/widget/issues"
	next, last := "<"+own+`?page=2&per_page=1>; rel="next"`, "<"+own+`?page=9>; rel="last"`
	for name, row := range map[string]struct {
		links []string
		want  string
	}{
		"the next page": {[]string{`<https://api.github.com/repos/acme/widget/issues?page=2&per_page=1>; rel="next"`}, next},
		"by number, with the last": {
			[]string{`<https://api.github.com/repositories/7/issues?page=2&per_page=1>; rel="next", <https://api.github.com/repositories/7/issues?page=9>; rel="last"`},
			next + ", " + last,
		},
		"in two headers":       {[]string{`<https://api.github.com/x?page=2&per_page=1>; rel=next`, `<https://api.github.com/x?page=9>; title="a"; rel="last"`}, next + ", " + last},
		"commas in a query":    {[]string{`<https://api.github.com/x?labels=a,b&page=2>; rel="next"`}, "<" + own + `?labels=a,b&page=2>; rel="next"`},
		"another host":         {[]string{`<https://evil.example.com/x?page=2>; rel="next"`, `<//evil.example.com/?page=2>; rel="next"`, `</x?page=2>; rel="next"`}, ""},
		"a user":               {[]string{`<https://api.github.com@evil.example.com/?a=b>; rel="next"`}, ""},
		"another relation":     {[]string{`<https://api.github.com/x.js?a=b>; rel="preload"`, `<https://api.github.com/x?a=b>`}, ""},
		"no query":             {[]string{`<https://api.github.com/x>; rel="next"`}, ""},
		"a credential":         {[]string{`<https://api.github.com/x?page=2&access_token=t>; rel="next"`}, ""},
		"broken":               {[]string{`<<<`, `>`, `<`, `,,,`, `<https://api.github.com/?a=b`, `<https://api.github.com/?a="b>; rel="next"`, "<https://api.github.com/?a=%zz>; rel=next"}, ""},
		"another and a good":   {[]string{`<https://evil.example.com/x?page=2>; rel="next", <https://api.github.com/x?page=9>; rel="last"`}, last},
		"none":                 {nil, ""},
		"a header smuggled in": {[]string{"<https://api.github.com/x?a=b\r\nX: y>; rel=\"next\""}, ""},
	} {
		h := http.Header{"Link": row.links, "X-Other": {"1"}}
		turnPages(h, host, own)
		if got := h.Get("Link"); got != row.want || len(h["Link"]) > 1 || h.Get("X-Other") != "1" {
			t.Errorf("%s: %q, want %q", name, h["Link"], row.want)
		}
	}
}

func FuzzTurnPages(f *testing.F) {
	f.Add(`<https://api.github.com/x?page=2>; rel="next"`)
	f.Add(`<<>,;"`)
	f.Fuzz(func(t *testing.T, link string) {
		h := http.Header{"Link": {link}}
		turnPages(h, "api.github.com", "http://own/x")
		before := h.Get("Link")
		for _, c := range before {
			if c < ' ' {
				t.Fatalf("%q became %q", link, before)
			}
		}
		turnPages(h, "own", "http://own/x")
		if h.Get("Link") != before {
			t.Fatalf("%q became %q, then %q", link, before, h.Get("Link"))
		}
	})
}
