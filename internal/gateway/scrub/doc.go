// Package scrub keeps the gateway's keys from travelling back: every occurrence
// of one in an answer is replaced by as many asterisks, so that lengths, framing
// and offsets stay what they were.
//
// # What is found
//
// A Set is made from all keys the gateway holds, not only from the injected one.
// It looks for each in these forms (form.go):
//
//	raw                       sk-ant-…; of "user:password" or "id:secret:token"
//	                          also each piece but the first, which is no secret,
//	                          and the credential that Basic makes of the whole
//	hex                       lower or upper case, two digits per byte
//	base64, standard and URL  wherever in a longer text the key begins, that is
//	                          at each of three offsets, padded or not; so
//	                          "Basic base64(user:key)" is found too
//
// and each character of each form in any of these spellings, mixed freely
// (escape.go): as it is, %XX, \u00XX, and \/ \" \\ for those three. Digits of
// an escape are of either case. Every cut of the stream into chunks gives the
// same result.
//
// # How
//
// The forms make one Aho–Corasick automaton (trie.go). A spelled stream can be
// read in more than one way: "%41" is an A, or a percent sign before a key that
// begins with 41. A Filter follows all readings at once as a set of threads, each
// a state of the automaton with the places where its characters began. Two
// readings in the same state become one that keeps the earlier places. There is
// one thread nearly always, since no key holds a percent sign or a backslash
// and a reading that met one is over. Where no form can begin, a bitmap of pairs
// of bytes skips ahead.
//
// # Latency
//
// Held back are only bytes that are the beginning of a form, or of an escape, and
// are the last ones so far. They leave as soon as one byte differs. No form holds
// a control character, so a server-sent event, which ends in a newline, passes
// whole and at once.
//
// # Memory
//
// A Set takes about 400 bytes for each byte of a key and never changes; all
// streams share it. A Filter takes its buffer and the longest spelling of a
// form at most. The work for a byte depends on the keys and not on the stream's
// length.
//
// # What is not found
//
// Whoever can make an upstream transform a key can hide it from any filter. Not
// found are: compressed content inside a body (an archive, a git pack; content
// encodings are refused by the gateway), encrypted or hashed keys, a key split
// over several JSON strings or several events, broken by line breaks or
// separators (MIME base64, hex dumps), reversed or otherwise reordered, changed
// in case, in other alphabets (base32, base85, UTF-16, HTML entities, \xXX,
// quoted-printable), in two layers of percent or JSON escapes, in base64 of
// base64 (but of a Basic credential it is), or in part: at the ends of a base64 form up to four bits of the first
// and the last byte stay readable. Keys shorter than Min are not looked for;
// the gateway takes none.
//
// A Set is safe for concurrent use. A Filter and a Reader belong to one stream
// and one goroutine.
package scrub
