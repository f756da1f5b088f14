package audit

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"sort"
	"sync"
)

// Reader shows the rows of a log while a writer may be appending to it. It
// checks the checksum of what it shows; only Verify checks the chain. Safe for
// concurrent use.
type Reader struct {
	dir string

	refresh sync.Mutex   // held by the one Refresh that scans
	scan    *frameReader // of the last segment; nil before the first. Owned by refresh

	mu       sync.RWMutex
	segments []*readSegment
	last     int64
	packs    map[int64]*os.File
	closed   bool
}

// readSegment is an open segment and where its rows begin.
type readSegment struct {
	header
	file *os.File
	at   []int64
}

// OpenReader opens the log in dir for reading. The directory must exist; it may
// hold no rows yet. Damage does not keep the rows before it from being read: it
// is reported by Refresh.
func OpenReader(dir string) (*Reader, error) {
	st, err := os.Stat(dir)
	if err == nil && !st.IsDir() {
		err = &fs.PathError{Op: "read", Path: dir, Err: errors.New("not a directory")}
	}
	if err != nil {
		return nil, fmt.Errorf("audit: open reader: %w", err)
	}
	r := &Reader{dir: dir, packs: make(map[int64]*os.File)}
	if _, err := r.Refresh(); err != nil && !isBroken(err) {
		return nil, errors.Join(err, r.Close())
	}
	return r, nil
}

func isBroken(err error) bool {
	var b *BrokenError
	return errors.As(err, &b)
}

// Refresh looks for rows that were appended since and returns the number of the
// last whole row. An unfinished row at the end is left for the next call. At
// damage it returns the last row before it and a *BrokenError.
func (r *Reader) Refresh() (last int64, err error) {
	r.refresh.Lock()
	defer r.refresh.Unlock()
	for err == nil {
		var more bool
		if more, err = r.nextSegment(); err != nil || !more {
			break
		}
		err = r.scanRows()
	}
	r.mu.RLock()
	defer r.mu.RUnlock()
	return r.last, err
}

// nextSegment reads what the present segment holds and moves on to the one
// after it, if its header is there. That is written after the last row of the
// segment before it, so rows seen after the header was seen are all there are.
func (r *Reader) nextSegment() (bool, error) {
	r.mu.RLock()
	num, last := int64(len(r.segments))+1, r.last
	closed := r.closed
	r.mu.RUnlock()
	if closed {
		return false, fmt.Errorf("audit: %w", ErrClosed)
	}
	if r.scan != nil {
		if err := r.scanRows(); err != nil {
			return false, err
		}
	}
	name := segmentName(num)
	file, err := openRegular(filepath.Join(r.dir, name))
	if errors.Is(err, fs.ErrNotExist) {
		return false, r.isMissing(num)
	}
	if err != nil {
		return false, fmt.Errorf("audit: read log: %w", err)
	}
	h, err := readHeader(file)
	if err == nil && r.scan != nil {
		err = r.scanRows()
	}
	if err != nil {
		file.Close()
	}
	switch {
	case err == errShort:
		return false, nil
	case isDamage(err):
		return false, &BrokenError{Seq: last + 1, File: name, Cause: err}
	case err != nil:
		return false, fmt.Errorf("audit: read log: %w", err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if h.num != num || h.first != r.last+1 || num > 1 && h.id != r.segments[0].id {
		file.Close()
		return false, &BrokenError{Seq: r.last + 1, File: name, Cause: errors.New("segment does not continue the one before it")}
	}
	r.segments = append(r.segments, &readSegment{header: h, file: file})
	r.scan = newFrameReader(file, h.id, segmentHeader)
	return true, nil
}

// isMissing is an error where segment num is not there and the one after it is:
// segments are made in their order.
func (r *Reader) isMissing(num int64) error {
	if _, err := os.Stat(filepath.Join(r.dir, segmentName(num+1))); err != nil {
		return nil
	}
	if _, err := os.Stat(filepath.Join(r.dir, segmentName(num))); !errors.Is(err, fs.ErrNotExist) {
		return nil // it came meanwhile
	}
	return &BrokenError{Seq: r.last + 1, File: segmentName(num), Cause: errors.New("the segment is missing")}
}

// scanRows adds the whole rows of the last segment that are not known yet.
func (r *Reader) scanRows() error {
	r.scan.seek(r.scan.off)
	var found []int64
	var scanErr error
	for {
		f, err := r.scan.next()
		if err != nil {
			scanErr = err
			break
		}
		found = append(found, f.off)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	s := r.segments[len(r.segments)-1]
	s.at = append(s.at, found...)
	r.last += int64(len(found))
	switch {
	case scanErr == io.EOF || scanErr == errShort:
		return nil
	case isDamage(scanErr):
		return &BrokenError{Seq: r.last + 1, File: segmentName(s.num), Offset: r.scan.off, Cause: scanErr}
	}
	return fmt.Errorf("audit: read log: %w", scanErr)
}

// At returns row seq and its hash. ErrNoRow when Refresh has not seen it.
func (r *Reader) At(seq int64) (Record, Hash, error) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	if r.closed {
		return Record{}, Hash{}, fmt.Errorf("audit: %w", ErrClosed)
	}
	if seq < 1 || seq > r.last {
		return Record{}, Hash{}, fmt.Errorf("audit: read row %d of %d: %w", seq, r.last, ErrNoRow)
	}
	i := sort.Search(len(r.segments), func(i int) bool { return r.segments[i].first > seq }) - 1
	s := r.segments[i]
	off := s.at[seq-s.first]
	row, err := readRow(s.file, s.id, off)
	var rec Record
	if err == nil {
		rec, err = Decode(row)
	}
	if err == nil && rec.Seq != seq {
		err = damage(fmt.Sprintf("row says it is row %d", rec.Seq))
	}
	if err != nil {
		return Record{}, Hash{}, &BrokenError{Seq: seq, File: segmentName(s.num), Offset: off, Cause: err}
	}
	return rec, RowHash(row), nil
}

// readRow reads the frame at off with two reads, or one when the row is small.
func readRow(src io.ReaderAt, id logID, off int64) ([]byte, error) {
	b := make([]byte, 1024)
	n, err := src.ReadAt(b, off)
	if err != nil && err != io.EOF {
		return nil, err
	}
	f, err := parseFrame(b[:n], id)
	if err == errShort && n == len(b) {
		b = make([]byte, frameHead+MaxRow+frameTail)
		if n, err = src.ReadAt(b, off); err != nil && err != io.EOF {
			return nil, err
		}
		f, err = parseFrame(b[:n], id)
	}
	return f.row, err
}

// Range yields the rows from to to, both included; from > to goes backwards. It
// ends after the first error.
func (r *Reader) Range(from, to int64) iter.Seq2[Record, error] {
	return func(yield func(Record, error) bool) {
		step := int64(1)
		if from > to {
			step = -1
		}
		for seq := from; ; seq += step {
			rec, _, err := r.At(seq)
			if !yield(rec, err) || err != nil || seq == to {
				return
			}
		}
	}
}

// Body returns the kept bytes of a body after checking them against the
// commitment in its row. ErrErased when they were erased, ErrNotStored when
// nothing was kept.
func (r *Reader) Body(ref *BodyRef) ([]byte, error) {
	b, err := r.salted(ref)
	if err != nil {
		return nil, err
	}
	return b[HashSize:], nil
}

// salted is Body with the salt before the kept bytes.
func (r *Reader) salted(ref *BodyRef) ([]byte, error) {
	if ref == nil || ref.Pack == 0 {
		return nil, fmt.Errorf("audit: read body: %w", ErrNotStored)
	}
	if err := ref.check(); err != nil {
		return nil, fmt.Errorf("audit: read body: reference is damaged: %w", err)
	}
	f, id, err := r.pack(ref.Pack)
	if err != nil {
		return nil, fmt.Errorf("audit: read body: %w", err)
	}
	b, err := readKept(f, id, ref)
	if err != nil {
		return nil, fmt.Errorf("audit: read body at %d of pack %d: %w", ref.Offset, ref.Pack, err)
	}
	return b, nil
}

// pack returns the open pack num.
func (r *Reader) pack(num int64) (*os.File, logID, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed || len(r.segments) == 0 {
		return nil, logID{}, ErrClosed
	}
	id := r.segments[0].id
	if f := r.packs[num]; f != nil {
		return f, id, nil
	}
	f, err := openRegular(filepath.Join(packPath(r.dir), packName(num)))
	if err != nil {
		return nil, logID{}, err
	}
	if err := checkPackHeader(f, id, num); err != nil {
		f.Close()
		return nil, logID{}, err
	}
	r.packs[num] = f
	return f, id, nil
}

// Close closes the files. Rows already returned stay valid.
func (r *Reader) Close() error {
	r.refresh.Lock()
	defer r.refresh.Unlock()
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return nil
	}
	r.closed = true
	var errs []error
	for _, s := range r.segments {
		errs = append(errs, s.file.Close())
	}
	for _, f := range r.packs {
		errs = append(errs, f.Close())
	}
	return errors.Join(errs...)
}
