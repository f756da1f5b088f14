// Package sigv4 signs requests the way Amazon's services demand it
// (AWS4-HMAC-SHA256, https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_sigv.html).
//
// Sign is pure: what goes in is the request as it will be sent, its exact body,
// a credential and a time; what comes out is a set of headers. Signed are the
// host, the content type, the headers that begin with x-amz-, and the hash of
// the body, so what the service accepts is what the gates saw. The path is
// encoded once for s3 and twice for every other service, as they do.
//
// It does not sign queries, does not sign bodies in chunks, and knows no
// credential chains: the one credential is the key of the upstream.
package sigv4

import (
	"cmp"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
)

// Credential is an access key. Its text is id:secret or id:secret:session-token.
type Credential struct{ id, secret, session string }

// ParseCredential reads a credential.
func ParseCredential(text string) (Credential, error) {
	parts := strings.Split(text, ":")
	if len(parts) < 2 || len(parts) > 3 || parts[0] == "" || parts[1] == "" {
		return Credential{}, errors.New("sigv4: credential is not id:secret or id:secret:session-token")
	}
	parts = append(parts, "")
	return Credential{parts[0], parts[1], parts[2]}, nil
}

// Scope is what a signature is valid for.
type Scope struct{ Region, Service string }

const (
	algorithm = "AWS4-HMAC-SHA256"
	stamp     = "20060102T150405Z"
)

// Sign adds the headers of a signature to r, whose URL and Host are final.
// Headers of an earlier signature must have been removed.
func Sign(r *http.Request, body []byte, c Credential, s Scope, now time.Time) {
	sum := hexSum(body)
	at := now.UTC().Format(stamp)
	r.Header.Set("X-Amz-Date", at)
	if s.Service == "s3" {
		r.Header.Set("X-Amz-Content-Sha256", sum)
	}
	if c.session != "" {
		r.Header.Set("X-Amz-Security-Token", c.session)
	}
	headers, signed := canonicalHeaders(r)
	request := strings.Join([]string{
		r.Method, canonicalPath(r.URL, s.Service), canonicalQuery(r.URL.RawQuery), headers, signed, sum,
	}, "\n")
	scope := at[:8] + "/" + s.Region + "/" + s.Service + "/aws4_request"
	toSign := strings.Join([]string{algorithm, at, scope, hexSum([]byte(request))}, "\n")
	key := []byte("AWS4" + c.secret)
	for _, part := range [...]string{at[:8], s.Region, s.Service, "aws4_request", toSign} {
		key = mac(key, part)
	}
	r.Header.Set("Authorization", algorithm+" Credential="+c.id+"/"+scope+", SignedHeaders="+signed+", Signature="+hex.EncodeToString(key))
}

// canonicalHeaders returns the signed headers, one to a line, and their names.
func canonicalHeaders(r *http.Request) (lines, names string) {
	values := map[string]string{"host": r.Host}
	if r.Host == "" {
		values["host"] = r.URL.Host
	}
	for name, list := range r.Header {
		lower := strings.ToLower(name)
		if lower != "content-type" && !strings.HasPrefix(lower, "x-amz-") {
			continue
		}
		trimmed := make([]string, len(list))
		for i, v := range list {
			trimmed[i] = strings.Join(strings.Fields(v), " ")
		}
		values[lower] = strings.Join(trimmed, ",")
	}
	order := make([]string, 0, len(values))
	for name := range values {
		order = append(order, name)
	}
	slices.Sort(order)
	var b strings.Builder
	for _, name := range order {
		b.WriteString(name + ":" + values[name] + "\n")
	}
	return b.String(), strings.Join(order, ";")
}

func canonicalPath(u *url.URL, service string) string {
	path := escape(u.Path, "/")
	if service != "s3" {
		path = escape(path, "/")
	}
	if path == "" {
		return "/"
	}
	return path
}

// canonicalQuery sorts by name, then by value, after encoding both.
func canonicalQuery(raw string) string {
	if raw == "" {
		return ""
	}
	var pairs []string
	for pair := range strings.SplitSeq(raw, "&") {
		name, value, _ := strings.Cut(pair, "=")
		if pair != "" {
			pairs = append(pairs, reescape(name)+"="+reescape(value))
		}
	}
	slices.SortFunc(pairs, func(a, b string) int {
		an, av, _ := strings.Cut(a, "=")
		bn, bv, _ := strings.Cut(b, "=")
		return cmp.Or(strings.Compare(an, bn), strings.Compare(av, bv))
	})
	return strings.Join(pairs, "&")
}

// reescape writes an escaped text in the one form a signature knows. The
// target gate refused what cannot be unescaped.
func reescape(s string) string {
	if plain, err := url.QueryUnescape(s); err == nil {
		s = plain
	}
	return escape(s, "")
}

// escape encodes all bytes but those unreserved by RFC 3986 and those in keep.
func escape(s, keep string) string {
	const digits = "0123456789ABCDEF"
	var b strings.Builder
	for i := range len(s) {
		c := s[i]
		switch {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', strings.IndexByte("-._~", c) >= 0, strings.IndexByte(keep, c) >= 0:
			b.WriteByte(c)
		default:
			b.WriteByte('%')
			b.WriteByte(digits[c>>4])
			b.WriteByte(digits[c&15])
		}
	}
	return b.String()
}

func hexSum(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

func mac(key []byte, text string) []byte {
	h := hmac.New(sha256.New, key)
	h.Write([]byte(text))
	return h.Sum(nil)
}
