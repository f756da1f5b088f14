package run

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
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
	minted, err := x.mint(ctx, x.mintRequest(st, gatewayDir))
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

// mint gets a session unless ctx has ended. A stop does not interrupt it: an
// answer that nobody waited for would leave a session that nobody revokes.
func (x *execution) mint(ctx context.Context, r gatewayapi.MintRequest) (gatewayapi.MintResponse, error) {
	if err := ctx.Err(); err != nil {
		return gatewayapi.MintResponse{}, err
	}
	ctx, cancel := detached(ctx, mintTimeout)
	defer cancel()
	return x.Gateway.Mint(ctx, r)
}

func (x *execution) mintRequest(st workflow.Stage, dir string) gatewayapi.MintRequest {
	return gatewayapi.MintRequest{
		Scope: session.Scope{
			Run: x.job.Run, Stage: x.stage, Task: x.job.Task,
			Template: x.job.Plan.Template, Agent: st.Agent.Name,
			Upstreams:   append([]string{st.Agent.Upstream}, st.Agent.Upstreams...),
			Grants:      st.Agent.Grants,
			Repos:       x.job.Repos,
			RepoIDs:     x.job.RepoIDs,
			Budget:      session.Budget{Tokens: st.Agent.Budget, CostNano: st.Agent.CostNano},
			RunBudget:   x.job.RunBudget,
			TaskBudget:  x.job.TaskBudget,
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
	if gatewayapi.IsNotFound(err) {
		return // it ended with the gateway that minted it
	}
	if err != nil {
		x.Logger.Error("session not revoked", slog.String("run", x.job.Run), slog.String("session", id), slog.Any("error", err))
		return
	}
	x.step("revoked")
	x.note(ctx, stage, Event{Kind: EvRevoked, Tokens: got.Tokens, CostNano: got.Cost, Requests: x.requests(ctx, stage)})
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
