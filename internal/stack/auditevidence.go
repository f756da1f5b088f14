package stack

import (
	"context"
	"errors"
	"io"

	"moeca/internal/audit"
	"moeca/internal/board"
	"moeca/internal/gateway/gatewayapi"
	"moeca/internal/hostapi"
)

// Checkpoint implements hostapi.AuditEvidence.
func (v *AuditView) Checkpoint(context.Context) (gatewayapi.Checkpoint, error) {
	c, vkey, err := audit.ReadCheckpoint(v.dir)
	if err != nil {
		return gatewayapi.Checkpoint{}, evidenceError(err)
	}
	return gatewayapi.Checkpoint{Origin: c.Origin, Size: c.Size, Root: c.Root.String(), Text: c.Text, Vkey: vkey}, nil
}

// Bundle implements hostapi.AuditEvidence. It reads the log's files and needs no
// index.
func (v *AuditView) Bundle(ctx context.Context, w io.Writer, q hostapi.AuditBundle) error {
	if (q.Run == "") == (q.Task == "") {
		return &board.Error{Kind: board.Invalid, Code: "audit_bundle", Message: "a bundle is of a run or of a task", Next: "name one of them"}
	}
	_, vkey, err := audit.ReadCheckpoint(v.dir)
	if err != nil {
		return evidenceError(err)
	}
	against, err := v.cosigned(vkey, func(r audit.Record) bool {
		if q.Task != "" {
			return r.Attribution.Task == q.Task
		}
		decided := r.Kind == audit.KindApproval || r.Kind == audit.KindMerge || r.Kind == audit.KindCI // perhaps about its task
		return decided || r.Attribution.Run == q.Run
	})
	if err != nil {
		return evidenceError(err)
	}
	return v.bundle(ctx, w, q, against)
}

// BundleFor writes a bundle that is proven to a checkpoint somebody else holds,
// who can compare it with that alone. Rows behind it are left out.
func (v *AuditView) BundleFor(ctx context.Context, w io.Writer, q hostapi.AuditBundle, held string) error {
	c, err := audit.ParseCheckpoint(held)
	if err != nil {
		return &board.Error{Kind: board.Invalid, Code: "audit_checkpoint", Message: err.Error(), Next: "name a file with what `moeca audit checkpoint` printed"}
	}
	return v.bundle(ctx, w, q, &c)
}

func (v *AuditView) bundle(ctx context.Context, w io.Writer, q hostapi.AuditBundle, against *audit.Checkpoint) error {
	_, err := audit.WriteBundle(ctx, v.dir, w, audit.BundleQuery{Run: q.Run, Task: q.Task, Withhold: q.Withhold, Checkpoint: against})
	return evidenceError(err)
}

// Erase implements hostapi.AuditEvidence. The gateway, which alone writes the
// log, does it; the index follows the rows that say so.
func (v *AuditView) Erase(ctx context.Context, q hostapi.AuditErase) (gatewayapi.Erased, error) {
	if v.admin == nil {
		return gatewayapi.Erased{}, &board.Error{Kind: board.Unavailable, Code: "audit_erase", Message: "contents are erased by the running gateway, and none runs here", Next: "start moeca"}
	}
	done, err := v.admin.Erase(ctx, gatewayapi.EraseRequest{Run: q.Run, Task: q.Task, Rows: q.Rows, Before: q.Before, Actor: "person", Reason: q.Reason})
	var refused *gatewayapi.StatusError
	switch {
	case errors.As(err, &refused) && refused.Status/100 == 4:
		return done, &board.Error{Kind: board.Invalid, Code: "audit_selection", Message: refused.Body.Message, Next: "name one run, one task, rows, or a time"}
	case err != nil:
		return done, unavailable(err)
	}
	v.trees.forget()
	x, err := v.openIndex(ctx, false)
	if err == nil {
		err = indexError(x.Sync(ctx, nil))
	}
	return done, err
}

// evidenceError says to a person what an error of a checkpoint or bundle means.
func evidenceError(err error) error {
	switch {
	case err == nil, errors.Is(err, context.Canceled):
		return err
	case errors.Is(err, audit.ErrNoRows):
		return &board.Error{Kind: board.NotFound, Code: "audit_no_rows", Message: err.Error(), Next: "`moeca audit log --granularity context` lists what the log knows"}
	case errors.Is(err, audit.ErrUnsigned):
		return &board.Error{Kind: board.NotFound, Code: "audit_unsigned", Message: err.Error(), Next: "start moeca once: it signs the log"}
	}
	return unreadable(err)
}
