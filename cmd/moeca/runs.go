package main

import (
	"fmt"
	"net/url"
	"strconv"
	"time"

	"moeca/internal/board"
	"moeca/internal/handoff"
	"moeca/internal/hostapi"
)

type runCmd struct {
	Logs runLogs `cmd:"" help:"Print what the agent said; claimed by the agent, not measured."`
	Stop runStop `cmd:"" help:"Stop everything a run started; its work so far is kept."`
}

type runArg struct {
	Run string `arg:"" help:"Id of the run."`
}

type runLogs struct {
	runArg
	Follow bool `short:"f" help:"Go on until the run has ended."`
}

// Run prints a run's log.
func (r *runLogs) Run(e *env) error {
	c, done, err := e.connect()
	if err != nil {
		return err
	}
	defer done()
	if r.Follow {
		_, err := e.follow(c, r.runArg.Run)
		return err
	}
	_, err = e.logs(c, r.runArg.Run, 0, true)
	return err
}

type runStop struct{ runArg }

// Run stops a run.
func (r *runStop) Run(e *env) error {
	c, done, err := e.connect()
	if err != nil {
		return err
	}
	defer done()
	var run board.Run
	if err := c.do(e.ctx, "POST", "/api/runs/"+url.PathEscape(r.runArg.Run)+"/stop", nil, &run); err != nil {
		return err
	}
	if e.cli.JSON {
		return e.print(run)
	}
	fmt.Fprintf(e.stdout, "%s %s\n", run.ID, run.Status)
	return nil
}

// ended says whether a run will not change any more.
func ended(s board.Status) bool {
	switch s {
	case board.StatusDone, board.StatusFailed, board.StatusCancelled, board.StatusStopped:
		return true
	}
	return false
}

// follow prints a run's log as it grows and returns the run when it has ended.
// With --json nothing is printed.
func (e *env) follow(c *client, id string) (board.Run, error) {
	var run board.Run
	var after int64
	for {
		if err := c.do(e.ctx, "GET", "/api/runs/"+url.PathEscape(id), nil, &run); err != nil {
			return run, err
		}
		var err error
		if after, err = e.logs(c, id, after, !e.cli.JSON); err != nil {
			return run, err
		}
		if ended(run.Status) {
			return run, nil
		}
		if err := e.pause(); err != nil {
			return run, err
		}
	}
}

// logs prints every line after a sequence and returns the last one.
func (e *env) logs(c *client, id string, after int64, show bool) (int64, error) {
	for {
		var page hostapi.LogPage
		q := "?after=" + strconv.FormatInt(after, 10)
		if err := c.do(e.ctx, "GET", "/api/runs/"+url.PathEscape(id)+"/logs"+q, nil, &page); err != nil {
			return after, err
		}
		if len(page.Items) == 0 {
			return after, nil
		}
		for _, line := range page.Items {
			after = line.Seq
			if !show {
				continue
			}
			if e.cli.JSON {
				if err := e.print(line); err != nil {
					return after, err
				}
				continue
			}
			fmt.Fprintln(e.stdout, logText(line))
		}
	}
}

// logText is one line of a log for a terminal. "claimed" marks that it is the
// agent's word.
func logText(l board.LogLine) string {
	ev := l.Event
	head := l.At.Local().Format(time.TimeOnly) + " claimed " + ev.Type
	switch ev.Type {
	case handoff.EventToolUse:
		return fmt.Sprintf("%s %s %s", head, plain(ev.Tool), plain(cut(string(ev.Input))))
	case handoff.EventResult:
		mark := ""
		if ev.Error {
			mark = "error "
		}
		return fmt.Sprintf("%s %s %s%s", head, plain(ev.Tool), mark, plain(cut(ev.Text)))
	case handoff.EventText, handoff.EventThinking, handoff.EventOutput, handoff.EventNote, handoff.EventDone:
		return head + " " + plainLines(ev.Text)
	}
	return head
}

// cut keeps a line readable; --json prints it whole.
func cut(s string) string {
	const most = 200
	if len(s) <= most {
		return s
	}
	return s[:most] + fmt.Sprintf(" … (%d bytes)", len(s))
}
