package secret

import (
	"bytes"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/rogpeppe/go-internal/lockedfile"
	"github.com/zalando/go-keyring"
)

// keychain is the part of a system keychain that is used. Get and Delete of an
// absent entry return keyring.ErrNotFound.
type keychain interface {
	Set(service, user, text string) error
	Get(service, user string) (string, error)
	Delete(service, user string) error
}

type systemKeychain struct{}

func (systemKeychain) Set(service, user, text string) error { return keyring.Set(service, user, text) }

func (systemKeychain) Get(service, user string) (string, error) {
	return keyring.Get(service, user)
}
func (systemKeychain) Delete(service, user string) error { return keyring.Delete(service, user) }

// unlockTime is how long a person may take to answer the keychain's question.
const unlockTime = time.Minute

// timedKeychain gives up on a keychain that does not answer. The call itself
// cannot be ended; its goroutine ends when the keychain answers after all.
type timedKeychain struct {
	keychain
	limit time.Duration
}

func (k timedKeychain) do(call func() (string, error)) (string, error) {
	type answer struct {
		text string
		err  error
	}
	got := make(chan answer, 1)
	go func() {
		text, err := call()
		got <- answer{text, err}
	}()
	t := time.NewTimer(k.limit)
	defer t.Stop()
	select {
	case a := <-got:
		return a.text, a.err
	case <-t.C:
		return "", fmt.Errorf("no answer within %v", k.limit)
	}
}

func (k timedKeychain) Set(service, user, text string) error {
	_, err := k.do(func() (string, error) { return "", k.keychain.Set(service, user, text) })
	return err
}

func (k timedKeychain) Get(service, user string) (string, error) {
	return k.do(func() (string, error) { return k.keychain.Get(service, user) })
}

func (k timedKeychain) Delete(service, user string) error {
	_, err := k.do(func() (string, error) { return "", k.keychain.Delete(service, user) })
	return err
}

// keychainStore keeps each secret as one entry. A keychain cannot list, so the
// names are in an index file; a name is there before its entry is.
type keychainStore struct {
	dir     string
	lock    *lockedfile.Mutex
	chain   timedKeychain
	service string
}

type keychainIndex struct {
	ID    string   `json:"id"` // separates this directory's entries from others'
	Names []string `json:"names"`
}

// Kind implements Store.
func (s *keychainStore) Kind() string { return "keychain" }

func (s *keychainStore) path() string { return filepath.Join(s.dir, "secrets.json") }

func (s *keychainStore) load() (keychainIndex, error) {
	b, err := os.ReadFile(s.path())
	if errors.Is(err, fs.ErrNotExist) {
		return keychainIndex{ID: rand.Text()}, nil
	}
	if err != nil {
		return keychainIndex{}, err
	}
	var index keychainIndex
	d := json.NewDecoder(bytes.NewReader(b))
	d.DisallowUnknownFields()
	if err := d.Decode(&index); err != nil || index.ID == "" {
		return keychainIndex{}, fmt.Errorf("%s, the list of keys in the keychain, is damaged: restore it from a backup, "+
			"or move it away and enter the keys again; nothing was changed", s.path())
	}
	return index, nil
}

func (s *keychainStore) save(index keychainIndex) error {
	b, err := json.Marshal(index)
	if err != nil {
		return err
	}
	return replace(s.path(), append(b, '\n'))
}

func (s *keychainStore) entry(index keychainIndex) string { return s.service + " " + index.ID }

// probe writes a canary, reads it back and deletes it.
func (s *keychainStore) probe(index keychainIndex) error {
	const user = "moeca-canary"
	text := rand.Text()
	if err := s.chain.Set(s.entry(index), user, text); err != nil {
		return err
	}
	back, err := s.chain.Get(s.entry(index), user)
	if err == nil && back != text {
		err = errors.New("it returns something else than was stored")
	}
	return errors.Join(err, s.chain.Delete(s.entry(index), user))
}

// with runs do on the index under the lock.
func (s *keychainStore) with(what string, do func(index *keychainIndex) error) error {
	unlock, err := s.lock.Lock()
	if err == nil {
		defer unlock()
		var index keychainIndex
		if index, err = s.load(); err == nil {
			err = do(&index)
		}
	}
	if err != nil {
		return fmt.Errorf("secret: %s: %w", what, err)
	}
	return nil
}

// Get implements Store.
func (s *keychainStore) Get(name string) (Value, error) {
	if err := checkName(name); err != nil {
		return Value{}, err
	}
	var v Value
	err := s.with("get "+name, func(index *keychainIndex) error {
		if _, found := slices.BinarySearch(index.Names, name); !found {
			return ErrNotFound
		}
		text, err := s.chain.Get(s.entry(*index), name)
		if errors.Is(err, keyring.ErrNotFound) {
			return ErrNotFound
		}
		v = New(text)
		return err
	})
	return v, err
}

// Set implements Store.
func (s *keychainStore) Set(name string, v Value) error {
	if err := errors.Join(checkName(name), checkValue(v)); err != nil {
		return err
	}
	if v.Empty() {
		return s.Delete(name)
	}
	return s.with("set "+name, func(index *keychainIndex) error {
		if i, found := slices.BinarySearch(index.Names, name); !found {
			index.Names = slices.Insert(index.Names, i, name)
			if err := s.save(*index); err != nil {
				return err
			}
		}
		return s.chain.Set(s.entry(*index), name, v.Open())
	})
}

// Delete implements Store. The entry goes first, so that no key stays behind
// without a name.
func (s *keychainStore) Delete(name string) error {
	if err := checkName(name); err != nil {
		return err
	}
	return s.with("delete "+name, func(index *keychainIndex) error {
		i, found := slices.BinarySearch(index.Names, name)
		if !found {
			return nil
		}
		if err := s.chain.Delete(s.entry(*index), name); err != nil && !errors.Is(err, keyring.ErrNotFound) {
			return err
		}
		index.Names = slices.Delete(index.Names, i, i+1)
		return s.save(*index)
	})
}

// Names implements Store.
func (s *keychainStore) Names() ([]string, error) {
	var names []string
	err := s.with("list", func(index *keychainIndex) error {
		names = index.Names
		return nil
	})
	return names, err
}
