package sandboxtest

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"moeca/internal/sandbox"
)

// TestDriver is the conformance suite. The driver is usable and its images come
// from the agent that BuildAgent built.
func TestDriver(t *testing.T, d sandbox.Driver, env ConformanceEnv) {
	if err := d.Usable(t.Context()); err != nil {
		t.Fatal(err)
	}
	tests := []struct {
		name string
		run  func(*testing.T, sandbox.Driver, ConformanceEnv)
	}{
		{"lifecycle", testLifecycle},
		{"refusals", testRefusals},
		{"exit codes and causes", testCauses},
		{"facts and attacks", testFacts},
		{"a tree mounted read-only", testReadTree},
		{"memory bomb is attributed", testMemory},
		{"fork bomb is bounded", testFork},
		{"output flood is bounded", testFlood},
		{"stop kills everything", testStop},
		{"many at once", testMany},
		{"sweep keeps to its owner", testSweep},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) { test.run(t, d, env) })
	}
}

// testLifecycle goes through every method once, in order and out of order.
func testLifecycle(t *testing.T, d sandbox.Driver, env ConformanceEnv) {
	spec := env.spec(t, d, options{name: "life"})
	s := begin(t, d, spec)
	if s.box.ID() != spec.ID {
		t.Errorf("ID %q", s.box.ID())
	}
	if _, err := s.box.Attach(s.ctx); err == nil {
		t.Error("attached twice")
	}
	if err := s.box.Start(s.ctx); err == nil {
		t.Error("started twice")
	}
	if _, err := d.Prepare(s.ctx, spec); err == nil {
		t.Error("prepared a second sandbox of the same name")
	}
	s.command("exit", "0")
	if exit := s.finish(); exit.Cause != sandbox.CauseDone || exit.Code != 0 {
		t.Errorf("exit %+v", exit)
	}
	if again := s.wait(); again.Cause != sandbox.CauseDone {
		t.Errorf("second wait: %+v", again)
	}
	for range 2 {
		if err := s.box.Stop(s.ctx, 0); err != nil {
			t.Errorf("stop after the end: %v", err)
		}
		if err := s.box.Remove(s.ctx); err != nil {
			t.Errorf("remove: %v", err)
		}
	}
	// The name is free again.
	reused := begin(t, d, spec)
	reused.command("exit", "0")
	if exit := reused.finish(); exit.Cause != sandbox.CauseDone {
		t.Errorf("same name again: %+v", exit)
	}
}

// testRefusals hands the driver specifications that must not run.
func testRefusals(t *testing.T, d sandbox.Driver, env ConformanceEnv) {
	link := filepath.Join(env.Dir, "link")
	if err := os.Symlink(env.Dir, link); err != nil {
		t.Fatal(err)
	}
	bad := map[string]func(*sandbox.Spec){
		"uid 0":                 func(s *sandbox.Spec) { s.UID = 0 },
		"gid 0":                 func(s *sandbox.Spec) { s.GID = 0 },
		"a tree by a link":      func(s *sandbox.Spec) { s.TreeDir = filepath.Join(link, filepath.Base(s.TreeDir)) },
		"a tree that is gone":   func(s *sandbox.Spec) { s.TreeDir += "-gone" },
		"a tree of another uid": func(s *sandbox.Spec) { s.TreeDir = "/" },
		"no hardening":          func(s *sandbox.Spec) { s.Hardening = sandbox.Hardening{} },
		"an unknown image":      func(s *sandbox.Spec) { s.Image.Digest = "sha256:" + strings.Repeat("0", 64) },
	}
	for _, name := range slices.Sorted(mapsKeys(bad)) {
		spec := env.spec(t, d, options{name: "bad" + strings.ReplaceAll(name, " ", "-"), change: bad[name]})
		box, err := d.Prepare(t.Context(), spec)
		if err == nil {
			t.Errorf("%s: prepared", name)
			if err := box.Remove(t.Context()); err != nil {
				t.Error(err)
			}
		}
	}
}

func testCauses(t *testing.T, d sandbox.Driver, env ConformanceEnv) {
	if _, exit := run(t, d, env.spec(t, d, options{name: "seven"}), "exit", "7"); exit.Code != 7 || exit.Cause != sandbox.CauseFailed {
		t.Errorf("exit 7: %+v", exit)
	}
	slow := begin(t, d, env.spec(t, d, options{name: "slow", timeout: time.Second}))
	slow.command("sleep")
	if exit := slow.finish(); exit.Cause != sandbox.CauseTimeout {
		t.Errorf("timeout: %+v", exit)
	}
	idle := begin(t, d, env.spec(t, d, options{name: "idle"}))
	if err := idle.box.Stop(idle.ctx, time.Second); err != nil {
		t.Fatal(err)
	}
	if exit := idle.finish(); exit.Cause != sandbox.CauseStopped {
		t.Errorf("stopped before its order: %+v", exit)
	}
}

func testReadTree(t *testing.T, d sandbox.Driver, env ConformanceEnv) {
	spec := env.spec(t, d, options{name: "readtree", readTree: true})
	out, _ := run(t, d, spec, "hold", "/work/lock")
	if strings.Contains(out, "held") {
		t.Error("a file was made in a read-only tree")
	}
	if _, err := os.Lstat(filepath.Join(spec.TreeDir, "lock")); err == nil {
		t.Error("the file is there")
	}
}

func testMemory(t *testing.T, d sandbox.Driver, env ConformanceEnv) {
	_, exit := run(t, d, env.spec(t, d, options{name: "memory"}), "memory")
	if slices.Contains(env.Weak, "memory") {
		if exit.Cause != sandbox.CauseFailed && exit.Cause != sandbox.CauseOOM {
			t.Errorf("exit %+v", exit)
		}
		return
	}
	if exit.Cause != sandbox.CauseOOM {
		t.Errorf("exit %+v, want %s", exit, sandbox.CauseOOM)
	}
}

func testFork(t *testing.T, d sandbox.Driver, env ConformanceEnv) {
	env.Policy.PIDs = 64
	out, exit := run(t, d, env.spec(t, d, options{name: "fork"}), "fork")
	if !strings.Contains(out, "refused after") && exit.Cause == sandbox.CauseDone {
		t.Errorf("never refused: %q, exit %+v", out, exit)
	}
}

// testFlood lowers the limit so that the agent's own bound is not what holds.
func testFlood(t *testing.T, d sandbox.Driver, env ConformanceEnv) {
	const limit = 32 << 10
	s := begin(t, d, env.spec(t, d, options{name: "flood", change: func(s *sandbox.Spec) { s.LogLimit = limit }}))
	s.command("flood")
	exit := s.finish()
	if s.events.Bytes() > limit {
		t.Errorf("%d bytes came through, the limit is %d", s.events.Bytes(), limit)
	}
	if exit.Cause != sandbox.CauseFailed || exit.Detail == "" {
		t.Errorf("exit %+v", exit)
	}
}

// testStop leaves a grandchild in its own session that ignores TERM and holds a
// lock in the tree. When Stop has returned, the lock is free.
func testStop(t *testing.T, d sandbox.Driver, env ConformanceEnv) {
	spec := env.spec(t, d, options{name: "stop"})
	s := begin(t, d, spec)
	s.command("hold", "/work/lock")
	s.untilOutput("held")
	f, err := os.OpenFile(filepath.Join(spec.TreeDir, "lock"), os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err == nil {
		t.Fatal("the grandchild holds no lock")
	}
	if err := s.box.Stop(s.ctx, 100*time.Millisecond); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		t.Errorf("something in the sandbox outlived Stop: %v", err)
	}
	if exit := s.finish(); exit.Cause != sandbox.CauseStopped {
		t.Errorf("exit %+v", exit)
	}
}

// testMany runs sandboxes side by side; each ends with its own code.
func testMany(t *testing.T, d sandbox.Driver, env ConformanceEnv) {
	t.Run("group", func(t *testing.T) {
		for code := 20; code < 26; code++ {
			t.Run(strconv.Itoa(code), func(t *testing.T) {
				t.Parallel()
				spec := env.spec(t, d, options{name: "many" + strconv.Itoa(code)})
				if _, exit := run(t, d, spec, "exit", strconv.Itoa(code)); exit.Code != code {
					t.Errorf("exit %+v", exit)
				}
			})
		}
	})
}

// testSweep has sandboxes of two owners and one to keep.
func testSweep(t *testing.T, d sandbox.Driver, env ConformanceEnv) {
	boxes := map[string]*session{}
	for _, o := range []options{{name: "mine", owner: "sweeper"}, {name: "kept", owner: "sweeper"}, {name: "theirs", owner: "other"}} {
		s := begin(t, d, env.spec(t, d, o))
		s.command("sleep")
		boxes[o.name] = s
	}
	n, err := d.Sweep(t.Context(), "sweeper", []string{"kept"})
	if err != nil || n != 1 {
		t.Errorf("swept %d, %v; want 1", n, err)
	}
	boxes["mine"].finish()
	for _, name := range []string{"kept", "theirs"} {
		s := boxes[name]
		if err := s.box.Stop(s.ctx, 0); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if exit := s.finish(); exit.Cause != sandbox.CauseStopped {
			t.Errorf("%s did not live until it was stopped: %+v", name, exit)
		}
	}
	for _, s := range boxes {
		if err := s.box.Remove(s.ctx); err != nil {
			t.Error(err)
		}
	}
	if n, err := d.Sweep(t.Context(), "sweeper", nil); err != nil || n != 0 {
		t.Errorf("second sweep: %d, %v", n, err)
	}
}
