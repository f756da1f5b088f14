package docker

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"github.com/containerd/errdefs"
	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/client"

	"moeca/internal/sandbox"
)

// box is one prepared sandbox. Its life is told by three facts: the stream
// (set by Attach), running (set by Start) and ended (closed once exit is known).
type box struct {
	api  *client.Client
	id   string
	spec sandbox.Spec

	timedOut, stopped, flooded atomic.Bool

	mu      sync.Mutex
	stream  *stream            // nil until Attach
	cancel  context.CancelFunc // ends the watcher; nil until Start
	running bool

	finish sync.Once
	exit   sandbox.Exit  // written before ended is closed
	ended  chan struct{} // closed when exit is known
}

func newBox(api *client.Client, id string, spec sandbox.Spec) *box {
	return &box{api: api, id: id, spec: spec, ended: make(chan struct{})}
}

// ID is the sandbox's id, not the engine's.
func (b *box) ID() string { return b.spec.ID }

// Attach joins the streams. It works once, before Start.
func (b *box) Attach(ctx context.Context) (sandbox.Channel, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.stream != nil || b.running {
		return sandbox.Channel{}, fmt.Errorf("docker: attach to sandbox %s: it is attached already", b.spec.ID)
	}
	got, err := b.api.ContainerAttach(ctx, b.id, client.ContainerAttachOptions{Stream: true, Stdin: true, Stdout: true})
	if err != nil {
		return sandbox.Channel{}, fmt.Errorf("docker: attach to sandbox %s: %w", b.spec.ID, err)
	}
	b.stream = newStream(got.HijackedResponse, b.spec.LogLimit, b.flood)
	return sandbox.Channel{Stdin: b.stream, Stdout: b.stream.stdout}, nil
}

// flood is called when the sandbox wrote more than its limit. It does not wait:
// the engine ends a container only when somebody still reads its output, and
// the caller is who reads it. killPatience ends the goroutine.
func (b *box) flood() {
	b.flooded.Store(true)
	go b.kill("SIGKILL")
}

// Start runs pid 1. The engine is asked to report the end before the start, so
// that a sandbox that ends at once is not missed.
func (b *box) Start(ctx context.Context) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.stream == nil || b.running {
		return fmt.Errorf("docker: start sandbox %s: it must be attached first and starts once", b.spec.ID)
	}
	life, cancel := context.WithCancel(context.WithoutCancel(ctx))
	end := b.api.ContainerWait(life, b.id, client.ContainerWaitOptions{Condition: container.WaitConditionNextExit})
	if _, err := b.api.ContainerStart(ctx, b.id, client.ContainerStartOptions{}); err != nil {
		cancel()
		return fmt.Errorf("docker: start sandbox %s: %w", b.spec.ID, err)
	}
	b.running, b.cancel = true, cancel
	timer := time.AfterFunc(b.spec.Timeout, func() {
		b.timedOut.Store(true)
		b.kill("SIGKILL")
	})
	go func() {
		defer timer.Stop()
		b.watch(life, end)
	}()
	return nil
}

// Release writes the work order, as one line.
func (b *box) Release(_ context.Context, order []byte) error {
	b.mu.Lock()
	stream, running := b.stream, b.running
	b.mu.Unlock()
	if !running {
		return fmt.Errorf("docker: release sandbox %s: it has not been started", b.spec.ID)
	}
	if len(order) == 0 || order[len(order)-1] != '\n' {
		order = append(order[:len(order):len(order)], '\n')
	}
	if _, err := stream.Write(order); err != nil {
		return fmt.Errorf("docker: release sandbox %s: %w", b.spec.ID, err)
	}
	return nil
}

// Wait blocks until the sandbox has ended. It may be called any number of times.
func (b *box) Wait(ctx context.Context) (sandbox.Exit, error) {
	select {
	case <-b.ended:
		return b.exit, nil
	case <-ctx.Done():
		return sandbox.Exit{}, fmt.Errorf("docker: wait for sandbox %s: %w", b.spec.ID, ctx.Err())
	}
}

// watch turns what the engine reports into an exit. An engine that restarts
// without its containers ending is asked again.
func (b *box) watch(ctx context.Context, end client.ContainerWaitResult) {
	const attempts = 5
	var lost error
	for range attempts {
		select {
		case r := <-end.Result:
			b.end(b.outcome(ctx, int(r.StatusCode)))
			return
		case lost = <-end.Error:
		}
		state, err := b.state(ctx)
		if err != nil {
			lost = errors.Join(lost, err)
			break
		}
		if !state.Running {
			b.end(b.outcome(ctx, state.ExitCode))
			return
		}
		end = b.api.ContainerWait(ctx, b.id, client.ContainerWaitOptions{Condition: container.WaitConditionNotRunning})
	}
	b.end(sandbox.Ended{Lost: fmt.Errorf("the container engine went away: %w", lost), Stopped: b.stopped.Load()})
}

func (b *box) state(ctx context.Context) (*container.State, error) {
	got, err := b.api.ContainerInspect(ctx, b.id, client.ContainerInspectOptions{})
	if err != nil {
		return nil, err
	}
	if got.Container.State == nil {
		return nil, errors.New("the engine reports no state")
	}
	return got.Container.State, nil
}

// outcome gathers why it ended. Only the engine knows whether memory was the
// cause: a killed child leaves pid 1 with whatever exit code it chooses.
func (b *box) outcome(ctx context.Context, code int) sandbox.Ended {
	e := sandbox.Ended{Code: code, TimedOut: b.timedOut.Load(), Stopped: b.stopped.Load(), Flooded: b.flooded.Load()}
	state, err := b.state(ctx)
	if err == nil {
		e.OOM = state.OOMKilled
	}
	if code != 0 {
		e.Stderr = b.stderr(ctx)
	}
	return e
}

// stderr reads the end of standard error from the engine's own bounded log. A
// log that cannot be read says so in place of its text.
func (b *box) stderr(ctx context.Context) string {
	logs, err := b.api.ContainerLogs(ctx, b.id, client.ContainerLogsOptions{ShowStderr: true, Tail: "100"})
	if err != nil {
		return "its log cannot be read: " + err.Error()
	}
	defer logs.Close()
	text := newTail(sandbox.StderrLimit)
	if err := demultiplex(io.Discard, text, logs); err != nil {
		return text.String() + "\nits log cannot be read to the end: " + err.Error()
	}
	return text.String()
}

// end publishes the exit, once.
func (b *box) end(e sandbox.Ended) {
	b.finish.Do(func() {
		b.exit = e.Exit()
		close(b.ended)
	})
}

// Stop ends everything in the sandbox: TERM, then KILL when grace is over. It
// returns when the sandbox has ended.
func (b *box) Stop(ctx context.Context, grace time.Duration) error {
	b.mu.Lock()
	running := b.running
	b.mu.Unlock()
	select {
	case <-b.ended:
		return nil
	default:
	}
	b.stopped.Store(true)
	if !running {
		return nil
	}
	if err := b.signal(ctx, "SIGTERM"); err != nil {
		return err
	}
	timer := time.NewTimer(grace)
	defer timer.Stop()
	select {
	case <-b.ended:
		return nil
	case <-timer.C:
	case <-ctx.Done():
	}
	if err := b.signal(context.WithoutCancel(ctx), "SIGKILL"); err != nil {
		return err
	}
	select {
	case <-b.ended:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("docker: stop sandbox %s: %w", b.spec.ID, ctx.Err())
	}
}

// signal is delivered to pid 1; one that has ended has what was wanted.
func (b *box) signal(ctx context.Context, name string) error {
	_, err := b.api.ContainerKill(ctx, b.id, client.ContainerKillOptions{Signal: name})
	if err == nil || errdefs.IsNotFound(err) || errdefs.IsConflict(err) {
		return nil
	}
	return fmt.Errorf("docker: send %s to sandbox %s: %w", name, b.spec.ID, err)
}

// killPatience bounds a kill that nobody waits for.
const killPatience = 30 * time.Second

// kill signals without a caller: from the timer and from the stream. When the
// engine cannot be reached the watcher finds out and reports the loss.
func (b *box) kill(name string) {
	ctx, cancel := context.WithTimeout(context.Background(), killPatience)
	defer cancel()
	if err := b.signal(ctx, name); err != nil {
		b.end(sandbox.Ended{Lost: err})
	}
}

// Remove deletes the container, running or not. Idempotent.
func (b *box) Remove(ctx context.Context) error {
	b.stopped.Store(true)
	if err := remove(ctx, b.api, b.id); err != nil {
		return err
	}
	b.mu.Lock()
	stream, cancel, running := b.stream, b.cancel, b.running
	b.mu.Unlock()
	if !running {
		b.end(sandbox.Ended{Stopped: true})
	}
	if stream != nil {
		stream.close()
	}
	if cancel == nil {
		return nil
	}
	defer cancel()
	select {
	case <-b.ended:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("docker: remove sandbox %s: %w", b.spec.ID, ctx.Err())
	}
}
