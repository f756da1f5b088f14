package secret

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/rogpeppe/go-internal/lockedfile"
)

// Errors of a Store. They arrive wrapped.
var (
	// ErrNotFound: no secret has this name.
	ErrNotFound = errors.New("no secret of this name")
	// ErrUnavailable: the keys are in a keychain that does not answer.
	ErrUnavailable = errors.New("the keychain does not answer")
)

// Store keeps named secrets. A change is durable when its call returns. Safe
// for concurrent use, also by several processes.
type Store interface {
	Get(name string) (Value, error) // ErrNotFound
	Set(name string, v Value) error // an empty value deletes
	Delete(name string) error       // of a name that is not there: nil
	Names() ([]string, error)       // ascending
	Kind() string                   // "keychain" or "file"
}

// StoreOptions of OpenStore.
type StoreOptions struct {
	NoKeychain bool          // use the file even where a keychain answers
	Service    string        // name shown in the keychain; "" = "moeca"
	Timeout    time.Duration // for the canary; 0 = 2 s
	keychain   keychain      // nil = the system's
}

const (
	maxName  = 128
	maxValue = 64 << 10
)

// OpenStore opens the store of the data directory dir, which must exist.
func OpenStore(dir string, o StoreOptions) (Store, error) {
	if o.Service == "" {
		o.Service = "moeca"
	}
	if o.Timeout <= 0 {
		o.Timeout = 2 * time.Second
	}
	if o.keychain == nil {
		o.keychain = systemKeychain{}
	}
	s, err := openStore(dir, o)
	if err != nil {
		return nil, fmt.Errorf("secret: open store in %s: %w", dir, err)
	}
	return s, nil
}

func openStore(dir string, o StoreOptions) (Store, error) {
	lock := lockedfile.MutexAt(filepath.Join(dir, "secrets.lock"))
	unlock, err := lock.Lock()
	if err != nil {
		return nil, err
	}
	defer unlock()
	file := &fileStore{dir: dir, lock: lock}
	if o.NoKeychain || exists(file.path()) {
		return file, file.prepare()
	}
	k := &keychainStore{dir: dir, lock: lock, chain: timedKeychain{o.keychain, o.Timeout}, service: o.Service}
	index, err := k.load()
	if err != nil {
		return nil, err
	}
	if err := k.probe(index); err == nil {
		k.chain = timedKeychain{o.keychain, unlockTime}
		return k, k.save(index)
	} else if len(index.Names) > 0 {
		return nil, fmt.Errorf("%w: %w; the %d keys of this directory are kept there: unlock it and start again, "+
			"or choose the encrypted file and enter them anew", ErrUnavailable, err, len(index.Names))
	}
	return file, file.prepare()
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

func checkName(name string) error {
	if name == "" || len(name) > maxName {
		return fmt.Errorf("secret: %q is not a name: 1 to %d characters of a-z, A-Z, 0-9, '.', '_', '-', ':', '/'", name, maxName)
	}
	for _, c := range []byte(name) {
		letter := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
		if !letter && c != '.' && c != '_' && c != '-' && c != ':' && c != '/' {
			return fmt.Errorf("secret: %q is not a name: character %q is not allowed", name, c)
		}
	}
	return nil
}

func checkValue(v Value) error {
	if n := len(v.Open()); n > maxValue {
		return fmt.Errorf("secret: value of %d bytes is over %d", n, maxValue)
	}
	return nil
}

// replace writes a file of mode 0600 so that after a crash either the old or the
// new content is there, whole.
func replace(path string, data []byte) error {
	dir := filepath.Dir(path)
	f, err := os.CreateTemp(dir, "."+filepath.Base(path)+"-*")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name()) // gone already when the rename succeeded
	_, err = f.Write(data)
	if err == nil {
		err = f.Sync()
	}
	if err := errors.Join(err, f.Close()); err != nil {
		return err
	}
	if err := os.Rename(f.Name(), path); err != nil {
		return err
	}
	return syncDir(dir)
}
