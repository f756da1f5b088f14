package audit

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
)

// Space. A segment's blocks are allocated ahead of its end, so that a full disk
// is noticed before a row is queued and not while it is written. At least
// Options.Reserve bytes stay allocated behind the last row; only outcomes and
// the log's own rows may use them. So when the disk fills up, new requests are
// refused with ErrFull while the ones that run can still be accounted for. A
// body of such a row that finds no space is dropped and its commitment kept.
//
// Where the system cannot allocate (not Linux, some network file systems) there
// is no reserve: a full disk is met by a write and ends the log.

const growth = 4 << 20 // allocated at once

func usesReserve(k Kind) bool { return k == KindOutcome || k == KindSystem }

func packPath(dir string) string { return filepath.Join(dir, packDir) }

// room makes sure that t takes n more bytes and keeps reserve behind them.
func (t *tail) room(n, reserve int64) error {
	need := t.end + n + reserve
	if need <= t.allocated {
		return nil
	}
	grown := need + growth
	err := t.file.Allocate(grown)
	if errors.Is(err, errors.ErrUnsupported) {
		t.allocated = 1<<63 - 1
		return nil
	}
	if err != nil {
		return fmt.Errorf("%w (%w)", ErrFull, err)
	}
	t.allocated = grown
	return nil
}

// roomFor is room for a row or body of kind k.
func (l *Log) roomFor(k Kind, t *tail, n int64) error {
	err := t.room(n, l.o.Reserve)
	if err != nil && usesReserve(k) && t.end+n <= t.allocated {
		return nil
	}
	return err
}

// placeRow returns the segment for a row of n bytes: the present one, or a new
// one when that is full. A row that may use the reserve rather makes a segment
// longer than waits for space.
func (l *Log) placeRow(k Kind, n int64) (*tail, error) {
	n += frameHead + frameTail
	if l.segment != nil && l.segment.end+n <= l.o.SegmentBytes {
		return l.segment, l.roomFor(k, l.segment, n)
	}
	num := int64(1)
	if l.segment != nil {
		num = l.segment.num + 1
	}
	t, err := l.create(l.dir, segmentName(num), num, segmentHeader+n)
	if err != nil && l.segment != nil && usesReserve(k) {
		return l.segment, l.roomFor(k, l.segment, n)
	}
	return t, err
}

// create makes an empty file with space for n bytes and the reserve. A file for
// which there is no space is removed again.
func (l *Log) create(dir, name string, num, n int64) (*tail, error) {
	path := filepath.Join(dir, name)
	f, err := l.o.FS.Create(path)
	if err != nil {
		return nil, fmt.Errorf("%w (%w)", ErrFull, err)
	}
	t := &tail{name: name, num: num, file: f, fresh: true}
	if err := t.room(n, l.o.Reserve); err != nil {
		return nil, errors.Join(err, f.Close(), l.o.FS.Remove(path))
	}
	return t, nil
}

// placed is a body with its place, not yet queued.
type placed struct {
	ref  *BodyRef
	tail *tail
	body *keptBody
}

// write queues the body in b.
func (p placed) write(b *batch, spare *buffers) {
	if p.tail != nil {
		b.bodies.add(p.tail, spare, p.body.head[:], p.body.content, p.body.tail[:])
	}
}

// placeBodies finds space for the bodies of a row of kind k. Called with
// Log.mu held; it changes nothing but allocations.
func (l *Log) placeBodies(k Kind, list ...*keptBody) ([2]placed, error) {
	var out [2]placed
	var total int64
	for _, body := range list {
		if body != nil {
			total += body.ref.frameSize()
		}
	}
	if total == 0 {
		return out, nil
	}
	t, err := l.packFor(k, total)
	if err != nil && !usesReserve(k) {
		return out, fmt.Errorf("bodies: %w", err)
	}
	off := int64(0)
	for i, body := range list {
		switch {
		case body == nil:
		case t == nil || err != nil:
			out[i] = placed{ref: body.place(0, 0)}
		default:
			out[i] = placed{ref: body.place(t.num, t.end+off), tail: t, body: body}
			off += body.ref.frameSize()
		}
	}
	return out, nil
}

// packFor returns the pack for n more bytes. A new pack becomes the present one
// at once: its header belongs to the next batch whichever row that holds.
func (l *Log) packFor(k Kind, n int64) (*tail, error) {
	if l.pack != nil && l.pack.end+n <= l.o.PackBytes {
		return l.pack, l.pack.room(n, 0)
	}
	num := l.packs + 1
	t, err := l.create(packPath(l.dir), packName(num), num, packHeader+n)
	if err != nil {
		return nil, err
	}
	b := l.batch()
	b.retire(l.pack)
	b.bodies.add(t, &l.spare, encodePackHeader(l.id, num))
	l.pack, l.packs = t, num
	return t, nil
}

// highest returns the highest number in dir, 0 when there is none.
func highest(fsys FS, dir string, name func(int64) string) (int64, error) {
	entries, err := fsys.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return 0, err
	}
	nums := numbered(entries, name)
	if len(nums) == 0 {
		return 0, nil
	}
	return nums[len(nums)-1], nil
}
