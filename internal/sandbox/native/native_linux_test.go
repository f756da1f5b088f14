package native

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"moeca/internal/sandbox"
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
	d := New(Options{Images: image.New(image.Options{Dir: sandboxtest.TempDir(t), AgentBinary: sandboxtest.BuildAgent(t)}), StateDir: sandboxtest.TempDir(t)})
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

// TestNothingIsLeftOpen counts descriptors around sandboxes that ended in every
// way there is: run, never started, never attached, killed at start.
func TestNothingIsLeftOpen(t *testing.T) {
	d := newDriver(t)
	spec := benchSpec(t, d)
	once := func(name string, use func(sandbox.Sandbox)) {
		t.Helper()
		spec.ID = name
		box, err := d.Prepare(t.Context(), spec)
		if err != nil {
			t.Fatal(err)
		}
		use(box)
		if err := box.Remove(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	attach := func(box sandbox.Sandbox) {
		if _, err := box.Attach(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	all := func() {
		once("run", func(box sandbox.Sandbox) {
			attach(box)
			if err := box.Start(t.Context()); err != nil {
				t.Fatal(err)
			}
		})
		once("attached", attach)
		once("prepared", func(sandbox.Sandbox) {})
		once("stopped-first", func(box sandbox.Sandbox) {
			attach(box)
			if err := box.Stop(t.Context(), 0); err != nil {
				t.Fatal(err)
			}
			if err := box.Start(t.Context()); err == nil {
				t.Error("started after Stop")
			}
		})
		once("broken", func(sb sandbox.Sandbox) {
			sb.(*box).config.Root = "/nowhere"
			attach(sb)
			if err := sb.Start(t.Context()); err == nil || !strings.Contains(err.Error(), "/nowhere") {
				t.Errorf("start without a root: %v", err)
			}
		})
	}
	all()
	before := openFiles(t)
	for range 3 {
		all()
	}
	if after := openFiles(t); after > before {
		t.Errorf("%d descriptors open, %d before", after, before)
	}
	if left, _ := filepath.Glob(filepath.Join(d.ownerDir(spec.Owner), "*")); len(left) != 0 {
		t.Errorf("state left: %v", left)
	}
}

func openFiles(t *testing.T) int {
	t.Helper()
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(entries)
}
