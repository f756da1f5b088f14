package board

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"log/slog"
)

// recoverMerges settles merges a crash interrupted: either the target moved to
// exactly the approved result, then the rest is done, or nothing happened.
func (s *Service) recoverMerges(ctx context.Context) error {
	open, err := s.openMerges(ctx)
	if err != nil {
		return wrap("read merges", err)
	}
	var errs []error
	for _, m := range open {
		_, err := s.settleMerge(ctx, m)
		switch {
		case err == nil || CodeOf(err) == "not_merged":
		case KindOf(err) == Unavailable:
			s.Logger.Error("merge not settled", slog.String("task", m.task.ID), slog.Any("error", err))
			errs = append(errs, s.explainMerge(ctx, m, err))
		default:
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// settleMerge finishes or undoes one merge. Nothing is decided while the
// repository or the log cannot be asked.
func (s *Service) settleMerge(ctx context.Context, m merge) (Merged, error) {
	repo, err := s.Repo(ctx, m.task.RepoID)
	if err != nil {
		return Merged{}, err
	}
	src, store, err := s.open(ctx, repo)
	if err != nil {
		return Merged{}, err
	}
	commit := m.merged.Commit
	if m.state == mergeIntended {
		if commit, err = store.Landed(ctx, m.preview); err != nil {
			return Merged{}, err
		}
	}
	if commit == "" {
		const why = "the host stopped before the merge; nothing was merged"
		if err := s.backToReview(ctx, m, why); err != nil {
			return Merged{}, err
		}
		return Merged{}, refuse(Conflict, "not_merged", "merge again", why)
	}
	if m.worktree, err = src.CheckedOut(ctx, m.preview.Target); err != nil {
		return Merged{}, err
	}
	m.merged.Commit = commit
	return s.finish(ctx, m)
}

// explainMerge says on the card why a merge hangs.
func (s *Service) explainMerge(ctx context.Context, m merge, why error) error {
	return s.change(ctx, func(c *change) error {
		c.taskChanged(m.task.ID)
		return c.exec(ctx, `UPDATE tasks SET cause = ?, next_step = ?, version = version + 1, updated_at = ? WHERE id = ?`,
			"the merge is not settled: "+why.Error(), NextMerge, s.Now().UnixMilli(), m.task.ID)
	})
}

// resume settles the merge of a task that hangs in merging, because the log or
// the repository could not be reached.
func (s *Service) resume(ctx context.Context, t Task) (Merged, error) {
	open, err := s.openMerges(ctx)
	if err != nil {
		return Merged{}, wrap("read merges", err)
	}
	for _, m := range open {
		if m.task.ID == t.ID {
			return s.settleMerge(context.WithoutCancel(ctx), m)
		}
	}
	return Merged{}, locked("merge_locked", []Blocker{{"merging", "the task is being merged"}})
}

func (s *Service) openMerges(ctx context.Context) ([]merge, error) {
	var all []merge
	err := s.DB.Read(ctx, func(tx *sql.Tx) error {
		rows, err := tx.QueryContext(ctx, `SELECT m.id, m.task_id, m.state, m.actor, m.preview, m.merged, a.id, a.seq
			FROM merges m JOIN approvals a ON a.id = m.approval_id WHERE m.state IN (?, ?) ORDER BY m.at`, mergeIntended, mergeLanded)
		if err != nil {
			return err
		}
		if err := each(rows, func() error {
			var m merge
			var preview, merged string
			if err := rows.Scan(&m.id, &m.task.ID, &m.state, &m.actor, &preview, &merged, &m.approval.ID, &m.approval.Seq); err != nil {
				return err
			}
			err := errors.Join(json.Unmarshal([]byte(preview), &m.preview), json.Unmarshal([]byte(merged), &m.merged))
			all = append(all, m)
			return err
		}); err != nil {
			return err
		}
		for i := range all {
			if all[i].task, err = readTask(ctx, tx, all[i].task.ID); err != nil {
				return err
			}
		}
		return nil
	})
	return all, err
}
