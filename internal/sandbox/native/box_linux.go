package native

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"moeca/internal/sandbox"
)

// stopGrace is between TERM and KILL where we end a sandbox ourselves.
const stopGrace = 2 * time.Second

// box is one sandbox.
type box struct {
	d      *Driver
	spec   sandbox.Spec
	config config
	group  *cgroup

	done chan struct{} // closed when the sandbox has ended and exit is set
	exit sandbox.Exit

	mu       sync.Mutex // guards what follows
	state    state
	pipes    *pipes
	stage    *stage // nil before Start
	started  bool
	released bool
	removed  bool
	reason   sandbox.Ended // TimedOut, Stopped, Flooded: why we ended it
	timer    *time.Timer
}

func newBox(d *Driver, spec sandbox.Spec, c config, group *cgroup, s state) *box {
	return &box{d: d, spec: spec, config: c, group: group, state: s, done: make(chan struct{})}
}

// ID is the specification's.
func (b *box) ID() string { return b.spec.ID }

// Attach makes the channel.
func (b *box) Attach(context.Context) (sandbox.Channel, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.started || b.pipes != nil || b.removed {
		return sandbox.Channel{}, b.errorf("attach", errors.New("it is attached, started or removed already"))
	}
	p, err := newPipes()
	if err != nil {
		return sandbox.Channel{}, b.errorf("attach", err)
	}
	b.pipes = p
	stdout := &bounded{r: p.stdout, left: b.spec.LogLimit, over: func() {
		b.end(func(r *sandbox.Ended) { r.Flooded = true }, 0)
	}}
	return sandbox.Channel{Stdin: p.stdin, Stdout: stdout}, nil
}

// Start runs pid 1 and checks what the kernel made of it.
func (b *box) Start(ctx context.Context) error {
	began, err := b.start(ctx)
	if err == nil {
		return nil
	}
	if began {
		b.stage.signal(unix.SIGKILL)
		<-b.done
		err = fmt.Errorf("%w\n%s", err, b.exit.Detail)
	}
	return b.errorf("start", err)
}

// start says whether there is a process, which after an error must be killed.
func (b *box) start(ctx context.Context) (began bool, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.pipes == nil || b.started || b.removed {
		return false, errors.New("it is not attached, or started or removed already")
	}
	b.started = true
	began = b.launch(&err)
	if !began {
		b.fail()
		return false, err
	}
	b.state.PID, b.state.Start = b.stage.pid, startTime(b.stage.pid)
	if err := b.settle(ctx); err != nil {
		return true, err
	}
	b.timer = time.AfterFunc(b.spec.Timeout, func() {
		b.end(func(r *sandbox.Ended) { r.TimedOut = true }, stopGrace)
	})
	return true, nil
}

// launch clones the stage on a thread that lives as long as the sandbox: the
// parent-death signal comes when the parent's thread ends, not the process. mu
// is held.
func (b *box) launch(err *error) bool {
	cloned := make(chan error)
	go func() { // ends when the process has
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		s, err := startStage(b.config, b.pipes)
		b.stage = s // start holds mu for us until it has our answer
		cloned <- err
		if err == nil {
			b.wait(s)
		}
	}()
	*err = <-cloned
	return *err == nil
}

// settle brings a cloned stage to the point where the agent runs.
func (b *box) settle(ctx context.Context) error {
	if err := b.d.record(b.state); err != nil {
		return err
	}
	if err := b.group.add(b.stage.pid); err != nil {
		return err
	}
	if err := b.stage.configure(ctx, b.config); err != nil {
		return err
	}
	return b.readBack()
}

// fail ends a sandbox that never had a process. mu is held.
func (b *box) fail() {
	b.exit = sandbox.Ended{Lost: errors.New("it could not be started")}.Exit()
	b.pipes.close()
	close(b.done)
}

// Release writes the work order.
func (b *box) Release(_ context.Context, order []byte) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	line := bytes.TrimSuffix(order, []byte("\n"))
	switch {
	case b.stage == nil || b.timer == nil:
		return b.errorf("release", errors.New("it is not running"))
	case b.released:
		return b.errorf("release", errors.New("it has its order already"))
	case bytes.ContainsRune(line, '\n'):
		return b.errorf("release", errors.New("a work order is one line"))
	}
	b.released = true
	b.timer.Reset(b.spec.Timeout) // waiting for the order is not work
	if _, err := b.pipes.stdin.Write(append(bytes.Clone(line), '\n')); err != nil {
		return b.errorf("release", err)
	}
	return nil
}

// Wait blocks until the sandbox has ended.
func (b *box) Wait(ctx context.Context) (sandbox.Exit, error) {
	select {
	case <-b.done:
		return b.exit, nil
	case <-ctx.Done():
		return sandbox.Exit{}, b.errorf("wait", ctx.Err())
	}
}

// wait collects the end of the process. When pid 1 is gone so is everything in
// its pid namespace.
func (b *box) wait(s *stage) {
	code, err := s.wait()
	stderr := b.pipes.drained()
	b.mu.Lock()
	ended := b.reason
	if b.timer != nil {
		b.timer.Stop()
	}
	b.mu.Unlock()
	ended.Code, ended.Lost, ended.Stderr, ended.OOM = code, err, stderr, b.group.oom()
	b.exit = ended.Exit()
	close(b.done)
}

// Stop ends everything in the sandbox: TERM to pid 1, KILL after grace.
func (b *box) Stop(ctx context.Context, grace time.Duration) error {
	if b.neverStarted() {
		return nil
	}
	b.end(func(r *sandbox.Ended) { r.Stopped = true }, grace)
	if _, err := b.Wait(ctx); err != nil {
		return b.errorf("stop", err)
	}
	return nil
}

// neverStarted ends a sandbox that has no process yet: it cannot be started any
// more. It also says so of one whose start did not get as far as a process.
func (b *box) neverStarted() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.stage != nil {
		return false
	}
	if !b.started {
		b.started = true
		b.exit = sandbox.Ended{Stopped: true}.Exit()
		close(b.done)
	}
	return true
}

// end kills the sandbox and notes why, unless it has ended by itself.
func (b *box) end(why func(*sandbox.Ended), grace time.Duration) {
	b.mu.Lock()
	select {
	case <-b.done:
		b.mu.Unlock()
		return
	default:
	}
	why(&b.reason)
	s := b.stage
	b.mu.Unlock()
	if s == nil {
		return
	}
	if grace > 0 {
		s.signal(unix.SIGTERM)
		select {
		case <-b.done:
			return
		case <-time.After(grace):
		}
	}
	s.signal(unix.SIGKILL)
}

// Remove ends the sandbox if it runs and deletes its cgroup and state.
func (b *box) Remove(ctx context.Context) error {
	if err := b.Stop(ctx, 0); err != nil {
		return err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.removed {
		return nil
	}
	if err := b.group.remove(); err != nil {
		return b.errorf("remove", err)
	}
	if b.pipes != nil {
		b.pipes.close()
	}
	b.d.forget(b.state)
	b.removed = true
	return nil
}

func (b *box) errorf(what string, err error) error {
	return fmt.Errorf("native: %s %s: %w", what, b.spec.ID, err)
}

// bounded passes on at most left bytes, then calls over and ends.
type bounded struct {
	r    io.Reader
	left int64
	over func()
}

// Read is called by the one reader of the channel.
func (l *bounded) Read(p []byte) (int, error) {
	if l.left <= 0 {
		return 0, io.EOF
	}
	n, err := l.r.Read(p[:min(int64(len(p)), l.left)])
	l.left -= int64(n)
	if l.left <= 0 {
		l.over()
	}
	if errors.Is(err, os.ErrClosed) {
		err = io.EOF
	}
	return n, err
}
