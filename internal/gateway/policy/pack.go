package policy

import (
	"bytes"
	"compress/zlib"
	"crypto/sha1" //nolint:gosec // git's object ids
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
)

// Bounds of a pack. Every object must be inflated to find where the next one
// begins, so a small pack could keep a processor for minutes.
const (
	minInflated    = 32 << 20 // bytes of all objects, and of commits made from deltas
	inflatedRatio  = 24       // and so many more for each byte of the pack
	maxCommitBytes = 16 << 20 // of all commits, which are kept
	maxCommit      = 1 << 20
	maxObjects     = 200_000
	maxWaiting     = 50_000 // deltas whose base was not seen yet
)

// Types of object in a pack.
const (
	packCommit   = 1
	packTag      = 4
	packOffDelta = 6
	packRefDelta = 7
)

var (
	errPack      = errors.New("the pack cannot be read")
	errPackLarge = errors.New("the pack is too large to be read through")
)

func packFault(at int, what string) error { return fmt.Errorf("%w: %s at byte %d", errPack, what, at) }

// pack reads the commits out of a pack, once, in place: the slice is the body of the
// request. Objects of other types are passed over. A commit may be a delta of
// another commit in the pack, before or behind it. A delta of something that is
// not in the pack is left alone: git makes such deltas of trees and files only,
// and a commit that is not found proves nothing.
type pack struct {
	data    []byte
	newHash func() hash.Hash
	size    int // of an object id in bytes

	at       int
	inflater io.ReadCloser
	source   *bytes.Reader
	most     int64 // bytes that may be inflated
	inflated int64
	kept     int64

	other   map[int]bool    // offsets of objects known to be no commits
	commits map[int][]byte  // content by offset
	ids     map[string]int  // object id of each commit, in hex, to its offset
	byOff   map[int][]entry // deltas that wait for the object at an offset
	byID    map[string][]entry
	waiting int
	ready   []entry // deltas that waited and whose base is there
}

// entry is one object of the pack.
type entry struct {
	at     int // where its header begins
	stream int // where its zlib stream does
	kind   byte
	size   int64
	baseAt int
	baseID string
}

// commitsOf reads a pack whose object ids have idLen hex digits, and returns the
// content of its commits by id.
func commitsOf(data []byte, idLen int) (map[string][]byte, error) {
	p := &pack{
		data: data, most: minInflated + inflatedRatio*int64(len(data)), newHash: sha1.New, size: sha1.Size, source: bytes.NewReader(nil),
		other: map[int]bool{}, commits: map[int][]byte{}, ids: map[string]int{}, byOff: map[int][]entry{}, byID: map[string][]entry{},
	}
	if idLen == 2*sha256.Size {
		p.newHash, p.size = sha256.New, sha256.Size
	}
	if err := p.read(); err != nil {
		return nil, err
	}
	out := make(map[string][]byte, len(p.ids))
	for id, at := range p.ids {
		out[id] = p.commits[at]
	}
	return out, nil
}

// read goes through the pack once. Nothing may follow its checksum.
func (p *pack) read() error {
	const head = 12
	if len(p.data) < head+p.size || string(p.data[:4]) != "PACK" {
		return packFault(0, "no header")
	}
	if v := binary.BigEndian.Uint32(p.data[4:]); v != 2 && v != 3 {
		return packFault(4, "a version that is not known")
	}
	count := binary.BigEndian.Uint32(p.data[8:])
	if count > maxObjects {
		return errPackLarge
	}
	end := len(p.data) - p.size
	sum := p.newHash()
	_, _ = sum.Write(p.data[:end])
	if !bytes.Equal(sum.Sum(nil), p.data[end:]) {
		return packFault(end, "a wrong checksum")
	}
	p.data, p.at = p.data[:end], head
	for range count {
		if err := p.object(); err != nil {
			return err
		}
	}
	if p.at != end {
		return packFault(p.at, "more than was announced")
	}
	return nil
}

// object reads the entry at the present place.
func (p *pack) object() error {
	e, err := p.header()
	if err != nil {
		return err
	}
	isCommit := e.kind == packCommit
	switch e.kind {
	case packOffDelta:
		if p.commits[e.baseAt] != nil {
			isCommit = true
		} else if !p.other[e.baseAt] { // it waits itself
			p.byOff[e.baseAt] = append(p.byOff[e.baseAt], e)
			p.waiting++
		}
	case packRefDelta:
		if at, ok := p.ids[e.baseID]; ok {
			e.baseAt, isCommit = at, true
		} else {
			p.byID[e.baseID] = append(p.byID[e.baseID], e)
			p.waiting++
		}
	}
	if p.waiting > maxWaiting {
		return errPackLarge
	}
	if !isCommit {
		if e.kind <= packTag || e.kind == packOffDelta && p.other[e.baseAt] {
			p.other[e.at] = true
		}
		return p.pass(e)
	}
	content, err := p.inflate(e, true)
	if err != nil {
		return err
	}
	return p.found(e, content)
}

// found takes in a commit, or a delta of one, and whatever waited for it.
func (p *pack) found(e entry, content []byte) error {
	for {
		if e.kind != packCommit {
			made, err := p.apply(p.commits[e.baseAt], content)
			if errors.Is(err, errDelta) {
				return packFault(e.at, err.Error())
			}
			if err != nil {
				return err
			}
			content = made
		}
		if p.kept += int64(len(content)); p.kept > maxCommitBytes {
			return errPackLarge
		}
		id := p.idOf(content)
		p.commits[e.at], p.ids[id] = content, e.at
		for _, w := range append(p.byOff[e.at], p.byID[id]...) {
			w.baseAt = e.at
			p.ready = append(p.ready, w)
		}
		delete(p.byOff, e.at)
		delete(p.byID, id)
		last := len(p.ready) - 1
		if last < 0 {
			return nil
		}
		e, p.ready = p.ready[last], p.ready[:last]
		var err error
		if content, err = p.inflate(e, false); err != nil {
			return err
		}
	}
}

func (p *pack) idOf(commit []byte) string {
	h := p.newHash()
	fmt.Fprintf(h, "commit %d\x00", len(commit))
	_, _ = h.Write(commit)
	return hex.EncodeToString(h.Sum(nil))
}

// header reads type, size and base of an entry.
func (p *pack) header() (entry, error) {
	e := entry{at: p.at}
	c, ok := p.next()
	if !ok {
		return e, packFault(e.at, "an object is missing")
	}
	e.kind, e.size = c>>4&7, int64(c&15)
	for shift := 4; c&0x80 != 0; shift += 7 {
		if c, ok = p.next(); !ok || shift > 39 {
			return e, packFault(e.at, "a size that does not end")
		}
		e.size |= int64(c&0x7f) << shift
	}
	switch {
	case e.kind >= packCommit && e.kind <= packTag:
	case e.kind == packOffDelta:
		back, ok := p.distance()
		if e.baseAt = e.at - int(back); !ok || back <= 0 || e.baseAt < 12 {
			return e, packFault(e.at, "a base before the beginning")
		}
	case e.kind == packRefDelta && len(p.data)-p.at >= p.size:
		e.baseID = hex.EncodeToString(p.data[p.at : p.at+p.size])
		p.at += p.size
	default:
		return e, packFault(e.at, "an object of no known type")
	}
	e.stream = p.at
	return e, nil
}

func (p *pack) next() (byte, bool) {
	if p.at >= len(p.data) {
		return 0, false
	}
	p.at++
	return p.data[p.at-1], true
}

// distance reads how far before the entry its base is.
func (p *pack) distance() (int64, bool) {
	c, ok := p.next()
	n := int64(c & 0x7f)
	for ok && c&0x80 != 0 && n < 1<<40 {
		c, ok = p.next()
		n = (n+1)<<7 | int64(c&0x7f)
	}
	return n, ok && n < 1<<40
}

// pass goes over the object's bytes without keeping them.
func (p *pack) pass(e entry) error {
	if err := p.open(e); err != nil {
		return err
	}
	n, err := io.Copy(io.Discard, io.LimitReader(p.inflater, e.size+1))
	return p.closed(e, n, err, true)
}

// inflate returns the bytes of a commit or of a delta of one. forward says that
// the pack is read on behind them.
func (p *pack) inflate(e entry, forward bool) ([]byte, error) {
	if e.size > maxCommit {
		return nil, errPackLarge
	}
	if err := p.open(e); err != nil {
		return nil, err
	}
	content := bytes.NewBuffer(make([]byte, 0, e.size+bytes.MinRead))
	n, err := content.ReadFrom(io.LimitReader(p.inflater, e.size+1))
	return content.Bytes(), p.closed(e, n, err, forward)
}

// open starts the zlib stream of an entry, whose size counts at once.
func (p *pack) open(e entry) error {
	if p.inflated += e.size; p.inflated > p.most {
		return errPackLarge
	}
	p.source.Reset(p.data[e.stream:])
	var err error
	if p.inflater == nil {
		p.inflater, err = zlib.NewReader(p.source)
	} else {
		err = p.inflater.(zlib.Resetter).Reset(p.source, nil)
	}
	if err != nil {
		return packFault(e.stream, "no zlib stream")
	}
	return nil
}

// closed compares what came with what was announced. The source is read byte by
// byte, so it stands right behind the stream.
func (p *pack) closed(e entry, n int64, err error, forward bool) error {
	if err != nil || n != e.size {
		return packFault(e.stream, "an object of another size, or damaged")
	}
	if forward {
		p.at = len(p.data) - p.source.Len()
	}
	return nil
}
