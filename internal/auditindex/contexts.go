package auditindex

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"time"
)

// Span is a group of calls in time.
type Span struct {
	First    int64     `json:"first"` // row
	Last     int64     `json:"last"`  // row
	Began    time.Time `json:"began"`
	Ended    time.Time `json:"ended"`
	Sessions int64     `json:"sessions"`
	Totals
}

// Context is what a task caused; Task is empty for calls of none.
type Context struct {
	Task   string `json:"task"`
	Runs   int64  `json:"runs"`
	Stages int64  `json:"stages"`
	Span
}

// Stage is what a stage of a run caused.
type Stage struct {
	Task     string `json:"task"`
	Run      string `json:"run"`
	Stage    string `json:"stage"`
	Agent    string `json:"agent"`
	Template string `json:"template"`
	Span
	Nodes []Node `json:"nodes"`
}

// Node is a session's work in a stage: a sandbox.
type Node struct {
	Session  string    `json:"session"`
	Parent   string    `json:"parent,omitempty"` // session of the parent sandbox
	Agent    string    `json:"agent,omitempty"`
	Template string    `json:"template,omitempty"`
	First    int64     `json:"first"`
	Last     int64     `json:"last"`
	Began    time.Time `json:"began"`
	Ended    time.Time `json:"ended"`
}

// callSums are the sums of totalColumns over calls.
const callSums = `coalesce(sum(state <> 3), 0), coalesce(sum(state = 0), 0), coalesce(sum(state = 2), 0),
	coalesce(sum(CASE state WHEN 3 THEN count ELSE 0 END), 0), coalesce(sum(flags & 16 > 0), 0),
	coalesce(sum(tools), 0), coalesce(sum(input), 0), coalesce(sum(output), 0), coalesce(sum(cache_read), 0), coalesce(sum(cache_write), 0),
	coalesce(sum(reasoning), 0), coalesce(sum(searches), 0), coalesce(sum(cost), 0), coalesce(sum(duration), 0),
	coalesce(sum(bytes_in), 0), coalesce(sum(bytes_out), 0)`

// spanColumns are the columns of a Span over calls.
const spanColumns = `min(seq), max(max(seq, outcome)), min(at), max(at + duration * 1000), count(DISTINCT nullif(session, '')), ` + callSums

// scanSpan reads spanColumns behind other columns.
func (s *Span) scanSpan(row scanner, before ...any) error {
	var began, ended int64
	dest := append(before, &s.First, &s.Last, &began, &ended, &s.Sessions)
	if err := row.Scan(append(dest, s.fields()...)...); err != nil {
		return err
	}
	s.Began, s.Ended = time.Unix(0, began).UTC(), time.Unix(0, ended).UTC()
	return nil
}

// Contexts returns tasks by their last call, newest first.
func (x *Index) Contexts(ctx context.Context, q Query) (p Page[Context], err error) {
	name := q.name("contexts", true)
	before, err := q.Cursor.seq(name)
	if err != nil {
		return p, err
	}
	if q.Limit < 1 || q.Oldest {
		return p, fmt.Errorf("%w: tasks come newest first, at least one", ErrInvalid)
	}
	err = x.read(ctx, func(tx *sql.Tx) error {
		cond, err := q.found(ctx, tx)
		if err != nil {
			return err
		}
		tasks, err := p.choose(ctx, tx, cond, before, q.Limit, name)
		if err != nil || len(tasks) == 0 {
			return err
		}
		list, err := json.Marshal(tasks)
		if err != nil {
			return err
		}
		cond.add("task IN (SELECT value FROM json_each(?))", string(list))
		rows, err := tx.QueryContext(ctx, fmt.Sprintf(`SELECT task, count(DISTINCT nullif(run, '')), count(DISTINCT nullif(stage, '')), %s
			FROM call WHERE %s GROUP BY task ORDER BY max(seq) DESC`, spanColumns, cond), cond.args...)
		if err != nil {
			return err
		}
		return each(rows, func() error {
			var c Context
			err := c.scanSpan(rows, &c.Task, &c.Runs, &c.Stages)
			p.Items = append(p.Items, c)
			return err
		})
	})
	return p, err
}

// choose finds the tasks of the page, so that only theirs are summed, and where
// the next one begins.
func (p *Page[T]) choose(ctx context.Context, tx *sql.Tx, cond *condition, before int64, limit int, name string) (tasks []string, err error) {
	having, most := "", CountLimit+1 // all are counted with the first page
	if before > 0 {
		having, most = fmt.Sprintf("HAVING max(seq) < %d", before), limit+1
	}
	rows, err := tx.QueryContext(ctx, fmt.Sprintf(`SELECT task, max(seq) FROM call WHERE %s GROUP BY task %s ORDER BY 2 DESC LIMIT %d`,
		cond, having, most), cond.args...)
	if err != nil {
		return nil, err
	}
	err = each(rows, func() error {
		var task string
		var last int64
		if err := rows.Scan(&task, &last); err != nil {
			return err
		}
		p.Count++
		switch {
		case len(tasks) < limit:
			tasks, p.Last = append(tasks, task), last
		case p.Next == "":
			p.Next = cursorOf(p.Last, name)
		}
		return nil
	})
	if p.Next == "" {
		p.Last = 0
	}
	if before > 0 {
		p.Count = -1
	}
	return tasks, err
}

// StageLimit bounds the stages of one answer.
const StageLimit = 1000

// Stages returns the stages of a task, or of what else the filter selects, in
// the order in which they began; at most StageLimit, the newest.
func (x *Index) Stages(ctx context.Context, f Filter) (list []Stage, err error) {
	err = x.read(ctx, func(tx *sql.Tx) error {
		cond, err := f.found(ctx, tx)
		if err != nil {
			return err
		}
		rows, err := tx.QueryContext(ctx, fmt.Sprintf(`SELECT * FROM (SELECT task, run, stage, max(agent), max(template), %s
			FROM call WHERE %s GROUP BY task, run, stage ORDER BY min(seq) DESC LIMIT %d) ORDER BY 6`, spanColumns, cond, StageLimit), cond.args...)
		if err != nil {
			return err
		}
		if err := each(rows, func() error {
			var s Stage
			if err := s.scanSpan(rows, &s.Task, &s.Run, &s.Stage, &s.Agent, &s.Template); err != nil {
				return err
			}
			list = append(list, s)
			return nil
		}); err != nil {
			return err
		}
		for i := range list {
			if err := list[i].readNodes(ctx, tx); err != nil {
				return err
			}
		}
		return nil
	})
	return list, err
}

// nodeLimit bounds the sandboxes listed with a stage.
const nodeLimit = 100

func (s *Stage) readNodes(ctx context.Context, tx *sql.Tx) error {
	rows, err := tx.QueryContext(ctx, `SELECT session, parent, agent, template, first, last, began, ended FROM node
		WHERE task = ? AND run = ? AND stage = ? ORDER BY first LIMIT ?`, s.Task, s.Run, s.Stage, nodeLimit)
	if err != nil {
		return err
	}
	return each(rows, func() error {
		var n Node
		var began, ended int64
		if err := rows.Scan(&n.Session, &n.Parent, &n.Agent, &n.Template, &n.First, &n.Last, &began, &ended); err != nil {
			return err
		}
		n.Began, n.Ended = time.Unix(0, began).UTC(), time.Unix(0, ended).UTC()
		s.Nodes = append(s.Nodes, n)
		return nil
	})
}

// found is the condition of calls where a text was already compared: candidates
// that do not hold it must not be summed. The newest CountLimit matches count.
func (f Filter) found(ctx context.Context, tx *sql.Tx) (*condition, error) {
	cond, err := f.calls()
	if err != nil || f.Text == "" {
		return cond, err
	}
	limit := CountLimit
	if f.short() {
		limit = scanWindow
	}
	rows, err := tx.QueryContext(ctx, fmt.Sprintf(`SELECT seq, (SELECT text FROM words WHERE rowid = call.seq) FROM call WHERE %s
		ORDER BY seq DESC LIMIT %d`, cond, limit), cond.args...)
	if err != nil {
		return nil, err
	}
	matching := []int64{}
	if err := each(rows, func() error {
		var seq int64
		var text sql.NullString
		if err := rows.Scan(&seq, &text); err != nil {
			return err
		}
		if f.matches(text.String) {
			matching = append(matching, seq)
		}
		return nil
	}); err != nil {
		return nil, err
	}
	raw, err := json.Marshal(matching)
	if err != nil {
		return nil, err
	}
	cond = &condition{}
	cond.add("seq IN (SELECT value FROM json_each(?))", string(raw))
	return cond, nil
}
