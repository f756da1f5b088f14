package gate

import (
	"net/url"
	"slices"
	"strings"

	"moeca/internal/gateway/upstream"
)

// modelParameters are the parameters of a query that a provider is known to
// take on the paths that are offered. Others are not sent: servers read more
// from a query than their documents say. Google's take a method, headers and so
// a key of the caller's own, a body, and answers in forms that cannot be metered.
func modelParameters(kind string) []string {
	switch kind {
	case upstream.KindAnthropic:
		return []string{"beta", "limit", "page", "before_id", "after_id"}
	case upstream.KindOpenAI:
		return []string{"limit", "after", "before", "order", "purpose", "include", "include[]", "stream", "starting_after", "include_obfuscation", "api-version"}
	case upstream.KindGemini:
		return []string{"alt", "pageSize", "pageToken", "prettyPrint"}
	}
	return nil
}

// unknownParameter returns the first parameter of a canonical query that a model
// provider must not get. A server of the user's own gets what it is sent.
func unknownParameter(u upstream.Upstream, query string) (name string, found bool) {
	if query == "" || !u.Model() || u.Local {
		return "", false
	}
	known, alt := modelParameters(u.Kind), 0
	for pair := range strings.SplitSeq(query, "&") {
		key, value, _ := strings.Cut(pair, "=")
		name, err := url.QueryUnescape(key)
		if name == "alt" {
			alt++
		}
		if err != nil || !slices.Contains(known, name) || name == "alt" && (alt > 1 || value != "sse" && value != "json") {
			return name, true
		}
	}
	return "", false
}
