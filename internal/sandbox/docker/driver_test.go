package docker

import (
	"bytes"
	"context"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"moeca/internal/handoff"
	"moeca/internal/sandbox"
	"moeca/internal/sandbox/image"
	"moeca/internal/testreq"
)

// built compiles a program of this module once per test binary, static.
func built(t testing.TB, pkg string) string {
	t.Helper()
	b, _ := binaries.LoadOrStore(pkg, &binary{})
	path, err := b.(*binary).build(pkg)
	if err != nil {
		t.Fatal(err)
	}
	return path
}

var (
	binaries sync.Map // package path → *binary
	binDir   = sync.OnceValues(func() (string, error) { return os.MkdirTemp("", "moeca-docker-test-") })
)

type binary struct {
	once sync.Once
	path string
	err  error
}

func (b *binary) build(pkg string) (string, error) {
	b.once.Do(func() {
		dir, err := binDir()
		if err != nil {
			b.err = err
			return
		}
		b.path = filepath.Join(dir, filepath.Base(pkg))
		cmd := exec.Command("go", "build", "-o", b.path, pkg)
		cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
		if out, err := cmd.CombinedOutput(); err != nil {
			b.err = &buildError{pkg, out, err}
		}
	})
	return b.path, b.err
}

type buildError struct {
	pkg string
	out []byte
	err error
}

func (e *buildError) Error() string {
	return "build " + e.pkg + ": " + e.err.Error() + "\n" + string(e.out)
}

func TestMain(m *testing.M) {
	code := m.Run()
	if dir, err := binDir(); err == nil {
		os.RemoveAll(dir)
	}
	os.Exit(code)
}

func agentBinary(t testing.TB) string { return built(t, "moeca/cmd/moeca-agent") }
func probeBinary(t testing.TB) string { return built(t, "./testdata/probe") }

// bed is what a test of the real engine needs.
type bed struct {
	driver *Driver
	owner  string
	dir    string
}

// newBed gives a driver with an owner of its own, whose containers are gone
// after the test.
func newBed(t testing.TB, options ...func(*image.Options)) *bed {
	t.Helper()
	o := image.Options{Dir: t.TempDir(), AgentBinary: agentBinary(t)}
	for _, f := range options {
		f(&o)
	}
	d, err := New(Options{Images: image.New(o), Progress: func(s string) { t.Log(s) }})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.Close() })
	testreq.Need(t, "docker", d.Usable(t.Context()))
	b := &bed{driver: d, owner: "test-" + strings.ToLower(d.epoch[:12]), dir: t.TempDir()}
	t.Cleanup(func() {
		ctx := context.Background()
		if _, err := d.Sweep(ctx, b.owner, nil); err != nil {
			t.Error(err)
		}
		if _, err := d.sweepServices(ctx, b.owner); err != nil {
			t.Error(err)
		}
		if err := d.removeNetwork(ctx, b.owner); err != nil {
			t.Error(err)
		}
		if left, err := d.networksNamed(ctx, upstreamName(b.owner)); err != nil || len(left) > 0 {
			t.Errorf("networks left behind: %v, %v", left, err)
		}
	})
	return b
}

// ids of the sandbox user here: ours, or the fixed one when we are root.
func ids() (uid, gid int) {
	if os.Getuid() == 0 {
		return sandbox.UserUID, sandbox.UserGID
	}
	return os.Getuid(), os.Getgid()
}

// tree makes a tree that holds the probe as /work/probe.
func (b *bed) tree(t testing.TB, id string) string {
	t.Helper()
	dir := filepath.Join(realPath(t, b.dir), "tree-"+id)
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	program, err := os.ReadFile(probeBinary(t))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "probe"), program, 0o755); err != nil {
		t.Fatal(err)
	}
	chown(t, dir)
	return dir
}

// chown gives everything below dir to the sandbox user, and the way to it to
// everybody.
func chown(t testing.TB, dir string) {
	t.Helper()
	uid, gid := ids()
	err := filepath.WalkDir(dir, func(path string, _ os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		return os.Lchown(path, uid, gid)
	})
	if err != nil {
		t.Fatal(err)
	}
}

func realPath(t testing.TB, dir string) string {
	t.Helper()
	real, err := filepath.EvalSymlinks(dir)
	if err != nil {
		t.Fatal(err)
	}
	return real
}

// spec is a sandbox of a policy on a fresh tree.
func (b *bed) spec(t testing.TB, id, policy string) sandbox.Spec {
	t.Helper()
	p, err := sandbox.PolicyByName(policy)
	if err != nil {
		t.Fatal(err)
	}
	img, err := b.driver.Ensure(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	uid, gid := ids()
	spec, err := sandbox.NewSpec(sandbox.SpecInput{
		ID: id, Owner: b.owner, Run: "r1", Stage: "s1", Image: img, Policy: p, UID: uid, GID: gid,
		TreeDir: b.tree(t, id), Timeout: 20 * time.Minute,
	})
	if err != nil {
		t.Fatal(err)
	}
	return spec
}

// started runs a spec with an order and returns it with everything it prints.
func started(t testing.TB, d *Driver, spec sandbox.Spec, order handoff.WorkOrder) (sandbox.Sandbox, *output) {
	t.Helper()
	ctx := t.Context()
	box, err := d.Prepare(ctx, spec)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { box.Remove(context.Background()) })
	channel, err := box.Attach(ctx)
	if err != nil {
		t.Fatal(err)
	}
	out := collect(channel.Stdout)
	if err := box.Start(ctx); err != nil {
		t.Fatal(err)
	}
	var line bytes.Buffer
	if err := handoff.EncodeOrder(&line, order); err != nil {
		t.Fatal(err)
	}
	if err := box.Release(ctx, line.Bytes()); err != nil {
		t.Fatal(err)
	}
	return box, out
}

// output gathers what the command printed until stdout ends.
type output struct {
	done  chan struct{}
	text  strings.Builder
	ready chan struct{}
}

func collect(r io.Reader) *output {
	o := &output{done: make(chan struct{}), ready: make(chan struct{})}
	go func() {
		defer close(o.done)
		events := handoff.NewReader(r, handoff.Limits{})
		first := true
		for {
			e, err := events.Next()
			if err != nil {
				return
			}
			if e.Type != handoff.EventOutput {
				continue
			}
			o.text.WriteString(e.Text)
			if first {
				first = false
				close(o.ready)
			}
		}
	}()
	return o
}

func (o *output) String() string { <-o.done; return o.text.String() }

// command is an order that runs one program.
func command(argv ...string) handoff.WorkOrder {
	return handoff.WorkOrder{
		Version: 1, Run: "r1", Stage: "s1", Kind: "command",
		Command:   &handoff.Command{Argv: argv, TimeoutSeconds: 900},
		SocketDir: sandbox.SocketPath, Tree: sandbox.TreePath,
	}
}

func wait(t testing.TB, box sandbox.Sandbox) sandbox.Exit {
	t.Helper()
	exit, err := box.Wait(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return exit
}

func TestCommandRunsToItsExitCode(t *testing.T) {
	b := newBed(t)
	box, out := started(t, b.driver, b.spec(t, "code", sandbox.Base), command("/work/probe", "exit", "7"))
	if exit := wait(t, box); exit.Code != 7 || exit.Cause != sandbox.CauseFailed {
		t.Fatalf("%+v\n%s", exit, out)
	}
	box, out = started(t, b.driver, b.spec(t, "ok", sandbox.Base), command("/work/probe", "interfaces"))
	if exit := wait(t, box); exit.Cause != sandbox.CauseDone {
		t.Fatalf("%+v\n%s", exit, out)
	}
	if got := strings.TrimSpace(out.String()); got != "interface lo" {
		t.Fatalf("interfaces in a sandbox: %q", got)
	}
}
