package gate

import (
	"context"
	"net/http"
	"net/url"
	"strings"

	"moeca/internal/gateway/upstream"
)

// Target makes the one canonical absolute URL of the request, or refuses. Two
// readers that see the canonical form cannot disagree about it: there is no
// escape that hides a separator, no dot segment, no doubled slash.
//
// Credentials in the query are dropped here, so that neither the upstream nor
// the log ever sees one.
type Target struct{}

// Reasons of the target gate.
const (
	ReasonPath   = "path"
	ReasonQuery  = "query"
	ReasonLength = "target-too-long"
	ReasonMethod = "method"
)

const maxTarget = 4096

// Name of the gate.
func (Target) Name() string { return "target" }

// Decide fills Target and Class.
func (Target) Decide(_ context.Context, r *Request) Decision {
	switch r.HTTP.Method {
	case "GET", "HEAD", "POST", "PUT", "PATCH", "DELETE":
	default:
		return Deny(http.StatusBadRequest, ReasonMethod, "the method is not passed on")
	}
	rest, err := upstream.CanonicalPath(r.Rest)
	if err != nil {
		return Deny(http.StatusBadRequest, ReasonPath, "%v", err)
	}
	query, ok := canonicalQuery(r.HTTP.URL.RawQuery)
	if !ok || r.HTTP.URL.Fragment != "" {
		return Deny(http.StatusBadRequest, ReasonQuery, "the query holds a bare blank, a control, a semicolon or a broken escape")
	}
	read := r.HTTP.Method == http.MethodGet || r.HTTP.Method == http.MethodHead
	if (r.Upstream.Kind == upstream.KindFetch || read && r.Upstream.Model()) && len(r.Body) > 0 {
		return Deny(http.StatusBadRequest, ReasonMethod, "a read takes no body: a server that does not expect one would take it for the next request")
	}
	target := *r.Upstream.Base
	target.Path += rest
	if target.Path == "" {
		target.Path = "/"
	}
	target.RawQuery = query
	if len(target.String()) > maxTarget {
		return Deny(http.StatusBadRequest, ReasonLength, "the target is longer than %d bytes", maxTarget)
	}
	r.Target, r.Class = &target, r.Upstream.Classify(r.HTTP.Method, rest)
	if name, unknown := unknownParameter(r.Upstream, query); unknown && r.Class != upstream.Unknown { // which is refused for what it is
		return Deny(http.StatusBadRequest, ReasonQuery, "%s is not sent the query parameter %s: what it does there is not known here", r.Upstream.Name, clip(name))
	}
	return Allow()
}

// canonicalQuery checks a raw query and returns it without credentials, its
// pairs otherwise as they were sent.
func canonicalQuery(raw string) (string, bool) {
	if raw == "" {
		return "", true
	}
	var kept []string
	for pair := range strings.SplitSeq(raw, "&") {
		for i := range len(pair) {
			if c := pair[i]; c <= ' ' || c > '~' || c == ';' || c == '#' || c == '\\' || c == '"' || c == '<' || c == '>' {
				return "", false
			}
		}
		key, value, _ := strings.Cut(pair, "=")
		name, err := url.QueryUnescape(key)
		if err != nil {
			return "", false
		}
		if _, err := url.QueryUnescape(value); err != nil {
			return "", false
		}
		if pair != "" && !CredentialQuery(name) {
			kept = append(kept, pair)
		}
	}
	return strings.Join(kept, "&"), true
}

// CredentialQuery says whether a query parameter of that name carries a
// credential by the custom of any API we know.
func CredentialQuery(name string) bool {
	name = strings.ToLower(strings.NewReplacer("-", "", "_", "", ".", "", " ", "", "[", "", "]", "").Replace(name))
	switch name {
	case "key", "token", "auth", "authorization", "sig", "signature", "password", "passwd", "pwd", "secret", "jwt", "sessionid":
		return true
	}
	if strings.HasPrefix(name, "oauth") || strings.HasPrefix(name, "xoauth") { // signed in the query
		return true
	}
	for _, part := range [...]string{
		"apikey", "authkey", "appkey", "applicationkey", "consumerkey", "clientkey", "licensekey", "signature", "accesstoken", "authtoken", "oauthtoken", "idtoken", "refreshtoken", "sessiontoken", "securitytoken", "privatetoken",
		"apitoken", "bearer", "usertoken", "jwt", "assertion", "secret", "password", "passphrase", "privatekey", "subscriptionkey",
		"accesskey", "credential", "xamz", "googlesignature", "moecasession",
	} {
		if strings.Contains(name, part) {
			return true
		}
	}
	return false
}
