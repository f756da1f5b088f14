package native

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"moeca/internal/handoff"
	"moeca/internal/sandbox"
	"moeca/internal/sandbox/image"
	"moeca/internal/sandbox/sandboxtest"
	"moeca/internal/testreq"
)

// hostEnv makes the test binary act as a host that is then killed.
const hostEnv = "MOECA_TEST_HOST"

// TestActAsHost is no test: it is the host process that TestKilledHost kills.
func TestActAsHost(t *testing.T) {
	dir := os.Getenv(hostEnv)
	if dir == "" {
		t.Skip("runs only as the process that TestKilledHostLeavesNothing kills")
	}
	d := New(Options{Images: image.New(image.Options{Dir: filepath.Join(dir, "images"), AgentBinary: filepath.Join(dir, "moeca-agent")}), StateDir: filepath.Join(dir, "state")})
	box, err := prepareIn(t.Context(), d, dir)
	if err != nil {
		t.Fatal(err)
	}
	ch, err := box.Attach(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := box.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	events := handoff.NewReader(ch.Stdout, handoff.Limits{})
	if _, err := events.Next(); err != nil {
		t.Fatal(err)
	}
	// A released sandbox whose command ignores every polite signal and that
	// reads and writes nothing: only the kernel can end it.
	var order bytes.Buffer
	err = handoff.EncodeOrder(&order, handoff.WorkOrder{
		Version: handoff.Version, Run: "r", Stage: "s", Kind: handoff.KindCommand,
		Command: &handoff.Command{Argv: []string{sandbox.TreePath + "/probe", "stubborn"}}, Tree: sandbox.TreePath,
	})
	if err == nil {
		err = box.Release(t.Context(), order.Bytes())
	}
	for e := (handoff.Event{}); err == nil && e.Type != handoff.EventOutput; {
		e, err = events.Next()
	}
	if err != nil {
		t.Fatal(err)
	}
	fmt.Println("RUNNING")
	io.Copy(io.Discard, os.Stdin) // until killed
}

// prepareIn prepares a sandbox whose tree is below dir.
func prepareIn(ctx context.Context, d *Driver, dir string) (sandbox.Sandbox, error) {
	policy, err := sandbox.PolicyByName(sandbox.Base)
	if err != nil {
		return nil, err
	}
	img, err := d.Ensure(ctx, policy)
	if err != nil {
		return nil, err
	}
	uid, gid := os.Getuid(), os.Getgid()
	if uid == 0 {
		uid, gid = sandbox.UserUID, sandbox.UserGID
	}
	tree := filepath.Join(dir, "tree")
	if err := os.MkdirAll(tree, 0o755); err != nil {
		return nil, err
	}
	if err := os.Chown(tree, uid, gid); err != nil {
		return nil, err
	}
	spec, err := sandbox.NewSpec(sandbox.SpecInput{
		ID: "crash", Owner: "crash-" + filepath.Base(dir), Run: "r", Stage: "s", Image: img, Policy: policy,
		UID: uid, GID: gid, TreeDir: tree, Timeout: sandbox.MaxTimeout,
	})
	if err != nil {
		return nil, err
	}
	return d.Prepare(ctx, spec)
}

// TestKilledHostLeavesNothing kills the host in the middle of a run. The kernel
// ends the sandbox, and the next host sweeps what is left, once.
func TestKilledHostLeavesNothing(t *testing.T) {
	newDriver(t) // ends the test where native cannot run
	dir := sandboxtest.TempDir(t)
	if err := os.Rename(sandboxtest.BuildAgent(t), filepath.Join(dir, "moeca-agent")); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(dir, "tree"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(sandboxtest.NewEnv(t).Probe, filepath.Join(dir, "tree/probe")); err != nil {
		t.Fatal(err)
	}
	pid := killedHost(t, dir)
	if err := until(func() (bool, error) { return startTime(pid) == "", nil }); err != nil {
		t.Errorf("the sandbox outlived its host: %v", err)
	}
	d := New(Options{Images: image.New(image.Options{Dir: filepath.Join(dir, "images"), AgentBinary: filepath.Join(dir, "moeca-agent")}), StateDir: filepath.Join(dir, "state")})
	owner := "crash-" + filepath.Base(dir)
	if n, err := d.Sweep(t.Context(), "somebody-else", nil); n != 0 || err != nil {
		t.Errorf("another owner swept %d, %v", n, err)
	}
	if n, err := d.Sweep(t.Context(), owner, nil); n != 1 || err != nil {
		t.Errorf("swept %d, %v; want 1", n, err)
	}
	if n, err := d.Sweep(t.Context(), owner, nil); n != 0 || err != nil {
		t.Errorf("swept again: %d, %v", n, err)
	}
	for _, base := range d.controllers().base {
		if left, _ := filepath.Glob(filepath.Join(base, "moeca-"+owner+"-*")); len(left) != 0 {
			t.Errorf("cgroup left: %v", left)
		}
	}
	box, err := prepareIn(t.Context(), d, dir)
	testreq.Need(t, "native", err)
	if err := box.Remove(t.Context()); err != nil {
		t.Error(err)
	}
}

// killedHost runs TestActAsHost until its sandbox is up, kills it, and returns
// the pid of the sandbox.
func killedHost(t *testing.T, dir string) int {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "/proc/self/exe", "-test.run=^TestActAsHost$")
	cmd.Env = append(os.Environ(), hostEnv+"="+dir)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	var said strings.Builder
	lines := bufio.NewScanner(out)
	for lines.Scan() && lines.Text() != "RUNNING" {
		said.WriteString(lines.Text() + "\n")
	}
	pid := sandboxPID(t, dir)
	if startTime(pid) == "" {
		t.Fatalf("no sandbox %d runs; the host said:\n%s", pid, said.String())
	}
	if err := cmd.Process.Signal(unix.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err == nil {
		t.Error("the host ended well before it was killed")
	}
	return pid
}

// sandboxPID reads the state file, as the next host would.
func sandboxPID(t *testing.T, dir string) int {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "state/native/*/*.json"))
	if err != nil || len(files) != 1 {
		t.Fatalf("state files %v, %v", files, err)
	}
	s := readState(t, files[0])
	if s.PID == 0 || s.Start == "" || s.Boot != bootID() {
		t.Fatalf("state %+v", s)
	}
	return s.PID
}
