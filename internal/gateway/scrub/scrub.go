// Package scrub keeps an injected key from travelling back: every occurrence
// of the exact secret in an answer is replaced by as many asterisks, so that
// lengths, framing and offsets stay what they were.
//
// A Filter works on a stream. It holds back bytes only while they are the
// beginning of the secret, at most its length less one, and gives them up as
// soon as one byte differs; it never delays anything else. Matching is
// Knuth–Morris–Pratt, so the work per byte is constant whatever the upstream
// sends, and a secret split over any number of chunks is found.
//
// It does not see through encodings: the gateway forces identity upstream and
// refuses any other content encoding.
//
// A Filter belongs to one stream and one goroutine.
package scrub

import (
	"bytes"
	"io"
	"strings"
)

const mask = '*'

// Filter replaces one secret in a stream.
type Filter struct {
	secret []byte
	fail   []int // fail[i]: longest proper border of secret[:i+1]
	k      int   // bytes of the secret matched and held back
}

// New returns a filter for secret; the empty secret lets everything pass.
func New(secret string) *Filter {
	f := &Filter{secret: []byte(secret), fail: make([]int, len(secret))}
	for i, k := 1, 0; i < len(secret); i++ {
		for k > 0 && secret[i] != secret[k] {
			k = f.fail[k-1]
		}
		if secret[i] == secret[k] {
			k++
		}
		f.fail[i] = k
	}
	return f
}

// Push appends to dst what of p, and of what was held back, may leave now.
func (f *Filter) Push(dst, p []byte) []byte {
	if len(f.secret) == 0 {
		return append(dst, p...)
	}
	for len(p) > 0 {
		if f.k == 0 {
			i := bytes.IndexByte(p, f.secret[0])
			if i < 0 {
				return append(dst, p...)
			}
			dst, p = append(dst, p[:i]...), p[i:]
		}
		dst = f.step(dst, p[0])
		p = p[1:]
	}
	return dst
}

func (f *Filter) step(dst []byte, b byte) []byte {
	for f.k > 0 && f.secret[f.k] != b {
		border := f.fail[f.k-1]
		dst = append(dst, f.secret[:f.k-border]...)
		f.k = border
	}
	if f.secret[f.k] != b {
		return append(dst, b)
	}
	if f.k++; f.k == len(f.secret) {
		f.k = 0
		dst = append(dst, bytes.Repeat([]byte{mask}, len(f.secret))...)
	}
	return dst
}

// Flush appends what was held back: the stream is over, it was no secret.
func (f *Filter) Flush(dst []byte) []byte {
	dst = append(dst, f.secret[:f.k]...)
	f.k = 0
	return dst
}

// String replaces the secret in a header value or message.
func String(s, secret string) string {
	if secret == "" {
		return s
	}
	return strings.ReplaceAll(s, secret, strings.Repeat(string(mask), len(secret)))
}

// Reader reads from an upstream through a filter.
type Reader struct {
	src    io.Reader
	filter *Filter
	raw    []byte // read buffer
	out    []byte // cleaned, not yet handed out
	err    error
}

// NewReader returns a reader of src without secret.
func NewReader(src io.Reader, secret string) *Reader {
	return &Reader{src: src, filter: New(secret), raw: make([]byte, 16<<10)}
}

// Read hands out what is clean as soon as there is any.
func (r *Reader) Read(p []byte) (int, error) {
	for len(r.out) == 0 {
		if r.err != nil {
			return 0, r.err
		}
		n, err := r.src.Read(r.raw)
		r.out = r.filter.Push(r.out[:0], r.raw[:n])
		if err != nil {
			r.err = err
			r.out = r.filter.Flush(r.out)
		}
	}
	n := copy(p, r.out)
	r.out = r.out[n:]
	return n, nil
}
