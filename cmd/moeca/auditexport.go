package main

import (
	"context"
	"io"

	"moeca/internal/hostapi"
	"moeca/internal/stack"
)

type auditExport struct {
	auditFilter
	Format  string `help:"${enum}." enum:"jsonl,otlp" default:"jsonl"`
	Output  string `short:"o" required:"" help:"File to write, which must not exist; - is standard output." placeholder:"FILE"`
	Rows    bool   `help:"With jsonl: rows instead of calls."`
	Content bool   `help:"With captured contents."`
}

// Run writes the export. It reads the log's files itself, so that it works
// whether or not a host runs on the data directory.
func (x *auditExport) Run(e *env) error {
	filter, err := x.filter(e)
	if err != nil {
		return err
	}
	view := stack.ReadAudit(e.cli.Data)
	return e.writeFile(x.Output, func(ctx context.Context, w io.Writer) error {
		return view.Export(ctx, w, hostapi.AuditExport{Filter: filter, Format: x.Format, Rows: x.Rows, Content: x.Content})
	})
}
