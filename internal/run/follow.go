package run

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"moeca/internal/handoff"
	"moeca/internal/sandbox"
)

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
