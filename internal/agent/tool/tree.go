package tool

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"syscall"
	"unicode/utf8"
)

// Bounds of a path.
const (
	maxPath  = 4095
	maxName  = 255
	maxLinks = 32 // symbolic links met while resolving one path
)

// Errors of a path. They are written for the model.
var (
	errOutside = errors.New("the path leads out of the tree")
	errDenied  = errors.New("this path is denied by the rules of this run")
	errLinks   = errors.New("too many symbolic links")
	errRegular = errors.New("not a regular file")
)

// Tree is the directory that tools work on.
type Tree struct {
	root  *os.Root
	globs []glob
}

// NewTree confines tools to root. deny holds glob patterns (path.Match): one
// without a slash is matched with every name on a path, one with a slash with
// the path and everything above it. Matching ignores case.
func NewTree(root *os.Root, deny []string) (*Tree, error) {
	t := &Tree{root: root}
	for _, d := range deny {
		g, err := newGlob(d)
		if err != nil {
			return nil, err
		}
		t.globs = append(t.globs, g)
	}
	return t, nil
}

// clean turns a path as the model wrote it into one below the root, with
// slashes, "." for the root itself. An absolute path is taken when it names
// something in the tree by the tree's own path.
func (t *Tree) clean(name string) (string, error) {
	switch {
	case !utf8.ValidString(name) || strings.ContainsRune(name, 0):
		return "", errors.New("the path holds a NUL byte or is not UTF-8")
	case len(name) > maxPath:
		return "", fmt.Errorf("the path is longer than %d bytes", maxPath)
	}
	if path.IsAbs(name) {
		rest, ok := strings.CutPrefix(path.Clean(name), filepath.ToSlash(t.root.Name()))
		if !ok || rest != "" && rest[0] != '/' {
			return "", errOutside
		}
		name = strings.TrimPrefix(rest, "/")
	}
	// ".." is judged before cleaning: behind a link it would mean another place
	// than its text says.
	for _, c := range strings.Split(name, "/") {
		if c == ".." {
			return "", errOutside
		}
		if len(c) > maxName {
			return "", fmt.Errorf("a name on the path is longer than %d bytes", maxName)
		}
	}
	return path.Clean(name), nil
}

// resolve returns the path below the root that name leads to, free of symbolic
// links. What does not exist yet stays as it was written. Every path met on the
// way is checked against the rules.
func (t *Tree) resolve(name string) (string, error) {
	rest, err := t.clean(name)
	if err != nil {
		return "", err
	}
	done := "."
	for links := 0; rest != "." && rest != ""; {
		first, after, _ := strings.Cut(rest, "/")
		next := path.Join(done, first)
		if t.denied(next) {
			return "", errDenied
		}
		info, err := t.root.Lstat(next)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			// What follows does not exist either.
			final := path.Join(next, after)
			if t.denied(final) {
				return "", errDenied
			}
			return final, nil
		case err != nil:
			return "", plain(err)
		case info.Mode()&fs.ModeSymlink == 0:
			done, rest = next, after
			continue
		}
		if links++; links > maxLinks {
			return "", errLinks
		}
		target, err := t.root.Readlink(next)
		if err != nil {
			return "", plain(err)
		}
		rest, err = follow(done, filepath.ToSlash(target), after)
		if err != nil {
			return "", err
		}
		done = "."
	}
	return done, nil
}

// follow is the path to go on with when a link in dir to target was met. done
// is free of links, so that ".." in the target may be taken by its text as long
// as no link stands before it; os.Root judges the rest again.
func follow(dir, target, after string) (string, error) {
	if path.IsAbs(target) || target == "" {
		return "", errOutside
	}
	next := path.Join(dir, target, after)
	if next == ".." || strings.HasPrefix(next, "../") {
		return "", errOutside
	}
	return next, nil
}

// open opens a regular file for reading.
func (t *Tree) open(name string) (*os.File, fs.FileInfo, error) {
	final, err := t.resolve(name)
	if err != nil {
		return nil, nil, err
	}
	// Opening a device can already do something, so it is looked at first.
	if info, err := t.root.Lstat(final); err != nil {
		return nil, nil, plain(err)
	} else if info.IsDir() {
		return nil, nil, errors.New("this is a directory")
	} else if !info.Mode().IsRegular() {
		return nil, nil, errRegular
	}
	f, err := t.root.OpenFile(final, os.O_RDONLY|syscall.O_NONBLOCK|syscall.O_NOFOLLOW, 0)
	if err != nil {
		return nil, nil, plain(err)
	}
	info, err := f.Stat()
	if err != nil || !info.Mode().IsRegular() {
		f.Close()
		return nil, nil, errRegular
	}
	return f, info, nil
}

// read returns a regular file of at most limit bytes.
func (t *Tree) read(name string, limit int64) ([]byte, error) {
	f, info, err := t.open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if info.Size() > limit {
		return nil, fmt.Errorf("the file has %d bytes, the limit is %d", info.Size(), limit)
	}
	data, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err != nil {
		return nil, plain(err)
	}
	if int64(len(data)) > limit {
		return nil, fmt.Errorf("the file is longer than %d bytes", limit)
	}
	return data, nil
}

// replace writes a file whole: a new one beside it takes its name. Directories
// on the way are made; an existing file keeps its permission bits. It says
// whether the file is new.
func (t *Tree) replace(name string, data []byte) (created bool, err error) {
	final, err := t.resolve(name)
	if err != nil {
		return false, err
	}
	if final == "." {
		return false, errors.New("this is a directory")
	}
	mode, created, err := t.target(final)
	if err != nil {
		return false, err
	}
	dir := path.Dir(final)
	if err := t.root.MkdirAll(dir, 0o755); err != nil {
		return false, plain(err)
	}
	temp := path.Join(dir, ".moeca-"+randomName())
	if err := t.writeNew(temp, data, mode); err != nil {
		_ = t.root.Remove(temp) // the failure that matters is already there
		return false, err
	}
	if err := t.root.Rename(temp, final); err != nil {
		_ = t.root.Remove(temp)
		return false, plain(err)
	}
	return created, nil
}

// target says with which mode a file is written, and whether it is new.
func (t *Tree) target(final string) (mode fs.FileMode, created bool, err error) {
	info, err := t.root.Lstat(final)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return 0o644, true, nil
	case err != nil:
		return 0, false, plain(err)
	case info.IsDir():
		return 0, false, errors.New("this is a directory")
	case !info.Mode().IsRegular():
		return 0, false, errRegular
	}
	return info.Mode().Perm(), false, nil
}

func (t *Tree) writeNew(name string, data []byte, mode fs.FileMode) error {
	f, err := t.root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return plain(err)
	}
	if _, err := f.Write(data); err != nil {
		f.Close()
		return plain(err)
	}
	if err := f.Chmod(mode); err != nil { // what the umask took
		f.Close()
		return plain(err)
	}
	if err := f.Close(); err != nil {
		return plain(err)
	}
	return nil
}

func randomName() string {
	var b [8]byte
	rand.Read(b[:]) // never fails
	return hex.EncodeToString(b[:])
}

// plain drops the operation and path of a file error: the model knows what it
// asked for, and needs the cause.
func plain(err error) error {
	var pe *fs.PathError
	var le *os.LinkError
	switch {
	case errors.As(err, &pe):
		err = pe.Err
	case errors.As(err, &le):
		err = le.Err
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return errors.New("there is no such file")
	case strings.Contains(err.Error(), "escapes"):
		return errOutside
	}
	return err
}
