package board

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"

	"moeca/internal/run"
	"moeca/internal/workflow"
)

// StopRun ends a queued or executing run and waits until its work is kept.
func (s *Service) StopRun(ctx context.Context, id string) (Run, error) {
	r, err := s.Run(ctx, id)
	if err != nil {
		return Run{}, err
	}
	if run.Status(r.Status).Over() {
		return Run{}, refuse(Conflict, "run_over", "nothing is to be done", "the run is over: %s", r.Status)
	}
	if err := s.stop(ctx, id); err != nil {
		return Run{}, err
	}
	return s.Run(context.WithoutCancel(ctx), id)
}

// stop ends a run, whether it waits or executes. It answers nil only when the
// run is stored as over: nothing starts it again.
func (s *Service) stop(ctx context.Context, id string) error {
	s.mu.Lock()
	a := s.runs[id]
	s.mu.Unlock()
	if a == nil {
		err := s.stopWaiting(ctx, id)
		// admit may have taken it in this moment.
		s.mu.Lock()
		a = s.runs[id]
		s.mu.Unlock()
		if a == nil || err != nil {
			return wrap("stop run", err)
		}
	}
	a.cancel(run.ErrStopped)
	select {
	case <-a.done:
	case <-ctx.Done():
		return fmt.Errorf("board: stop run %s: %w", id, context.Cause(ctx))
	}
	r, err := s.Run(context.WithoutCancel(ctx), id)
	if err != nil {
		return err
	}
	if !run.Status(r.Status).Over() {
		return wrap("stop run", s.stopWaiting(ctx, id))
	}
	return nil
}

// stopWaiting ends a run that is not executing: one that is queued where it
// waits, and one whose end could not be stored by what Recover does.
func (s *Service) stopWaiting(ctx context.Context, id string) error {
	r, err := s.Run(ctx, id)
	switch {
	case err != nil:
		return err
	case run.Status(r.Status).Over():
		return nil
	case r.Status != StatusQueued || s.isOwed(id):
		return s.settleOwed(ctx, id)
	}
	return s.endUnbegun(ctx, id, result{run.Stopped, "stopped by you before it began"})
}

func (s *Service) isOwed(run string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, owed := s.owed[run]
	return owed
}

// result is how a run ended that no sandbox was made for.
type result struct {
	status run.Status
	cause  string
}

func (s *Service) endUnbegun(ctx context.Context, id string, r result) error {
	return s.change(ctx, func(c *change) error { return c.appendRun(ctx, id, s.ending(r)) })
}

func (s *Service) ending(r result) run.Event {
	return run.Event{Kind: run.EvEnded, At: s.Now(), Status: r.status, Cause: r.cause}
}

// WaitRun waits until a run is over, or ctx.
func (s *Service) WaitRun(ctx context.Context, id string) (Run, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	changed := s.Bus.Subscribe(ctx, RunTopic(id))
	for {
		r, err := s.Run(ctx, id)
		if err != nil || run.Status(r.Status).Over() {
			return r, err
		}
		for log := true; log; {
			e, open := <-changed
			if !open {
				return r, fmt.Errorf("board: wait for run %s: %w", id, context.Cause(ctx))
			}
			log = e.Kind == EventLog
		}
	}
}

// admit starts queued runs, oldest first, while there is room.
func (s *Service) admit() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for !s.closed && len(s.runs) < s.Settings.MaxRuns {
		id, err := s.nextQueued()
		if err != nil {
			s.Logger.Error("queued runs not read", slog.Any("error", err))
			return
		}
		if id == "" {
			return
		}
		ctx, cancel := context.WithCancelCause(s.life)
		a := &active{ctx: ctx, cancel: cancel, done: make(chan struct{})}
		s.runs[id] = a
		s.bg.Go(func() {
			defer func() {
				cancel(nil)
				s.mu.Lock()
				delete(s.runs, id)
				s.mu.Unlock()
				close(a.done)
				s.admit()
			}()
			s.execute(ctx, id)
		})
	}
}

// nextQueued returns the oldest queued run that is not executing and whose task
// waits for exactly it. s.mu is held.
func (s *Service) nextQueued() (id string, err error) {
	err = s.DB.Read(s.life, func(tx *sql.Tx) error {
		rows, err := tx.QueryContext(s.life, `SELECT u.id FROM runs u JOIN tasks t ON t.id = u.task_id AND t.attempt_id = u.attempt_id
			WHERE u.status = 'queued' AND t.status = 'queued' ORDER BY u.created_at, u.rowid LIMIT ?`, s.Settings.MaxRuns+1+len(s.owed))
		if err != nil {
			return err
		}
		return each(rows, func() error {
			var next string
			if err := rows.Scan(&next); err != nil {
				return err
			}
			if _, owed := s.owed[next]; id == "" && s.runs[next] == nil && !owed {
				id = next
			}
			return nil
		})
	})
	return id, err
}

// execute runs one run to its end. What happened is recorded also when ctx has
// ended: only the work obeys it.
func (s *Service) execute(ctx context.Context, id string) {
	s.step("job")
	job, st, err := s.job(ctx, id)
	if err == nil && !st.Status.Over() {
		err = s.grantRepositories(ctx, &job)
	}
	switch {
	case err == nil && st.Status.Over():
		return
	case err == nil:
		s.step("execute")
		_, err = s.engine.Execute(ctx, job, st)
	case errors.Is(context.Cause(ctx), run.ErrShutdown):
		return // it waits for the next start
	default:
		why := result{run.Failed, err.Error()}
		if errors.Is(context.Cause(ctx), run.ErrStopped) {
			why = result{run.Stopped, "stopped by you before it began"}
		}
		if err = s.endUnbegun(context.WithoutCancel(ctx), id, why); err == nil {
			return
		}
		err = &run.UnrecordedError{Run: id, Event: s.ending(why), Err: err}
	}
	if err != nil {
		s.oweRun(id, err)
		return
	}
	s.afterRun(ctx, id)
}

// job gathers what a stored run needs to be executed or recovered.
func (s *Service) job(ctx context.Context, id string) (run.Job, run.State, error) {
	var t Task
	var att Attempt
	var st run.State
	var plan workflow.Plan
	err := s.DB.Read(ctx, func(tx *sql.Tx) error {
		taskID, attempt, state, err := readState(ctx, tx, id)
		if err != nil {
			return err
		}
		st = state
		var doc string
		if err := tx.QueryRowContext(ctx, `SELECT u.plan, a.id, a.number, a.branch, a.base_oid FROM runs u JOIN attempts a ON a.id = ? WHERE u.id = ?`, attempt, id).
			Scan(&doc, &att.ID, &att.Number, &att.Branch, &att.BaseOID); err != nil {
			return err
		}
		if t, err = readTask(ctx, tx, taskID); err != nil {
			return err
		}
		return json.Unmarshal([]byte(doc), &plan)
	})
	if err != nil {
		return run.Job{}, st, wrap("read run", err)
	}
	job := run.Job{
		Run: id, Task: t.ID, Plan: plan, Dir: s.treeDir(att.ID), Cache: s.cacheFile(att.ID),
		Base: att.BaseOID, Branch: att.Branch, Hold: holdOf(att.ID),
		Message: fmt.Sprintf("%s\n\nTask %d, attempt %d.\n", t.Title, t.Number, att.Number),
		Protect: []string{t.Target}, RunBudget: t.RunBudget, TaskBudget: t.Budget,
	}
	repo, err := s.Repo(ctx, t.RepoID)
	if err != nil {
		return job, st, err
	}
	_, job.Trees, err = s.open(ctx, repo)
	return job, st, err
}

// afterRun starts the gate on a result, where that is wished.
func (s *Service) afterRun(ctx context.Context, id string) {
	if !s.Settings.AutoCI || ctx.Err() != nil {
		return
	}
	r, err := s.Run(ctx, id)
	if err != nil || r.Status != StatusDone {
		return
	}
	if _, err := s.RunCI(ctx, r.TaskID); err != nil && CodeOf(err) != "ci_none" && CodeOf(err) != "nothing_to_merge" {
		s.Logger.Warn("gate not started", slog.String("task", r.TaskID), slog.Any("error", err))
	}
}

// halt stops a task's run and gate.
func (s *Service) halt(ctx context.Context, t Task) error {
	if err := s.stopGate(ctx, t.ID); err != nil {
		return err
	}
	if t.Attempt != nil && t.Attempt.Run != nil && !run.Status(t.Attempt.Run.Status).Over() {
		return s.stop(ctx, t.Attempt.Run.ID)
	}
	return nil
}
