package board

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"

	"moeca/internal/run"
	"moeca/internal/workflow"
)

// RunTask begins a new attempt at a task and queues its run. It returns at
// once; WaitRun waits for the end.
func (s *Service) RunTask(ctx context.Context, key string) (Run, error) {
	t, unlock, err := s.lockTask(ctx, key)
	if err != nil {
		return Run{}, err
	}
	defer unlock()
	if !canMove(t.Status, StatusQueued) {
		return Run{}, refuse(Conflict, "task_not_runnable", "wait for it, stop it, or create another task", "task %d is %s", t.Number, t.Status)
	}
	if err := s.stopGate(ctx, t.ID); err != nil {
		return Run{}, err
	}
	repo, err := s.Repo(ctx, t.RepoID)
	if err != nil {
		return Run{}, err
	}
	plan, err := s.plan(ctx, t)
	if err != nil {
		return Run{}, err
	}
	src, store, err := s.open(ctx, repo)
	if err != nil {
		return Run{}, err
	}
	base, err := src.Resolve(ctx, t.Base)
	if err != nil {
		return Run{}, baseNotFound(t.Base, repo, err)
	}
	target, err := src.Resolve(ctx, t.Target)
	if err != nil {
		return Run{}, refuse(Conflict, "target_not_found", "create the branch again, or create a task for another", "the branch %q of %s is gone", t.Target, repo.Name)
	}
	attempt, id := s.NewID(), s.NewID()
	if err := store.Hold(ctx, baseHoldOf(attempt), base); err != nil {
		return Run{}, &Error{
			Kind: Unavailable, Code: "repository_not_writable", Err: err,
			Message: fmt.Sprintf("%s could not be written", repo.Name), Next: "check the permissions and the disk; nothing was changed",
		}
	}
	if err := s.insertRun(ctx, t, attempt, id, base, target, repo, plan); err != nil {
		return Run{}, wrap("queue run", err)
	}
	if t.Attempt != nil {
		s.discardTree(ctx, t.Attempt.ID)
		s.reap()
	}
	s.admit()
	return s.Run(ctx, id)
}

func (s *Service) plan(ctx context.Context, t Task) (workflow.Plan, error) {
	p, err := s.provider(ctx, t.Provider)
	if err != nil {
		return workflow.Plan{}, err
	}
	dialect := p.Kind
	if p.Scripted || p.Kind == "custom" || p.Kind == "" {
		dialect = "anthropic" // the dialect custom and scripted upstreams speak
	}
	if dialect != "anthropic" {
		return workflow.Plan{}, refuse(Invalid, "dialect_unsupported", "choose a provider that speaks the Anthropic dialect", "provider %s speaks %s, which agents do not speak yet", p.Name, p.Kind)
	}
	plan, err := workflow.Compile(t.Template, workflow.Input{
		Title: t.Title, Detail: t.Detail, Provider: t.Provider, Model: t.Model, Dialect: dialect,
		Timeout: s.Settings.StageTimeout, Budget: s.Settings.TokensPerRun,
	})
	if err != nil {
		return workflow.Plan{}, &Error{Kind: Invalid, Code: "template_invalid", Message: err.Error(), Next: "choose another template"}
	}
	return plan, nil
}

func (s *Service) insertRun(ctx context.Context, t Task, attempt, id, base, target string, repo Repo, plan workflow.Plan) error {
	planDoc, err := toJSON(plan)
	if err != nil {
		return fmt.Errorf("encode plan: %w", err)
	}
	ci := CINone
	if repo.CI != nil {
		ci = CIPending
	}
	now := s.Now()
	return s.change(ctx, func(c *change) error {
		var number int
		if err := c.QueryRowContext(ctx, `SELECT coalesce(max(number), 0) + 1 FROM attempts WHERE task_id = ?`, t.ID).Scan(&number); err != nil {
			return err
		}
		branch := fmt.Sprintf("moeca/%d-%d", t.Number, number)
		if err := c.exec(ctx, `INSERT INTO attempts (id, task_id, number, branch, base_oid, target_oid, run_id) VALUES (?, ?, ?, ?, ?, ?, ?)`,
			attempt, t.ID, number, branch, base, target, id); err != nil {
			return err
		}
		if err := c.exec(ctx, `INSERT INTO runs (id, task_id, attempt_id, status, plan, state, created_at) VALUES (?, ?, ?, '', ?, '{}', ?)`,
			id, t.ID, attempt, planDoc, now.UnixMilli()); err != nil {
			return err
		}
		if err := c.exec(ctx, `UPDATE tasks SET attempt_id = ?, files = 0, added = 0, deleted = 0, ci = ? WHERE id = ?`, attempt, ci, t.ID); err != nil {
			return err
		}
		if err := c.setStatus(ctx, t.ID, StatusQueued, "waiting for its turn", ""); err != nil {
			return err
		}
		return c.appendRun(ctx, id, run.Event{Kind: run.EvQueued, At: now})
	})
}

// Run returns a run.
func (s *Service) Run(ctx context.Context, id string) (r Run, err error) {
	err = s.DB.Read(ctx, func(tx *sql.Tx) error {
		r, err = readRun(ctx, tx, id)
		return err
	})
	return r, wrap("read run", err)
}

// Attempts lists a task's attempts, newest first, each with its run.
func (s *Service) Attempts(ctx context.Context, key string) ([]Attempt, error) {
	all := []Attempt{}
	err := s.DB.Read(ctx, func(tx *sql.Tx) error {
		t, err := findTask(ctx, tx, key)
		if err != nil {
			return err
		}
		rows, err := tx.QueryContext(ctx, `SELECT a.id, a.number, a.branch, a.base_oid, a.target_oid, a.head_oid, a.summary, a.skipped, u.id, u.state
			FROM attempts a JOIN runs u ON u.id = a.run_id WHERE a.task_id = ? ORDER BY a.number DESC`, t.ID)
		if err != nil {
			return err
		}
		return each(rows, func() error {
			a := Attempt{TaskID: t.ID}
			var skipped, id, state string
			if err := rows.Scan(&a.ID, &a.Number, &a.Branch, &a.BaseOID, &a.Target, &a.HeadOID, &a.Summary, &skipped, &id, &state); err != nil {
				return err
			}
			var st run.State
			if err := json.Unmarshal([]byte(state), &st); err != nil {
				return err
			}
			r := runOf(id, t.ID, a.ID, st)
			a.Run = &r
			all = append(all, a)
			return json.Unmarshal([]byte(skipped), &a.Skipped)
		})
	})
	return all, wrap("list attempts", err)
}

// Logs returns lines of a run's log after a sequence, oldest first.
func (s *Service) Logs(ctx context.Context, id string, after int64, limit int) (LogPage, error) {
	page := LogPage{Lines: []LogLine{}, Next: after}
	err := s.DB.Read(ctx, func(tx *sql.Tx) error {
		_, _, st, err := readState(ctx, tx, id)
		if err != nil {
			return err
		}
		page.Ended = st.Status.Over()
		rows, err := tx.QueryContext(ctx, `SELECT seq, stage, at, event FROM run_logs WHERE run_id = ? AND seq > ? ORDER BY seq LIMIT ?`, id, after, bound(limit, 200, 2000))
		if err != nil {
			return err
		}
		return each(rows, func() error {
			var l LogLine
			var ms int64
			var doc string
			if err := rows.Scan(&l.Seq, &l.Stage, &ms, &doc); err != nil {
				return err
			}
			l.At = at(ms)
			page.Lines, page.Next = append(page.Lines, l), l.Seq
			return json.Unmarshal([]byte(doc), &page.Lines[len(page.Lines)-1].Event)
		})
	})
	return page, wrap("read log", err)
}

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
	return s.Run(ctx, id)
}

// stop ends a run, whether it waits or executes.
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
		return nil
	case <-ctx.Done():
		return fmt.Errorf("board: stop run %s: %w", id, context.Cause(ctx))
	}
}

// stopWaiting ends a run that is not executing: one that is queued where it
// waits, and one whose end could not be stored by what Recover does.
func (s *Service) stopWaiting(ctx context.Context, id string) error {
	r, err := s.Run(ctx, id)
	if err != nil {
		return err
	}
	if r.Status != StatusQueued {
		return s.recoverRun(ctx, id)
	}
	return s.change(ctx, func(c *change) error {
		return c.appendRun(ctx, id, run.Event{Kind: run.EvEnded, At: s.Now(), Status: run.Stopped, Cause: "stopped by you before it began"})
	})
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

// nextQueued returns the oldest queued run that is not executing. s.mu is held.
func (s *Service) nextQueued() (id string, err error) {
	err = s.DB.Read(s.life, func(tx *sql.Tx) error {
		rows, err := tx.QueryContext(s.life, `SELECT id FROM runs WHERE status = 'queued' ORDER BY created_at, rowid LIMIT ?`, s.Settings.MaxRuns+1)
		if err != nil {
			return err
		}
		return each(rows, func() error {
			var next string
			if err := rows.Scan(&next); err != nil {
				return err
			}
			if id == "" && s.runs[next] == nil {
				id = next
			}
			return nil
		})
	})
	return id, err
}

// execute runs one run to its end.
func (s *Service) execute(ctx context.Context, id string) {
	job, st, err := s.job(ctx, id)
	if err == nil {
		if st.Status.Over() {
			return
		}
		_, err = s.engine.Execute(ctx, job, st)
	} else {
		cause := err.Error()
		err = s.change(context.WithoutCancel(ctx), func(c *change) error {
			return c.appendRun(ctx, id, run.Event{Kind: run.EvEnded, At: s.Now(), Status: run.Failed, Cause: cause})
		})
	}
	if err != nil {
		s.Logger.Error("run not recorded; it is settled at the next start", slog.String("run", id), slog.Any("error", err))
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
		Protect: []string{t.Target},
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

// journal stores what the engine reports.
type journal struct{ s *Service }

func (j journal) Append(ctx context.Context, id string, e run.Event) error {
	return j.s.change(ctx, func(c *change) error { return c.appendRun(ctx, id, e) })
}

func (j journal) Lines(ctx context.Context, id string, lines []run.Line) error {
	stored := make([]LogLine, len(lines))
	err := j.s.DB.Write(ctx, func(tx *sql.Tx) error {
		var seq int64
		if err := tx.QueryRowContext(ctx, `SELECT coalesce(max(seq), 0) FROM run_logs WHERE run_id = ?`, id).Scan(&seq); err != nil {
			return err
		}
		for i, l := range lines {
			doc, err := toJSON(l.Event)
			if err != nil {
				return err
			}
			seq++
			if _, err := tx.ExecContext(ctx, `INSERT INTO run_logs (run_id, seq, stage, at, event) VALUES (?, ?, ?, ?, ?)`, id, seq, l.Stage, l.At.UnixMilli(), doc); err != nil {
				return err
			}
			stored[i] = LogLine{Seq: seq, Stage: l.Stage, At: at(l.At.UnixMilli()), Event: l.Event}
		}
		return nil
	})
	if err != nil {
		return wrap("store log", err)
	}
	j.s.publishLines(id, stored)
	return nil
}

var _ run.Journal = journal{}
