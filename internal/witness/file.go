package witness

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"moeca/internal/audit"
)

// How much of a list is read, from its end: to judge it, some two hundred thousand
// entries; to go on with it, some hundred.
const (
	wholeList = 64 << 20
	endOfList = 64 << 10
)

// list is a file of sightings on a volume of its own.
type list struct{ path string }

// create makes the file, or takes one that is a list already. Later it is only
// opened: a volume that is not there must not be mistaken for an empty directory.
func (l list) create(data string) error {
	if !filepath.IsAbs(l.path) || filepath.Clean(l.path) != l.path {
		return fmt.Errorf("%w: write the whole path of the file, beginning with /", ErrSetting)
	}
	real, err := filepath.EvalSymlinks(data)
	if err != nil {
		return err
	}
	for _, dir := range []string{data, real} {
		if rel, err := filepath.Rel(dir, l.path); err == nil && rel != ".." && !strings.HasPrefix(rel, "../") {
			return fmt.Errorf("%w: %s is in the data directory: whoever changes the log there changes it too; name a file on another volume", ErrSetting, l.path)
		}
	}
	f, err := l.open(unix.O_RDWR | unix.O_CREAT)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrSetting, err)
	}
	text, err := tail(f, endOfList)
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	if entries, unreadable := audit.ParseSightings(text); len(entries) == 0 && unreadable > 0 {
		return fmt.Errorf("%w: %s is something else than a list of checkpoints; nothing was changed in it; name a new file", ErrSetting, l.path)
	}
	return nil
}

// open opens the file without following a symlink anywhere on the way.
func (l list) open(flags int) (*os.File, error) {
	parts := strings.Split(strings.TrimPrefix(l.path, "/"), "/")
	dir, err := unix.Open("/", unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	for i, part := range parts {
		if err != nil {
			break
		}
		next := flags | unix.O_NOFOLLOW | unix.O_NONBLOCK | unix.O_CLOEXEC
		if i < len(parts)-1 {
			next = unix.O_RDONLY | unix.O_DIRECTORY | unix.O_NOFOLLOW | unix.O_CLOEXEC
		}
		var fd int
		fd, err = unix.Openat(dir, part, next, 0o600)
		unix.Close(dir)
		dir = fd
	}
	switch {
	case errors.Is(err, unix.ELOOP) || errors.Is(err, unix.ENOTDIR):
		return nil, fmt.Errorf("%s: a symlink or no directory is on the way, which is not followed: name the real path", l.path)
	case errors.Is(err, unix.ENOENT):
		return nil, fmt.Errorf("%s is not there: the volume may be gone", l.path)
	case err != nil:
		return nil, fmt.Errorf("open %s: %w", l.path, err)
	}
	f := os.NewFile(uintptr(dir), l.path)
	if st, err := f.Stat(); err != nil || !st.Mode().IsRegular() {
		return nil, errors.Join(fmt.Errorf("%s is no regular file", l.path), err, f.Close())
	}
	return f, nil
}

// read returns what the list holds.
func (l list) read(most int64) (entries []audit.Sighting, unreadable int, err error) {
	f, err := l.open(unix.O_RDONLY)
	if err != nil {
		return nil, 0, err
	}
	defer f.Close()
	text, err := tail(f, most)
	if err != nil {
		return nil, 0, fmt.Errorf("read %s: %w", l.path, err)
	}
	entries, unreadable = audit.ParseSightings(text)
	return entries, unreadable, nil
}

func tail(f *os.File, most int64) (string, error) {
	st, err := f.Stat()
	if err != nil {
		return "", err
	}
	from := max(0, st.Size()-most)
	b, err := io.ReadAll(io.NewSectionReader(f, from, most))
	text := string(b)
	if from > 0 {
		_, text, _ = strings.Cut(text, "\n\nat ")
		text = "at " + text
	}
	return text, err
}

// add appends an entry and makes it durable. What was cut off before is closed
// with a line end first, so that it takes no other entry with it.
func (l list) add(s audit.Sighting) error {
	f, err := l.open(unix.O_RDWR | unix.O_APPEND)
	if err != nil {
		return err
	}
	defer f.Close()
	text := s.String()
	end := make([]byte, 2)
	st, err := f.Stat()
	if err == nil && st.Size() > 0 {
		if _, err = f.ReadAt(end, max(0, st.Size()-2)); err == nil && string(end) != "\n\n" || errors.Is(err, io.EOF) {
			text, err = "\n"+text, nil
		}
	}
	if err == nil {
		_, err = f.WriteString(text)
	}
	if err == nil {
		err = f.Sync()
	}
	if err != nil {
		return fmt.Errorf("write %s: %w", l.path, err)
	}
	return nil
}

// sameVolume says whether the list lies on the volume of the data directory.
func (l list) sameVolume(data string) bool {
	var a, b unix.Stat_t
	return unix.Stat(filepath.Dir(l.path), &a) == nil && unix.Stat(data, &b) == nil && a.Dev == b.Dev
}
