package gateway

import (
	"net/http"
	"net/url"
	"strings"

	"moeca/internal/gateway/gate"
)

// turnPages keeps of an answer's Link header what turns the page of the list
// that was asked for, as a link to the same path here with another query. A
// link of an upstream can lead nowhere else, whatever it says: host is the
// upstream's, own the URL that the caller asked for, without its query.
func turnPages(h http.Header, host, own string) {
	var kept []string
	for _, rest := range h["Link"] {
		for rest != "" {
			_, after, _ := strings.Cut(rest, "<")
			target, after, _ := strings.Cut(after, ">")
			var params string
			params, rest, _ = strings.Cut(after, ",")
			if rel := pageRelation(params); rel != "" && isPage(target, host) {
				_, query, _ := strings.Cut(target, "?")
				kept = append(kept, "<"+own+"?"+query+`>; rel="`+rel+`"`)
			}
		}
	}
	delete(h, "Link")
	if len(kept) > 0 {
		h["Link"] = []string{strings.Join(kept, ", ")}
	}
}

// pageRelation finds the relation among parameters such as `; rel="next"`.
func pageRelation(params string) string {
	for p := range strings.SplitSeq(params, ";") {
		name, value, _ := strings.Cut(strings.TrimSpace(p), "=")
		if value = strings.Trim(value, `"`); strings.EqualFold(name, "rel") {
			switch value {
			case "next", "prev", "first", "last":
				return value
			}
		}
	}
	return ""
}

// isPage: a query of the upstream's own that can be sent back to it.
func isPage(target, host string) bool {
	u, err := url.Parse(target)
	if err != nil || u.Host != host || u.RawQuery == "" || u.Fragment != "" || strings.ContainsAny(u.RawQuery, " \"\\;") {
		return false
	}
	query, err := url.ParseQuery(u.RawQuery)
	for name := range query {
		if gate.CredentialQuery(name) {
			return false
		}
	}
	return err == nil
}
