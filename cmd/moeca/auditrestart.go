package main

import (
	"fmt"

	"moeca/internal/hostapi"
)

type auditRestart struct {
	Keep bool `required:"" help:"Keep the broken log whole beside the new one; there is no other way."`
}

// Run keeps a broken log and begins another one, after a person has seen where it
// is broken and has typed that it is to be.
func (*auditRestart) Run(e *env, c *client) error {
	var status hostapi.Status
	if err := c.do(e.ctx, "GET", "/api/status", nil, &status); err != nil {
		return err
	}
	b := status.Gateway.Broken
	if b == nil {
		return fail(exitFailed, "log-intact", "`moeca audit verify` checks every row", "the log is not broken; nothing was changed")
	}
	fmt.Fprintf(e.stderr, "The log is broken at row %d (%s, byte %d): %s.\n", b.Row, plain(b.File), b.Offset, plain(b.Cause))
	fmt.Fprintf(e.stderr, "The %d rows before it are intact. The log is kept as it is, beside a new one that names it; budgets go on as they were.\n", b.Rows)
	if err := e.confirm(fmt.Sprintf("restart the log at row %d", b.Row)); err != nil {
		return err
	}
	var out hostapi.LogRestarted
	if err := c.asPerson(e.ctx, "POST", "/api/audit/restart", hostapi.LogRestart{Row: b.Row, File: b.File}, &out); err != nil {
		return err
	}
	if e.cli.JSON {
		return e.print(out)
	}
	fmt.Fprintf(e.stdout, "a new log has begun; the broken one is kept in %s\nits last intact row is %d, head %s\n", plain(out.Kept), out.Rows, plain(out.Head))
	return nil
}
