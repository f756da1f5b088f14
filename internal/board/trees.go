package board

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"log/slog"
	"os"

	"moeca/internal/run"
)

// discardTrees removes the trees of a closed task.
func (s *Service) discardTrees(ctx context.Context, task string) {
	all, err := s.Attempts(ctx, task)
	if err != nil {
		s.Logger.Error("trees not removed", slog.String("task", task), slog.Any("error", err))
		return
	}
	for _, a := range all {
		s.discardTree(ctx, a.ID)
	}
	s.reap()
}

// releaseHolds drops the refs that kept a task's commits: the target or the
// attempts' branches hold what there is. One that stays does no harm.
func (s *Service) releaseHolds(ctx context.Context, t Task) {
	all, err := s.Attempts(ctx, t.ID)
	if err == nil && len(all) > 0 {
		var repo Repo
		var store Store
		if repo, err = s.Repo(ctx, t.RepoID); err == nil {
			_, store, err = s.open(ctx, repo)
		}
		for _, a := range all {
			if err == nil {
				err = errors.Join(store.Release(ctx, holdOf(a.ID)), store.Release(ctx, baseHoldOf(a.ID)))
			}
		}
	}
	if err != nil {
		s.Logger.Warn("refs not released", slog.String("task", t.ID), slog.Any("error", err))
	}
}

// Names below refs/moeca/ that keep an attempt's result and base.
func holdOf(attempt string) string     { return "attempt/" + attempt }
func baseHoldOf(attempt string) string { return "base/" + attempt }

// reap deletes discarded trees in the background.
func (s *Service) reap() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return
	}
	s.bg.Go(func() {
		if err := s.Repos.Reap(s.life); err != nil && s.life.Err() == nil {
			s.Logger.Warn("discarded trees not deleted", slog.Any("error", err))
		}
	})
}

// discardTree removes an attempt's tree unless it is the only copy of its work.
func (s *Service) discardTree(ctx context.Context, attempt string) {
	dir := s.treeDir(attempt)
	if _, err := os.Lstat(dir); err != nil {
		return
	}
	var state string
	err := s.DB.Read(ctx, func(tx *sql.Tx) error {
		return tx.QueryRowContext(ctx, `SELECT state FROM runs WHERE attempt_id = ? ORDER BY created_at DESC LIMIT 1`, attempt).Scan(&state)
	})
	var st run.State
	if err == nil {
		err = json.Unmarshal([]byte(state), &st)
	}
	if err == nil && (st.Snapshot != nil || !st.Tree) {
		err = errors.Join(s.Repos.Discard(dir), os.RemoveAll(s.cacheFile(attempt)))
	}
	if err != nil {
		s.Logger.Error("tree not removed", slog.String("attempt", attempt), slog.Any("error", err))
	}
}
