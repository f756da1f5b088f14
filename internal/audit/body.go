package audit

import (
	"bytes"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"hash"
	"hash/crc32"
	"io"
	"os"
)

// A pack header is "moeca\0bd" | u32 version | u32 zero | 16 byte log id |
// u64 pack number | u32 crc32c.
const (
	packMagic  = "moeca\x00bd"
	packHeader = 44
	packDir    = "bodies"

	bodyHead = 4 + 1 + 32 // length, state, salt
	bodyTail = 4          // checksum

	maxExpected = 64 << 10 // taken on the word of who announces a length

	bodyKept   = 1
	bodyErased = 2 // salt and content are zero
)

// Capture collects a body while it streams past: all of it enters the
// commitment, the first limit bytes are kept. Not safe for concurrent use.
type Capture struct {
	salt  [32]byte
	sum   hash.Hash
	keep  bytes.Buffer
	limit int64
	size  int64
	cut   bool
}

// NewCapture draws the salt of a body of which at most limit bytes are kept.
func NewCapture(limit int64) *Capture {
	c := &Capture{sum: sha256.New(), limit: max(limit, 0)}
	rand.Read(c.salt[:]) // never fails: it ends the process instead
	c.sum.Write(c.salt[:])
	return c
}

// CaptureOf captures a body that is there as a whole. Its content is shared with
// b and must not change before the row is queued.
func CaptureOf(b []byte, limit int64) *Body {
	c := NewCapture(limit)
	c.sum.Write(b)
	c.size = int64(len(b))
	return c.body(b[:min(c.size, c.limit)])
}

// Expect says how many bytes will come, as far as is known.
func (c *Capture) Expect(n int64) {
	if n = min(n, c.limit); 0 < n && n <= maxExpected {
		c.keep.Grow(int(n))
	}
}

// Write never fails.
func (c *Capture) Write(p []byte) (int, error) {
	c.sum.Write(p)
	if room := c.limit - int64(c.keep.Len()); room > 0 {
		c.keep.Write(p[:min(int64(len(p)), room)])
	}
	c.size += int64(len(p))
	return len(p), nil
}

// Cut marks the body as incomplete: the stream broke off or was ended by us.
func (c *Capture) Cut() { c.cut = true }

// Size is the number of bytes seen so far.
func (c *Capture) Size() int64 { return c.size }

// Body returns what was captured so far. The content is shared with c until
// the next Write.
func (c *Capture) Body() *Body { return c.body(c.keep.Bytes()) }

func (c *Capture) body(kept []byte) *Body {
	b := &Body{Salt: c.salt, Content: kept, Size: c.size, captured: kept}
	c.sum.Sum(b.Commitment[:0])
	b.Truncated = c.cut || int64(len(b.Content)) < b.Size
	return b
}

func commit(salt [32]byte, content []byte) Hash {
	h := sha256.New()
	h.Write(salt[:])
	h.Write(content)
	var out Hash
	h.Sum(out[:0])
	return out
}

// keptBody is a body ready to be placed in a pack, as head, content and tail.
type keptBody struct {
	ref     BodyRef // without pack and offset
	head    [bodyHead]byte
	content []byte
	tail    [bodyTail]byte
}

// prepareBody cuts content at limit and makes its frame. It hashes, so it runs
// outside the lock of the log.
func prepareBody(id logID, b *Body, limit int64) (*keptBody, error) {
	if b == nil {
		return nil, nil
	}
	content := b.Content[:min(int64(len(b.Content)), limit)]
	k := &keptBody{ref: BodyRef{
		Commitment: b.Commitment, Size: b.Size, Stored: int64(len(content)),
		Truncated: b.Truncated || int64(len(content)) < b.Size,
	}}
	if k.ref.Stored > b.Size {
		return nil, fmt.Errorf("body of %d bytes has %d", b.Size, len(content))
	}
	switch {
	case k.ref.Truncated:
		k.ref.Kept = commit(b.Salt, content)
	case !same(b.captured, content) && commit(b.Salt, content) != b.Commitment:
		return nil, errors.New("body does not match its commitment")
	}
	k.content = content
	binary.LittleEndian.PutUint32(k.head[:], uint32(len(content)))
	k.head[4] = bodyKept
	copy(k.head[5:], b.Salt[:])
	sum := crc32.Update(id.checksum(k.head[:]), castagnoli, content)
	binary.LittleEndian.PutUint32(k.tail[:], sum)
	return k, nil
}

// same says that a and b are the same memory.
func same(a, b []byte) bool {
	return len(a) == len(b) && len(a) > 0 && &a[0] == &b[0]
}

// place returns the reference of the body at off in pack num; pack 0 says that
// nothing of it could be kept.
func (k *keptBody) place(num, off int64) *BodyRef {
	ref := k.ref
	ref.Pack, ref.Offset = num, off
	if num == 0 {
		ref.Stored, ref.Offset, ref.Truncated, ref.Kept = 0, 0, true, Hash{}
	}
	return &ref
}

func (b *BodyRef) frameSize() int64 { return bodyHead + b.Stored + bodyTail }

func encodePackHeader(id logID, num int64) []byte {
	b := make([]byte, 0, packHeader)
	b = append(b, packMagic...)
	b = binary.LittleEndian.AppendUint32(b, FormatVersion)
	b = binary.LittleEndian.AppendUint32(b, 0)
	b = append(b, id[:]...)
	b = binary.LittleEndian.AppendUint64(b, uint64(num))
	return binary.LittleEndian.AppendUint32(b, crc32.Checksum(b, castagnoli))
}

func checkPackHeader(src io.ReaderAt, id logID, num int64) error {
	b := make([]byte, packHeader)
	if _, err := src.ReadAt(b, 0); err != nil {
		return fmt.Errorf("body pack %d: header: %w", num, err)
	}
	if !bytes.Equal(b, encodePackHeader(id, num)) {
		return fmt.Errorf("body pack %d: header is damaged", num)
	}
	return nil
}

// committed is what the row says of salt and kept bytes: of content that was cut,
// the commitment of what was kept.
func (b *BodyRef) committed() Hash {
	if b.Truncated {
		return b.Kept
	}
	return b.Commitment
}

// readBody reads and checks the body ref points to, and returns its salt and
// behind it what was kept. The reference may come from a forged row: nothing is
// allocated that the pack does not hold.
func readBody(pack *os.File, id logID, ref *BodyRef) ([]byte, error) {
	st, err := pack.Stat()
	if err != nil {
		return nil, err
	}
	if ref.Offset < packHeader || ref.Offset > st.Size() || ref.Stored > st.Size() || ref.frameSize() > st.Size()-ref.Offset {
		return nil, fmt.Errorf("%d bytes at %d are not in a pack of %d", ref.Stored, ref.Offset, st.Size())
	}
	b := make([]byte, ref.frameSize())
	if _, err := pack.ReadAt(b, ref.Offset); err != nil {
		return nil, fmt.Errorf("read %d bytes at %d: %w", len(b), ref.Offset, err)
	}
	end := len(b) - bodyTail
	if int64(binary.LittleEndian.Uint32(b)) != ref.Stored || id.checksum(b[:end]) != binary.LittleEndian.Uint32(b[end:]) {
		return nil, errors.New("body is damaged")
	}
	switch b[4] {
	case bodyErased:
		return nil, ErrErased
	case bodyKept:
	default:
		return nil, errors.New("body is damaged")
	}
	salted := b[bodyHead-HashSize : end]
	if sha256.Sum256(salted) != ref.committed() {
		return nil, errors.New("body does not match the commitment in its row")
	}
	return salted, nil
}
