package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

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
func (x *auditExport) Run(e *env) (err error) {
	filter, err := x.filter(e)
	if err != nil {
		return err
	}
	q := hostapi.AuditExport{Filter: filter, Format: x.Format, Rows: x.Rows, Content: x.Content}
	view := stack.ReadAudit(e.cli.Data)
	if x.Output == "-" {
		return view.Export(e.ctx, e.stdout, q)
	}
	file, err := os.OpenFile(x.Output, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil { // half an export looks like a whole one
			err = errors.Join(err, os.Remove(x.Output))
		}
	}()
	err = errors.Join(view.Export(e.ctx, file, q), file.Sync())
	size, sizeErr := file.Seek(0, io.SeekCurrent)
	if err = errors.Join(err, sizeErr, file.Close()); err != nil {
		return err
	}
	if e.cli.JSON {
		return e.print(map[string]any{"file": x.Output, "bytes": size})
	}
	fmt.Fprintf(e.stdout, "wrote %d bytes to %s\n", size, filepath.Clean(x.Output))
	return nil
}
