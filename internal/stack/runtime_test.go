package stack

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestRuntimeRefusesLongPaths(t *testing.T) {
	_, err := openRuntime(filepath.Join(t.TempDir(), strings.Repeat("x", 100)), "0123456789abcdef", identity())
	if err == nil || !strings.Contains(err.Error(), "--runtime") {
		t.Fatalf("error %v, want one that names --runtime", err)
	}
}

func TestRuntimeMakesOneDirectoryPerSandbox(t *testing.T) {
	base, err := os.MkdirTemp("/tmp", "mo")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(base)
	id := identity()
	r, err := openRuntime(base, "0123456789abcdef", id)
	if err != nil {
		t.Fatal(err)
	}
	host, gateway, err := r.Make("run-1-stage-aaaaaaaaaaaaaaaa")
	if err != nil {
		t.Fatal(err)
	}
	if host != gateway || len(filepath.Join(host, "registry.sock")) > maxSocket {
		t.Errorf("directories %s and %s", host, gateway)
	}
	info, err := os.Stat(host)
	if err != nil || info.Mode().Perm()&0o007 != 0 {
		t.Errorf("the directory is open to others: %v %v", info.Mode(), err)
	}
	if _, _, err := r.Make("run-1-stage-aaaaaaaaaaaaaaaa"); err == nil {
		t.Error("the directory of a sandbox was made twice")
	}
	for range 2 {
		if err := r.Remove("run-1-stage-aaaaaaaaaaaaaaaa"); err != nil {
			t.Errorf("remove: %v", err)
		}
	}
	if err := os.WriteFile(r.Join("s", "stale"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if r, err = openRuntime(base, "0123456789abcdef", id); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(r.Join("s", "stale")); err == nil {
		t.Error("what an earlier process left is still there")
	}
	if err := r.Close(); err != nil {
		t.Error(err)
	}
}

// A symlink left at our path inside a directory of ours is removed, never
// followed.
func TestRuntimeDoesNotFollowASymlink(t *testing.T) {
	base, trap := t.TempDir(), t.TempDir()
	if err := os.Symlink(trap, filepath.Join(base, "moeca-01234567")); err != nil {
		t.Fatal(err)
	}
	r, err := openRuntime(base, "0123456789abcdef", identity())
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if entries, err := os.ReadDir(trap); err != nil || len(entries) != 0 {
		t.Errorf("%d files were made through the symlink (%v)", len(entries), err)
	}
}

func TestSignerKeepsItsKey(t *testing.T) {
	file := filepath.Join(t.TempDir(), "host.key")
	first, err := OpenSigner(file)
	if err != nil {
		t.Fatal(err)
	}
	second, err := OpenSigner(file)
	if err != nil {
		t.Fatal(err)
	}
	if string(first.Public()) != string(second.Public()) {
		t.Error("the key changed")
	}
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v (%v), want 0600", info.Mode(), err)
	}
	if err := os.WriteFile(file, []byte("nonsense"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := OpenSigner(file); err == nil {
		t.Error("a broken key file was replaced")
	}
	if raw, err := os.ReadFile(file); err != nil || string(raw) != "nonsense" {
		t.Errorf("the broken file became %q (%v)", raw, err)
	}
}
