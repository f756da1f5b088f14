package stack

import (
	"context"
	"errors"
	"fmt"
	"io"

	"moeca/internal/audit"
	"moeca/internal/auditindex/export"
	"moeca/internal/hostapi"
)

// Export implements hostapi.AuditIndex. It reads the log itself, in one pass.
func (v *AuditView) Export(ctx context.Context, w io.Writer, q hostapi.AuditExport) error {
	log, err := v.source()
	if err != nil {
		return err
	}
	_, err = export.Write(ctx, w, log, export.Options{Filter: q.Filter, Format: q.Format, Rows: q.Rows, Content: q.Content, Version: v.version})
	if errors.Is(err, export.ErrIncomplete) {
		var broken *audit.BrokenError
		if errors.As(err, &broken) {
			err = broken
		}
		return fmt.Errorf("%w: %w", hostapi.ErrAuditIncomplete, err)
	}
	return indexError(err)
}

// ExportTiles lays the log out below a directory for verifiers of others.
func (v *AuditView) ExportTiles(ctx context.Context, out string) (audit.Exported, error) {
	done, err := audit.ExportTiles(ctx, v.dir, out)
	return done, evidenceError(err)
}
