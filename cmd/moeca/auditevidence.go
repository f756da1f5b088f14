package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"moeca/internal/auditindex"
	"moeca/internal/gateway/gatewayapi"
	"moeca/internal/hostapi"
	"moeca/internal/stack"
)

type auditCheckpoint struct {
	Vkey bool `help:"Print the key that signed it instead: what a verifier compares with one from elsewhere."`
}

// Run prints the last signed checkpoint as it is, so that it can be kept.
func (c *auditCheckpoint) Run(e *env) error {
	view := stack.ReadAudit(e.cli.Data)
	checkpoint, err := view.Checkpoint(e.ctx)
	switch {
	case err != nil:
		return err
	case e.cli.JSON:
		return e.print(checkpoint)
	case c.Vkey:
		fmt.Fprintln(e.stdout, plain(strings.TrimSpace(checkpoint.Vkey)))
	default:
		fmt.Fprint(e.stdout, plainLines(checkpoint.Text))
	}
	return nil
}

type auditBundle struct {
	Of       string `arg:"" optional:"" name:"run" help:"The run, by id, or the newest run of a task."`
	Task     string `help:"A whole task instead of a run."`
	Output   string `short:"o" required:"" help:"File to write, which must not exist; - is standard output." placeholder:"FILE"`
	Withhold bool   `help:"Without contents; what commits to them stays."`
	Held     string `name:"checkpoint" help:"File with the checkpoint that the receiver holds, to prove the rows to; rows behind it are left out." placeholder:"FILE"`
}

// Run writes an evidence bundle. It reads the log's files itself.
func (b *auditBundle) Run(e *env) error {
	run, err := e.auditRun(b.Of)
	if err != nil {
		return err
	}
	task, err := e.auditTask(b.Task)
	if err != nil {
		return err
	}
	view, q := stack.ReadAudit(e.cli.Data), hostapi.AuditBundle{Run: run, Task: task, Withhold: b.Withhold}
	write := func(ctx context.Context, w io.Writer) error { return view.Bundle(ctx, w, q) }
	if b.Held != "" {
		held, err := os.ReadFile(b.Held)
		if err != nil {
			return err
		}
		write = func(ctx context.Context, w io.Writer) error { return view.BundleFor(ctx, w, q, string(held)) }
	}
	return e.writeFile(b.Output, write)
}

// writeFile writes a new file whole or not at all.
func (e *env) writeFile(name string, write func(context.Context, io.Writer) error) (err error) {
	if name == "-" {
		return write(e.ctx, e.stdout)
	}
	file, err := os.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil { // half a file looks like a whole one
			err = errors.Join(err, os.Remove(name))
		}
	}()
	err = errors.Join(write(e.ctx, file), file.Sync())
	size, sizeErr := file.Seek(0, io.SeekCurrent)
	if err = errors.Join(err, sizeErr, file.Close()); err != nil {
		return err
	}
	if e.cli.JSON {
		return e.print(map[string]any{"file": name, "bytes": size})
	}
	fmt.Fprintf(e.stdout, "wrote %d bytes to %s\n", size, filepath.Clean(name))
	return nil
}

type auditErase struct {
	RunID  string  `name:"run" help:"Contents of this run."`
	Task   string  `help:"Contents of this task."`
	Rows   []int64 `help:"Contents of these rows."`
	Before string  `help:"Contents of rows older than this: 2026-03-01, or 30d."`
	Reason string  `help:"Why; it is kept in the log."`
}

// Run destroys contents after a person has typed what is to be destroyed.
func (a *auditErase) Run(e *env) error {
	filter := auditFilter{Task: a.Task, RunID: a.RunID, From: a.Before}
	f, err := filter.filter(e)
	if err != nil {
		return err
	}
	if f.Task == auditindex.None || f.Run == auditindex.None {
		return fail(exitUsage, "audit_selection", "erase what belongs to none by --rows or --before", "%q names no task or run here", auditindex.None)
	}
	q := hostapi.AuditErase{Task: f.Task, Run: f.Run, Rows: a.Rows, Reason: a.Reason}
	if !f.From.IsZero() {
		q.Before = &f.From
	}
	what, err := eraseSentence(q)
	if err != nil {
		return err
	}
	fmt.Fprintln(e.stderr, "This destroys captured requests and answers, and cannot be undone. Rows, their proofs, logs of runs, backups and exports stay.")
	if err := e.confirm(what); err != nil {
		return err
	}
	c, done, err := e.connect()
	if err != nil {
		return err
	}
	defer done()
	var out gatewayapi.Erased
	if err := c.asPerson(e.ctx, "POST", "/api/audit/erase", q, &out); err != nil {
		return err
	}
	if e.cli.JSON {
		return e.print(out)
	}
	fmt.Fprintf(e.stdout, "erased %d contents, %d bytes; audit row %d\n", out.Bodies, out.Bytes, out.Row)
	return nil
}

// eraseSentence is what a person types.
func eraseSentence(q hostapi.AuditErase) (string, error) {
	var said []string
	if q.Run != "" {
		said = append(said, "erase run "+q.Run)
	}
	if q.Task != "" {
		said = append(said, "erase task "+q.Task)
	}
	if len(q.Rows) > 0 {
		said = append(said, fmt.Sprintf("erase %d rows", len(q.Rows)))
	}
	if q.Before != nil {
		said = append(said, "erase before "+q.Before.Format("2006-01-02 15:04"))
	}
	if len(said) != 1 {
		return "", fail(exitUsage, "audit_selection", "add one of --run, --task, --rows and --before", "say whose contents, by one thing")
	}
	return said[0], nil
}
