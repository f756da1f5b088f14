// Package audittest has a disk that fails, for tests of what writes a log. It is
// imported by tests only.
//
// A Disk keeps its files in a real directory and remembers which bytes and which
// names were synced. Writes and syncs fail when they are told to, once or from
// then on; Lose then lays out what a power cut leaves: a file keeps what was
// synced of it and a random part of the rest, which may have holes, and a name
// that was not synced may be gone. Contents that are changed in place, as erasing
// does, and files that take the place of others are kept as they are.
//
// Nothing is synced for real: a Disk is fast and outlives no real crash. It is
// safe for concurrent use.
package audittest

import (
	"errors"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"

	"moeca/internal/audit"
)

// Disk is an audit.FS whose files lie below Root.
type Disk struct {
	audit.FS
	root  string
	delay func() // called before each sync

	mu      sync.Mutex
	steps   int // until one fails; 0 = none will
	forever bool
	dead    bool // every step fails
	full    bool // there is no space
	names   map[string]*content
	durable map[string]*content
}

// content is what a name stands for; synced is how much of it survives.
type content struct{ synced int64 }

// New returns a disk that has synced what lies below root. delay may be nil.
func New(root string, delay func()) (*Disk, error) {
	d := &Disk{FS: audit.OS(), root: root, delay: delay, names: map[string]*content{}, durable: map[string]*content{}}
	err := filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		info, err := e.Info()
		if err == nil {
			c := &content{info.Size()}
			d.names[path], d.durable[path] = c, c
		}
		return err
	})
	return d, err
}

// FailAfter makes the n-th write, sync or rename from now fail, and with forever
// all after it.
func (d *Disk) FailAfter(n int, forever bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.steps, d.forever = n, forever
}

// Fill says whether there is space for more.
func (d *Disk) Fill(full bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.full = full
}

// Die makes every step fail from now on.
func (d *Disk) Die() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.dead = true
}

// step says whether a step fails.
func (d *Disk) step(op, name string, space bool) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	failed := d.dead
	if d.steps > 0 {
		if d.steps--; d.steps == 0 {
			failed, d.dead = true, d.forever
		}
	}
	switch {
	case failed:
		return &fs.PathError{Op: op, Path: name, Err: syscall.EIO}
	case d.full && space:
		return &fs.PathError{Op: op, Path: name, Err: syscall.ENOSPC}
	}
	return nil
}

// MkdirAll implements audit.FS.
func (d *Disk) MkdirAll(dir string) error {
	if err := d.step("mkdir", dir, false); err != nil {
		return err
	}
	return d.FS.MkdirAll(dir)
}

// Create implements audit.FS.
func (d *Disk) Create(name string) (audit.File, error) {
	if err := d.step("create", name, true); err != nil {
		return nil, err
	}
	f, err := d.FS.Create(name)
	if err != nil {
		return nil, err
	}
	return d.file(f, name, true), nil
}

// Open implements audit.FS.
func (d *Disk) Open(name string) (audit.File, error) {
	f, err := d.FS.Open(name)
	if err != nil {
		return nil, err
	}
	return d.file(f, name, false), nil
}

func (d *Disk) file(f audit.File, name string, fresh bool) audit.File {
	d.mu.Lock()
	defer d.mu.Unlock()
	if fresh || d.names[name] == nil {
		d.names[name] = &content{}
	}
	return &file{File: f, disk: d, name: name, content: d.names[name]}
}

// Rename implements audit.FS.
func (d *Disk) Rename(from, to string) error {
	if err := d.step("rename", from, false); err != nil {
		return err
	}
	if err := d.FS.Rename(from, to); err != nil {
		return err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if _, there := d.durable[to]; there {
		d.durable[to] = d.names[from]
	}
	d.names[to] = d.names[from]
	delete(d.names, from)
	delete(d.durable, from)
	return nil
}

// Remove implements audit.FS.
func (d *Disk) Remove(name string) error {
	if err := d.step("remove", name, false); err != nil {
		return err
	}
	d.mu.Lock()
	delete(d.names, name)
	delete(d.durable, name)
	d.mu.Unlock()
	return d.FS.Remove(name)
}

// SyncDir implements audit.FS.
func (d *Disk) SyncDir(dir string) error {
	if err := d.step("sync", dir, false); err != nil {
		return err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	for name, c := range d.names {
		if filepath.Dir(name) == dir {
			d.durable[name] = c
		}
	}
	return nil
}

// Lose lays out what a power cut leaves. Nothing has a file open.
func (d *Disk) Lose(r *rand.Rand) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	var errs []error
	for name, c := range d.names {
		if strings.HasPrefix(name, d.root) {
			errs = append(errs, d.lose(r, name, c))
		}
	}
	return errors.Join(errs...)
}

func (d *Disk) lose(r *rand.Rand, name string, c *content) error {
	if d.durable[name] != c && r.IntN(2) == 0 {
		return os.Remove(name)
	}
	info, err := os.Stat(name)
	if err != nil || info.Size() <= c.synced {
		return err
	}
	left := c.synced + r.Int64N(info.Size()-c.synced+1)
	if err := os.Truncate(name, left); err != nil || left == c.synced || r.IntN(2) == 0 {
		return err
	}
	f, err := os.OpenFile(name, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	hole := make([]byte, 1+r.Int64N(left-c.synced))
	_, err = f.WriteAt(hole, left-int64(len(hole)))
	return errors.Join(err, f.Close())
}

// file is an open file of a Disk.
type file struct {
	audit.File
	disk    *Disk
	name    string
	content *content
}

// WriteAt implements audit.File. A write that fails has written half.
func (f *file) WriteAt(b []byte, off int64) (int, error) {
	if err := f.disk.step("write", f.name, false); err != nil {
		n, _ := f.File.WriteAt(b[:len(b)/2], off)
		return n, err
	}
	return f.File.WriteAt(b, off)
}

// Sync implements audit.File.
func (f *file) Sync() error {
	size, err := f.File.Size()
	if err != nil {
		return err
	}
	if f.disk.delay != nil {
		f.disk.delay()
	}
	if err := f.disk.step("sync", f.name, false); err != nil {
		return err
	}
	f.disk.mu.Lock()
	defer f.disk.mu.Unlock()
	f.content.synced = max(f.content.synced, size)
	return nil
}

// Truncate implements audit.File.
func (f *file) Truncate(size int64) error {
	if err := f.disk.step("truncate", f.name, false); err != nil {
		return err
	}
	f.disk.mu.Lock()
	f.content.synced = min(f.content.synced, size)
	f.disk.mu.Unlock()
	return f.File.Truncate(size)
}

// Allocate implements audit.File: it promises space while there is some.
func (f *file) Allocate(int64) error { return f.disk.step("allocate", f.name, true) }
