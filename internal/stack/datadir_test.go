package stack

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestDataDirIsForOneProcess(t *testing.T) {
	dir := t.TempDir()
	first, err := OpenDataDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := OpenDataDir(dir); !errors.Is(err, ErrLocked) {
		t.Fatalf("second open: %v, want ErrLocked", err)
	}
	id := first.ID
	first.Close()
	again, err := OpenDataDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close()
	if again.ID != id || len(id) != 16 {
		t.Errorf("id %q became %q", id, again.ID)
	}
}

func TestDataDirOfAnotherVersionIsLeftAlone(t *testing.T) {
	cases := map[string]struct {
		format string
		want   error
	}{
		"a newer version": {`{"version": 2, "id": "0123456789abcdef"}`, ErrNewer},
		"half a file":     {`{"version": 1, "id"`, nil},
		"no id":           {`{"version": 1}`, nil},
		"an empty file":   {``, nil},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			file := filepath.Join(dir, "format.json")
			if err := os.WriteFile(file, []byte(c.format), 0o600); err != nil {
				t.Fatal(err)
			}
			_, err := OpenDataDir(dir)
			if err == nil || c.want != nil && !errors.Is(err, c.want) {
				t.Fatalf("error %v, want %v", err, c.want)
			}
			if !strings.Contains(err.Error(), "--data") {
				t.Errorf("%q does not say what to do", err)
			}
			if raw, err := os.ReadFile(file); err != nil || string(raw) != c.format {
				t.Errorf("format.json became %q (%v)", raw, err)
			}
			if _, err := os.Stat(filepath.Join(dir, "audit")); err == nil {
				t.Error("something was made in the directory")
			}
		})
	}
}

func TestDataDirIsPrivate(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "deep", "er")
	d, err := OpenDataDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	for _, name := range []string{"", "audit", "secrets", "run"} {
		info, err := os.Stat(d.Join(name))
		if err != nil || info.Mode().Perm() != 0o700 {
			t.Errorf("%s: mode %v (%v), want 0700", name, info.Mode(), err)
		}
	}
}

func TestWriteFileReplacesInOneStep(t *testing.T) {
	file := filepath.Join(t.TempDir(), "f")
	for _, content := range []string{"first", "second, longer", ""} {
		if err := writeFile(file, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		raw, err := os.ReadFile(file)
		if err != nil || string(raw) != content {
			t.Fatalf("%q (%v), want %q", raw, err, content)
		}
	}
	if entries, _ := os.ReadDir(filepath.Dir(file)); len(entries) != 1 {
		t.Errorf("%d files are left", len(entries))
	}
	if err := writeFile(filepath.Join(file, "x"), nil, 0o600); err == nil {
		t.Error("writing below a file succeeded")
	}
}

// After a crash the file still names a port, and anybody may listen there.
func TestEndpointsOfAProcessThatIsGoneAreNotBelieved(t *testing.T) {
	path := t.TempDir()
	d, err := OpenDataDir(path)
	if err != nil {
		t.Fatal(err)
	}
	file := d.Join("run", "endpoints.json")
	left := Endpoints{URL: "http://127.0.0.1:1", Token: "t", PID: os.Getpid()}
	if err := writeJSON(file, left); err != nil {
		t.Fatal(err)
	}
	if ep, ok := Running(path); !ok || ep.URL != left.URL {
		t.Errorf("a process that runs is not found: %+v %v", ep, ok)
	}
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	if ep, ok := Running(path); ok {
		t.Errorf("nobody holds the directory, and %+v is believed", ep)
	}
	if d, err = OpenDataDir(path); err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	if _, err := os.Stat(file); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a start keeps the endpoints of the one before: %v", err)
	}
	left.PID = 1 << 30 // no process
	if err := writeJSON(file, left); err != nil {
		t.Fatal(err)
	}
	if ep, ok := Running(path); ok {
		t.Errorf("the process is gone, and %+v is believed", ep)
	}
	if _, ok := Running(t.TempDir()); ok {
		t.Error("an empty directory runs")
	}
}
