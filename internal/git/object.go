package git

import (
	"bufio"
	"context"
	"crypto/sha1" // object names of existing repositories; collisions are detected by git when it reads the pack
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
	"io"
	"strconv"
	"strings"
)

// format is a repository's object format.
type format struct {
	name string
	size int
	new  func() hash.Hash
}

func formatOf(name string) (format, error) {
	switch name {
	case "sha1":
		return format{"sha1", sha1.Size, sha1.New}, nil
	case "sha256":
		return format{"sha256", sha256.Size, sha256.New}, nil
	}
	return format{}, fmt.Errorf("object format %q is not known to this version of moeca", name)
}

func (f format) hexLen() int { return 2 * f.size }

// start returns a hash that has taken in an object's header.
func (f format) start(kind string, size int64) hash.Hash {
	h := f.new()
	_, _ = io.WriteString(h, kind+" "+strconv.FormatInt(size, 10)+"\x00") // a hash never fails
	return h
}

// id names an object held in memory.
func (f format) id(kind string, data []byte) string {
	h := f.start(kind, int64(len(data)))
	_, _ = h.Write(data) // a hash never fails
	return hex.EncodeToString(h.Sum(nil))
}

// object is one answer of cat-file --batch.
type object struct {
	OID  string
	Kind string // blob, tree, commit, tag; "" when missing
	Size int64
}

// readObjects asks for objects in order and hands each to fn with its content.
// fn must not keep the reader; what it leaves unread is skipped.
func (st *Store) readObjects(ctx context.Context, oids []string, fn func(i int, o object, r io.Reader) error) error {
	return st.batch(ctx, oids, func(in *bufio.Reader, i int, o object) error {
		if o.Kind == "" {
			return fmt.Errorf("object %s is missing: fetch it (a partial clone lacks it), then try again", o.OID)
		}
		body := &io.LimitedReader{R: in, N: o.Size}
		if err := fn(i, o, body); err != nil {
			return err
		}
		if _, err := io.Copy(io.Discard, body); err != nil {
			return err
		}
		if body.N > 0 {
			return io.ErrUnexpectedEOF
		}
		_, err := in.Discard(1) // the line end after the content
		return err
	}, "--batch")
}

// statObjects returns kind and size of objects; Kind is "" for a missing one.
func (st *Store) statObjects(ctx context.Context, oids []string) ([]object, error) {
	out := make([]object, len(oids))
	err := st.batch(ctx, oids, func(_ *bufio.Reader, i int, o object) error {
		out[i] = o
		return nil
	}, "--batch-check")
	return out, err
}

func (st *Store) batch(ctx context.Context, oids []string, fn func(*bufio.Reader, int, object) error, mode string) error {
	if len(oids) == 0 {
		return nil
	}
	for _, oid := range oids {
		if err := st.checkOID(oid); err != nil {
			return err
		}
	}
	questions := strings.NewReader(strings.Join(oids, "\n") + "\n")
	err := st.git.stream(ctx, questions, func(r io.Reader) error {
		in := bufio.NewReaderSize(r, 64<<10)
		for i, oid := range oids {
			line, err := in.ReadString('\n')
			if err != nil {
				return fmt.Errorf("answer about %s: %w", oid, err)
			}
			o, err := parseObject(strings.TrimSuffix(line, "\n"), oid)
			if err != nil {
				return err
			}
			if err := fn(in, i, o); err != nil {
				return err
			}
		}
		return nil
	}, "cat-file", mode, "--buffer")
	if err != nil {
		return st.explain("read objects", err)
	}
	return nil
}

func parseObject(line, want string) (object, error) {
	f := strings.Split(line, " ")
	if len(f) == 2 && f[0] == want && f[1] == "missing" {
		return object{OID: want}, nil
	}
	if len(f) != 3 || f[0] != want {
		return object{}, fmt.Errorf("unexpected answer about %s: %q", want, line)
	}
	size, err := strconv.ParseInt(f[2], 10, 64)
	if err != nil || size < 0 {
		return object{}, fmt.Errorf("size of %s: %q", want, f[2])
	}
	return object{OID: want, Kind: f[1], Size: size}, nil
}
