package docker

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/moby/moby/client"

	"moeca/internal/sandbox"
)

func TestEndsAreToldApart(t *testing.T) {
	b := newBed(t)
	tests := map[string]struct {
		argv   []string
		change func(*sandbox.Spec)
		act    func(*testing.T, sandbox.Sandbox, *output)
		cause  string
		detail string
	}{
		"memory": {
			argv: []string{"eat"}, change: func(s *sandbox.Spec) { s.Policy.Memory = 128 << 20 },
			cause: sandbox.CauseOOM,
		},
		"its time is over": {
			argv: []string{"block"}, change: func(s *sandbox.Spec) { s.Timeout = 2 * time.Second },
			cause: sandbox.CauseTimeout,
		},
		"stopped, although it ignores TERM": {
			argv: []string{"block"}, cause: sandbox.CauseStopped,
			act: func(t *testing.T, box sandbox.Sandbox, out *output) {
				<-out.ready
				if err := box.Stop(t.Context(), 10*time.Millisecond); err != nil {
					t.Error(err)
				}
			},
		},
		"it writes without end": {
			argv: []string{"flood"}, change: func(s *sandbox.Spec) { s.LogLimit = 64 << 10 },
			cause: sandbox.CauseFailed, detail: "standard output",
		},
		"removed while it runs": {
			argv: []string{"block"}, cause: sandbox.CauseStopped,
			act: func(t *testing.T, box sandbox.Sandbox, out *output) {
				<-out.ready
				if err := box.Remove(t.Context()); err != nil {
					t.Error(err)
				}
			},
		},
	}
	n := 0
	for name, test := range tests {
		n++
		id := fmt.Sprintf("end%d", n)
		t.Run(name, func(t *testing.T) {
			spec := b.spec(t, id, sandbox.Base)
			if test.change != nil {
				test.change(&spec)
			}
			box, out := started(t, b.driver, spec, command(append([]string{"/work/probe"}, test.argv...)...))
			if test.act != nil {
				test.act(t, box, out)
			}
			exit := wait(t, box)
			if exit.Cause != test.cause || !strings.Contains(exit.Detail, test.detail) {
				t.Fatalf("%+v", exit)
			}
			if err := box.Stop(t.Context(), 0); err != nil {
				t.Errorf("stop what has ended: %v", err)
			}
			for range 2 {
				if err := box.Remove(t.Context()); err != nil {
					t.Errorf("remove: %v", err)
				}
			}
		})
	}
}

func TestStepsHaveAnOrder(t *testing.T) {
	b := newBed(t)
	ctx := t.Context()
	box, err := b.driver.Prepare(ctx, b.spec(t, "order", sandbox.Base))
	if err != nil {
		t.Fatal(err)
	}
	if err := box.Release(ctx, []byte("{}")); err == nil {
		t.Error("released before it started")
	}
	if err := box.Start(ctx); err == nil {
		t.Error("started without its streams")
	}
	if _, err := box.Attach(ctx); err != nil {
		t.Fatal(err)
	}
	if _, err := box.Attach(ctx); err == nil {
		t.Error("attached twice")
	}
	short, cancel := context.WithCancel(ctx)
	cancel()
	if _, err := box.Wait(short); !errors.Is(err, context.Canceled) {
		t.Errorf("wait: %v", err)
	}
	if err := box.Remove(ctx); err != nil {
		t.Fatal(err)
	}
	if exit := wait(t, box); exit.Cause != sandbox.CauseStopped {
		t.Errorf("never started: %+v", exit)
	}
}

// The gateway's socket is the only way out: it must work although its directory
// is mounted read-only.
func TestSocketAnswersInside(t *testing.T) {
	b := newBed(t)
	spec := b.spec(t, "sock", sandbox.Base)
	spec.SocketDir = filepath.Join(realPath(t, b.dir), "sockets")
	if err := os.Mkdir(spec.SocketDir, 0o755); err != nil {
		t.Fatal(err)
	}
	socket := filepath.Join(spec.SocketDir, "gateway.sock")
	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if err := os.Chmod(socket, 0o666); err != nil {
		t.Fatal(err)
	}
	box, out := started(t, b.driver, spec, command("/work/probe", "dial", "unix", sandbox.SocketPath+"/gateway.sock"))
	if exit := wait(t, box); exit.Cause != sandbox.CauseDone || !strings.Contains(out.String(), "REACHED") {
		t.Fatalf("%+v\n%s", exit, out)
	}
}

func TestImageUnderOurNameIsNotTrusted(t *testing.T) {
	b := newBed(t)
	ctx := t.Context()
	base, err := sandbox.PolicyByName(sandbox.Base)
	if err != nil {
		t.Fatal(err)
	}
	first, err := b.driver.Ensure(ctx, base)
	if err != nil {
		t.Fatal(err)
	}
	other, err := scratchImage("impostor", probeBinary(t))
	if err != nil {
		t.Fatal(err)
	}
	id, err := b.driver.load(ctx, other, other.digest)
	if err != nil {
		t.Fatal(err)
	}
	root, err := b.driver.store.Base(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := b.driver.api.ImageTag(ctx, client.ImageTagOptions{Source: id, Target: root.Tag()}); err != nil {
		t.Fatal(err)
	}
	again, err := b.driver.Ensure(ctx, base)
	if err != nil {
		t.Fatal(err)
	}
	if again != first || again.Ref == id {
		t.Fatalf("%+v after somebody moved its name, was %+v", again, first)
	}
}

func TestSweepRemovesWhatRuns(t *testing.T) {
	b := newBed(t)
	other := *b
	other.owner = b.owner + "-other"
	t.Cleanup(func() { b.driver.Sweep(context.Background(), other.owner, nil) })
	lost, out := started(t, b.driver, b.spec(t, "lost", sandbox.Base), command("/work/probe", "block"))
	kept, outKept := started(t, b.driver, b.spec(t, "kept", sandbox.Base), command("/work/probe", "block"))
	theirs, outTheirs := started(t, b.driver, other.spec(t, "theirs", sandbox.Base), command("/work/probe", "block"))
	<-out.ready
	<-outKept.ready
	<-outTheirs.ready
	next, err := New(Options{}) // the next life of the host, which made none of these
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { next.Close() })
	n, err := next.Sweep(t.Context(), b.owner, []string{"kept"})
	if err != nil || n != 1 {
		t.Fatalf("swept %d, %v", n, err)
	}
	if exit := wait(t, lost); exit.Cause == sandbox.CauseDone {
		t.Errorf("swept: %+v", exit)
	}
	for _, box := range []sandbox.Sandbox{kept, theirs} {
		gone, cancel := context.WithCancel(t.Context())
		cancel()
		if exit, err := box.Wait(gone); err == nil {
			t.Errorf("%s ended too: %+v", box.ID(), exit)
		}
	}
}

func TestManyAtOnce(t *testing.T) {
	b := newBed(t)
	const many = 6
	specs := make([]sandbox.Spec, many)
	for i := range specs {
		specs[i] = b.spec(t, fmt.Sprintf("many%d", i), sandbox.Base)
	}
	var all sync.WaitGroup
	for i, spec := range specs {
		all.Go(func() {
			box, err := b.driver.Prepare(t.Context(), spec)
			if err != nil {
				t.Error(err)
				return
			}
			if _, err := box.Attach(t.Context()); err != nil {
				t.Error(err)
			}
			if err := box.Start(t.Context()); err != nil {
				t.Error(err)
			}
			order := fmt.Sprintf(`{"version":1,"run":"r1","stage":"s1","kind":"command","gateway":false,"registry":false,"socket_dir":"/run/moeca","tree":"/work","command":{"argv":["/work/probe","exit","%d"],"timeout_seconds":60}}`, i+1)
			if err := box.Release(t.Context(), []byte(order)); err != nil {
				t.Error(err)
			}
			if exit, err := box.Wait(t.Context()); err != nil || exit.Code != i+1 {
				t.Errorf("sandbox %d: %+v, %v", i, exit, err)
			}
			if err := box.Remove(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
}
