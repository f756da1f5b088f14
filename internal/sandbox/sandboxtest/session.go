package sandboxtest

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"moeca/internal/handoff"
	"moeca/internal/sandbox"
)

// patience bounds what would otherwise hang for ever; no test measures it.
const patience = 2 * time.Minute

// owner of the suite's sandboxes.
const owner = "conformance"

// session is one sandbox in the middle of a test.
type session struct {
	t   testing.TB
	ctx context.Context
	box sandbox.Sandbox
	ch  sandbox.Channel

	events *handoff.Reader
	output strings.Builder // of the command, so far
}

// options of one sandbox.
type options struct {
	name      string
	owner     string
	socketDir string
	readTree  bool
	timeout   time.Duration
	change    func(*sandbox.Spec)
}

// spec makes the specification of a sandbox with its own tree.
func (e ConformanceEnv) spec(t testing.TB, d sandbox.Driver, o options) sandbox.Spec {
	t.Helper()
	img, err := d.Ensure(t.Context(), e.Policy)
	if err != nil {
		t.Fatal(err)
	}
	if o.owner == "" {
		o.owner = owner
	}
	if o.timeout == 0 {
		o.timeout = patience
	}
	s, err := sandbox.NewSpec(sandbox.SpecInput{
		ID: o.name, Owner: o.owner, Run: "run", Stage: "stage", Image: img, Policy: e.Policy, UID: e.UID, GID: e.GID,
		TreeDir: e.tree(t, o.owner+o.name), ReadTree: o.readTree, SocketDir: o.socketDir, Timeout: o.timeout,
	})
	if err != nil {
		t.Fatal(err)
	}
	if o.change != nil {
		o.change(&s)
	}
	return s
}

// begin prepares and starts a sandbox up to its ready event.
func begin(t testing.TB, d sandbox.Driver, spec sandbox.Spec) *session {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	t.Cleanup(cancel)
	box, err := d.Prepare(ctx, spec)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		if err := box.Remove(ctx); err != nil {
			t.Errorf("remove: %v", err)
		}
	})
	ch, err := box.Attach(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if err := box.Start(ctx); err != nil {
		t.Fatal(err)
	}
	s := &session{t: t, ctx: ctx, box: box, ch: ch, events: handoff.NewReader(ch.Stdout, handoff.Limits{})}
	s.until(handoff.EventReady)
	return s
}

// command releases the sandbox with a command stage that runs the probe.
func (s *session) command(args ...string) {
	s.t.Helper()
	s.release([]string{"LANG=C.UTF-8"}, append([]string{sandbox.TreePath + "/probe"}, args...))
}

// release hands over the order of a command stage.
func (s *session) release(env, argv []string) {
	s.t.Helper()
	var order bytes.Buffer
	err := handoff.EncodeOrder(&order, handoff.WorkOrder{
		Version: handoff.Version, Run: "run", Stage: "stage", Kind: handoff.KindCommand,
		Command: &handoff.Command{Argv: argv},
		Tree:    sandbox.TreePath, SocketDir: sandbox.SocketPath, Env: env,
	})
	if err == nil {
		err = s.box.Release(s.ctx, order.Bytes())
	}
	if err != nil {
		s.t.Fatal(err)
	}
}

// until reads events up to one of the given type.
func (s *session) until(kind string) {
	s.t.Helper()
	for {
		e, err := s.events.Next()
		if err != nil {
			exit, _ := s.box.Wait(s.ctx)
			s.t.Fatalf("waiting for event %q: %v; exit %+v; output %q", kind, err, exit, s.output.String())
		}
		s.take(e)
		if e.Type == kind {
			return
		}
	}
}

// untilOutput reads events until the command has printed text.
func (s *session) untilOutput(text string) {
	s.t.Helper()
	for !strings.Contains(s.output.String(), text) {
		s.until(handoff.EventOutput)
	}
}

func (s *session) take(e handoff.Event) {
	if e.Type == handoff.EventOutput {
		s.output.WriteString(e.Text)
	}
}

// finish reads to the end and returns how it ended.
func (s *session) finish() sandbox.Exit {
	s.t.Helper()
	for {
		e, err := s.events.Next()
		if errors.Is(err, io.EOF) || errors.Is(err, handoff.ErrTooMuch) {
			break
		}
		if err != nil {
			s.t.Fatalf("read events: %v", err)
		}
		s.take(e)
	}
	return s.wait()
}

func (s *session) wait() sandbox.Exit {
	s.t.Helper()
	exit, err := s.box.Wait(s.ctx)
	if err != nil {
		s.t.Fatal(err)
	}
	return exit
}

// run is a whole command stage.
func run(t testing.TB, d sandbox.Driver, spec sandbox.Spec, args ...string) (string, sandbox.Exit) {
	t.Helper()
	s := begin(t, d, spec)
	s.command(args...)
	exit := s.finish()
	return s.output.String(), exit
}

// RunCommand runs one command stage in a sandbox with a tree of its own, and
// returns its output and how it ended. files are put into the tree first.
func RunCommand(t testing.TB, d sandbox.Driver, e ConformanceEnv, name string, files map[string]string, env []string, argv ...string) (string, sandbox.Exit) {
	t.Helper()
	spec := e.spec(t, d, options{name: name})
	e.fill(t, spec.TreeDir, files)
	s := begin(t, d, spec)
	s.release(env, argv)
	exit := s.finish()
	return s.output.String(), exit
}
