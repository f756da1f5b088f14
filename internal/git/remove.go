package git

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// RemoveTree takes a tree away at once by renaming it into trash, where Reap
// deletes it later. dir and trash must be on one file system. A tree that is
// already gone is success.
func RemoveTree(dir, trash string) error {
	if err := os.MkdirAll(trash, 0o700); err != nil {
		return fmt.Errorf("git: remove %s: %w", dir, err)
	}
	name := filepath.Base(dir) + "-" + strconv.FormatInt(time.Now().UnixNano(), 36)
	err := os.Rename(dir, filepath.Join(trash, name))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("git: remove %s: %w; it was left as it is", dir, err)
	}
	return nil
}

// Reap deletes everything in trash. It follows no symlink, opens directories
// an agent made unreadable, and goes on after an error; what could not be
// deleted stays for the next time.
func Reap(ctx context.Context, trash string) error {
	fd, err := openDir(unix.AT_FDCWD, trash)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("git: reap %s: %w", trash, err)
	}
	defer closeDirs(fd)
	for {
		r := reaper{top: fd}
		err := r.run(ctx)
		if err != nil {
			return fmt.Errorf("git: reap %s: %w", trash, err)
		}
		if !r.moved {
			return nil
		}
	}
}

// reaper empties a directory. It keeps its own stack, and moves a directory
// that lies too deep up to the top for the next round, so neither the
// goroutine's stack nor the number of descriptors grows with what an agent
// nested.
type reaper struct {
	top    int
	stack  []level
	failed error
	moved  bool
}

// level is a directory on the way down, with the directories still in it.
type level struct {
	fd   int
	name string
	subs []string
}

func (r *reaper) run(ctx context.Context) error {
	defer func() {
		for len(r.stack) > 1 {
			r.pop()
		}
	}()
	r.push(level{fd: r.top})
	for len(r.stack) > 0 {
		if err := ctx.Err(); err != nil {
			return err
		}
		cur := &r.stack[len(r.stack)-1]
		if len(cur.subs) > 0 {
			sub := cur.subs[0]
			cur.subs = cur.subs[1:]
			r.fail(sub, r.down(cur.fd, sub))
			continue
		}
		done := r.pop()
		if len(r.stack) > 0 {
			r.fail(done.name, unix.Unlinkat(r.stack[len(r.stack)-1].fd, done.name, unix.AT_REMOVEDIR))
		}
	}
	return r.failed
}

// fail remembers the first few errors; one bad file must not stop the rest.
func (r *reaper) fail(name string, err error) {
	if err != nil && !errors.Is(err, fs.ErrNotExist) && (r.failed == nil || len(r.failed.Error()) < 1000) {
		r.failed = errors.Join(r.failed, fmt.Errorf("%q: %w", name, err))
	}
}

func (r *reaper) pop() level {
	last := r.stack[len(r.stack)-1]
	r.stack = r.stack[:len(r.stack)-1]
	if last.fd != r.top {
		closeDirs(last.fd)
	}
	return last
}

// down opens a directory and removes its files, or moves it up when too deep.
func (r *reaper) down(at int, name string) error {
	if len(r.stack) >= maxDepth {
		r.moved = true
		return unix.Renameat(at, name, r.top, fmt.Sprintf("deep-%d-%d", time.Now().UnixNano(), len(r.stack)))
	}
	fd, err := openToEmpty(at, name)
	if err != nil {
		return err
	}
	r.push(level{fd: fd, name: name})
	return nil
}

func (r *reaper) push(l level) {
	names, err := readNames(l.fd, 0)
	r.fail(l.name, err)
	for _, name := range names {
		var st unix.Stat_t
		switch err := unix.Fstatat(l.fd, name, &st, unix.AT_SYMLINK_NOFOLLOW); {
		case err != nil:
			r.fail(name, err)
		case st.Mode&unix.S_IFMT == unix.S_IFDIR:
			l.subs = append(l.subs, name)
		default:
			r.fail(name, unix.Unlinkat(l.fd, name, 0))
		}
	}
	r.stack = append(r.stack, l)
}

// openToEmpty opens a directory and makes sure its entries can be removed.
func openToEmpty(at int, name string) (int, error) {
	fd, err := openDir(at, name)
	if errors.Is(err, fs.ErrPermission) {
		// The tree is in the trash and no process of the agent is left, so what
		// was a directory a moment ago is one still.
		if err := unix.Fchmodat(at, name, 0o700, 0); err != nil {
			return -1, err
		}
		return openDir(at, name)
	}
	if err != nil {
		return -1, err
	}
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err == nil && st.Mode&0o700 != 0o700 {
		if err := unix.Fchmod(fd, 0o700); err != nil {
			closeDirs(fd)
			return -1, err
		}
	}
	return fd, nil
}
