package board

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"

	"moeca/internal/run"
)

// Recover settles what a stopped host left: sandboxes are swept, sessions
// revoked, interrupted runs failed with their work kept, interrupted gates
// marked, interrupted merges finished or undone, and queued runs started. It is
// called once, before anything is served. An error means that the host's own
// parts (engine, gateway, database) did not let it settle; what was settled
// stays so, and the next start tries the rest again. A repository that is gone
// is no such error: it is told at its tasks.
func (s *Service) Recover(ctx context.Context) error {
	var errs []error
	note := func(what string, err error) {
		if err != nil {
			s.Logger.Error("not settled", slog.String("what", what), slog.Any("error", err))
			errs = append(errs, fmt.Errorf("board: recover %s: %w", what, err))
		}
	}
	err := s.sweep(ctx)
	note("sandboxes", err)
	note("sessions", s.engine.RevokeStrays(ctx, nil))
	if err == nil { // a tree is read only when nothing runs in it
		note("runs", s.recoverRuns(ctx))
	}
	note("gates", s.recoverGates(ctx))
	note("merges", s.recoverMerges(ctx))
	note("trees", s.removeLeftovers(ctx))
	s.reap()
	s.admit()
	return errors.Join(errs...)
}

// sweep removes the sandboxes of this data directory. A driver that is not in
// use and cannot be asked is no reason not to start.
func (s *Service) sweep(ctx context.Context) error {
	for _, d := range s.Others {
		if _, err := d.Sweep(ctx, s.Owner, nil); err != nil {
			s.Logger.Warn("sandboxes of another driver not swept", slog.String("driver", d.Name()), slog.Any("error", err))
		}
	}
	swept, err := s.Driver.Sweep(ctx, s.Owner, nil)
	if swept > 0 {
		s.Logger.Info("swept sandboxes", slog.Int("count", swept))
	}
	return err
}

func (s *Service) recoverRuns(ctx context.Context) error {
	ids, err := s.ids(ctx, `SELECT id FROM runs WHERE status IN ('preparing', 'running', 'waiting') ORDER BY created_at, rowid`)
	if err != nil {
		return err
	}
	var errs []error
	for _, id := range ids {
		errs = append(errs, s.recoverRun(ctx, id, run.HostStopped))
	}
	// A queued run whose task does not wait for it is never started.
	ids, err = s.ids(ctx, `SELECT u.id FROM runs u JOIN tasks t ON t.id = u.task_id
		WHERE u.status = 'queued' AND (t.status <> 'queued' OR t.attempt_id IS NOT u.attempt_id)`)
	errs = append(errs, err)
	for _, id := range ids {
		errs = append(errs, s.endUnbegun(ctx, id, result{run.Stopped, "its task did not wait for it any more"}))
	}
	return errors.Join(errs...)
}

// recoverRun ends a run that nothing executes any more, saying why.
func (s *Service) recoverRun(ctx context.Context, id, why string) error {
	job, st, err := s.job(ctx, id)
	if err == nil && st.Status.Over() {
		return nil
	}
	if err != nil {
		if e := ctx.Err(); e != nil {
			return e // a later try may open it
		}
		cause := fmt.Sprintf("%s while %s, and its repository cannot be opened: %v", why, st.Doing(), err)
		if st.Tree && st.Snapshot == nil {
			cause += "; the files are kept in " + job.Dir
		}
		return s.change(ctx, func(c *change) error {
			return c.appendRun(ctx, id, run.Event{Kind: run.EvEnded, At: s.Now(), Status: run.Failed, Cause: cause})
		})
	}
	_, err = s.engine.Recover(ctx, job, st, why)
	return err
}

func (s *Service) recoverGates(ctx context.Context) error {
	ids, err := s.ids(ctx, `SELECT id FROM checks WHERE state = 'running'`)
	if err != nil {
		return err
	}
	for _, id := range ids {
		const cause = "the host stopped while the CI gate was running; run it again"
		if err := s.change(ctx, func(c *change) error {
			var task string
			if err := c.QueryRowContext(ctx, `UPDATE checks SET state = ?, cause = ?, ended = ? WHERE id = ? RETURNING task_id`,
				CIError, cause, s.Now().UnixMilli(), id).Scan(&task); err != nil {
				return err
			}
			return c.gateEnded(ctx, task, id, CIError, cause)
		}); err != nil {
			return err
		}
	}
	return nil
}

// removeLeftovers removes trees nobody will use: those of gates, and those of
// attempts whose checkout never ended.
func (s *Service) removeLeftovers(ctx context.Context) error {
	entries, err := os.ReadDir(filepath.Join(s.Data, "trees"))
	if err != nil {
		return err
	}
	var errs []error
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), "ci-") {
			errs = append(errs, s.Repos.Discard(filepath.Join(s.Data, "trees", e.Name())))
			continue
		}
		half, err := s.ids(ctx, `SELECT u.id FROM runs u WHERE u.attempt_id = ? AND u.status IN ('failed', 'stopped')
			AND json_extract(u.state, '$.tree') IS NOT 1`, e.Name())
		if err != nil {
			return err
		}
		if len(half) > 0 {
			errs = append(errs, s.Repos.Discard(filepath.Join(s.Data, "trees", e.Name())))
		}
	}
	return errors.Join(errs...)
}

func (s *Service) ids(ctx context.Context, query string, args ...any) (ids []string, err error) {
	err = s.DB.Read(ctx, func(tx *sql.Tx) error {
		rows, err := tx.QueryContext(ctx, query, args...)
		if err != nil {
			return err
		}
		return each(rows, func() error {
			var id string
			err := rows.Scan(&id)
			ids = append(ids, id)
			return err
		})
	})
	return ids, err
}

// shellWord quotes a word for a command a person may paste.
func shellWord(w string) string {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("/._-+:@%", r)
	}
	if w != "" && strings.TrimFunc(w, plain) == "" {
		return w
	}
	return "'" + strings.ReplaceAll(w, "'", `'\''`) + "'"
}
