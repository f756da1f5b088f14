package git

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strconv"
	"strings"

	"moeca/internal/diff"
)

// Modes of tree entries.
const (
	modeTree    = "040000"
	modeFile    = "100644"
	modeExec    = "100755"
	modeSymlink = "120000"
	modeGitlink = "160000"
)

// ErrTooLarge means a file is over the limit the caller gave.
var ErrTooLarge = errors.New("larger than the limit")

// leaf is one line of a recursive tree listing.
type leaf struct {
	path string // raw bytes
	mode string
	oid  string
	size int64 // -1 unless asked for
}

// leaves lists a tree recursively; trees adds the directories themselves.
func (st *Store) leaves(ctx context.Context, treeish string, trees, sizes bool) ([]leaf, error) {
	oid, err := st.resolve(ctx, treeish)
	if err != nil {
		return nil, err
	}
	args := []string{"ls-tree", "-r", "-z", "--full-tree"}
	if trees {
		args = append(args, "-t")
	}
	if sizes {
		args = append(args, "-l")
	}
	var out []leaf
	err = st.git.stream(ctx, nil, func(r io.Reader) error {
		in := bufio.NewReaderSize(r, 64<<10)
		for {
			line, err := in.ReadBytes(0)
			if err == io.EOF && len(line) == 0 {
				return nil
			}
			if err != nil {
				return err
			}
			l, err := parseLeaf(line[:len(line)-1])
			if err != nil {
				return err
			}
			out = append(out, l)
		}
	}, append(args, "--end-of-options", oid)...)
	if err != nil {
		return nil, st.explain("list tree "+treeish, err)
	}
	return out, nil
}

// parseLeaf reads "mode kind oid[ size]\tpath".
func parseLeaf(line []byte) (leaf, error) {
	head, path, ok := bytes.Cut(line, []byte{'\t'})
	f := strings.Fields(string(head))
	if !ok || len(f) < 3 {
		return leaf{}, fmt.Errorf("tree entry %q", line)
	}
	l := leaf{path: string(path), mode: f[0], oid: f[2], size: -1}
	if len(f) == 4 && f[3] != "-" {
		n, err := strconv.ParseInt(f[3], 10, 64)
		if err != nil {
			return leaf{}, fmt.Errorf("tree entry %q: %w", line, err)
		}
		l.size = n
	}
	return l, nil
}

// List returns every file of a tree, in tree order.
func (st *Store) List(ctx context.Context, treeish string) ([]Entry, error) {
	leaves, err := st.leaves(ctx, treeish, false, true)
	if err != nil {
		return nil, err
	}
	out := make([]Entry, len(leaves))
	for i, l := range leaves {
		e := Entry{Path: diff.Printable(l.path), Raw: []byte(l.path), Mode: l.mode, OID: l.oid, Size: l.size, Kind: "blob", Perm: 0o644}
		switch l.mode {
		case modeSymlink:
			e.Kind, e.Perm = "symlink", fs.ModeSymlink|0o777
		case modeGitlink:
			e.Kind, e.Perm, e.Size = "submodule", fs.ModeDir|0o755, 0
		case modeExec:
			e.Perm = 0o755
		}
		out[i] = e
	}
	return out, nil
}

// ReadFile returns the content of one file of a tree as it is stored. path is
// raw bytes. Errors: fs.ErrNotExist, ErrTooLarge.
func (st *Store) ReadFile(ctx context.Context, treeish, path string, max int64) ([]byte, error) {
	if err := checkPath(path); err != nil {
		return nil, fmt.Errorf("git: read %q: %w", path, err)
	}
	oid, err := st.resolve(ctx, treeish)
	if err != nil {
		return nil, err
	}
	line, err := st.git.output(ctx, nil, "ls-tree", "-z", "--full-tree", "--end-of-options", oid, path)
	if err != nil {
		return nil, st.explain("read "+path, err)
	}
	if len(line) == 0 {
		return nil, fmt.Errorf("git: read %q: %w", path, fs.ErrNotExist)
	}
	l, err := parseLeaf(bytes.TrimSuffix(line, []byte{0}))
	if err != nil {
		return nil, fmt.Errorf("git: read %q: %w", path, err)
	}
	if l.mode == modeTree || l.mode == modeGitlink {
		return nil, fmt.Errorf("git: read %q: it is a directory", path)
	}
	var data []byte
	err = st.readObjects(ctx, []string{l.oid}, func(_ int, o object, r io.Reader) error {
		if o.Size > max {
			return fmt.Errorf("git: read %q: %w: %d bytes, limit %d", path, ErrTooLarge, o.Size, max)
		}
		data, err = io.ReadAll(r)
		return err
	})
	return data, err
}
