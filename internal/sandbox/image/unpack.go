package image

import (
	"archive/tar"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"
)

// unpack writes an archive below dir, which it creates. Devices, pipes and
// sockets are left out, owners become the user who runs us, and setuid, setgid
// and sticky bits are dropped. Nothing is written outside dir, whatever names
// and links the archive holds.
func unpack(ctx context.Context, r io.Reader, dir string) error {
	if err := os.Mkdir(dir, 0o755); err != nil {
		return fmt.Errorf("image: unpack: %w", err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return fmt.Errorf("image: unpack: %w", err)
	}
	defer root.Close()
	archive := tar.NewReader(r)
	for {
		h, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err == nil {
			err = ctx.Err()
		}
		if err == nil {
			err = unpackEntry(root, h, archive)
		}
		if err != nil {
			return fmt.Errorf("image: unpack into %s: %w", dir, err)
		}
	}
}

func unpackEntry(root *os.Root, h *tar.Header, content io.Reader) error {
	name := strings.TrimPrefix(path.Clean("/"+h.Name), "/")
	if name == "" {
		return nil
	}
	// Directories stay searchable and writable for us, files readable: a root
	// file system that its owner cannot remove or read serves nobody.
	perm := fs.FileMode(h.Mode & 0o777)
	switch h.Typeflag {
	case tar.TypeDir:
		return unpackDir(root, name, perm|0o700)
	case tar.TypeReg:
		return unpackFile(root, name, perm|0o400, content)
	case tar.TypeSymlink:
		if err := clearWay(root, name); err != nil {
			return err
		}
		return root.Symlink(h.Linkname, name)
	case tar.TypeLink:
		if err := clearWay(root, name); err != nil {
			return err
		}
		return root.Link(strings.TrimPrefix(path.Clean("/"+h.Linkname), "/"), name)
	}
	return nil
}

func unpackDir(root *os.Root, name string, perm fs.FileMode) error {
	if info, err := root.Lstat(name); err == nil && info.IsDir() {
		return root.Chmod(name, perm)
	}
	if err := clearWay(root, name); err != nil {
		return err
	}
	if err := root.Mkdir(name, perm); err != nil {
		return err
	}
	return root.Chmod(name, perm)
}

func unpackFile(root *os.Root, name string, perm fs.FileMode, content io.Reader) error {
	if err := clearWay(root, name); err != nil {
		return err
	}
	f, err := root.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, perm)
	if err != nil {
		return err
	}
	if _, err := io.Copy(f, content); err != nil {
		f.Close()
		return err
	}
	if err := f.Chmod(perm); err != nil {
		f.Close()
		return err
	}
	return f.Close()
}

// clearWay makes the parents of name and removes what is in its place.
func clearWay(root *os.Root, name string) error {
	if dir := path.Dir(name); dir != "." {
		if err := root.MkdirAll(dir, 0o755); err != nil {
			return err
		}
	}
	if err := root.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}
