package board

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"log/slog"

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
	if err := s.trusted(ctx); err != nil {
		return Run{}, err
	}
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
	ctx = context.WithoutCancel(ctx) // what was begun is finished, or taken back
	if err := s.insertRun(ctx, t, attempt, id, base, target, repo, plan); err != nil {
		if e := store.Release(ctx, baseHoldOf(attempt)); e != nil {
			s.Logger.Warn("ref not released", slog.String("task", t.ID), slog.Any("error", e))
		}
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
	p, err := s.provider(ctx, t.Provider) // it may have changed since
	if err != nil {
		return workflow.Plan{}, err
	}
	if _, err := s.checkReach(ctx, t.Reach); err != nil { // a provider may be gone since
		return workflow.Plan{}, err
	}
	plan, err := workflow.Compile(t.Template, workflow.Input{
		Title: t.Title, Detail: t.Detail, Provider: t.Provider, Model: t.Model, Dialect: p.Kind,
		Timeout: s.Settings.StageTimeout, Budget: s.Settings.TokensPerRun, Reach: t.Reach,
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
