package stack

import (
	"context"
	"io"

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
	return indexError(err)
}
