package board

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"

	"moeca/internal/pubsub"
)

// change is one write transaction and the events it causes.
type change struct {
	*sql.Tx
	s      *Service
	events []pubsub.Event
	tasks  []string // changed tasks, told once each at the end
	runs   []string
}

// change runs fn in the write transaction. The events fn causes are stored in
// it and published after it, in the order of their sequence.
func (s *Service) change(ctx context.Context, fn func(*change) error) error {
	s.publish.Lock()
	defer s.publish.Unlock()
	c := &change{s: s}
	err := s.DB.Write(ctx, func(tx *sql.Tx) error {
		c.Tx = tx
		if err := fn(c); err != nil {
			return err
		}
		return c.tell(ctx)
	})
	if full := diskFull(err); full != nil {
		return full
	}
	if err != nil {
		return err
	}
	for _, e := range c.events {
		s.Bus.Publish(e)
	}
	return nil
}

func (c *change) exec(ctx context.Context, query string, args ...any) error {
	_, err := c.ExecContext(ctx, query, args...)
	return err
}

func (c *change) taskChanged(id string) { c.tasks = appendNew(c.tasks, id) }
func (c *change) runChanged(id string)  { c.runs = appendNew(c.runs, id) }

func appendNew(ids []string, id string) []string {
	for _, have := range ids {
		if have == id {
			return ids
		}
	}
	return append(ids, id)
}

// tell reads what changed as it is now and stores its events.
func (c *change) tell(ctx context.Context) error {
	for _, id := range c.runs {
		r, err := readRun(ctx, c.Tx, id)
		if err != nil {
			return err
		}
		if err := c.event(ctx, RunTopic(id), EventRunChanged, id, r); err != nil {
			return err
		}
	}
	for _, id := range c.tasks {
		t, err := readTask(ctx, c.Tx, id)
		if err != nil {
			return err
		}
		if err := c.event(ctx, TopicTasks, EventTaskChanged, id, t); err != nil {
			return err
		}
	}
	return nil
}

// event stores one event; it is published after the commit.
func (c *change) event(ctx context.Context, topic, kind, id string, data any) error {
	doc, err := json.Marshal(data)
	if err != nil {
		return fmt.Errorf("board: encode event: %w", err)
	}
	res, err := c.ExecContext(ctx, `INSERT INTO events (topic, kind, id, data, at) VALUES (?, ?, ?, ?, ?)`,
		topic, kind, id, string(doc), c.s.Now().UnixMilli())
	if err != nil {
		return fmt.Errorf("board: store event: %w", err)
	}
	seq, err := res.LastInsertId()
	if err != nil {
		return fmt.Errorf("board: store event: %w", err)
	}
	if seq%256 == 0 {
		if err := c.exec(ctx, `DELETE FROM events WHERE seq <= ?`, seq-c.s.Settings.EventsKept); err != nil {
			return fmt.Errorf("board: prune events: %w", err)
		}
	}
	c.events = append(c.events, pubsub.Event{Seq: seq, Topic: topic, Kind: kind, ID: id, Data: json.RawMessage(doc)})
	return nil
}

// EventsAfter returns stored events with a sequence above seq, oldest first.
func (s *Service) EventsAfter(ctx context.Context, seq int64, limit int) (EventPage, error) {
	page := EventPage{Events: []pubsub.Event{}}
	err := s.DB.Read(ctx, func(tx *sql.Tx) error {
		var first sql.NullInt64
		if err := tx.QueryRowContext(ctx, `SELECT min(seq), coalesce((SELECT seq FROM sqlite_sequence WHERE name = 'events'), 0) FROM events`).Scan(&first, &page.Last); err != nil {
			return err
		}
		page.Resync = seq > page.Last || seq+1 < first.Int64 || !first.Valid && seq < page.Last
		rows, err := tx.QueryContext(ctx, `SELECT seq, topic, kind, id, data FROM events WHERE seq > ? ORDER BY seq LIMIT ?`, seq, bound(limit, 500, 1000))
		if err != nil {
			return err
		}
		return each(rows, func() error {
			var e pubsub.Event
			var data string
			if err := rows.Scan(&e.Seq, &e.Topic, &e.Kind, &e.ID, &data); err != nil {
				return err
			}
			e.Data = json.RawMessage(data)
			page.Events = append(page.Events, e)
			return nil
		})
	})
	if err != nil {
		return EventPage{}, fmt.Errorf("board: read events: %w", err)
	}
	return page, nil
}

func bound(n, standard, most int) int {
	if n <= 0 {
		return standard
	}
	return min(n, most)
}
