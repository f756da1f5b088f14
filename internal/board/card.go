package board

import (
	"context"
)

// refresh brings the card of a task that waits for review up to what was just
// seen: the target may have moved, the gate or the approval may not hold any
// more. A card changes only when its next step or its gate's state is untrue,
// and only if nobody changed the task since it was read.
func (s *Service) refresh(ctx context.Context, f *facts) error {
	t := f.task
	if t.Status != StatusReviewing {
		return nil
	}
	next, cause := f.card()
	state := f.review.CI.State
	if state == CIStale && t.CI == CIPending {
		state = CIPending // of this attempt nothing was checked
	}
	if next == t.NextStep && state == t.CI {
		return nil
	}
	return wrap("refresh task", s.change(ctx, func(c *change) error {
		res, err := c.ExecContext(ctx, `UPDATE tasks SET ci = ?, cause = ?, next_step = ?, version = version + 1, updated_at = ?
			WHERE id = ? AND version = ? AND status = ?`, state, cause, next, s.Now().UnixMilli(), t.ID, t.Version, StatusReviewing)
		if err != nil {
			return err
		}
		if n, err := res.RowsAffected(); err != nil || n == 0 {
			return err
		}
		c.taskChanged(t.ID)
		return nil
	}))
}

// card is the next step and the cause that what was seen calls for.
func (f *facts) card() (next, cause string) {
	r := f.review
	switch {
	case r.CanApprove && r.Approval != nil:
		return NextMerge, "approved; ready to merge"
	case r.CanApprove && r.CI.State == CIPassed:
		next, cause = NextApprove, "the CI gate passed; ready for your approval"
	case r.CanApprove && r.CI.State == CIPassedDrift:
		next, cause = NextReview, "the CI gate passed, but the work changes files the gate depends on"
	case r.CanApprove:
		next, cause = NextReview, "ready for your review; no CI gate is configured"
	default:
		next, cause = nextOf(r.Blockers[0].Code), r.Blockers[0].Message
	}
	if r.ApprovalStale {
		if cause = r.ApprovalStaleReason + "; " + cause; r.CanApprove {
			next = NextApprove
		}
	}
	return next, cause
}

// nextOf is what removes a blocker.
func nextOf(blocker string) string {
	switch blocker {
	case "conflict", "target_gone":
		return NextResolve
	case "ci_pending", "ci_stale", "ci_error", "ci_failed":
		return NextCI
	case "ci_running":
		return ""
	}
	return NextRetry
}
