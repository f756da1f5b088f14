package git

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"runtime"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"
	"golang.org/x/sys/unix"
)

// Owner is who gets the files of a checkout; -1 leaves them with the caller.
type Owner struct{ UID, GID int }

// maxLink is the longest symlink target a kernel takes.
const maxLink = 4095

// Checkout writes a tree as a plain directory: files exactly as stored, no
// conversion, no .git. dir must not exist or be empty, and no agent may have
// been in it. Symlinks are written as they are and never followed; submodules
// become empty directories; LFS pointers stay pointers. After an error the
// directory holds a part of the tree and is to be removed.
func (st *Store) Checkout(ctx context.Context, treeish, dir string, own Owner) error {
	tree, err := st.treeOf(ctx, treeish)
	if err != nil {
		return err
	}
	leaves, err := st.leaves(ctx, tree, true, false)
	if err != nil {
		return err
	}
	if err := checkTree(leaves); err != nil {
		return fmt.Errorf("git: check out %s: %w", treeish, err)
	}
	if err := st.write(ctx, leaves, dir, own); err != nil {
		return fmt.Errorf("git: check out %s into %s: %w", treeish, dir, err)
	}
	return nil
}

// checkTree refuses a tree that could write anywhere but into its own files.
func checkTree(leaves []leaf) error {
	seen := make(map[string]bool, len(leaves))
	for _, l := range leaves {
		if err := checkPath(l.path); err != nil {
			return err
		}
		if seen[l.path] {
			return fmt.Errorf("%w: the tree holds it twice: %q", ErrHostileName, l.path)
		}
		seen[l.path] = true
	}
	return nil
}

func (st *Store) write(ctx context.Context, leaves []leaf, dir string, own Owner) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	if rest, err := os.ReadDir(dir); err != nil || len(rest) > 0 {
		return errors.Join(err, fmt.Errorf("directory is not empty"))
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	groups, err := makeDirs(root, leaves, own)
	if err != nil {
		return err
	}
	g, ctx := errgroup.WithContext(ctx)
	for _, part := range spread(groups, runtime.GOMAXPROCS(0)) {
		g.Go(func() error { return st.writeFiles(ctx, dir, part, own) })
	}
	return g.Wait()
}

// group is the files of one directory.
type group struct {
	dir   string
	files []leaf
}

// makeDirs makes every directory and groups the files by theirs.
func makeDirs(root *os.Root, leaves []leaf, own Owner) ([]group, error) {
	if err := giveDir(root, ".", own); err != nil {
		return nil, err
	}
	index := map[string]int{".": 0}
	groups := []group{{dir: "."}}
	for _, l := range leaves {
		switch l.mode {
		case modeTree, modeGitlink:
			if err := root.Mkdir(l.path, 0o755); err != nil {
				return nil, err
			}
			if err := giveDir(root, l.path, own); err != nil {
				return nil, err
			}
			index[l.path] = len(groups)
			groups = append(groups, group{dir: l.path})
		default:
			i, ok := index[path.Dir(l.path)]
			if !ok {
				return nil, fmt.Errorf("tree entry without its directory: %q", l.path)
			}
			groups[i].files = append(groups[i].files, l)
		}
	}
	return groups, nil
}

func giveDir(root *os.Root, name string, own Owner) error {
	// The mode is set again because the umask may have narrowed it.
	if err := root.Chmod(name, 0o755); err != nil {
		return err
	}
	if own.UID < 0 && own.GID < 0 {
		return nil
	}
	return root.Lchown(name, own.UID, own.GID)
}

// spread deals the groups into n parts of about as many files.
func spread(groups []group, n int) [][]group {
	slices.SortStableFunc(groups, func(a, b group) int { return len(b.files) - len(a.files) })
	parts, load := make([][]group, n), make([]int, n)
	for _, g := range groups {
		for len(g.files) > 0 {
			cut := min(len(g.files), 512) // one directory of all files is shared too
			i := slices.Index(load, slices.Min(load))
			parts[i] = append(parts[i], group{g.dir, g.files[:cut]})
			load[i] += cut
			g.files = g.files[cut:]
		}
	}
	return parts
}

// writeFiles is one worker: one cat-file, one directory open at a time.
func (st *Store) writeFiles(ctx context.Context, dir string, groups []group, own Owner) error {
	var oids []string
	var files []leaf
	for _, g := range groups {
		for _, f := range g.files {
			oids, files = append(oids, f.oid), append(files, f)
		}
	}
	root, err := openDir(unix.AT_FDCWD, dir)
	if err != nil {
		return err
	}
	at, cur := root, ""
	defer func() { closeDirs(root, at) }()
	buf := make([]byte, 64<<10)
	return st.readObjects(ctx, oids, func(i int, o object, r io.Reader) error {
		f := files[i]
		if o.Kind != "blob" {
			return fmt.Errorf("%q is a %s, not a file", f.path, o.Kind)
		}
		parent, name := path.Split(f.path)
		if parent != cur {
			if at != root {
				closeDirs(at)
			}
			var err error
			if at, err = openBelow(root, parent); err != nil {
				at = root
				return err
			}
			cur = parent
		}
		if err := (place{at, name, own}).file(f, o, r, buf); err != nil {
			return fmt.Errorf("%q: %w", f.path, err)
		}
		return nil
	})
}

// openDir opens one directory below at, never through a symlink.
func openDir(at int, name string) (int, error) {
	fd, err := unix.Openat(at, name, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return -1, &os.PathError{Op: "open directory", Path: name, Err: err}
	}
	return fd, nil
}

// openBelow opens a directory by its path below root, one component at a time,
// so that neither a symlink nor the length of the path matters. The result is
// root itself for the empty path.
func openBelow(root int, dir string) (int, error) {
	at := root
	for name := range strings.SplitSeq(strings.TrimSuffix(dir, "/"), "/") {
		if name == "" {
			continue
		}
		next, err := openDir(at, name)
		if at != root {
			closeDirs(at)
		}
		if err != nil {
			return -1, err
		}
		at = next
	}
	return at, nil
}

// closeDirs closes directories, each once; closing one that was only read
// cannot lose anything.
func closeDirs(fds ...int) {
	slices.Sort(fds)
	for _, fd := range slices.Compact(fds) {
		_ = unix.Close(fd)
	}
}

// place is where one entry goes: a name in an open directory.
type place struct {
	at   int
	name string
	own  Owner
}

func (p place) file(f leaf, o object, r io.Reader, buf []byte) error {
	if f.mode == modeSymlink {
		return p.link(o, r)
	}
	perm := uint32(0o644)
	if f.mode == modeExec {
		perm = 0o755
	}
	fd, err := unix.Openat(p.at, p.name, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL|unix.O_NOFOLLOW|unix.O_CLOEXEC, perm)
	if err != nil {
		return err
	}
	file := os.NewFile(uintptr(fd), p.name)
	_, err = io.CopyBuffer(struct{ io.Writer }{file}, r, buf) // the bare file would bring a buffer of its own
	if err == nil {
		err = unix.Fchmod(fd, perm)
	}
	if err == nil && (p.own.UID >= 0 || p.own.GID >= 0) {
		err = unix.Fchown(fd, p.own.UID, p.own.GID)
	}
	return errors.Join(err, file.Close())
}

func (p place) link(o object, r io.Reader) error {
	if o.Size > maxLink || o.Size == 0 {
		return fmt.Errorf("%w: symlink target of %d bytes", ErrHostileName, o.Size)
	}
	target, err := io.ReadAll(r)
	if err != nil {
		return err
	}
	if strings.IndexByte(string(target), 0) >= 0 {
		return fmt.Errorf("%w: NUL in a symlink target", ErrHostileName)
	}
	if err := unix.Symlinkat(string(target), p.at, p.name); err != nil {
		return err
	}
	if p.own.UID < 0 && p.own.GID < 0 {
		return nil
	}
	return unix.Fchownat(p.at, p.name, p.own.UID, p.own.GID, unix.AT_SYMLINK_NOFOLLOW)
}
