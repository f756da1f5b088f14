package audit

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"slices"
	"strconv"
	"strings"
)

// A segment header is
//
//	"moeca\0lg" | u32 version | u32 zero | 16 byte log id | u64 segment number |
//	u64 first seq | 32 byte hash of the row before | u32 crc32c
//
// Its length and the place of its checksum stay the same in every version, so
// that a newer log is told apart from a damaged one.
const (
	segmentMagic  = "moeca\x00lg"
	segmentHeader = 84
	frameHead     = 12
	frameTail     = 4
)

// logID is drawn when a log is created. It seeds every checksum, so that bytes
// an agent got into a row never pass for a frame; sandboxes do not see it.
type logID [16]byte

type header struct {
	id    logID
	num   int64
	first int64 // seq of the first row
	prev  Hash  // hash of the row before it
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// checksum covers the id and b. The id goes through the table byte by byte:
// given to crc32 it would be moved to the heap for each row.
func (id logID) checksum(b []byte) uint32 {
	sum := ^uint32(0)
	for _, x := range id {
		sum = castagnoli[byte(sum)^x] ^ sum>>8
	}
	return crc32.Update(^sum, castagnoli, b)
}

func (h header) encode() []byte {
	b := make([]byte, 0, segmentHeader)
	b = append(b, segmentMagic...)
	b = binary.LittleEndian.AppendUint32(b, FormatVersion)
	b = binary.LittleEndian.AppendUint32(b, 0)
	b = append(b, h.id[:]...)
	b = binary.LittleEndian.AppendUint64(b, uint64(h.num))
	b = binary.LittleEndian.AppendUint64(b, uint64(h.first))
	b = append(b, h.prev[:]...)
	return binary.LittleEndian.AppendUint32(b, crc32.Checksum(b, castagnoli))
}

// damage is an error about the bytes of a log, in contrast to one about reading
// them.
type damage string

func (d damage) Error() string { return string(d) }

func isDamage(err error) bool {
	var d damage
	return errors.As(err, &d)
}

// errShort: the file ends inside a header or a frame.
const errShort = damage("ends in the middle of a row")

func decodeHeader(b []byte) (header, error) {
	if len(b) < segmentHeader {
		return header{}, errShort
	}
	le := binary.LittleEndian
	if crc32.Checksum(b[:80], castagnoli) != le.Uint32(b[80:]) || !bytes.HasPrefix(b, []byte(segmentMagic)) {
		return header{}, damage("segment header is damaged")
	}
	if v := le.Uint32(b[8:]); v > FormatVersion {
		return header{}, fmt.Errorf("%w (format %d, this program knows %d)", ErrNewerVersion, v, FormatVersion)
	}
	h := header{num: int64(le.Uint64(b[32:])), first: int64(le.Uint64(b[40:]))}
	copy(h.id[:], b[16:])
	copy(h.prev[:], b[48:])
	if !bytes.Equal(h.encode(), b[:segmentHeader]) || h.num < 1 || h.first < 1 {
		return header{}, damage("segment header is not canonical")
	}
	return h, nil
}

func readHeader(src io.ReaderAt) (header, error) {
	b := make([]byte, segmentHeader)
	n, err := src.ReadAt(b, 0)
	if err != nil && err != io.EOF {
		return header{}, err
	}
	return decodeHeader(b[:n])
}

// frame is a row as it lies in a segment.
type frame struct {
	row   []byte // valid until the next call
	leaf  []byte // row and the byte before it
	batch int64  // seq of the first row of its commit batch
	off   int64
	size  int64
}

// hash is the hash of the row. The byte before a row is the highest of its
// batch number and so the zero a leaf hash begins with: nothing is copied.
func (f frame) hash() Hash {
	if f.leaf[0] != 0 {
		return RowHash(f.row)
	}
	return sha256.Sum256(f.leaf)
}

// openFrame begins a frame; the row is to be appended, then closeFrame.
func openFrame(dst []byte, batch int64) []byte {
	dst = binary.LittleEndian.AppendUint32(dst, 0)
	return binary.LittleEndian.AppendUint64(dst, uint64(batch))
}

// closeFrame ends the only frame in b.
func closeFrame(b []byte, id logID) (frame, []byte) {
	binary.LittleEndian.PutUint32(b, uint32(len(b)-frameHead))
	f := frame{row: b[frameHead:], leaf: b[frameHead-1:], size: int64(len(b) + frameTail)}
	return f, binary.LittleEndian.AppendUint32(b, id.checksum(b))
}

// parseFrame reads the frame at the start of b.
func parseFrame(b []byte, id logID) (frame, error) {
	le := binary.LittleEndian
	if len(b) < frameHead {
		return frame{}, errShort
	}
	n, batch := int64(le.Uint32(b)), int64(le.Uint64(b[4:]))
	if n == 0 || n > MaxRow || batch < 1 {
		return frame{}, damage("row length is damaged")
	}
	size := frameHead + n + frameTail
	if int64(len(b)) < size {
		return frame{}, errShort
	}
	if id.checksum(b[:frameHead+n]) != le.Uint32(b[frameHead+n:]) {
		return frame{}, damage("checksum differs")
	}
	return frame{row: b[frameHead : frameHead+n], leaf: b[frameHead-1 : frameHead+n], batch: batch, size: size}, nil
}

// frameReader reads the frames of a segment in order, beginning at off.
type frameReader struct {
	id  logID
	src io.ReaderAt
	off int64  // of the next frame
	buf []byte // what was read from off on
	mem []byte // holds buf
}

const readAhead = 256 << 10

func newFrameReader(src io.ReaderAt, id logID, off int64) *frameReader {
	return &frameReader{id: id, src: src, off: off}
}

// seek forgets what was read ahead.
func (r *frameReader) seek(off int64) { r.off, r.buf = off, nil }

// next returns the frame at r.off, io.EOF at the end of the file, errShort when
// the file ends inside the frame. After an error r.off is unchanged and seek
// makes another try possible.
func (r *frameReader) next() (frame, error) {
	if err := r.fill(frameHead); err != nil {
		return frame{}, err
	}
	n := int64(binary.LittleEndian.Uint32(r.buf))
	if n > MaxRow {
		return parseFrame(r.buf, r.id)
	}
	if err := r.fill(frameHead + n + frameTail); err != nil {
		return frame{}, err
	}
	f, err := parseFrame(r.buf, r.id)
	if err != nil {
		return frame{}, err
	}
	f.off = r.off
	r.off, r.buf = r.off+f.size, r.buf[f.size:]
	return f, nil
}

// fill reads until n bytes from r.off on are there.
func (r *frameReader) fill(n int64) error {
	if int64(len(r.buf)) >= n {
		return nil
	}
	if int64(len(r.mem)) < n {
		r.mem = make([]byte, max(n, readAhead))
	}
	have := copy(r.mem, r.buf)
	for int64(have) < n {
		got, err := r.src.ReadAt(r.mem[have:], r.off+int64(have))
		have += got
		r.buf = r.mem[:have]
		switch {
		case got > 0 || err == nil:
		case err != io.EOF:
			return err
		case have == 0:
			return io.EOF
		default:
			return errShort
		}
	}
	return nil
}

// chain is what the next row must continue.
type chain struct {
	seq  int64 // of the last row, 0 before the first
	hash Hash
	time int64
}

// follow moves the chain behind a row, at which it takes no more than a glance.
func (c *chain) follow(f frame) (glance, error) {
	var g glance
	if !g.read(f.row) {
		r, err := Decode(f.row)
		if err != nil {
			return glance{}, err
		}
		g = r.glance()
	}
	return g, c.move(g, f.hash())
}

// move puts the chain behind a row that has hash h.
func (c *chain) move(g glance, h Hash) error {
	switch {
	case g.seq != c.seq+1:
		return fmt.Errorf("row says it is row %d", g.seq)
	case g.prev != c.hash:
		return errors.New("does not continue the row before it")
	case g.time == 0 || g.time < c.time:
		return errors.New("is older than the row before it")
	}
	*c = chain{seq: g.seq, hash: h, time: g.time}
	return nil
}

// checkHeader says whether a segment continues the chain.
func (c *chain) checkHeader(h header, num int64, id logID) error {
	switch {
	case h.num != num:
		return damage(fmt.Sprintf("segment says it is segment %d", h.num))
	case num > 1 && h.id != id:
		return damage("segment belongs to another log")
	case h.first != c.seq+1:
		return damage(fmt.Sprintf("segment begins with row %d", h.first))
	case h.prev != c.hash:
		return damage("segment does not continue the one before it")
	}
	return nil
}

func segmentName(num int64) string { return fmt.Sprintf("seg-%06d.log", num) }
func packName(num int64) string    { return fmt.Sprintf("pack-%06d.dat", num) }

// numbered lists the numbers of the files prefix-NNNNNNsuffix, ascending.
func numbered(entries []fs.DirEntry, name func(int64) string) []int64 {
	var nums []int64
	for _, e := range entries {
		_, rest, _ := strings.Cut(e.Name(), "-")
		digits, _, _ := strings.Cut(rest, ".")
		n, err := strconv.ParseInt(digits, 10, 64)
		if err == nil && n > 0 && e.Name() == name(n) {
			nums = append(nums, n)
		}
	}
	slices.Sort(nums)
	return nums
}
