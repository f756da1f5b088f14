package audit

import (
	"fmt"
	"sync/atomic"
)

// tail is the last file of its kind, to which is appended. end and allocated
// belong to Log.mu; the file itself is written only by the committer.
type tail struct {
	name      string
	num       int64
	file      File
	end       int64 // size once everything queued is written
	allocated int64 // size up to which space is promised; at least end
	fresh     bool  // its name is not durable yet; belongs to the committer
}

// close gives back what was allocated and not used, unless the log has failed.
func (t *tail) close(intact bool) error {
	var err error
	if intact {
		err = t.file.Truncate(t.end)
	}
	if e := t.file.Close(); err == nil {
		err = e
	}
	return err
}

// chunk is a run of bytes of one file.
type chunk struct {
	tail *tail
	off  int64
	data []byte
}

// chunks are written in order.
type chunks []chunk

// add appends parts to t and to the list. The memory of a new chunk is taken
// from spare.
func (c *chunks) add(t *tail, spare *buffers, parts ...[]byte) {
	n := len(*c)
	if n == 0 || (*c)[n-1].tail != t {
		*c, n = append(*c, chunk{tail: t, off: t.end, data: spare.take()}), n+1
	}
	last := &(*c)[n-1]
	for _, part := range parts {
		last.data = append(last.data, part...)
		t.end += int64(len(part))
	}
	t.allocated = max(t.allocated, t.end)
}

// buffers is memory of batches that were written. It belongs to Log.mu.
type buffers [][]byte

const (
	spareBuffers = 4       // bodies and rows of a batch being written and of one being filled
	spareBytes   = 4 << 20 // of each
)

func (s *buffers) take() []byte {
	n := len(*s)
	if n == 0 {
		return nil
	}
	b := (*s)[n-1]
	*s = (*s)[:n-1]
	return b
}

func (s *buffers) give(list chunks) {
	for _, c := range list {
		if len(*s) < spareBuffers && cap(c.data) <= spareBytes {
			*s = append(*s, c.data[:0])
		}
	}
}

// write writes and syncs, one file after the other, and makes new names in dir
// durable.
func (c chunks) write(fs FS, dir string) error {
	for i, w := range c {
		n, err := w.tail.file.WriteAt(w.data, w.off)
		if err == nil && n < len(w.data) {
			err = fmt.Errorf("%d of %d bytes written", n, len(w.data))
		}
		if err != nil {
			return fmt.Errorf("write %s: %w", w.tail.name, err)
		}
		if i+1 < len(c) && c[i+1].tail == w.tail {
			continue
		}
		if err := w.tail.file.Sync(); err != nil {
			return fmt.Errorf("sync %s: %w", w.tail.name, err)
		}
		if !w.tail.fresh {
			continue
		}
		if err := fs.SyncDir(dir); err != nil {
			return fmt.Errorf("sync directory of %s: %w", w.tail.name, err)
		}
		w.tail.fresh = false
	}
	return nil
}

// batch is what one commit makes durable. It is filled under Log.mu, then owned
// by the committer; err is set before done is closed.
type batch struct {
	first   int64
	last    chain
	bodies  chunks
	rows    chunks
	retired []*tail
	counted int64        // part of Log.queued
	wanted  atomic.Int32 // one of the constants below; only grows
	done    chan struct{}
	err     error
}

// How soon a batch is wanted.
const (
	wantedLater int32 = iota // it may wait for company
	wantedSoon               // at its turn
	wantedNow                // somebody waits
)

func newBatch(last chain) *batch {
	return &batch{first: last.seq + 1, last: last, done: make(chan struct{})}
}

// retire closes t after the batch; t may be nil.
func (b *batch) retire(t *tail) {
	if t != nil {
		b.retired = append(b.retired, t)
	}
}

func (b *batch) bytes() int64 {
	var n int64
	for _, list := range []chunks{b.bodies, b.rows} {
		for _, c := range list {
			n += int64(len(c.data))
		}
	}
	return n
}

// write makes the batch durable: bodies first, so that no durable row points to
// a body that is not.
func (b *batch) write(fs FS, dir string) error {
	if err := b.bodies.write(fs, packPath(dir)); err != nil {
		return err
	}
	if err := b.rows.write(fs, dir); err != nil {
		return err
	}
	for _, t := range b.retired {
		if err := t.close(true); err != nil {
			return fmt.Errorf("close %s: %w", t.name, err)
		}
	}
	return nil
}

// commit writes b and wakes its waiters. Called with commits held. After a failure nothing is tried
// again: which bytes reached the disk is unknown from then on.
func (l *Log) commit(b *batch) {
	err := b.write(l.o.FS, l.dir)
	if err == nil {
		l.notary.follow(b)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.queued -= b.counted
	if err == nil {
		l.durable = b.last
		l.spare.give(b.bodies)
		l.spare.give(b.rows)
		close(b.done)
		return
	}
	l.err = fmt.Errorf("the log has stopped at row %d, rows before it are kept: %w; "+
		"nothing is forwarded until the cause is removed and the gateway started again", b.first, err)
	for _, lost := range []*batch{b, l.filling} {
		if lost != nil {
			lost.err = fmt.Errorf("audit: %w", l.err)
			close(lost.done)
			for _, t := range lost.retired {
				t.file.Close()
			}
		}
	}
	l.filling = nil
}
