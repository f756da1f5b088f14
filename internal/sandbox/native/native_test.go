package native

import (
	"os"
	"strings"
	"testing"

	"moeca/internal/sandbox/image"
	"moeca/internal/sandbox/sandboxtest"
	"moeca/internal/testreq"
)

func TestMain(m *testing.M) {
	Init()
	os.Exit(m.Run())
}

// newDriver returns a usable driver, or ends the test.
func newDriver(t testing.TB) *Driver {
	t.Helper()
	d := New(Options{Images: image.Open(sandboxtest.TempDir(t), sandboxtest.BuildAgent(t)), StateDir: sandboxtest.TempDir(t)})
	testreq.Need(t, "native", d.Usable(t.Context()))
	return d
}

func TestConformance(t *testing.T) {
	d := newDriver(t)
	env := sandboxtest.NewEnv(t)
	for _, line := range d.Unenforced() {
		name, _, _ := strings.Cut(line, ":")
		env.Weak = append(env.Weak, name)
		t.Log("not enforced here: " + line)
	}
	sandboxtest.TestDriver(t, d, env)
}
