package board

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"

	"moeca/internal/ci"
	"moeca/internal/gateway/gatewayapi"
	"moeca/internal/git"
	"moeca/internal/run"
)

// RunCI starts the repository's gate on the task's result tree and returns the
// result so far, which is running. WaitCI waits for the end. A gate that is
// running on the same result is joined, one on another is ended first.
func (s *Service) RunCI(ctx context.Context, key string) (CI, error) {
	t, unlock, err := s.lockTask(ctx, key)
	if err != nil {
		return CI{}, err
	}
	defer unlock()
	f, err := s.look(ctx, t)
	if err != nil {
		return CI{}, err
	}
	if err := f.checkable(); err != nil {
		return CI{}, err
	}
	if f.review.CI.State == CIRunning {
		return f.review.CI, nil
	}
	if err := s.stopGate(ctx, t.ID); err != nil {
		return CI{}, err
	}
	if s.life.Err() != nil {
		return CI{}, refuse(Unavailable, "shutting_down", "start moeca again", "the host is shutting down")
	}
	id := s.NewID()
	p := f.review.Preview
	err = s.change(ctx, func(c *change) error {
		if err := c.exec(ctx, `INSERT INTO checks (id, task_id, state, result_tree, target_oid, head, gate_hash, started) VALUES (?, ?, ?, ?, ?, ?, ?, ?)`,
			id, t.ID, CIRunning, p.ResultTree, p.TargetOID, p.Head, f.gateHash, s.Now().UnixMilli()); err != nil {
			return err
		}
		return c.setCI(ctx, t.ID, CIRunning, "the CI gate is running", "")
	})
	if err != nil {
		return CI{}, wrap("start gate", err)
	}
	s.startGate(t, id, f)
	return s.checkOf(ctx, t.ID)
}

// checkable says why a gate cannot run on what the facts show.
func (f *facts) checkable() error {
	switch {
	case f.repo.CI == nil:
		return refuse(Conflict, "ci_none", "set a CI gate for the repository, or approve without one", "%s has no CI gate", f.repo.Name)
	case f.task.Status != StatusReviewing:
		return refuse(Conflict, "task_not_reviewing", "run the task first", "task %d is %s", f.task.Number, f.task.Status)
	case f.gone:
		return refuse(Conflict, "target_gone", "create the branch again, or cancel the task", "the branch %q of %s is gone", f.task.Target, f.repo.Name)
	case len(f.review.Preview.Conflicts) > 0:
		return refuse(Conflict, "conflict", "resolve the conflict or run the task again", "the work does not merge into %s: %s", f.task.Target, paths(f.review.Preview.Conflicts))
	case f.review.Preview.UpToDate || f.review.Preview.ResultTree == "":
		return refuse(Conflict, "nothing_to_merge", "run the task again", "task %d changes nothing in %s", f.task.Number, f.task.Target)
	}
	return nil
}

func (s *Service) startGate(t Task, id string, f *facts) {
	ctx, cancel := context.WithCancelCause(s.life)
	a := &active{ctx: ctx, cancel: cancel, done: make(chan struct{})}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed { // recovered as interrupted at the next start
		cancel(nil)
		return
	}
	s.gates[t.ID] = a
	s.bg.Go(func() {
		defer func() {
			cancel(nil)
			s.mu.Lock()
			if s.gates[t.ID] == a {
				delete(s.gates, t.ID)
			}
			s.mu.Unlock()
			close(a.done)
		}()
		p := f.review.Preview
		res := s.checks.Run(ctx, ci.Request{
			ID: id, Task: t.ID, Trees: f.store, Dir: filepath.Join(s.Data, "trees", "ci-"+id),
			LogFile: filepath.Join(s.Data, "logs", id+".log"),
			Result:  p.ResultTree, Base: p.TargetOID, Gate: ci.Gate(*f.repo.CI),
		})
		if err := s.recordGate(context.WithoutCancel(ctx), t, id, p, f.gateHash, res); err != nil {
			s.Logger.Error("gate result not recorded", slog.String("task", t.ID), slog.Any("error", err))
		}
	})
}

// recordGate puts the result into the audit log and then into the database. A
// result that the log did not take does not count.
func (s *Service) recordGate(ctx context.Context, t Task, id string, p git.Preview, gateHash string, res ci.Result) error {
	state, cause := ciState(res), res.Cause
	detail, err := toJSON(map[string]any{
		"id": id, "verdict": res.Verdict, "cause": res.Cause, "result_tree": p.ResultTree, "target_oid": p.TargetOID, "head": p.Head,
		"gate_hash": gateHash, "image_digest": res.Digest, "exit_code": res.ExitCode, "changed_gate_files": bounded(res.Changed),
	})
	if err != nil {
		return fmt.Errorf("board: encode gate result: %w", err)
	}
	row, err := s.Ledger.Append(ctx, gatewayapi.AppendRequest{
		Kind: "ci", Actor: "host", Task: t.ID, Run: id, Subject: t.Target, Result: string(state), Detail: []byte(detail),
	})
	if err != nil {
		state, cause = CIError, "the audit log did not take the result, so it does not count: "+err.Error()
	}
	changed, err := toJSON(nonNil(res.Changed))
	if err != nil {
		return fmt.Errorf("board: encode gate result: %w", err)
	}
	store := func(ctx context.Context) error { return s.storeGate(ctx, t, id, row.Seq, state, cause, changed, res) }
	if err := store(ctx); err != nil {
		s.owe(store)
		return err
	}
	return nil
}

// storeGate puts a result that is in the log into the database. A task that is
// gone by then needs none.
func (s *Service) storeGate(ctx context.Context, t Task, id string, seq int64, state CIState, cause, changed string, res ci.Result) error {
	return s.change(ctx, func(c *change) error {
		if err := c.exec(ctx, `UPDATE checks SET state = ?, digest = ?, exit_code = ?, cause = ?, changed = ?, log = ?, log_cut = ?, seq = ?, ended = ? WHERE id = ?`,
			state, res.Digest, res.ExitCode, cause, changed, res.Log, res.LogCut, seq, s.Now().UnixMilli(), id); err != nil {
			return err
		}
		return c.gateEnded(ctx, t.ID, id, state, cause)
	})
}

func ciState(res ci.Result) CIState {
	switch {
	case res.Verdict == ci.Passed && len(res.Changed) > 0:
		return CIPassedDrift
	case res.Verdict == ci.Passed:
		return CIPassed
	case res.Verdict == ci.Failed:
		return CIFailed
	}
	return CIError
}

// gateEnded updates the task if the result is its newest and it still waits.
func (c *change) gateEnded(ctx context.Context, task, id string, state CIState, cause string) error {
	newest, err := readCheck(ctx, c, task)
	if err != nil || newest == nil || newest.ID != id {
		return err
	}
	switch state {
	case CIPassed:
		return c.setCI(ctx, task, state, "the CI gate passed; ready for your approval", NextApprove)
	case CIPassedDrift:
		return c.setCI(ctx, task, state, "the CI gate passed, but the work changes files the gate depends on", NextReview)
	default:
		return c.setCI(ctx, task, state, cause, NextCI)
	}
}

// setCI stores the gate's state on the card. Cause and next step are the task's
// own while it waits for review.
func (c *change) setCI(ctx context.Context, task string, state CIState, cause, next string) error {
	c.taskChanged(task)
	if err := c.exec(ctx, `UPDATE tasks SET ci = ?, version = version + 1, updated_at = ? WHERE id = ?`, state, c.s.Now().UnixMilli(), task); err != nil {
		return err
	}
	return c.exec(ctx, `UPDATE tasks SET cause = ?, next_step = ? WHERE id = ? AND status = ?`, cause, next, task, StatusReviewing)
}

// gateChanged makes what earlier gates said of open tasks stale.
func (c *change) gateChanged(ctx context.Context, repo string, gate *Gate) error {
	rows, err := c.QueryContext(ctx, `SELECT id, ci FROM tasks WHERE repo_id = ? AND status NOT IN ('done', 'cancelled')`, repo)
	if err != nil {
		return err
	}
	now := map[string]CIState{}
	if err := each(rows, func() error {
		var id string
		var was CIState
		err := rows.Scan(&id, &was)
		switch {
		case gate == nil:
			now[id] = CINone
		case was == CINone || was == CIPending:
			now[id] = CIPending
		default:
			now[id] = CIStale
		}
		return err
	}); err != nil {
		return err
	}
	for id, state := range now {
		cause, next := "the CI gate changed; run it again", NextCI
		if gate == nil {
			cause, next = "ready for your review; no CI gate is configured", NextReview
		}
		if err := c.setCI(ctx, id, state, cause, next); err != nil {
			return err
		}
	}
	return nil
}

// checkOf returns the newest gate result of a task as stored.
func (s *Service) checkOf(ctx context.Context, task string) (CI, error) {
	c := &CI{State: CINone}
	err := s.DB.Read(ctx, func(tx *sql.Tx) error {
		got, err := readCheck(ctx, tx, task)
		if got != nil {
			c = got
		}
		return err
	})
	return *c, wrap("read gate result", err)
}

// CI returns the state of the gate for the task as it is now: a stored result
// that was made for something else is stale.
func (s *Service) CI(ctx context.Context, key string) (CI, error) {
	r, err := s.Review(ctx, key)
	return r.CI, err
}

// stopGate ends a running gate of the task and waits for it.
func (s *Service) stopGate(ctx context.Context, task string) error {
	s.mu.Lock()
	a := s.gates[task]
	s.mu.Unlock()
	if a == nil {
		return nil
	}
	a.cancel(run.ErrStopped)
	select {
	case <-a.done:
		return nil
	case <-ctx.Done():
		return errors.Join(errors.New("board: stop gate"), context.Cause(ctx))
	}
}
