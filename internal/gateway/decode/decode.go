// Package decode takes the content encoding off an answer.
//
// The gateway asks every upstream for identity. One that compresses all the
// same is decoded before anything looks at the answer, because neither a secret
// nor usage can be seen through an encoding, and the caller gets the plain
// bytes. gzip and br are known; anything else, and more than one encoding at
// once, is refused.
//
// A Reader hands out bytes as soon as the upstream flushed them. It decodes as
// it is read and keeps one window in memory, so that an answer made to expand
// without end costs what passing on that many bytes costs. It fails at the
// first byte that is wrong, and when the encoded stream ends early.
package decode

import (
	"compress/gzip"
	"errors"
	"io"
	"strings"

	"github.com/andybalholm/brotli"
)

// ErrEncoding is returned for an encoding that is not known.
var ErrEncoding = errors.New("decode: unknown content encoding")

// Reader returns a reader of src without the encodings that the values of a
// Content-Encoding header name; none or identity is src itself.
func Reader(src io.Reader, header []string) (io.Reader, error) {
	var open func(io.Reader) (io.Reader, error)
	for _, value := range header {
		for name := range strings.SplitSeq(value, ",") {
			switch name = strings.ToLower(strings.TrimSpace(name)); {
			case name == "" || name == "identity":
			case open != nil:
				return nil, ErrEncoding
			case name == "gzip" || name == "x-gzip":
				open = func(r io.Reader) (io.Reader, error) { return gzip.NewReader(r) }
			case name == "br":
				open = func(r io.Reader) (io.Reader, error) { return brotli.NewReader(r), nil }
			default:
				return nil, ErrEncoding
			}
		}
	}
	if open == nil {
		return src, nil
	}
	return &reader{src: src, open: open}, nil
}

// reader decodes from the first byte on. No byte at all is an empty answer,
// which a HEAD or a 304 has under any encoding.
type reader struct {
	src  io.Reader
	open func(io.Reader) (io.Reader, error)
	r    io.Reader
	err  error
}

func (d *reader) Read(p []byte) (int, error) {
	if d.r == nil && d.err == nil {
		d.begin()
	}
	if d.err != nil {
		return 0, d.err
	}
	n, err := d.r.Read(p)
	if err != nil {
		d.err = err
	}
	return n, err
}

func (d *reader) begin() {
	first := make([]byte, 1)
	if _, d.err = io.ReadFull(d.src, first); d.err == nil {
		d.r, d.err = d.open(io.MultiReader(strings.NewReader(string(first)), d.src))
	}
}
