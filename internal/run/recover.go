package run

import (
	"context"
	"fmt"
)

// HostStopped is the why of Recover at a start of the host.
const HostStopped = "the host stopped"

// Recover settles a run that was left unfinished, for the reason why. Every
// sandbox of it has been swept before. What is in a complete tree is kept as a
// commit, the run is failed with a cause that says why and what it was doing,
// and its sessions are revoked. Doing it twice, or being stopped in the middle
// of it, is harmless.
func (e *Engine) Recover(ctx context.Context, job Job, state State, why string) (State, error) {
	x := &execution{Engine: e, job: job, state: state}
	doing := state.Doing()
	for _, st := range state.Stages {
		x.stage = st.ID
		if st.Session != "" && !st.Revoked {
			x.revoke(ctx, st.ID, st.Session)
		}
		x.removeSockets(st.ID)
	}
	res := failed("%s while %s", why, doing)
	switch {
	case state.Snapshot != nil:
		res.cause += "; " + kept(state.Snapshot)
	case state.Tree:
		res = x.keep(ctx, res)
	default:
		res.cause += "; nothing had been changed"
	}
	x.step("end")
	x.note(ctx, x.stage, Event{Kind: EvEnded, Status: res.status, Cause: res.cause})
	if x.journal != nil {
		return x.state, fmt.Errorf("run: recover %s: %w", job.Run, x.journal)
	}
	return x.state, nil
}

// RevokeStrays ends the sessions of runs that are not in keep: those that were
// minted in the moment the host stopped, before it could note their id.
func (e *Engine) RevokeStrays(ctx context.Context, keep map[string]bool) error {
	all, err := e.Gateway.Sessions(ctx)
	if err != nil {
		return fmt.Errorf("run: list sessions: %w", err)
	}
	for _, s := range all {
		if s.Scope.Run == "" || keep[s.Scope.Run] {
			continue
		}
		if _, err := e.Gateway.Revoke(ctx, s.ID); err != nil {
			return fmt.Errorf("run: revoke stray session of run %s: %w", s.Scope.Run, err)
		}
	}
	return nil
}
