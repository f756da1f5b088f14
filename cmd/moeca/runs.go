package main

import (
	"fmt"
	"net/url"
	"strconv"
	"strings"
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
	Run string `arg:"" help:"Id of the run, or a task: then its newest run."`
}

// resolve finds the run: by its own id, else as the newest run of a task.
func (r runArg) resolve(e *env, c *client) (string, error) {
	var run board.Run
	err := c.do(e.ctx, "GET", "/api/runs/"+url.PathEscape(r.Run), nil, &run)
	if err == nil {
		return run.ID, nil
	}
	var task board.Task
	if c.do(e.ctx, "GET", "/api/tasks/"+url.PathEscape(r.Run), nil, &task) == nil && task.Attempt != nil && task.Attempt.Run != nil {
		return task.Attempt.Run.ID, nil
	}
	return "", err
}

type runLogs struct {
	runArg
	Follow bool `short:"f" help:"Go on until the run has ended."`
}

// Run prints a run's log.
func (r *runLogs) Run(e *env, c *client) error {
	id, err := r.resolve(e, c)
	if err != nil {
		return err
	}
	if r.Follow {
		if _, err := e.follow(c, id); err != nil {
			return err
		}
	} else if !e.cli.JSON {
		_, err := e.logs(c, id, 0, e.showLine)
		return err
	}
	if !e.cli.JSON {
		return nil
	}
	lines := []board.LogLine{}
	if _, err := e.logs(c, id, 0, func(l board.LogLine) { lines = append(lines, l) }); err != nil {
		return err
	}
	return e.print(lines)
}

// showLine prints one line of a log.
func (e *env) showLine(l board.LogLine) { fmt.Fprintln(e.stdout, logText(l)) }

type runStop struct{ runArg }

// Run stops a run.
func (r *runStop) Run(e *env, c *client) error {
	id, err := r.resolve(e, c)
	if err != nil {
		return err
	}
	var run board.Run
	if err := c.do(e.ctx, "POST", "/api/runs/"+url.PathEscape(id)+"/stop", nil, &run); err != nil {
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
	show := e.showLine
	if e.cli.JSON {
		show = func(board.LogLine) {}
	}
	var run board.Run
	var after int64
	told := ""
	for {
		run = board.Run{}
		if err := c.do(e.ctx, "GET", "/api/runs/"+url.PathEscape(id), nil, &run); err != nil {
			return run, err
		}
		if run.Status != board.StatusWaiting {
			told = ""
		} else if run.Cause != told {
			told = run.Cause
			fmt.Fprintf(e.stderr, "waiting for you: %s\n  → see `moeca ask list` in another terminal\n", plain(run.Cause))
		}
		var err error
		if after, err = e.logs(c, id, after, show); err != nil {
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

// logs hands every line after a sequence to show and returns the last one.
func (e *env) logs(c *client, id string, after int64, show func(board.LogLine)) (int64, error) {
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
			show(line)
		}
	}
}

// logText is one line of a log for a terminal. "claimed" marks that it is the
// agent's word, on every line of it, so that none can pass for ours.
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
		return head + " " + strings.ReplaceAll(strings.TrimRight(plainLines(ev.Text), "\n"), "\n", "\n"+head+" ")
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
