package scrub

import "io"

// Reader reads from an upstream through a filter.
type Reader struct {
	src    io.Reader
	filter *Filter
	out    []byte // cleaned
	left   []byte // of out, not yet handed out
	err    error
}

// NewReader returns a reader of src without the keys of the filter's set.
func NewReader(src io.Reader, f *Filter) *Reader { return &Reader{src: src, filter: f} }

// Read hands out what is clean as soon as there is any. It reads into p, where
// what no form begins in stays.
func (r *Reader) Read(p []byte) (int, error) {
	for {
		if len(r.left) > 0 {
			n := copy(p, r.left)
			r.left = r.left[n:]
			return n, nil
		}
		if r.err != nil || len(p) == 0 {
			return 0, r.err
		}
		n, err := r.src.Read(p)
		r.err = err
		clean := r.filter.Skip(p[:n])
		if clean < n || r.filter.Holds() {
			r.out = r.filter.Push(r.out[:0], p[clean:n])
			if err != nil {
				r.out = r.filter.Flush(r.out)
			}
			r.left = r.out
		}
		if clean > 0 {
			m := copy(p[clean:], r.left)
			r.left = r.left[m:]
			return clean + m, nil
		}
	}
}

// Hits is how many occurrences were replaced so far.
func (r *Reader) Hits() int64 { return r.filter.Hits() }
