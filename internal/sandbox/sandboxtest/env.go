// Package sandboxtest is the conformance suite of sandbox drivers: the exported
// test that every driver runs, and the programs it needs.
//
// # Design
//
// The suite believes nothing a driver says. It builds the real agent and a
// probe (directory probe), puts the probe into a tree, has the agent run it as
// a command stage, and compares what the probe could reach with what the
// specification allows. Targets are real: the suite listens on the host's
// loopback, serves the gateway's socket and a sibling's, so that "blocked"
// never means "nobody was there".
//
// Only tests import this package.
package sandboxtest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"

	"moeca/internal/sandbox"
)

// ConformanceEnv is what the suite runs with.
type ConformanceEnv struct {
	Policy   sandbox.Policy // base unless a driver tests another
	UID, GID int            // of sandboxes and their trees
	Dir      string         // for trees and sockets; free of symbolic links
	Probe    string         // static probe binary
	// Weak names limits (memory, pids, cpu) this machine cannot enforce for the
	// sandbox as a whole; the suite then asserts only what remains true.
	Weak []string
}

// NewEnv builds the probe and chooses the uid as the product does: the user's
// own, or the dedicated one when running as root.
func NewEnv(t testing.TB) ConformanceEnv {
	t.Helper()
	policy, err := sandbox.PolicyByName(sandbox.Base)
	if err != nil {
		t.Fatal(err)
	}
	policy.Memory = 256 << 20 // a memory bomb goes off sooner
	env := ConformanceEnv{
		Policy: policy, UID: os.Getuid(), GID: os.Getgid(), Dir: TempDir(t),
		Probe: build(t, "moeca/internal/sandbox/sandboxtest/probe", "probe"),
	}
	if env.UID == 0 {
		env.UID, env.GID = sandbox.UserUID, sandbox.UserGID
	}
	return env
}

// BuildAgent builds the real static agent and returns its path.
func BuildAgent(t testing.TB) string {
	t.Helper()
	return build(t, "moeca/cmd/moeca-agent", "moeca-agent")
}

// PrebuiltEnv names a directory with probe and moeca-agent, for a test process
// of another user, who has no build cache.
const PrebuiltEnv = "MOECA_TEST_PREBUILT"

// build builds a package statically for this machine.
func build(t testing.TB, pkg, name string) string {
	t.Helper()
	if dir := os.Getenv(PrebuiltEnv); dir != "" {
		return filepath.Join(dir, name)
	}
	out := filepath.Join(TempDir(t), name)
	cmd := exec.Command("go", "build", "-o", out, pkg)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=", "GOOS=linux", "GOARCH="+runtime.GOARCH)
	if text, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("build %s: %v\n%s", pkg, err, text)
	}
	return out
}

// TempDir is a short temporary directory whose path holds no symbolic link and
// that every uid may pass: Unix sockets have short names, and trees belong to
// another uid when the test runs as root.
func TempDir(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "moeca")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Errorf("clean up: %v", err)
		}
	})
	real, err := filepath.EvalSymlinks(dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(real, 0o755); err != nil {
		t.Fatal(err)
	}
	return real
}

// tree makes a tree with the probe in it, owned by the sandbox's uid.
func (e ConformanceEnv) tree(t testing.TB, name string) string {
	t.Helper()
	dir := filepath.Join(e.Dir, "tree-"+name)
	probe, err := os.ReadFile(e.Probe)
	if err == nil {
		err = os.Mkdir(dir, 0o755)
	}
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "probe"), probe, 0o755)
	}
	for _, p := range []string{dir, filepath.Join(dir, "probe")} {
		if err == nil {
			err = os.Lchown(p, e.UID, e.GID)
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// fill writes files into a tree.
func (e ConformanceEnv) fill(t testing.TB, dir string, files map[string]string) {
	t.Helper()
	for name, content := range files {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
		if err := os.Lchown(path, e.UID, e.GID); err != nil {
			t.Fatal(err)
		}
	}
}

// socketDir makes a socket directory as the product does.
func (e ConformanceEnv) socketDir(t testing.TB, name string) string {
	t.Helper()
	dir := filepath.Join(e.Dir, "run-"+name)
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	e.share(t, dir, 0o770, e.UID)
	return dir
}

// share gives a socket or its directory to the shared group, where there is one.
func (e ConformanceEnv) share(t testing.TB, path string, mode os.FileMode, uid int) {
	t.Helper()
	var err error
	if os.Getuid() == 0 {
		err = os.Chown(path, uid, sandbox.SocketGID)
	}
	if err == nil {
		err = os.Chmod(path, mode)
	}
	if err != nil {
		t.Fatal(fmt.Errorf("share %s: %w", path, err))
	}
}
