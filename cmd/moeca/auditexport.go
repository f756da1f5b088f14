package main

import (
	"context"
	"errors"
	"fmt"
	"io"

	"moeca/internal/auditindex"
	"moeca/internal/hostapi"
	"moeca/internal/stack"
)

type auditExport struct {
	auditFilter
	Format  string `help:"${enum}; tiles lays the log out in a directory for other verifiers, as C2SP tlog-tiles." enum:"jsonl,otlp,tiles" default:"jsonl"`
	Output  string `short:"o" required:"" help:"File to write, which must not exist; - is standard output. With tiles a directory, which a later export goes on with." placeholder:"FILE"`
	Rows    bool   `help:"With jsonl: rows instead of calls."`
	Content bool   `help:"With captured contents; not with tiles."`
}

// Run writes the export. It reads the log's files itself, so that it works
// whether or not a host runs on the data directory. Of a broken log it writes
// what is before the damage, and exits with 4.
func (x *auditExport) Run(e *env) error {
	filter, err := x.filter(e)
	if err != nil {
		return err
	}
	view := stack.ReadAudit(e.cli.Data)
	if x.Format == "tiles" {
		return x.tiles(e, view, filter)
	}
	var broken error
	err = e.writeFile(x.Output, func(ctx context.Context, w io.Writer) error {
		err := view.Export(ctx, w, hostapi.AuditExport{Filter: filter, Format: x.Format, Rows: x.Rows, Content: x.Content})
		if errors.Is(err, hostapi.ErrAuditIncomplete) {
			broken, err = err, nil
		}
		return err
	})
	if err == nil && broken != nil {
		e.auditProblem(broken.Error())
		return notGood()
	}
	return err
}

// tiles lays the log out for programs that know nothing of moeca.
func (x *auditExport) tiles(e *env, view *stack.AuditView, filter auditindex.Filter) error {
	if filter != (auditindex.Filter{}) || x.Rows || x.Content || x.Output == "-" {
		return fail(exitUsage, "audit_tiles", "give no filter, no --rows, no --content, and a directory", "tiles are of the whole log")
	}
	done, err := view.ExportTiles(e.ctx, x.Output)
	if err != nil {
		return err
	}
	for _, first := range done.LeftOut {
		fmt.Fprintf(e.stderr, "moeca: rows %d to %d are there as hashes only: one is longer than the format allows\n", first, min(first+255, done.Checkpoint.Size))
	}
	if e.cli.JSON {
		return e.print(map[string]any{"directory": x.Output, "files": done.Tiles, "rows": done.Checkpoint.Size, "checkpoint": done.Checkpoint.Text, "left_out": append([]int64{}, done.LeftOut...)})
	}
	fmt.Fprintf(e.stdout, "wrote %d files to %s; its checkpoint covers %d rows\n", done.Tiles, plain(x.Output), done.Checkpoint.Size)
	return nil
}
