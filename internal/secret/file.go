package secret

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"filippo.io/age"
	"github.com/rogpeppe/go-internal/lockedfile"
)

// fileStore keeps a JSON object name → text, encrypted to one X25519 identity.
type fileStore struct {
	dir  string
	lock *lockedfile.Mutex
}

func (s *fileStore) path() string    { return filepath.Join(s.dir, "secrets.age") }
func (s *fileStore) keyPath() string { return filepath.Join(s.dir, "secrets.key") }

// Kind implements Store.
func (s *fileStore) Kind() string { return "file" }

// prepare makes an empty store where there is none and checks one that is there.
// Called with the lock held.
func (s *fileStore) prepare() error {
	if !exists(s.path()) {
		return s.create()
	}
	_, err := s.read()
	return err
}

// create writes the identity first: an encrypted file always has its key.
func (s *fileStore) create() error {
	if !exists(s.keyPath()) {
		id, err := age.GenerateX25519Identity()
		if err != nil {
			return err
		}
		text := "# Decrypts secrets.age beside it. Never copy it to where that file goes.\n" + id.String() + "\n"
		if err := replace(s.keyPath(), []byte(text)); err != nil {
			return err
		}
	}
	return s.write(map[string]string{})
}

// damaged says what to do when the files cannot be read together.
func (s *fileStore) damaged(err error) error {
	return fmt.Errorf("%s and its identity %s do not open the keys (%w): restore both from one backup, "+
		"or move both away and enter the keys again; nothing was changed", s.path(), s.keyPath(), err)
}

func (s *fileStore) identity() (*age.X25519Identity, error) {
	f, err := os.Open(s.keyPath())
	if errors.Is(err, fs.ErrNotExist) {
		return nil, s.damaged(errors.New("the identity is missing"))
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if err := checkMode(s.keyPath(), st); err != nil {
		return nil, err
	}
	ids, err := age.ParseIdentities(io.LimitReader(f, maxValue))
	if err != nil {
		// The cause may quote the line, which is the key.
		return nil, s.damaged(errors.New("the identity is malformed"))
	}
	for _, id := range ids {
		if x, ok := id.(*age.X25519Identity); ok {
			return x, nil
		}
	}
	return nil, s.damaged(errors.New("the identity is of another kind"))
}

func (s *fileStore) read() (map[string]string, error) {
	id, err := s.identity()
	if err != nil {
		return nil, err
	}
	sealed, err := os.ReadFile(s.path())
	if err != nil {
		return nil, err
	}
	r, err := age.Decrypt(bytes.NewReader(sealed), id)
	if err != nil {
		return nil, s.damaged(err)
	}
	plain, err := io.ReadAll(r)
	if err != nil {
		return nil, s.damaged(err)
	}
	all := map[string]string{}
	if err := json.Unmarshal(plain, &all); err != nil {
		return nil, s.damaged(errors.New("the content is malformed"))
	}
	return all, nil
}

func (s *fileStore) write(all map[string]string) error {
	id, err := s.identity()
	if err != nil {
		return err
	}
	plain, err := json.Marshal(all)
	if err != nil {
		return err
	}
	var sealed bytes.Buffer
	w, err := age.Encrypt(&sealed, id.Recipient())
	if err != nil {
		return err
	}
	if _, err := w.Write(plain); err != nil {
		return err
	}
	if err := w.Close(); err != nil {
		return err
	}
	return replace(s.path(), sealed.Bytes())
}

// Get implements Store.
func (s *fileStore) Get(name string) (Value, error) {
	if err := checkName(name); err != nil {
		return Value{}, err
	}
	all, err := s.all()
	if err != nil {
		return Value{}, fmt.Errorf("secret: get %s: %w", name, err)
	}
	text, ok := all[name]
	if !ok {
		return Value{}, fmt.Errorf("secret: get %s: %w", name, ErrNotFound)
	}
	return New(text), nil
}

// Names implements Store.
func (s *fileStore) Names() ([]string, error) {
	all, err := s.all()
	if err != nil {
		return nil, fmt.Errorf("secret: list: %w", err)
	}
	return slices.Sorted(maps.Keys(all)), nil
}

func (s *fileStore) all() (map[string]string, error) {
	unlock, err := s.lock.Lock()
	if err != nil {
		return nil, err
	}
	defer unlock()
	return s.read()
}

// Set implements Store.
func (s *fileStore) Set(name string, v Value) error {
	if err := errors.Join(checkName(name), checkValue(v)); err != nil {
		return err
	}
	if v.Empty() {
		return s.Delete(name)
	}
	return s.change("set "+name, func(all map[string]string) { all[name] = v.Open() })
}

// Delete implements Store.
func (s *fileStore) Delete(name string) error {
	if err := checkName(name); err != nil {
		return err
	}
	return s.change("delete "+name, func(all map[string]string) { delete(all, name) })
}

func (s *fileStore) change(what string, edit func(map[string]string)) error {
	unlock, err := s.lock.Lock()
	if err != nil {
		return fmt.Errorf("secret: %s: %w", what, err)
	}
	defer unlock()
	all, err := s.read()
	if err == nil {
		edit(all)
		err = s.write(all)
	}
	if err != nil {
		return fmt.Errorf("secret: %s: %w", what, err)
	}
	return nil
}
