package board

import (
	"context"
	"fmt"

	"moeca/internal/pubsub"
	"moeca/internal/run"
)

// appendRun appends an event of a run and brings everything that follows from
// it up to date: the run's state, its attempt, its task.
func (c *change) appendRun(ctx context.Context, id string, e run.Event) error {
	task, attempt, st, err := readState(ctx, c, id)
	if err != nil {
		return err
	}
	e.At = e.At.UTC()
	doc, err := toJSON(e)
	if err != nil {
		return fmt.Errorf("board: encode event of run %s: %w", id, err)
	}
	if err := c.exec(ctx, `INSERT INTO run_events (run_id, seq, kind, at, data)
		SELECT ?1, coalesce(max(seq), 0) + 1, ?2, ?3, ?4 FROM run_events WHERE run_id = ?1`, id, e.Kind, e.At.UnixNano(), doc); err != nil {
		return fmt.Errorf("board: store event of run %s: %w", id, err)
	}
	over := st.Status.Over()
	st = run.Fold(st, e)
	state, err := toJSON(st)
	if err != nil {
		return fmt.Errorf("board: encode state of run %s: %w", id, err)
	}
	if err := c.exec(ctx, `UPDATE runs SET status = ?, state = ? WHERE id = ?`, st.Status, state, id); err != nil {
		return err
	}
	c.runChanged(id)
	if err := c.exec(ctx, `UPDATE tasks SET (tokens, cost) = (SELECT coalesce(sum(json_extract(g.value, '$.tokens')), 0), coalesce(sum(json_extract(g.value, '$.cost_nano')), 0)
		FROM runs u, json_each(u.state, '$.stages') g WHERE u.task_id = tasks.id) WHERE id = ?`, task); err != nil {
		return err
	}
	c.taskChanged(task)
	if over {
		return nil
	}
	if err := c.follow(ctx, task, attempt, e, st); err != nil || e.Kind != run.EvReleased {
		return err
	}
	return c.released(ctx, id)
}

// follow moves attempt and task after a run's event. A closed task stays so.
func (c *change) follow(ctx context.Context, task, attempt string, e run.Event, st run.State) error {
	t, err := readTask(ctx, c, task)
	if err != nil {
		return err
	}
	if t.Attempt == nil || t.Attempt.ID != attempt || t.Status.closed() {
		return nil
	}
	switch e.Kind {
	case run.EvPreparing:
		if t.Status == StatusQueued {
			return c.setStatus(ctx, task, StatusPreparing, "preparing the tree and the sandbox", "")
		}
	case run.EvReleased:
		if t.Status == StatusPreparing {
			return c.setStatus(ctx, task, StatusRunning, "the agent is working", "")
		}
	case run.EvWaiting:
		if t.Status == StatusRunning || t.Status == StatusWaiting {
			return c.setStatus(ctx, task, StatusWaiting, st.Cause, NextAnswer)
		}
	case run.EvResumed, run.EvExited:
		if t.Status == StatusWaiting {
			return c.setStatus(ctx, task, StatusRunning, "the agent is working", "")
		}
	case run.EvSnapshot:
		return c.keepSnapshot(ctx, task, attempt, *st.Snapshot)
	case run.EvEnded:
		return c.endTask(ctx, t, attempt, st)
	}
	return nil
}

func (c *change) keepSnapshot(ctx context.Context, task, attempt string, s run.Snapshot) error {
	skipped, err := toJSON(nonNil(s.Skipped))
	if err != nil {
		return fmt.Errorf("board: encode skipped paths: %w", err)
	}
	if err := c.exec(ctx, `UPDATE attempts SET head_oid = ?, skipped = ?, branch = CASE WHEN ? = '' THEN branch ELSE ? END WHERE id = ?`,
		s.Head, skipped, s.Branch, s.Branch, attempt); err != nil {
		return err
	}
	return c.exec(ctx, `UPDATE tasks SET files = ?, added = ?, deleted = ? WHERE id = ?`, s.Files, s.Added, s.Deleted, task)
}

func (c *change) endTask(ctx context.Context, t Task, attempt string, st run.State) error {
	if err := c.exec(ctx, `UPDATE attempts SET summary = ? WHERE id = ?`, st.Summary, attempt); err != nil {
		return err
	}
	switch {
	case st.Status != run.Done:
		return c.setStatus(ctx, t.ID, StatusFailed, st.Cause, NextRetry)
	case st.Snapshot == nil || !st.Snapshot.Changed:
		return c.setStatus(ctx, t.ID, StatusReviewing, "the agent changed nothing", NextRetry)
	case t.CI == CINone:
		return c.setStatus(ctx, t.ID, StatusReviewing, "ready for your review; no CI gate is configured", NextReview)
	default:
		return c.setStatus(ctx, t.ID, StatusReviewing, "ready for your review; the CI gate has not run", NextCI)
	}
}

// publishLines tells subscribers of new log lines. They are not stored as
// events; Logs has them.
func (s *Service) publishLines(id string, lines []LogLine) {
	for _, l := range lines {
		s.Bus.Publish(pubsub.Event{Topic: RunTopic(id), Kind: EventLog, ID: id, Data: l})
	}
}
