package native

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"moeca/internal/handoff"
	"moeca/internal/sandbox"
	"moeca/internal/sandbox/sandboxtest"
)

// BenchmarkColdStart is one whole sandbox, from Prepare to the agent's ready
// event; its removal is not counted.
func BenchmarkColdStart(b *testing.B) {
	d := newDriver(b)
	spec := benchSpec(b, d)
	var prepared, started, ready time.Duration
	for i := 0; b.Loop(); i++ {
		spec.ID = "bench" + strconv.Itoa(i)
		begin := time.Now()
		box, err := d.Prepare(b.Context(), spec)
		if err != nil {
			b.Fatal(err)
		}
		prepared += time.Since(begin)
		ch, err := box.Attach(b.Context())
		if err != nil {
			b.Fatal(err)
		}
		if err := box.Start(b.Context()); err != nil {
			b.Fatal(err)
		}
		started += time.Since(begin)
		if e, err := handoff.NewReader(ch.Stdout, handoff.Limits{}).Next(); err != nil || e.Type != handoff.EventReady {
			b.Fatalf("event %+v, %v", e, err)
		}
		ready += time.Since(begin)
		b.StopTimer()
		if err := box.Remove(b.Context()); err != nil {
			b.Fatal(err)
		}
		b.StartTimer()
	}
	for name, total := range map[string]time.Duration{"prepared": prepared, "started": started, "ready": ready} {
		b.ReportMetric(float64(total.Microseconds())/float64(b.N), "µs-"+name+"/op")
	}
}

// BenchmarkRawClone is what the kernel asks for: a clone into the same
// namespaces that executes a static program which ends at once.
func BenchmarkRawClone(b *testing.B) {
	newDriver(b)
	probe := sandboxtest.NewEnv(b).Probe
	for b.Loop() {
		cmd := exec.Command(probe, "exit", "0")
		cmd.SysProcAttr = &syscall.SysProcAttr{
			Cloneflags:  unix.CLONE_NEWUSER | unix.CLONE_NEWNS | unix.CLONE_NEWPID | unix.CLONE_NEWNET | unix.CLONE_NEWIPC | unix.CLONE_NEWUTS | unix.CLONE_NEWCGROUP,
			UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}},
		}
		if err := cmd.Run(); err != nil {
			b.Fatal(err)
		}
	}
}

func benchSpec(b testing.TB, d *Driver) sandbox.Spec {
	b.Helper()
	policy, err := sandbox.PolicyByName(sandbox.Base)
	if err != nil {
		b.Fatal(err)
	}
	img, err := d.Ensure(b.Context(), policy)
	if err != nil {
		b.Fatal(err)
	}
	uid, gid := os.Getuid(), os.Getgid()
	if uid == 0 {
		uid, gid = sandbox.UserUID, sandbox.UserGID
	}
	tree := filepath.Join(sandboxtest.TempDir(b), "tree")
	if err := os.Mkdir(tree, 0o755); err != nil {
		b.Fatal(err)
	}
	if err := os.Chown(tree, uid, gid); err != nil {
		b.Fatal(err)
	}
	spec, err := sandbox.NewSpec(sandbox.SpecInput{
		ID: "bench", Owner: "bench", Run: "r", Stage: "s", Image: img, Policy: policy, UID: uid, GID: gid,
		TreeDir: tree, Timeout: time.Minute,
	})
	if err != nil {
		b.Fatal(err)
	}
	return spec
}
