package audit

import (
	"io"
	"io/fs"
	"os"
)

// FS is the file system a Log writes through. It exists so that tests can make
// each step fail and can drop what was never synced; nil in Options means the
// operating system. Eight methods, because each is one step of the protocol.
type FS interface {
	MkdirAll(dir string) error
	ReadDir(dir string) ([]fs.DirEntry, error)
	// Lock takes the exclusive lock file or fails at once with ErrLocked. Closing
	// it, or the end of the process, releases it.
	Lock(name string) (io.Closer, error)
	Open(name string) (File, error)   // read and write, must exist
	Create(name string) (File, error) // must not exist
	Rename(from, to string) error
	Remove(name string) error
	SyncDir(dir string) error // makes created, renamed and removed names durable
}

// File is an open file of an FS.
type File interface {
	io.ReaderAt
	io.WriterAt
	io.Closer
	Size() (int64, error)
	Truncate(size int64) error // also gives back space allocated behind size
	Sync() error               // makes content and size durable
	// Allocate makes sure that writes up to end will find space, without
	// changing the size. errors.ErrUnsupported where the system has no such call.
	Allocate(end int64) error
}

type osFS struct{}

type osFile struct{ *os.File }

func (osFS) MkdirAll(dir string) error                 { return os.MkdirAll(dir, 0o700) }
func (osFS) ReadDir(dir string) ([]fs.DirEntry, error) { return os.ReadDir(dir) }
func (osFS) Lock(name string) (io.Closer, error)       { return lockFile(name) }
func (osFS) Rename(from, to string) error              { return os.Rename(from, to) }
func (osFS) Remove(name string) error                  { return os.Remove(name) }

func (osFS) Open(name string) (File, error) {
	f, err := os.OpenFile(name, os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	return osFile{f}, nil
}

func (osFS) Create(name string) (File, error) {
	f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, err
	}
	return osFile{f}, nil
}

func (osFS) SyncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	err = syncDir(d)
	if e := d.Close(); err == nil {
		err = e
	}
	return err
}

func (f osFile) Size() (int64, error) {
	st, err := f.Stat()
	if err != nil {
		return 0, err
	}
	return st.Size(), nil
}

func (f osFile) Sync() error              { return syncData(f.File) }
func (f osFile) Allocate(end int64) error { return allocate(f.File, end) }
