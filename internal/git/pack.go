package git

import (
	"bytes"
	"compress/zlib"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
)

// packKind numbers object kinds as a pack does.
var packKind = map[string]byte{"commit": 1, "tree": 2, "blob": 3}

// unpackLimit is the number of objects up to which they are stored loose, as
// git's own receive-pack does; above it the pack is kept whole.
const unpackLimit = 100

// pack collects new objects and hands them to git in one stream. Git names
// every object itself from its content, so a mistake here cannot corrupt the
// store: it shows as an object that is missing afterwards.
//
// A pack stream rather than fast-import: names in trees stay raw bytes and no
// ref is needed to get objects in. Safe for concurrent use.
type pack struct {
	st    *Store
	zlibs sync.Pool // of *zlib.Writer: one is a megabyte, files are small

	mu   sync.Mutex // guards what follows
	file *os.File   // compressed bodies, spooled
	ids  map[string]bool
}

// newPack spools in our own git directory.
func (st *Store) newPack() (*pack, error) {
	f, err := os.CreateTemp(st.dir, ".pack-*")
	if err != nil {
		return nil, fmt.Errorf("git: spool objects: %w", err)
	}
	// Without a name the spool vanishes with us, however we end.
	if err := os.Remove(f.Name()); err != nil {
		return nil, errors.Join(fmt.Errorf("git: spool objects: %w", err), f.Close())
	}
	return &pack{st: st, file: f, ids: map[string]bool{}}, nil
}

// close removes the spool; nothing in it is needed any more.
func (p *pack) close() { _ = p.file.Close() }

// add takes an object held in memory. Compression happens outside the lock.
func (p *pack) add(kind string, data []byte) (string, error) {
	id := p.st.format.id(kind, data)
	if p.has(id) {
		return id, nil
	}
	var buf bytes.Buffer
	buf.Write(packHeader(kind, int64(len(data))))
	if _, err := p.compress(&buf, bytes.NewReader(data)); err != nil {
		return "", fmt.Errorf("git: compress object: %w", err)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ids[id] {
		return id, nil
	}
	if _, err := p.file.Write(buf.Bytes()); err != nil {
		return "", fmt.Errorf("git: spool objects: %w", err)
	}
	p.ids[id] = true
	return id, nil
}

// compress copies r to w and returns how much r held.
func (p *pack) compress(w io.Writer, r io.Reader) (int64, error) {
	z, ok := p.zlibs.Get().(*zlib.Writer)
	if ok {
		z.Reset(w)
	} else {
		var err error
		if z, err = zlib.NewWriterLevel(w, zlib.BestSpeed); err != nil {
			return 0, err
		}
	}
	defer p.zlibs.Put(z)
	n, err := io.Copy(z, r)
	if err != nil {
		return n, err
	}
	return n, z.Close()
}

// addStream takes a blob of known name and size from r. When what r holds is
// something else, the spool is as it was before and the error is errChanged.
func (p *pack) addStream(id string, size int64, r io.Reader) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ids[id] {
		return nil
	}
	start, err := p.file.Seek(0, io.SeekCurrent)
	if err != nil {
		return fmt.Errorf("git: spool objects: %w", err)
	}
	if err := p.spool(id, size, r); err != nil {
		_, seekErr := p.file.Seek(start, io.SeekStart)
		return errors.Join(err, p.file.Truncate(start), seekErr)
	}
	p.ids[id] = true
	return nil
}

func (p *pack) spool(id string, size int64, r io.Reader) error {
	if _, err := p.file.Write(packHeader("blob", size)); err != nil {
		return fmt.Errorf("git: spool objects: %w", err)
	}
	h := p.st.format.start("blob", size)
	n, err := p.compress(p.file, io.TeeReader(io.LimitReader(r, size), h))
	if err != nil {
		return fmt.Errorf("git: spool objects: %w", err)
	}
	if n != size || fmt.Sprintf("%x", h.Sum(nil)) != id {
		return errChanged
	}
	return nil
}

func (p *pack) has(id string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.ids[id]
}

// packHeader is kind and size in a pack's variable-length form.
func packHeader(kind string, size int64) []byte {
	b := packKind[kind]<<4 | byte(size&15)
	size >>= 4
	var out []byte
	for size > 0 {
		out = append(out, b|0x80)
		b = byte(size & 0x7f)
		size >>= 7
	}
	return append(out, b)
}

// flush stores the objects in the user's object store and returns once git has
// synced them.
func (p *pack) flush(ctx context.Context) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.ids) == 0 {
		return nil
	}
	if _, err := p.file.Seek(0, io.SeekStart); err != nil {
		return fmt.Errorf("git: spool objects: %w", err)
	}
	head := binary.BigEndian.AppendUint32([]byte("PACK\x00\x00\x00\x02"), uint32(len(p.ids)))
	sum := p.st.format.new()
	_, _ = sum.Write(head) // a hash never fails
	body := io.MultiReader(bytes.NewReader(head), io.TeeReader(p.file, sum), &lazySum{h: sum.Sum})
	args := []string{"unpack-objects", "-q"}
	if len(p.ids) > unpackLimit {
		args = []string{"index-pack", "--stdin", "--threads=2"}
	}
	defer p.st.adopt()
	if _, err := p.st.git.output(ctx, body, args...); err != nil {
		return p.st.explain("store objects", err)
	}
	return nil
}

// lazySum reads a checksum that is asked for only after all else was read.
type lazySum struct {
	h    func([]byte) []byte
	rest []byte
	done bool
}

func (l *lazySum) Read(b []byte) (int, error) {
	if !l.done {
		l.rest, l.done = l.h(nil), true
	}
	if len(l.rest) == 0 {
		return 0, io.EOF
	}
	n := copy(b, l.rest)
	l.rest = l.rest[n:]
	return n, nil
}

// errChanged means a file did not hold still.
var errChanged = errors.New("changed while it was read")
