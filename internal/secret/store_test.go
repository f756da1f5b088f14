package secret

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/zalando/go-keyring"
)

// fakeKeychain is an in-memory keychain that can fail or hang.
type fakeKeychain struct {
	mu      sync.Mutex
	entries map[string]string
	err     error
	hang    chan struct{} // calls wait for it when it is not nil
	twist   bool          // returns something else than was stored
}

func newFakeKeychain() *fakeKeychain { return &fakeKeychain{entries: map[string]string{}} }

func (f *fakeKeychain) enter() (unlock func(), err error) {
	f.mu.Lock()
	hang := f.hang
	f.mu.Unlock()
	if hang != nil {
		<-hang
	}
	f.mu.Lock()
	return f.mu.Unlock, f.err
}

func (f *fakeKeychain) Set(service, user, text string) error {
	unlock, err := f.enter()
	defer unlock()
	if err == nil {
		f.entries[service+"\x00"+user] = text
	}
	return err
}

func (f *fakeKeychain) Get(service, user string) (string, error) {
	unlock, err := f.enter()
	defer unlock()
	text, ok := f.entries[service+"\x00"+user]
	switch {
	case err != nil:
		return "", err
	case !ok:
		return "", keyring.ErrNotFound
	case f.twist:
		return text + "?", nil
	}
	return text, nil
}

func (f *fakeKeychain) Delete(service, user string) error {
	unlock, err := f.enter()
	defer unlock()
	if err == nil {
		delete(f.entries, service+"\x00"+user)
	}
	return err
}

func mustOpen(t *testing.T, dir string, o StoreOptions) Store {
	t.Helper()
	s, err := OpenStore(dir, o)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// testStore is what every Store does; reopen opens the same directory again.
func testStore(t *testing.T, reopen func() Store) {
	s := reopen()
	if names, err := s.Names(); err != nil || len(names) != 0 {
		t.Fatalf("a new store has names %v, %v", names, err)
	}
	if _, err := s.Get("anthropic"); !errors.Is(err, ErrNotFound) {
		t.Fatalf("get of an absent name: %v", err)
	}
	if err := s.Delete("anthropic"); err != nil {
		t.Fatalf("delete of an absent name: %v", err)
	}
	for name, text := range map[string]string{"openai": "two", "anthropic": "one", "github:x/y": "three\n\x00\"日本"} {
		if err := s.Set(name, New(text)); err != nil {
			t.Fatal(err)
		}
		if v, err := reopen().Get(name); err != nil || v.Open() != text {
			t.Fatalf("get %s after reopening: %q, %v", name, v.Open(), err)
		}
	}
	if err := s.Set("openai", New("changed")); err != nil {
		t.Fatal(err)
	}
	if err := s.Set("github:x/y", Value{}); err != nil {
		t.Fatal(err)
	}
	s = reopen()
	if names, err := s.Names(); err != nil || !slices.Equal(names, []string{"anthropic", "openai"}) {
		t.Fatalf("names %v, %v", names, err)
	}
	if v, err := s.Get("openai"); err != nil || v.Open() != "changed" {
		t.Fatalf("changed value: %v", err)
	}
	for _, bad := range []string{"", "a b", "a\x00", "é", strings.Repeat("a", maxName+1)} {
		if s.Set(bad, New("x")) == nil || s.Delete(bad) == nil {
			t.Errorf("name %q was accepted", bad)
		}
		if _, err := s.Get(bad); err == nil || errors.Is(err, ErrNotFound) {
			t.Errorf("get %q: %v", bad, err)
		}
	}
	if s.Set("big", New(strings.Repeat("x", maxValue+1))) == nil {
		t.Error("an oversized value was accepted")
	}
}

func TestFileStore(t *testing.T) {
	dir := t.TempDir()
	testStore(t, func() Store { return mustOpen(t, dir, StoreOptions{NoKeychain: true}) })
}

func TestKeychainStore(t *testing.T) {
	dir, chain := t.TempDir(), newFakeKeychain()
	testStore(t, func() Store { return mustOpen(t, dir, StoreOptions{keychain: chain}) })
	for entry := range chain.entries {
		if strings.Contains(entry, "canary") {
			t.Error("the canary was left behind")
		}
	}
}

func TestTwoDirectoriesDoNotShareAKeychainEntry(t *testing.T) {
	chain := newFakeKeychain()
	a := mustOpen(t, t.TempDir(), StoreOptions{keychain: chain})
	b := mustOpen(t, t.TempDir(), StoreOptions{keychain: chain})
	if err := errors.Join(a.Set("k", New("of a")), b.Set("k", New("of b")), b.Delete("k")); err != nil {
		t.Fatal(err)
	}
	if v, err := a.Get("k"); err != nil || v.Open() != "of a" {
		t.Errorf("got %q, %v", v.Open(), err)
	}
}

func TestChoiceOfStore(t *testing.T) {
	hang := make(chan struct{})
	defer close(hang)
	for name, c := range map[string]struct {
		o    StoreOptions
		want string
	}{
		"a keychain that answers":        {StoreOptions{keychain: newFakeKeychain()}, "keychain"},
		"a keychain that is not wanted":  {StoreOptions{keychain: newFakeKeychain(), NoKeychain: true}, "file"},
		"a keychain that fails":          {StoreOptions{keychain: &fakeKeychain{err: errors.New("no bus")}}, "file"},
		"a keychain that hangs":          {StoreOptions{keychain: &fakeKeychain{entries: map[string]string{}, hang: hang}, Timeout: time.Millisecond}, "file"},
		"a keychain that returns others": {StoreOptions{keychain: &fakeKeychain{entries: map[string]string{}, twist: true}}, "file"},
	} {
		dir := t.TempDir()
		s := mustOpen(t, dir, c.o)
		if s.Kind() != c.want {
			t.Errorf("%s: store is %q", name, s.Kind())
		}
		if err := s.Set("k", New("v")); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestADirectoryStaysWithItsStore(t *testing.T) {
	t.Run("a keychain appears later", func(t *testing.T) {
		dir := t.TempDir()
		if err := mustOpen(t, dir, StoreOptions{NoKeychain: true}).Set("k", New("v")); err != nil {
			t.Fatal(err)
		}
		s := mustOpen(t, dir, StoreOptions{keychain: newFakeKeychain()})
		if v, err := s.Get("k"); err != nil || v.Open() != "v" || s.Kind() != "file" {
			t.Errorf("%s: %v", s.Kind(), err)
		}
	})
	t.Run("the keychain is gone", func(t *testing.T) {
		dir, chain := t.TempDir(), newFakeKeychain()
		if err := mustOpen(t, dir, StoreOptions{keychain: chain}).Set("k", New("v")); err != nil {
			t.Fatal(err)
		}
		chain.err = errors.New("locked")
		_, err := OpenStore(dir, StoreOptions{keychain: chain})
		if !errors.Is(err, ErrUnavailable) || !strings.Contains(err.Error(), "unlock it") {
			t.Errorf("error is %v", err)
		}
		if exists(filepath.Join(dir, "secrets.age")) {
			t.Error("an empty file store was made beside the keychain")
		}
	})
}

func TestFilesAreForTheUserOnlyAndHoldNoPlainText(t *testing.T) {
	dir := t.TempDir()
	if err := mustOpen(t, dir, StoreOptions{NoKeychain: true}).Set("k", New(canary)); err != nil {
		t.Fatal(err)
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
		b, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil || bytes.Contains(b, []byte(canary)) {
			t.Errorf("%s holds the secret in plain text (%v)", e.Name(), err)
		}
		st, err := e.Info()
		if err != nil {
			t.Fatal(err)
		}
		if e.Name() != "secrets.lock" && runtime.GOOS != "windows" && st.Mode().Perm() != 0o600 {
			t.Errorf("%s has mode %v", e.Name(), st.Mode())
		}
	}
	if want := []string{"secrets.age", "secrets.key", "secrets.lock"}; !slices.Equal(names, want) {
		t.Errorf("files are %v", names)
	}
}

func TestDamagedFilesSayWhatToDo(t *testing.T) {
	flip := func(b []byte) []byte { b[len(b)-1] ^= 1; return b }
	for name, c := range map[string]struct {
		file string
		edit func(b []byte) []byte // nil removes the file
		want string
	}{
		"a flipped bit":            {"secrets.age", flip, "restore both from one backup"},
		"an empty file":            {"secrets.age", func([]byte) []byte { return nil }, "restore both from one backup"},
		"a cut file":               {"secrets.age", func(b []byte) []byte { return b[:len(b)-10] }, "restore both from one backup"},
		"a missing identity":       {"secrets.key", nil, "the identity is missing"},
		"a malformed identity":     {"secrets.key", func(b []byte) []byte { return append(b, "AGE-SECRET-KEY-1X\n"...) }, "the identity is malformed"},
		"an identity of another":   {"secrets.key", otherIdentity, "restore both from one backup"},
		"an identity of no key":    {"secrets.key", func([]byte) []byte { return []byte("# nothing\n") }, "the identity is malformed"},
		"a keychain list in parts": {"secrets.json", func([]byte) []byte { return []byte(`{"id":`) }, "enter the keys again"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			o := StoreOptions{NoKeychain: c.file != "secrets.json", keychain: newFakeKeychain()}
			s := mustOpen(t, dir, o)
			if err := s.Set("k", New(canary)); err != nil {
				t.Fatal(err)
			}
			damage(t, filepath.Join(dir, c.file), c.edit)
			_, err := s.Get("k")
			_, openErr := OpenStore(dir, o)
			setErr := s.Set("other", New("x"))
			for call, err := range map[string]error{"get": err, "open": openErr, "set": setErr} {
				if err == nil || !strings.Contains(err.Error(), c.want) || leaks(err.Error()) || strings.Contains(err.Error(), "AGE-SECRET") {
					t.Errorf("%s: %v", call, err)
				}
			}
		})
	}
}

func otherIdentity([]byte) []byte {
	return []byte("AGE-SECRET-KEY-1GFPYYSJZGFPYYSJZGFPYYSJZGFPYYSJZGFPYYSJZGFPYYSJZGFPQ4EGAEX\n")
}

func damage(t *testing.T, path string, edit func([]byte) []byte) {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if edit == nil {
		err = os.Remove(path)
	} else {
		err = os.WriteFile(path, edit(b), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func TestAnIdentityOthersCanReadIsRefused(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("no modes on Windows")
	}
	dir := t.TempDir()
	mustOpen(t, dir, StoreOptions{NoKeychain: true})
	if err := os.Chmod(filepath.Join(dir, "secrets.key"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := OpenStore(dir, StoreOptions{NoKeychain: true}); err == nil || !strings.Contains(err.Error(), "chmod 600") {
		t.Errorf("error is %v", err)
	}
}

// childDir makes the test binary a second process that sets names.
const childDir = "MOECA_SECRET_TEST_DIR"

func TestMain(m *testing.M) {
	if dir := os.Getenv(childDir); dir != "" {
		if err := setMany(dir, os.Getenv(childDir+"_PREFIX")); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

const perProcess = 15

func setMany(dir, prefix string) error {
	s, err := OpenStore(dir, StoreOptions{NoKeychain: true})
	if err != nil {
		return err
	}
	for i := range perProcess {
		if err := s.Set(fmt.Sprintf("%s-%d", prefix, i), New(prefix)); err != nil {
			return err
		}
	}
	return nil
}

func TestProcessesDoNotLoseEachOthersKeys(t *testing.T) {
	dir := t.TempDir()
	var wg sync.WaitGroup
	for _, prefix := range []string{"a", "b", "c"} {
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), childDir+"="+dir, childDir+"_PREFIX="+prefix)
		wg.Go(func() {
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("process %s: %v: %s", prefix, err, out)
			}
		})
	}
	wg.Go(func() {
		if err := setMany(dir, "d"); err != nil {
			t.Error(err)
		}
	})
	wg.Wait()
	names, err := mustOpen(t, dir, StoreOptions{NoKeychain: true}).Names()
	if err != nil || len(names) != 4*perProcess {
		t.Errorf("%d names are left of %d, %v", len(names), 4*perProcess, err)
	}
}
