package stack

import (
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

// layoutVersion is the version of the data directory this program writes.
const layoutVersion = 1

// Errors of OpenDataDir. Their text says what to do.
var (
	ErrLocked = errors.New("another moeca is using this data directory: use that one, stop it, or choose another with --data")
	ErrNewer  = errors.New("this data directory was written by a newer moeca: nothing was changed; start the newer version, or choose another directory with --data")
)

// DataDir is an opened and locked data directory.
type DataDir struct {
	Path string
	ID   string // random, made with the directory; owner label of its sandboxes
	lock *os.File
}

// layout is the content of format.json.
type layout struct {
	Version int    `json:"version"`
	ID      string `json:"id"`
}

// OpenDataDir creates the directory when it is missing and takes its lock. It
// changes nothing in a directory of another version, or one that is locked.
func OpenDataDir(path string) (*DataDir, error) {
	path, err := trusted(path, 0o700)
	if err != nil {
		return nil, fmt.Errorf("data directory: %w", err)
	}
	lock, err := os.OpenFile(filepath.Join(path, "lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("data directory %s: %w", path, err)
	}
	if err := take(lock); err != nil {
		lock.Close()
		return nil, fmt.Errorf("data directory %s: %w", path, ErrLocked)
	}
	d := &DataDir{Path: path, lock: lock}
	if err := d.readLayout(); err != nil {
		lock.Close()
		return nil, fmt.Errorf("data directory %s: %w", path, err)
	}
	if err := keepLog(path, "").Settle(); err != nil { // before a directory is made in its place
		lock.Close()
		return nil, fmt.Errorf("data directory %s: %w", path, err)
	}
	for _, sub := range []string{"audit", "trees", "trash", "git", "images", "run", "logs", "secrets"} {
		if err := os.MkdirAll(d.Join(sub), 0o700); err != nil {
			lock.Close()
			return nil, fmt.Errorf("data directory %s: %w", path, err)
		}
	}
	if err := d.forgetEndpoints(); err != nil {
		lock.Close()
		return nil, fmt.Errorf("data directory %s: %w", path, err)
	}
	return d, nil
}

// take takes the lock. A command that looks whether it is held holds it for a
// moment, so one refusal is not the last word.
func take(lock *os.File) (err error) {
	for range 5 {
		if err = syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err == nil {
			return nil
		}
		<-time.After(10 * time.Millisecond)
	}
	return err
}

// forgetEndpoints removes what a process that was killed has left.
func (d *DataDir) forgetEndpoints() (err error) {
	for _, name := range []string{"endpoints.json", "person.token"} {
		if gone := os.Remove(d.Join("run", name)); gone != nil && !errors.Is(gone, fs.ErrNotExist) {
			err = errors.Join(err, gone)
		}
	}
	return err
}

// Running reads where the process that holds a data directory answers. After a
// crash the file still names a port, and whoever listens there by then must not
// be sent a token or a key: the lock has to be held, and the process be there.
func Running(path string) (Endpoints, bool) {
	if !held(path) {
		return Endpoints{}, false
	}
	var ep Endpoints
	raw, err := os.ReadFile(filepath.Join(path, "run", "endpoints.json"))
	if err != nil || json.Unmarshal(raw, &ep) != nil || ep.URL == "" || ep.PID <= 0 {
		return Endpoints{}, false
	}
	return ep, syscall.Kill(ep.PID, 0) == nil
}

func held(path string) bool {
	lock, err := os.Open(filepath.Join(path, "lock"))
	if err != nil {
		return false
	}
	defer lock.Close()
	err = syscall.Flock(int(lock.Fd()), syscall.LOCK_SH|syscall.LOCK_NB)
	return errors.Is(err, syscall.EWOULDBLOCK)
}

// Join names a file of the directory.
func (d *DataDir) Join(elem ...string) string {
	return filepath.Join(append([]string{d.Path}, elem...)...)
}

// Close gives the lock back. It is unlocked first: a child that was forked and
// not yet executed holds a copy of the descriptor, and with it the lock.
func (d *DataDir) Close() error {
	return errors.Join(syscall.Flock(int(d.lock.Fd()), syscall.LOCK_UN), d.lock.Close())
}

func (d *DataDir) readLayout() error {
	file := filepath.Join(d.Path, "format.json")
	raw, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		var id [8]byte
		rand.Read(id[:])
		d.ID = hex.EncodeToString(id[:])
		return writeJSON(file, layout{Version: layoutVersion, ID: d.ID})
	}
	if err != nil {
		return err
	}
	var l layout
	if err := json.Unmarshal(raw, &l); err != nil || l.ID == "" {
		return fmt.Errorf("format.json cannot be read (%w): restore it from a backup, or choose another directory with --data", errors.Join(err, fs.ErrInvalid))
	}
	if l.Version > layoutVersion {
		return ErrNewer
	}
	d.ID = l.ID
	return nil
}

// writeJSON replaces a file in one step, mode 0600.
func writeJSON(file string, v any) error {
	raw, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return err
	}
	return writeFile(file, append(raw, '\n'), 0o600)
}

// writeFile replaces a file in one step and makes it durable.
func writeFile(file string, content []byte, mode fs.FileMode) error {
	tmp, err := os.CreateTemp(filepath.Dir(file), filepath.Base(file)+".*")
	if err != nil {
		return err
	}
	defer os.Remove(tmp.Name())
	if _, err = tmp.Write(content); err == nil {
		err = tmp.Chmod(mode)
	}
	if err == nil {
		err = tmp.Sync()
	}
	if cerr := tmp.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		return err
	}
	return os.Rename(tmp.Name(), file)
}
