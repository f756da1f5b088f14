package run

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"moeca/internal/git"
	"moeca/internal/sandbox"
	"moeca/internal/workflow"
)

// Execute runs job from its state after EvQueued to its end. It ends early when
// ctx does; context.Cause tells why. The error is not nil only when the journal
// could not be written; it is an *UnrecordedError then, and the run is for the
// caller to settle: by storing the end it names, or else by Recover.
func (e *Engine) Execute(ctx context.Context, job Job, state State) (State, error) {
	x := &execution{Engine: e, job: job, state: state}
	res := x.stages(ctx)
	if x.journal == nil && x.state.Tree {
		res = x.keep(ctx, res)
	}
	x.step("end")
	x.note(ctx, x.stage, Event{Kind: EvEnded, Status: res.status, Cause: res.cause, Summary: res.summary})
	if x.journal != nil {
		return x.state, &UnrecordedError{Run: job.Run, Event: x.owed, Err: x.journal}
	}
	return x.state, nil
}

// UnrecordedError says that the journal did not take an event, after which
// nothing more was recorded. Everything outside is ended: sandbox and session.
type UnrecordedError struct {
	Run   string
	Event Event // EvEnded when all but the end is recorded
	Err   error
}

func (e *UnrecordedError) Error() string {
	return fmt.Sprintf("run: record %q of run %s: %v", e.Event.Kind, e.Run, e.Err)
}

func (e *UnrecordedError) Unwrap() error { return e.Err }

// execution is one Execute or Recover.
type execution struct {
	*Engine
	job     Job
	state   State
	stage   string // id of the stage being executed
	journal error  // first failure of the journal; nothing is claimed after it
	owed    Event  // what it did not take
}

// result is how a stage or a run ended. The zero value is a failure.
type result struct {
	status  Status
	cause   string
	summary string
}

func failed(format string, args ...any) result {
	return result{status: Failed, cause: fmt.Sprintf(format, args...)}
}

// note appends an event. It ignores the end of ctx: what happened is recorded.
func (x *execution) note(ctx context.Context, stage string, ev Event) {
	if x.journal != nil {
		return
	}
	ev.Stage, ev.At = stage, x.Now()
	ctx, cancel := detached(ctx, cleanTimeout)
	defer cancel()
	if err := x.Journal.Append(ctx, x.job.Run, ev); err != nil {
		x.journal, x.owed = err, ev
		return
	}
	x.state = Fold(x.state, ev)
}

func (x *execution) step(name string) {
	if x.Hook != nil {
		x.Hook(name)
	}
}

func (x *execution) stages(ctx context.Context) result {
	res := failed("the plan has no stages")
	for _, st := range x.job.Plan.Stages {
		if res = x.runStage(ctx, st); res.status != Done || x.journal != nil {
			break
		}
	}
	return res
}

func (x *execution) runStage(ctx context.Context, st workflow.Stage) result {
	x.stage = x.NewID()
	x.note(ctx, x.stage, Event{Kind: EvPreparing, Name: st.Name, Work: st.Kind, Policy: st.Policy, Driver: x.Driver.Name()})
	policy, err := sandbox.PolicyByName(st.Policy)
	if err != nil {
		return failed("the stage cannot start: %v", err)
	}
	x.step("tree")
	img, err := x.prepare(ctx, policy)
	if err != nil {
		return x.interrupted(ctx, failed("preparing the stage: %v", err))
	}
	x.note(ctx, x.stage, Event{Kind: EvTree, Digest: img.Digest})
	if x.journal != nil {
		return result{}
	}
	// The driver keeps the stage's limit; this is for a driver that does not.
	ctx, cancel := context.WithTimeoutCause(ctx, st.Timeout+backstop, errOverdue)
	defer cancel()
	return x.interrupted(ctx, x.explained(ctx, x.inSandbox(ctx, st, policy, img)))
}

// explained replaces what an agent says about its end by what the log says.
func (x *execution) explained(ctx context.Context, res result) result {
	if res.status != Failed || x.Explain == nil || x.state.Started == nil {
		return res
	}
	ctx, cancel := detached(ctx, cleanTimeout)
	defer cancel()
	if why := x.Explain(ctx, x.job, x.stage, *x.state.Started); why != "" {
		res.cause = why
	}
	return res
}

// prepare makes the tree, unless a stage before did, while the image is made
// available.
func (x *execution) prepare(ctx context.Context, policy sandbox.Policy) (img sandbox.Image, err error) {
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() (err error) {
		img, err = x.Driver.Ensure(ctx, policy)
		return err
	})
	if !x.state.Tree {
		g.Go(func() error { return x.job.Trees.Checkout(ctx, x.job.Base, x.job.Dir) })
	}
	return img, g.Wait()
}

// interrupted replaces res by the reason why ctx ended, if it did: what broke
// because of it is not the cause.
func (x *execution) interrupted(ctx context.Context, res result) result {
	switch cause := context.Cause(ctx); {
	case cause == nil || res.status == Done:
		return res
	case errors.Is(cause, ErrStopped):
		return result{status: Stopped, cause: "stopped by you", summary: res.summary}
	case errors.Is(cause, ErrShutdown):
		return result{status: Failed, cause: "the host was shut down while " + x.state.Doing(), summary: res.summary}
	default:
		return result{status: Failed, cause: fmt.Sprintf("ended while %s: %v", x.state.Doing(), cause), summary: res.summary}
	}
}

// keep commits the tree and says so in the cause of a run that did not succeed.
func (x *execution) keep(ctx context.Context, res result) result {
	ctx, cancel := detached(ctx, snapshotTimeout)
	defer cancel()
	snap, err := x.snapshot(ctx)
	if err != nil {
		why := fmt.Sprintf("the result could not be kept as a commit: %v; the files are still in %s", err, x.job.Dir)
		if res.status != Done {
			why = res.cause + "; " + why
		}
		return result{status: Failed, cause: why, summary: res.summary}
	}
	if res.status != Done {
		res.cause += "; " + kept(snap)
	}
	return res
}

func kept(s *Snapshot) string {
	if s == nil || !s.Changed {
		return "nothing had been changed"
	}
	return "the work so far was kept at " + short(s.Head)
}

// snapshot makes the commit, holds it, gives it a branch and records it. The
// commit's time is that of an event already stored, so that doing it again
// after a crash makes the same commit.
func (x *execution) snapshot(ctx context.Context) (*Snapshot, error) {
	x.step("snapshot")
	got, err := x.job.Trees.Snapshot(ctx, SnapshotRequest{
		Dir: x.job.Dir, Parent: x.job.Base, Base: x.job.Base,
		Message: x.job.Message, Cache: x.job.Cache, When: x.when(),
	})
	if err != nil {
		return nil, err
	}
	s := &Snapshot{Head: got.Commit, Tree: got.Tree, Changed: got.Changed, Skipped: fewSkipped(got.Skipped)}
	if got.Changed {
		x.step("hold")
		if err := x.job.Trees.Hold(ctx, x.job.Hold, got.Commit); err != nil {
			return nil, err
		}
		x.step("branch")
		if s.Branch, err = x.branch(ctx, got.Commit); err != nil {
			return nil, err
		}
		if s.Files, s.Added, s.Deleted, err = x.job.Trees.Stat(ctx, x.job.Base, got.Commit); err != nil {
			return nil, err
		}
	}
	x.step("snapshot-note")
	x.note(ctx, x.stage, Event{Kind: EvSnapshot, Snapshot: s})
	return s, x.journal
}

// branch gives commit the job's branch, or one beside it when a branch is in
// the way that is not ours: one of the same name, or one named "moeca", which
// leaves no room below it.
func (x *execution) branch(ctx context.Context, commit string) (string, error) {
	var errs []error
	for _, name := range []string{
		x.job.Branch, x.job.Branch + "-" + x.job.Run, strings.ReplaceAll(x.job.Branch, "/", "-") + "-" + x.job.Run,
	} {
		err := x.job.Trees.CreateBranch(ctx, name, commit)
		if err == nil {
			return name, nil
		}
		errs = append(errs, err)
	}
	return "", errors.Join(errs...)
}

// when is the time of the commit: when the last sandbox ended, else when the
// run started.
func (x *execution) when() time.Time {
	var t time.Time
	if x.state.Started != nil {
		t = *x.state.Started
	}
	for _, st := range x.state.Stages {
		if st.Ended != nil {
			t = *st.Ended
		}
	}
	return t
}

// fewSkipped keeps a list that an agent can make long short enough to be shown
// and stored with every state; the last entry says how many are not named.
func fewSkipped(all []git.Skipped) []git.Skipped {
	size := 0
	for i, s := range all {
		if size += len(s.Path) + len(s.Reason); size > skippedBytes {
			return append(all[:i:i], git.Skipped{Path: "…", Reason: fmt.Sprintf("%d more", len(all)-i)})
		}
	}
	return all
}

func detached(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(ctx), d)
}

func short(oid string) string { return oid[:min(12, len(oid))] }
