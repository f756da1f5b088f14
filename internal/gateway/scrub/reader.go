package scrub

import "io"

// Reader reads from an upstream through a filter.
type Reader struct {
	src    io.Reader
	filter *Filter
	raw    []byte // read buffer
	out    []byte // cleaned
	left   []byte // of out, not yet handed out
	err    error
}

// NewReader returns a reader of src without the keys of the filter's set.
func NewReader(src io.Reader, f *Filter) *Reader {
	return &Reader{src: src, filter: f, raw: make([]byte, 16<<10)}
}

// Read hands out what is clean as soon as there is any.
func (r *Reader) Read(p []byte) (int, error) {
	for len(r.left) == 0 {
		if r.err != nil {
			return 0, r.err
		}
		n, err := r.src.Read(r.raw)
		r.out = r.filter.Push(r.out[:0], r.raw[:n])
		if err != nil {
			r.err = err
			r.out = r.filter.Flush(r.out)
		}
		r.left = r.out
	}
	n := copy(p, r.left)
	r.left = r.left[n:]
	return n, nil
}

// Hits is how many occurrences were replaced so far.
func (r *Reader) Hits() int64 { return r.filter.Hits() }
