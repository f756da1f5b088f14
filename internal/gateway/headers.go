package gateway

import (
	"mime"
	"net/http"
	"slices"
	"strings"

	"moeca/internal/gateway/upstream"
)

// keepHeaders leaves of a caller's headers what is known to carry content to an
// upstream of this kind. Everything else stays here: what authenticates, also
// under a name that some server folds into that of the injected header (X_Api_Key
// becomes X-Api-Key behind CGI and WSGI), what tells of this side, what changes
// the judged method or target, and what nobody thought of. A value that holds
// the session token stays here under every name.
func keepHeaders(h http.Header, kind, token string) {
	for name, values := range h {
		if !isContentHeader(kind, strings.ToLower(name)) || carries(values, token) {
			delete(h, name)
		}
	}
}

func carries(values []string, token string) bool {
	if token == "" {
		return false
	}
	for _, v := range values {
		if strings.Contains(v, token) {
			return true
		}
	}
	return false
}

// isContentHeader judges a lower-case name. No listed name has an underscore
// and none is one that a key goes out in.
func isContentHeader(kind, name string) bool {
	switch name {
	case "content-type", "content-encoding", "content-language", "content-disposition", "content-md5",
		"accept", "accept-language", "user-agent", "cache-control", "pragma", "prefer",
		"range", "if-match", "if-none-match", "if-modified-since", "if-unmodified-since", "if-range",
		"idempotency-key", "x-idempotency-key":
		return true
	}
	names, prefix := contentHeaders(kind)
	return slices.Contains(names, name) || prefix != "" && strings.HasPrefix(name, prefix) && !strings.Contains(name, "_")
}

// contentHeaders are those of one kind: their names, and what others begin
// with. The capability gate judges the values of the beta headers.
func contentHeaders(kind string) (names []string, prefix string) {
	switch kind {
	case upstream.KindAnthropic:
		return []string{"anthropic-version", "anthropic-beta"}, "x-stainless-"
	case upstream.KindOpenAI:
		return []string{"openai-beta", "openai-version", "x-client-request-id"}, "x-stainless-"
	case upstream.KindGemini:
		return []string{"x-goog-api-client", "x-server-timeout"}, "" // not the field mask: it can leave usage out of an answer
	case upstream.KindGitHub:
		return []string{"x-github-api-version", "x-github-next-global-id", "graphql-features"}, ""
	case upstream.KindGit:
		return []string{"git-protocol"}, ""
	case upstream.KindNotion:
		return []string{"notion-version"}, ""
	case upstream.KindSigV4: // other x-amz- headers sign, or have signed in our name
		return []string{"x-amz-target"}, ""
	case upstream.KindCustom: // the tool may be a server of the Model Context Protocol
		return []string{"mcp-protocol-version", "mcp-session-id", "last-event-id"}, ""
	}
	return nil, ""
}

// unreadable says that an answer is in characters of which those of a key are
// not their own bytes: no key could be found in it.
func unreadable(h http.Header) bool {
	for _, value := range h["Content-Type"] {
		_, parameters, err := mime.ParseMediaType(value)
		charset := strings.ToLower(parameters["charset"])
		if err != nil {
			charset = strings.ToLower(value) // what cannot be read must not name one either
		}
		for _, wide := range [...]string{"utf-16", "utf16", "utf-32", "utf32", "utf-7", "utf7", "ucs", "10646", "ibm", "ebcdic", "cp037", "cp500", "cp1047", "cp1140"} {
			if strings.Contains(charset, wide) {
				return true
			}
		}
	}
	return false
}
