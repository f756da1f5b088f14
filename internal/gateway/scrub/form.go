package scrub

import (
	"encoding/base64"
	"encoding/hex"
	"slices"
	"strings"
)

// Min is the length below which a key would be found in ordinary text.
const Min = 8

// Set is what to look for.
type Set struct {
	keys  []string // sorted, for Holds
	body  *trie
	names *trie // lower case: header names have no case
	mask  byte
}

// New returns the set of the keys; those shorter than Min are left out.
func New(keys ...string) *Set {
	s := &Set{mask: '*'}
	for _, k := range keys {
		if len(k) >= Min {
			s.keys = append(s.keys, k)
		}
	}
	slices.Sort(s.keys)
	s.keys = slices.Compact(s.keys)
	var body, names []string
	for _, k := range s.keys {
		for _, k := range parts(k) {
			body = append(body, forms(k)...)
			names = append(names, strings.ToLower(k), hex.EncodeToString([]byte(k)))
		}
		if strings.IndexByte(k, s.mask) >= 0 {
			s.mask = ' ' // in no key that can stand in a header, and so in no form
		}
	}
	s.body, s.names = newTrie(body), newTrie(names)
	return s
}

// Holds says whether the set looks for the key.
func (s *Set) Holds(key string) bool {
	_, ok := slices.BinarySearch(s.keys, key)
	return ok || len(key) < Min
}

// parts: the key; and of "user:password" or "id:secret:token" what its Basic
// credential holds, all behind the first colon, and each piece of that.
func parts(key string) []string {
	all := []string{key}
	if _, rest, ok := strings.Cut(key, ":"); ok {
		all = append(all, base64.RawStdEncoding.EncodeToString([]byte(key)), rest)
		all = append(all, strings.Split(rest, ":")...)
	}
	return slices.DeleteFunc(all, func(part string) bool { return len(part) < Min })
}

// forms returns the texts that carry a key.
func forms(key string) []string {
	lower := hex.EncodeToString([]byte(key))
	all := []string{key, lower, strings.ToUpper(lower)}
	for _, enc := range [...]*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
		for before := range 3 {
			all = append(all, inner(enc, key, before))
		}
	}
	return all
}

// inner returns the characters of an encoded text that depend on the key alone,
// when as many bytes, modulo three, stand before it. The first and the last may
// also depend on its neighbours, or on the padding, and are left out.
func inner(enc *base64.Encoding, key string, before int) string {
	text := enc.EncodeToString([]byte(strings.Repeat("\x00", before) + key))
	first := (before*8 + 5) / 6
	last := (before + len(key)) * 8 / 6
	return text[first:last]
}
