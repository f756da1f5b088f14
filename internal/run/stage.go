package run

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"time"

	"moeca/internal/gateway/gatewayapi"
	"moeca/internal/handoff"
	"moeca/internal/sandbox"
	"moeca/internal/session"
	"moeca/internal/workflow"
)

// inSandbox runs one stage on the finished tree. When it returns the sandbox
// has ended, its session is revoked and its sockets are gone.
func (x *execution) inSandbox(ctx context.Context, st workflow.Stage, policy sandbox.Policy, img sandbox.Image) result {
	if st.Kind != workflow.KindAgent || st.Agent == nil {
		return failed("stages of kind %q are not run by this engine", st.Kind)
	}
	x.step("sockets")
	defer x.removeSockets(x.stage)
	hostDir, gatewayDir, err := x.Sockets.Make(x.stage)
	if err != nil {
		return failed("making the socket directory: %v", err)
	}
	x.step("mint")
	minted, err := x.Gateway.Mint(ctx, x.mintRequest(st, gatewayDir))
	if err != nil {
		return failed("the gateway gave no session: %v", err)
	}
	defer x.revoke(ctx, x.stage, minted.ID)
	x.step("minted")
	x.note(ctx, x.stage, Event{Kind: EvMinted, Session: minted.ID})
	if x.journal != nil {
		return result{}
	}
	spec, err := sandbox.NewSpec(sandbox.SpecInput{
		ID: x.stage, Owner: x.Owner, Run: x.job.Run, Stage: st.Name, Image: img, Policy: policy,
		UID: x.UID, GID: x.GID, TreeDir: x.job.Dir, SocketDir: hostDir, Timeout: st.Timeout,
	})
	if err != nil {
		return failed("the sandbox was refused: %v", err)
	}
	return x.useSandbox(ctx, st, spec)
}

func (x *execution) mintRequest(st workflow.Stage, dir string) gatewayapi.MintRequest {
	return gatewayapi.MintRequest{
		Scope: session.Scope{
			Run: x.job.Run, Stage: x.stage, Task: x.job.Task,
			Template: x.job.Plan.Template, Agent: st.Agent.Name,
			Upstreams:   []string{st.Agent.Upstream},
			Budget:      session.Budget{Tokens: st.Agent.Budget},
			ProtectRefs: x.job.Protect,
		},
		TTL:       int64((st.Timeout + sessionExtra) / time.Second),
		SocketDir: dir,
	}
}

// useSandbox prepares, starts and follows one sandbox, and removes it.
func (x *execution) useSandbox(ctx context.Context, st workflow.Stage, spec sandbox.Spec) result {
	var order bytes.Buffer
	if err := handoff.EncodeOrder(&order, x.order(st)); err != nil {
		return failed("the work order was refused: %v", err)
	}
	x.step("prepare")
	sb, err := x.Driver.Prepare(ctx, spec)
	if err != nil {
		return failed("preparing the sandbox: %v", err)
	}
	defer x.discard(ctx, sb)
	x.note(ctx, x.stage, Event{Kind: EvPrepared})
	x.step("attach")
	ch, err := sb.Attach(ctx)
	if err != nil {
		return failed("attaching to the sandbox: %v", err)
	}
	x.step("start")
	if err := sb.Start(ctx); err != nil {
		return failed("starting the sandbox: %v", err)
	}
	x.note(ctx, x.stage, Event{Kind: EvStarted})
	f := follow(x, handoff.NewReader(ch.Stdout, handoff.Limits{Total: logLimit}))
	x.step("ready")
	if err := f.ready(ctx); err != nil {
		return x.notReady(ctx, sb, f, err)
	}
	x.step("release")
	if err := sb.Release(ctx, order.Bytes()); err != nil {
		return x.notReady(ctx, sb, f, fmt.Errorf("handing over the work order: %w", err))
	}
	x.note(ctx, x.stage, Event{Kind: EvReleased})
	x.step("events")
	f.untilEnd(ctx, sb)
	x.step("wait")
	exit, err := x.wait(ctx, sb)
	x.step("exited")
	x.note(ctx, x.stage, Event{Kind: EvExited, Exit: exit.Cause, ExitCode: exit.Code})
	return f.verdict(exit, err)
}

func (x *execution) order(st workflow.Stage) handoff.WorkOrder {
	a := st.Agent
	return handoff.WorkOrder{
		Version: handoff.Version, Run: x.job.Run, Stage: x.stage, Kind: handoff.KindAgent,
		Gateway: true, SocketDir: sandbox.SocketPath, Tree: sandbox.TreePath,
		Agent: &handoff.Agent{
			Name: a.Name, Dialect: a.Dialect, BasePath: "/" + a.Upstream, Model: a.Model,
			System: a.System, Prompt: a.Prompt, MaxTurns: a.MaxTurns, MaxTokens: a.MaxTokens,
			Tools: a.Tools, DenyGlobs: a.DenyGlobs,
		},
	}
}

// notReady ends a sandbox that never got its order and says what it said.
func (x *execution) notReady(ctx context.Context, sb sandbox.Sandbox, f *follower, cause error) result {
	stopCtx, cancel := detached(ctx, cleanTimeout)
	defer cancel()
	if err := sb.Stop(stopCtx, stopGrace); err != nil {
		cause = errors.Join(cause, err)
	}
	f.untilEnd(ctx, sb)
	exit, err := x.wait(ctx, sb)
	if err == nil && exit.Detail != "" {
		cause = fmt.Errorf("%w (%s)", cause, clip(exit.Detail))
	}
	return failed("the sandbox did not get ready: %v", cause)
}

// wait ignores the end of ctx: the sandbox has been stopped then and ends soon.
func (x *execution) wait(ctx context.Context, sb sandbox.Sandbox) (sandbox.Exit, error) {
	ctx, cancel := detached(ctx, cleanTimeout)
	defer cancel()
	exit, err := sb.Wait(ctx)
	if err != nil {
		return sandbox.Exit{Code: -1, Cause: sandbox.CauseLost}, err
	}
	return exit, nil
}

// discard stops and removes a sandbox.
func (x *execution) discard(ctx context.Context, sb sandbox.Sandbox) {
	ctx, cancel := detached(ctx, cleanTimeout)
	defer cancel()
	x.step("remove")
	err := errors.Join(sb.Stop(ctx, stopGrace), sb.Remove(ctx))
	if err != nil {
		x.Logger.Error("sandbox not removed", slog.String("run", x.job.Run), slog.String("sandbox", sb.ID()), slog.Any("error", err))
	}
}

// revoke ends a session and records what it spent. A gateway that cannot be
// reached leaves the session without its sockets, which go next; Recover and
// the session's own limit end it.
func (x *execution) revoke(ctx context.Context, stage, id string) {
	ctx, cancel := detached(ctx, cleanTimeout)
	defer cancel()
	x.step("revoke")
	got, err := x.Gateway.Revoke(ctx, id)
	if err != nil {
		x.Logger.Error("session not revoked", slog.String("run", x.job.Run), slog.String("session", id), slog.Any("error", err))
		return
	}
	x.step("revoked")
	x.note(ctx, stage, Event{Kind: EvRevoked, Tokens: got.Tokens, Requests: x.requests(ctx, stage)})
}

// requests is a figure to show; a log that cannot be read leaves it at 0 and is
// reported by those who depend on it.
func (x *execution) requests(ctx context.Context, stage string) int {
	if x.Requests == nil || x.state.Started == nil {
		return 0
	}
	n, err := x.Requests(ctx, stage, *x.state.Started)
	if err != nil {
		x.Logger.Warn("requests not counted", slog.String("run", x.job.Run), slog.Any("error", err))
	}
	return n
}

func (x *execution) removeSockets(stage string) {
	if err := x.Sockets.Remove(stage); err != nil {
		x.Logger.Error("socket directory not removed", slog.String("run", x.job.Run), slog.Any("error", err))
	}
}

// follower reads a sandbox's events and stores them as log lines.
type follower struct {
	x      *execution
	events chan Line
	err    error // how reading ended, set before events is closed
	done   *handoff.Event
	lost   error // lines could not be stored, or the stream did not end
}

// follow starts reading; the goroutine ends with the stream.
func follow(x *execution, r *handoff.Reader) *follower {
	f := &follower{x: x, events: make(chan Line, queueLines)}
	stage := x.stage
	go func() {
		defer close(f.events)
		for {
			ev, err := r.Next()
			if err != nil {
				if !errors.Is(err, io.EOF) {
					f.err = err
				}
				return
			}
			f.events <- Line{Stage: stage, At: x.Now(), Event: ev}
		}
	}()
	return f
}

// ready waits for the line that says pid 1 has defended itself.
func (f *follower) ready(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, readyTimeout)
	defer cancel()
	select {
	case l, ok := <-f.events:
		switch {
		case !ok:
			return errors.New("it ended at once")
		case l.Event.Type != handoff.EventReady:
			return fmt.Errorf("its first line was not ready but: %s", clip(l.Event.Text))
		}
		return nil
	case <-ctx.Done():
		return fmt.Errorf("no ready line: %w", context.Cause(ctx))
	}
}

// untilEnd stores lines until the stream ends. When ctx ends, or lines cannot
// be stored or are too many, the sandbox is stopped and the rest is drained.
func (f *follower) untilEnd(ctx context.Context, sb sandbox.Sandbox) {
	stop := ctx.Done()
	var deadline <-chan time.Time
	kill := func() {
		stop = nil
		if deadline != nil {
			return
		}
		deadline = time.After(cleanTimeout)
		stopCtx, cancel := detached(ctx, cleanTimeout)
		defer cancel()
		if err := sb.Stop(stopCtx, stopGrace); err != nil {
			f.lost = errors.Join(f.lost, err)
		}
	}
	for {
		select {
		case l, ok := <-f.events:
			if !ok {
				if f.err != nil {
					kill()
				}
				return
			}
			if f.store(ctx, f.batch(l)); f.lost != nil {
				kill()
			}
		case <-stop:
			kill()
		case <-deadline:
			f.lost = errors.Join(f.lost, errors.New("its output did not end after it was stopped"))
			return
		}
	}
}

// batch takes what else is waiting.
func (f *follower) batch(first Line) []Line {
	lines := []Line{first}
	for len(lines) < batchLines {
		select {
		case l, ok := <-f.events:
			if !ok {
				return lines
			}
			lines = append(lines, l)
		default:
			return lines
		}
	}
	return lines
}

func (f *follower) store(ctx context.Context, lines []Line) {
	for _, l := range lines {
		if l.Event.Type == handoff.EventDone {
			f.done = &l.Event
		}
	}
	if f.lost != nil {
		return
	}
	ctx, cancel := detached(ctx, cleanTimeout)
	defer cancel()
	if err := f.x.Journal.Lines(ctx, f.x.job.Run, lines); err != nil {
		f.lost = fmt.Errorf("storing the log: %w", err)
	}
}

// verdict decides how the stage ended. The driver's word comes first, the
// agent's own only to tell a success from a failure it reported.
func (f *follower) verdict(exit sandbox.Exit, waitErr error) result {
	res := f.measured(exit, waitErr)
	if f.done != nil && !f.done.Error {
		res.summary = f.done.Text
		if r := []rune(res.summary); len(r) > summaryRunes {
			res.summary = string(r[:summaryRunes]) + "…"
		}
	}
	return res
}

func (f *follower) measured(exit sandbox.Exit, waitErr error) result {
	switch {
	case f.lost != nil:
		return failed("the stage was stopped: %v", f.lost)
	case errors.Is(f.err, handoff.ErrTooMuch):
		return failed("the agent wrote more than %d MiB of output and was stopped", logLimit>>20)
	case f.err != nil:
		return failed("reading the agent's output: %v", f.err)
	case waitErr != nil:
		return failed("how the sandbox ended is unknown: %v", waitErr)
	case exit.Cause == sandbox.CauseOOM:
		return failed("the agent ran out of memory")
	case exit.Cause == sandbox.CauseTimeout:
		return failed("the agent ran into the stage's time limit")
	case exit.Cause == sandbox.CauseLost:
		return failed("the sandbox was lost: %s", clip(exit.Detail))
	case f.done != nil && f.done.Error:
		return failed("the agent gave up: %s", clip(f.done.Cause+" "+f.done.Text))
	case exit.Code != 0 || exit.Cause != sandbox.CauseDone:
		return failed("the agent ended with exit code %d (%s) %s", exit.Code, exit.Cause, clip(exit.Detail))
	case f.done == nil:
		return failed("the agent ended without a final report")
	}
	return result{status: Done}
}

// clip makes one short line of a text from outside.
func clip(s string) string {
	s = strings.Join(strings.Fields(strings.ToValidUTF8(s, "\uFFFD")), " ")
	s = strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f || r >= 0x80 && r < 0xa0 {
			return -1
		}
		return r
	}, s)
	if r := []rune(s); len(r) > tailRunes {
		return string(r[:tailRunes]) + "…"
	}
	return s
}
