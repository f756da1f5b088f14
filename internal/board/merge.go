package board

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"

	"moeca/internal/gateway/gatewayapi"
	"moeca/internal/git"
)

// States of a row in merges.
const (
	mergeIntended = "intended"
	mergeLanded   = "landed"
	mergeDone     = "done"
	mergeRefused  = "refused"
)

// Merge lands exactly what was approved, or refuses.
func (s *Service) Merge(ctx context.Context, key string, actor Actor) (Merged, error) {
	if err := actor.mustBePerson("merge"); err != nil {
		return Merged{}, err
	}
	t, unlock, err := s.lockTask(ctx, key)
	if err != nil {
		return Merged{}, err
	}
	defer unlock()
	return s.merge(ctx, t, actor)
}

// ApproveAndMerge does both under one lock; the audit log gets both rows.
func (s *Service) ApproveAndMerge(ctx context.Context, key string, req ApproveRequest, actor Actor) (Approval, Merged, error) {
	if err := actor.mustBePerson("approve and merge"); err != nil {
		return Approval{}, Merged{}, err
	}
	t, unlock, err := s.lockTask(ctx, key)
	if err != nil {
		return Approval{}, Merged{}, err
	}
	defer unlock()
	a, err := s.approve(ctx, t, req, actor)
	if err != nil {
		return Approval{}, Merged{}, err
	}
	if t, err = s.Task(ctx, t.ID); err != nil {
		return a, Merged{}, err
	}
	m, err := s.merge(ctx, t, actor)
	return a, m, err
}

func (s *Service) merge(ctx context.Context, t Task, actor Actor) (Merged, error) {
	unlock, err := s.repoLocks.lock(ctx, t.RepoID)
	if err != nil {
		return Merged{}, err
	}
	defer unlock()
	if err := s.trusted(ctx); err != nil {
		return Merged{}, err
	}
	if t.Status == StatusMerging {
		return s.resume(ctx, t)
	}
	f, err := s.look(ctx, t)
	if err != nil {
		return Merged{}, err
	}
	if err := s.mayMerge(f); err != nil {
		return Merged{}, errors.Join(err, s.refresh(ctx, f))
	}
	// From here on a request that goes away must not leave half a merge.
	ctx = context.WithoutCancel(ctx)
	m := merge{id: s.NewID(), task: t, approval: *f.approval, actor: actor.Name, preview: f.review.Preview, state: mergeIntended, worktree: f.worktree}
	m.merged = Merged{Tree: m.preview.ResultTree, Target: m.preview.Target, TargetOID: m.preview.TargetOID}
	if err := s.intend(ctx, m); err != nil {
		return Merged{}, wrap("merge task", err)
	}
	s.step("land")
	m.merged.Commit, err = f.store.Land(ctx, m.preview, mergeMessage(t, m.approval), s.Identity)
	if err != nil {
		return Merged{}, s.notLanded(ctx, f.store, m, err)
	}
	s.step("landed")
	return s.finish(ctx, m)
}

// mayMerge verifies the approval against the present.
func (s *Service) mayMerge(f *facts) error {
	if f.approval == nil {
		return refuse(Locked, "not_approved", "approve it first", "task %d is not approved", f.task.Number)
	}
	if f.task.Status != StatusReviewing {
		return locked("merge_locked", f.review.Blockers)
	}
	st, err := s.statementOf(*f.approval)
	if err != nil {
		return err
	}
	return f.holds(st)
}

// merge is one row of merges.
type merge struct {
	id       string
	task     Task
	approval Approval
	actor    string
	preview  git.Preview
	merged   Merged
	state    string
	worktree string // checkout of the target, which a merge leaves behind
}

func (s *Service) intend(ctx context.Context, m merge) error {
	preview, err := toJSON(m.preview)
	if err != nil {
		return err
	}
	merged, err := toJSON(m.merged)
	if err != nil {
		return err
	}
	return s.change(ctx, func(c *change) error {
		if err := c.exec(ctx, `INSERT INTO merges (id, task_id, approval_id, state, actor, preview, merged, at) VALUES (?, ?, ?, ?, ?, ?, ?, ?)`,
			m.id, m.task.ID, m.approval.ID, m.state, m.actor, preview, merged, s.Now().UnixMilli()); err != nil {
			return err
		}
		return c.setStatus(ctx, m.task.ID, StatusMerging, "merging into "+m.preview.Target, "")
	})
}

// notLanded settles a Land that failed. Whether the target moved all the same
// is asked, not assumed.
func (s *Service) notLanded(ctx context.Context, st Store, m merge, cause error) error {
	if commit, err := st.Landed(ctx, m.preview); err == nil && commit != "" {
		m.merged.Commit = commit
		_, err := s.finish(ctx, m)
		return err
	}
	why := fmt.Sprintf("not merged: %v", cause)
	if errors.Is(cause, git.ErrMoved) {
		why = m.preview.Target + " moved before the merge; nothing was merged"
	}
	if err := s.backToReview(ctx, m, why); err != nil {
		return wrap("merge task", errors.Join(cause, err))
	}
	if errors.Is(cause, git.ErrMoved) {
		return refuse(Conflict, "target_moved", "look at the review again and approve what is there now", "%s", why)
	}
	return &Error{
		Kind: Unavailable, Code: "merge_failed", Err: cause, Message: "git did not merge; the target was not touched",
		Next: "correct what git says, then merge again",
	}
}

func (s *Service) backToReview(ctx context.Context, m merge, why string) error {
	return s.change(ctx, func(c *change) error {
		if err := c.exec(ctx, `UPDATE merges SET state = ? WHERE id = ?`, mergeRefused, m.id); err != nil {
			return err
		}
		return c.setStatus(ctx, m.task.ID, StatusReviewing, why, NextReview)
	})
}

// finish records a merge that has landed: first that it has, then its row in
// the audit log, then the task.
func (s *Service) finish(ctx context.Context, m merge) (Merged, error) {
	if err := s.storeMerge(ctx, &m, mergeLanded); err != nil {
		return m.merged, wrap("record merge", err)
	}
	s.step("merge-append")
	if err := s.appendMerge(ctx, &m); err != nil {
		return m.merged, &Error{
			Kind: Unavailable, Code: "audit_unavailable", Err: err,
			Message: fmt.Sprintf("%s is merged as %s, but the audit log did not take the record yet", m.merged.Target, m.merged.Commit),
			Next:    "see moeca doctor, then merge again: only the record is added",
		}
	}
	s.step("merge-store")
	if err := s.storeMerge(ctx, &m, mergeDone); err != nil {
		return m.merged, wrap("record merge", err)
	}
	s.discardTrees(ctx, m.task.ID)
	s.releaseHolds(ctx, m.task)
	return m.merged, nil
}

func (s *Service) storeMerge(ctx context.Context, m *merge, state string) error {
	return s.change(ctx, func(c *change) error {
		if state == mergeLanded {
			b, err := behindOf(ctx, c, m.task.RepoID, m.merged.Target, m.worktree, m.merged.TargetOID)
			if err != nil {
				return err
			}
			m.merged.Note = b.after(m.merged)
			if err := c.storeLanding(ctx, *m); err != nil {
				return err
			}
		}
		doc, err := toJSON(m.merged)
		if err != nil {
			return err
		}
		if err := c.exec(ctx, `UPDATE merges SET state = ?, merged = ? WHERE id = ?`, state, doc, m.id); err != nil {
			return err
		}
		if state != mergeDone {
			return nil
		}
		return c.setStatus(ctx, m.task.ID, StatusDone, "merged into "+m.merged.Target, "")
	})
}

// appendMerge adds the row of a landed merge, unless a crash came between the
// row and its note in the database.
func (s *Service) appendMerge(ctx context.Context, m *merge) error {
	seq, err := s.mergeRow(*m)
	if err != nil || seq > 0 {
		m.merged.Seq = seq
		return err
	}
	detail, err := json.Marshal(map[string]string{
		"merge": m.id, "approval": m.approval.ID, "commit": m.merged.Commit, "result_tree": m.merged.Tree,
		"target": m.merged.Target, "target_oid": m.merged.TargetOID, "head": m.preview.Head, "by": m.actor,
	})
	if err != nil {
		return err
	}
	row, err := s.Ledger.Append(ctx, gatewayapi.AppendRequest{
		Kind: "merge", Actor: "person", Task: m.task.ID, Ref: m.approval.Seq, Subject: m.merged.Target, Result: "ok", Detail: detail,
	})
	m.merged.Seq = row.Seq
	return err
}

func mergeMessage(t Task, a Approval) string {
	return fmt.Sprintf("Merge task %d: %s\n\nApproved in record %d of the audit log.\n", t.Number, t.Title, a.Seq)
}

// Merged returns what the merge of a task did, or an error of kind NotFound.
func (s *Service) Merged(ctx context.Context, key string) (m Merged, err error) {
	t, err := s.Task(ctx, key)
	if err != nil {
		return Merged{}, err
	}
	err = s.DB.Read(ctx, func(tx *sql.Tx) error {
		var doc string
		err := tx.QueryRowContext(ctx, `SELECT merged FROM merges WHERE task_id = ? AND state IN (?, ?) ORDER BY at DESC LIMIT 1`, t.ID, mergeDone, mergeLanded).Scan(&doc)
		if errors.Is(err, sql.ErrNoRows) {
			return notFound("merge", key)
		}
		if err != nil {
			return err
		}
		return json.Unmarshal([]byte(doc), &m)
	})
	return m, wrap("read merge", err)
}
