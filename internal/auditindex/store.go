package auditindex

import (
	"context"
	"database/sql"
	"errors"
	"maps"
	"slices"
	"strings"

	"moeca/internal/audit"
)

// store is a batch in its transaction.
type store struct {
	tx     *sql.Tx
	calls  map[int64]*Call // touched by the batch
	words  map[int64]*strings.Builder
	totals map[totalKey]*Totals
	nodes  map[nodeKey]*node
}

type nodeKey struct{ task, run, stage, session string }

// node is what a batch adds to a session's work in a stage.
type node struct {
	parent, template, agent   string
	first, last, began, ended int64
}

// store writes the batch.
func (b *batch) store(ctx context.Context, tx *sql.Tx) error {
	s := &store{
		tx: tx, calls: map[int64]*Call{}, words: map[int64]*strings.Builder{},
		totals: map[totalKey]*Totals{}, nodes: map[nodeKey]*node{},
	}
	insert, err := tx.PrepareContext(ctx, `INSERT INTO row (seq, call, at, kind, run, stage, task, session, agent, upstream, model, status, failed)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`)
	if err != nil {
		return err
	}
	defer insert.Close()
	for i, r := range b.rows {
		call, err := s.see(r, b.texts[i])
		if err != nil {
			return err
		}
		a := r.Attribution
		if _, err := insert.ExecContext(ctx, r.Seq, call, r.Time.UnixNano(), int64(r.Kind), a.Run, a.Stage, a.Task, a.Session, a.Agent,
			r.Upstream, r.Model, int64(r.Status), bad(r)); err != nil {
			return err
		}
	}
	for _, step := range []func(context.Context) error{s.writeCalls, s.writeWords, s.writeTotals, s.writeNodes} {
		if err := step(ctx); err != nil {
			return err
		}
	}
	_, err = tx.ExecContext(ctx, `INSERT INTO log (one, format, first, head, hash) VALUES (1, ?, ?, ?, ?)
		ON CONFLICT (one) DO UPDATE SET head = excluded.head, hash = excluded.hash`, format, b.first[:], b.head, b.hash[:])
	return err
}

// bad says whether a row by itself tells of something that went wrong.
func bad(r audit.Record) bool {
	return r.Kind == audit.KindRefusal || r.Kind == audit.KindOutcome && (r.Result != audit.ResultOK || r.Status >= 400)
}

// see takes one row and returns the call it belongs to.
func (s *store) see(r audit.Record, t texts) (call int64, err error) {
	call = r.Seq
	switch r.Kind {
	case audit.KindIntent, audit.KindRefusal:
		c := newCall(r)
		s.calls[c.Seq] = &c
		s.sum(&c, 1)
	case audit.KindOutcome:
		c, err := s.call(r.Ref)
		if err != nil {
			return 0, err
		}
		if c != nil && c.Outcome == 0 {
			call = c.Seq
			s.sum(c, -1)
			c.end(r)
			c.Tools = t.tools
			s.sum(c, 1)
		}
	}
	if t.text != "" {
		w := s.words[call]
		if w == nil {
			w = &strings.Builder{}
			s.words[call] = w
		}
		w.WriteString(t.text)
	}
	s.meet(r)
	return call, nil
}

// call returns the call of an intent, nil where the log has none.
func (s *store) call(seq int64) (*Call, error) {
	if c := s.calls[seq]; c != nil {
		return c, nil
	}
	c, err := readCall(s.tx, seq)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	s.calls[seq] = &c
	return &c, nil
}

func (s *store) sum(c *Call, n int64) {
	key := c.totalKey()
	t := s.totals[key]
	if t == nil {
		t = &Totals{}
		s.totals[key] = t
	}
	t.add(c.totals(), n)
}

// meet notes that a session was at work.
func (s *store) meet(r audit.Record) {
	a := r.Attribution
	if a.Session == "" {
		return
	}
	key := nodeKey{a.Task, a.Run, a.Stage, a.Session}
	n := s.nodes[key]
	if n == nil {
		n = &node{parent: a.Parent, template: a.Template, agent: a.Agent, first: r.Seq, began: r.Time.UnixNano()}
		s.nodes[key] = n
	}
	n.last, n.ended = r.Seq, r.Time.UnixNano()
}

func (s *store) writeCalls(ctx context.Context) error {
	stmt, err := s.tx.PrepareContext(ctx, `INSERT OR REPLACE INTO call (`+callColumns+`) VALUES (`+callMarks+`)`)
	if err != nil {
		return err
	}
	defer stmt.Close()
	for _, seq := range slices.Sorted(maps.Keys(s.calls)) {
		c := s.calls[seq]
		if _, err := stmt.ExecContext(ctx, c.values()...); err != nil {
			return err
		}
	}
	return nil
}

// writeWords adds to the text of a call what the batch has of it.
func (s *store) writeWords(ctx context.Context) error {
	insert, err := s.tx.PrepareContext(ctx, `INSERT INTO words (rowid, text) VALUES (?, ?)`)
	if err != nil {
		return err
	}
	defer insert.Close()
	for _, call := range slices.Sorted(maps.Keys(s.words)) { // in order, or each is a merge of its own
		text, before := s.words[call], ""
		err := s.tx.QueryRowContext(ctx, `SELECT text FROM words WHERE rowid = ?`, call).Scan(&before)
		switch {
		case errors.Is(err, sql.ErrNoRows):
			_, err = insert.ExecContext(ctx, call, text.String())
		case err == nil:
			_, err = s.tx.ExecContext(ctx, `UPDATE words SET text = ? WHERE rowid = ?`, before+text.String(), call)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (s *store) writeTotals(ctx context.Context) error {
	var sets []string
	for col := range strings.SplitSeq(totalColumns, ", ") {
		sets = append(sets, col+" = "+col+" + excluded."+col)
	}
	stmt, err := s.tx.PrepareContext(ctx, `INSERT INTO total (slot, task, run, stage, session, agent, upstream, model, `+totalColumns+`)
		VALUES (?`+strings.Repeat(", ?", 7+len(sets))+`)
		ON CONFLICT (slot, task, run, stage, session, agent, upstream, model) DO UPDATE SET `+strings.Join(sets, ", "))
	if err != nil {
		return err
	}
	defer stmt.Close()
	for k, t := range s.totals {
		if t.zero() {
			continue
		}
		args := append([]any{k.slot, k.task, k.run, k.stage, k.session, k.agent, k.upstream, k.model}, t.values()...)
		if _, err := stmt.ExecContext(ctx, args...); err != nil {
			return err
		}
		if t.Calls >= 0 {
			continue
		}
		// The answer named another model than the request: the sums moved.
		if _, err := s.tx.ExecContext(ctx, `DELETE FROM total WHERE slot = ? AND task = ? AND run = ? AND stage = ? AND session = ?
			AND agent = ? AND upstream = ? AND model = ? AND calls = 0 AND refused = 0`, args[:8]...); err != nil {
			return err
		}
	}
	return nil
}

func (s *store) writeNodes(ctx context.Context) error {
	stmt, err := s.tx.PrepareContext(ctx, `INSERT INTO node (task, run, stage, session, parent, template, agent, first, last, began, ended)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
		ON CONFLICT (task, run, stage, session) DO UPDATE SET last = excluded.last, ended = excluded.ended`)
	if err != nil {
		return err
	}
	defer stmt.Close()
	for k, n := range s.nodes {
		if _, err := stmt.ExecContext(ctx, k.task, k.run, k.stage, k.session, n.parent, n.template, n.agent, n.first, n.last, n.began, n.ended); err != nil {
			return err
		}
	}
	return nil
}
