package ci

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"moeca/internal/git"
	"moeca/internal/handoff"
	"moeca/internal/sandbox"
)

// Trees is what a gate needs of our git directory.
type Trees interface {
	Checkout(ctx context.Context, treeish, dir string) error
	List(ctx context.Context, treeish string) ([]git.Entry, error)
}

// Runner runs gates.
type Runner struct {
	Driver    sandbox.Driver
	Owner     string
	UID, GID  int
	GateFiles []string               // globs
	Discard   func(dir string) error // removes a tree directory
	Logger    *slog.Logger
	Hook      func(step string) // nil, or called between the steps

	mu      sync.Mutex
	digests map[string]string // policy → digest of its image as last used
}

// Request is one run of a gate.
type Request struct {
	ID, Task string
	Trees    Trees
	Dir      string // made for the checkout and discarded; must not exist
	LogFile  string // gets the output, bounded by MaxLog
	Result   string // tree to check
	Base     string // tree or commit that gate files are compared with
	Gate     Gate
}

// Verdicts of a gate.
const (
	Passed = "passed"
	Failed = "failed"
	Broken = "error" // the gate could not be run; says nothing about the tree
)

// Result is what came of it. The zero Verdict is none: no gate passed.
type Result struct {
	Verdict  string
	Cause    string
	ExitCode int
	Digest   string
	Changed  []string // gate files that differ from the base
	Log      string   // end of the output, at most TailLog bytes
	LogCut   bool     // Log is not the whole output
}

// Bounds of a gate's output.
const (
	TailLog = 64 << 10
	MaxLog  = 16 << 20
)

const (
	readyTimeout = time.Minute
	stopGrace    = 5 * time.Second
	cleanTimeout = 2 * time.Minute
)

// Digest returns the digest of the image last used for a policy, if any was.
func (r *Runner) Digest(policy string) (string, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	d, ok := r.digests[policy]
	return d, ok
}

// Run runs a gate to its end. It always returns a verdict.
func (r *Runner) Run(ctx context.Context, req Request) Result {
	var res Result
	err := r.run(ctx, req, &res)
	if cause := context.Cause(ctx); err != nil && cause != nil {
		err = cause
	}
	if err != nil {
		res.Verdict, res.Cause = Broken, err.Error()
	}
	return res
}

func (r *Runner) run(ctx context.Context, req Request, res *Result) (err error) {
	gate, err := req.Gate.Normal()
	if err != nil {
		return err
	}
	policy, err := sandbox.PolicyByName(gate.Policy)
	if err != nil {
		return fmt.Errorf("ci: %w", err)
	}
	defer func() { err = errors.Join(err, r.Discard(req.Dir)) }()
	r.step("ci-tree")
	img, err := r.prepare(ctx, req, policy, res)
	if err != nil {
		return fmt.Errorf("ci: prepare: %w", err)
	}
	spec, err := sandbox.NewSpec(sandbox.SpecInput{
		ID: req.ID, Owner: r.Owner, Run: req.ID, Stage: "ci", Image: img, Policy: policy,
		UID: r.UID, GID: r.GID, TreeDir: req.Dir, Timeout: gate.timeout() + time.Minute,
	})
	if err != nil {
		return fmt.Errorf("ci: %w", err)
	}
	var order bytes.Buffer
	if err := handoff.EncodeOrder(&order, handoff.WorkOrder{
		Version: handoff.Version, Run: req.ID, Stage: "ci", Kind: handoff.KindCommand, Tree: sandbox.TreePath,
		Env:     Environment(gate.Policy),
		Command: &handoff.Command{Argv: gate.Argv, TimeoutSeconds: gate.Timeout},
	}); err != nil {
		return fmt.Errorf("ci: %w", err)
	}
	// The driver keeps the limit; this is for a driver that does not.
	ctx, cancel := context.WithTimeoutCause(ctx, spec.Timeout+time.Minute, errors.New("ci: the gate's sandbox did not keep its time limit"))
	defer cancel()
	return r.inSandbox(ctx, req, spec, order.Bytes(), res)
}

// prepare checks out the result, compares gate files and gets the image.
func (r *Runner) prepare(ctx context.Context, req Request, policy sandbox.Policy, res *Result) (img sandbox.Image, err error) {
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error { return req.Trees.Checkout(ctx, req.Result, req.Dir) })
	g.Go(func() (err error) {
		if img, err = r.Driver.Ensure(ctx, policy); err != nil {
			return err
		}
		res.Digest = img.Digest
		r.mu.Lock()
		defer r.mu.Unlock()
		if r.digests == nil {
			r.digests = map[string]string{}
		}
		r.digests[policy.Name] = img.Digest
		return nil
	})
	c := Comparison{Globs: r.GateFiles, Argv: req.Gate.Argv}
	g.Go(func() (err error) {
		if c.Base, err = req.Trees.List(ctx, req.Base); err == nil {
			c.Result, err = req.Trees.List(ctx, req.Result)
		}
		return err
	})
	if err := g.Wait(); err != nil {
		return img, err
	}
	root, err := os.OpenRoot(req.Dir)
	if err != nil {
		return img, err
	}
	c.Content = treeContent{root}
	res.Changed = c.Changed()
	return img, root.Close()
}

func (r *Runner) inSandbox(ctx context.Context, req Request, spec sandbox.Spec, order []byte, res *Result) (err error) {
	logFile, err := os.OpenFile(req.LogFile, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("ci: log: %w", err)
	}
	defer func() { err = errors.Join(err, logFile.Close()) }()
	r.step("ci-prepare")
	sb, err := r.Driver.Prepare(ctx, spec)
	if err != nil {
		return fmt.Errorf("ci: prepare the sandbox: %w", err)
	}
	defer func() {
		ctx, cancel := detached(ctx)
		defer cancel()
		if e := errors.Join(sb.Stop(ctx, stopGrace), sb.Remove(ctx)); e != nil {
			r.Logger.Error("sandbox not removed", slog.String("ci", req.ID), slog.Any("error", e))
		}
	}()
	ch, err := sb.Attach(ctx)
	if err != nil {
		return fmt.Errorf("ci: attach: %w", err)
	}
	if err := sb.Start(ctx); err != nil {
		return fmt.Errorf("ci: start: %w", err)
	}
	out := &output{file: logFile}
	stop := context.AfterFunc(ctx, func() {
		ctx, cancel := detached(ctx)
		defer cancel()
		if err := sb.Stop(ctx, stopGrace); err != nil {
			r.Logger.Error("sandbox not stopped", slog.String("ci", req.ID), slog.Any("error", err))
		}
	})
	defer stop()
	readErr := r.follow(ctx, sb, handoff.NewReader(ch.Stdout, handoff.Limits{}), order, out)
	if readErr != nil {
		stopCtx, cancel := detached(ctx)
		defer cancel()
		readErr = errors.Join(readErr, sb.Stop(stopCtx, stopGrace))
	}
	r.step("ci-wait")
	waitCtx, cancel := detached(ctx)
	defer cancel()
	exit, err := sb.Wait(waitCtx)
	res.Log, res.LogCut = out.tail()
	if err := errors.Join(readErr, err, out.err); err != nil {
		return fmt.Errorf("ci: run the gate: %w %s", err, exit.Detail)
	}
	return judge(exit, out.finished, res)
}

// follow hands over the order once the sandbox is ready and collects output. A
// sandbox that never gets ready is ended by its own time limit.
func (r *Runner) follow(ctx context.Context, sb sandbox.Sandbox, events *handoff.Reader, order []byte, out *output) error {
	timer := time.AfterFunc(readyTimeout, func() {
		ctx, cancel := detached(ctx)
		defer cancel()
		if err := sb.Stop(ctx, stopGrace); err != nil {
			r.Logger.Error("sandbox not stopped", slog.Any("error", err))
		}
	})
	defer timer.Stop()
	first, err := events.Next()
	if err != nil {
		return fmt.Errorf("the sandbox did not get ready: %w", err)
	}
	if first.Type != handoff.EventReady {
		return fmt.Errorf("the sandbox did not get ready: it said %q", first.Text)
	}
	timer.Stop()
	r.step("ci-release")
	if err := sb.Release(ctx, order); err != nil {
		return fmt.Errorf("hand over the work order: %w", err)
	}
	for {
		ev, err := events.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		out.add(ev)
	}
}

// judge turns how the sandbox ended into a verdict. Only an exit with 0 that
// the driver saw, and after which pid 1 had reported the command's end, passes.
func judge(exit sandbox.Exit, finished bool, res *Result) error {
	res.ExitCode = exit.Code
	switch {
	case exit.Cause == sandbox.CauseLost:
		return fmt.Errorf("ci: the sandbox was lost: %s", exit.Detail)
	case exit.Cause == sandbox.CauseStopped:
		return errors.New("ci: the gate was stopped")
	case exit.Cause == sandbox.CauseOOM:
		res.Verdict, res.Cause = Failed, "the gate ran out of memory"
	case exit.Code == 0 && exit.OOM:
		return errors.New("ci: a process of the gate was killed because the memory limit was reached, and yet the gate ended with 0: what it checked is unknown; let it use less memory, or more of it")
	case exit.Cause == sandbox.CauseTimeout:
		res.Verdict, res.Cause = Failed, "the gate ran into its time limit"
	case exit.Code != 0 || exit.Cause != sandbox.CauseDone:
		res.Verdict, res.Cause = Failed, fmt.Sprintf("the gate ended with exit code %d", exit.Code)
	case !finished:
		return errors.New("ci: the sandbox ended without reporting that the gate had")
	default:
		res.Verdict = Passed
	}
	return nil
}

func (r *Runner) step(name string) {
	if r.Hook != nil {
		r.Hook(name)
	}
}

func detached(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(ctx), cleanTimeout)
}
