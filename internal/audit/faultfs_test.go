package audit

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
)

// faultFS is the real file system with a memory of what was synced. One step
// can be made to fail, and a crash lays out what a disk would hold.
type faultFS struct {
	osFS
	root string

	mu      sync.Mutex
	steps   int
	failAt  int  // the step that fails; 0 = none
	noted   int  // steps of the notary, which come at their own time
	failOn  int  // the step of the notary that fails; 0 = none
	dead    bool // every step after it fails too, as after a power cut
	down    bool // that has happened
	full    bool // Allocate and Create fail
	failed  string
	live    map[string]*node
	durable map[string]*node // names that survive
	syncs   map[string]int   // Sync calls by file name
}

// node is a file or directory; synced is the content that survives.
type node struct {
	dir    bool
	synced []byte
}

func newFaultFS(t *testing.T) *faultFS {
	return &faultFS{root: t.TempDir(), live: map[string]*node{}, durable: map[string]*node{}, syncs: map[string]int{}}
}

// step counts a step and says whether it fails.
func (f *faultFS) step(op, name string, err error) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	count, failAt := &f.steps, f.failAt
	if base := filepath.Base(name); strings.HasPrefix(base, "checkpoint") || strings.HasPrefix(name, filepath.Join(f.root, "audit", treeDir)) {
		count, failAt = &f.noted, f.failOn
	}
	*count++
	if failAt == *count {
		f.failed, f.down = op+" "+filepath.Base(name), f.dead
	}
	if failAt == *count || f.down {
		return &os.PathError{Op: op, Path: name, Err: err}
	}
	if f.full && (op == "allocate" || op == "create") {
		return &os.PathError{Op: op, Path: name, Err: syscall.ENOSPC}
	}
	return nil
}

func (f *faultFS) MkdirAll(dir string) error {
	if err := f.step("mkdir", dir, syscall.ENOSPC); err != nil {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	for d := dir; strings.HasPrefix(d, f.root) && d != f.root; d = filepath.Dir(d) {
		if f.live[d] == nil {
			f.live[d] = &node{dir: true}
		}
	}
	return f.osFS.MkdirAll(dir)
}

func (f *faultFS) Create(name string) (File, error) {
	if err := f.step("create", name, syscall.ENOSPC); err != nil {
		return nil, err
	}
	file, err := f.osFS.Create(name)
	if err != nil {
		return nil, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.live[name] = &node{}
	return &faultFile{file, f, name, f.live[name]}, nil
}

func (f *faultFS) Open(name string) (File, error) {
	file, err := f.osFS.Open(name)
	if err != nil {
		return nil, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	return &faultFile{file, f, name, f.live[name]}, nil
}

func (f *faultFS) Rename(from, to string) error {
	if err := f.step("rename", from, syscall.EIO); err != nil {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.live[to] = f.live[from]
	delete(f.live, from)
	return f.osFS.Rename(from, to)
}

func (f *faultFS) Remove(name string) error {
	if err := f.step("remove", name, syscall.EIO); err != nil {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.live, name)
	return f.osFS.Remove(name)
}

func (f *faultFS) SyncDir(dir string) error {
	if err := f.step("sync directory", dir, syscall.EIO); err != nil {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	for path := range f.durable {
		if filepath.Dir(path) == dir && f.live[path] == nil {
			delete(f.durable, path)
		}
	}
	for path, n := range f.live {
		if filepath.Dir(path) == dir {
			f.durable[path] = n
		}
	}
	return nil
}

type faultFile struct {
	File
	fs   *faultFS
	name string
	node *node
}

func (f *faultFile) WriteAt(b []byte, off int64) (int, error) {
	if err := f.fs.step("write", f.name, syscall.ENOSPC); err != nil {
		n, _ := f.File.WriteAt(b[:len(b)/2], off)
		return n, err
	}
	return f.File.WriteAt(b, off)
}

func (f *faultFile) Sync() error {
	if err := f.fs.step("sync", f.name, syscall.EIO); err != nil {
		return err
	}
	content, err := os.ReadFile(f.name)
	if err != nil {
		return err
	}
	f.fs.mu.Lock()
	defer f.fs.mu.Unlock()
	f.fs.syncs[filepath.Base(f.name)]++
	f.node.synced = content
	return nil
}

func (f *faultFile) Truncate(size int64) error {
	if err := f.fs.step("truncate", f.name, syscall.EIO); err != nil {
		return err
	}
	return f.File.Truncate(size)
}

func (f *faultFile) Allocate(end int64) error {
	if err := f.fs.step("allocate", f.name, syscall.ENOSPC); err != nil {
		return err
	}
	return nil
}

func (f *faultFile) Close() error {
	if err := f.fs.step("close", f.name, syscall.EIO); err != nil {
		return errors.Join(err, f.File.Close())
	}
	return f.File.Close()
}

// lost is how much of the bytes that were written and not synced a crash takes.
type lost int

const (
	lostAll  lost = iota // none of them reached the disk
	lostHalf             // the first half did
	lostHole             // all did but for a hole of zeros at their beginning
	lostNone             // all did: only the process died
)

// crash lays out in dir what the disk holds.
func (f *faultFS) crash(t *testing.T, dir string, l lost) {
	t.Helper()
	f.mu.Lock()
	defer f.mu.Unlock()
	names := f.durable
	if l == lostNone {
		names = f.live
	}
	for path, n := range names {
		rel, err := filepath.Rel(f.root, path)
		if err != nil {
			t.Fatal(err)
		}
		if parent := filepath.Dir(path); parent != f.root && names[parent] == nil {
			continue // its directory is lost
		}
		target := filepath.Join(dir, rel)
		if n.dir {
			err = os.MkdirAll(target, 0o700)
		} else {
			err = errors.Join(os.MkdirAll(filepath.Dir(target), 0o700), os.WriteFile(target, n.survives(t, path, l), 0o600))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

func (n *node) survives(t *testing.T, path string, l lost) []byte {
	now, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	if l == lostAll || !bytes.HasPrefix(now, n.synced) {
		return n.synced
	}
	fresh := bytes.Clone(now[len(n.synced):])
	switch l {
	case lostHalf:
		fresh = fresh[:len(fresh)/2]
	case lostHole:
		clear(fresh[:min(len(fresh), 50)])
	}
	return append(bytes.Clone(n.synced), fresh...)
}

// unsyncedFS is the real file system without syncs and allocation, which are
// slow and change nothing a reader sees.
type unsyncedFS struct{ osFS }

type unsyncedFile struct{ File }

func (unsyncedFile) Sync() error          { return nil }
func (unsyncedFile) Allocate(int64) error { return errors.ErrUnsupported }
func (unsyncedFS) SyncDir(string) error   { return nil }

func (u unsyncedFS) Create(name string) (File, error) {
	f, err := u.osFS.Create(name)
	return unsyncedFile{f}, err
}

func (u unsyncedFS) Open(name string) (File, error) {
	f, err := u.osFS.Open(name)
	return unsyncedFile{f}, err
}
