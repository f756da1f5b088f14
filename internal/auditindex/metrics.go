package auditindex

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"slices"
	"time"
)

// What metrics are grouped by.
var groupColumns = map[string]string{
	"task": "task", "run": "run", "stage": "stage", "agent": "agent", "model": "model", "upstream": "upstream",
	"none": "''", "day": "''", "hour": "''",
}

// MetricsQuery asks for sums. From and To are widened to whole quarters of an
// hour. Zone says when a day begins; nil is UTC.
type MetricsQuery struct {
	By   string // task, run, stage, agent, model, upstream, day, hour, none
	Step string // points of each group: day, hour or ""
	From time.Time
	To   time.Time
	Zone *time.Location
	// Only these, as in Filter.
	Task, Run, Stage, Agent, Model, Upstream string
	Limit                                    int // groups; what is beyond is summed in Rest
}

// Metrics are sums by group: times in their order, others by tokens, then by
// calls, most first.
type Metrics struct {
	Groups []Group `json:"groups"`
	Rest   *Group  `json:"rest,omitempty"` // groups beyond the limit together, with the key ""
	All    Group   `json:"all"`
}

// Group is the sum of one key.
type Group struct {
	Key      string `json:"key"` // RFC 3339 for times
	Sessions int64  `json:"sessions"`
	Totals
	Points []Point `json:"points"`
	More   int64   `json:"more,omitempty"` // of Rest: how many groups it stands for

	sessions map[string]bool
	points   map[int64]*Point
}

// Point is the part of a group in a day or an hour. Only times with something
// to tell are listed.
type Point struct {
	At       time.Time `json:"at"`
	Sessions int64     `json:"sessions"`
	Totals

	sessions map[string]bool
}

// pointLimit bounds the points of one answer.
const pointLimit = 20_000

// Metrics sums calls.
func (x *Index) Metrics(ctx context.Context, q MetricsQuery) (m Metrics, err error) {
	column, ok := groupColumns[q.By]
	switch {
	case !ok:
		return m, fmt.Errorf("%w: metrics are by task, run, stage, agent, model, upstream, day, hour or none", ErrInvalid)
	case q.Step != "" && q.Step != "day" && q.Step != "hour":
		return m, fmt.Errorf("%w: a step is a day or an hour", ErrInvalid)
	}
	if q.Zone == nil {
		q.Zone = time.UTC
	}
	c := &collector{q: q, groups: map[string]*Group{}, all: newGroup("")}
	err = x.read(ctx, func(tx *sql.Tx) error {
		cond := q.condition()
		rows, err := tx.QueryContext(ctx, fmt.Sprintf(`SELECT slot, %s, session, %s FROM total WHERE %s GROUP BY slot, %[1]s, session ORDER BY slot`,
			column, sumColumns, cond), cond.args...)
		if err != nil {
			return err
		}
		return each(rows, func() error { return c.take(rows) })
	})
	if err != nil {
		return m, err
	}
	return c.metrics(), nil
}

func (q MetricsQuery) condition() *condition {
	c := &condition{}
	for _, e := range [][2]string{
		{"task", q.Task}, {"run", q.Run}, {"stage", q.Stage}, {"agent", q.Agent}, {"model", q.Model}, {"upstream", q.Upstream},
	} {
		c.equal(e[0], e[1])
	}
	const slot = int64(slotLength / time.Second)
	if !q.From.IsZero() {
		c.add("slot >= ?", q.From.Unix()/slot)
	}
	if !q.To.IsZero() {
		c.add("slot < ?", (q.To.Unix()+slot-1)/slot)
	}
	return c
}

// collector sums slots into groups and points.
type collector struct {
	q      MetricsQuery
	groups map[string]*Group
	all    *Group
	points int
}

func newGroup(key string) *Group {
	return &Group{Key: key, sessions: map[string]bool{}, points: map[int64]*Point{}}
}

func (c *collector) take(row scanner) error {
	var slot int64
	var key, session string
	var t Totals
	if err := row.Scan(append([]any{&slot, &key, &session}, t.fields()...)...); err != nil {
		return err
	}
	at := time.Unix(slot*int64(slotLength/time.Second), 0).In(c.q.Zone)
	if c.q.By == "day" || c.q.By == "hour" {
		key = begin(at, c.q.By).Format(time.RFC3339)
	}
	g := c.groups[key]
	if g == nil {
		g = newGroup(key)
		c.groups[key] = g
	}
	for _, g := range []*Group{g, c.all} {
		g.Add(t)
		seen(g.sessions, session)
		if err := c.point(g, at, session, t); err != nil {
			return err
		}
	}
	return nil
}

func (c *collector) point(g *Group, at time.Time, session string, t Totals) error {
	if c.q.Step == "" {
		return nil
	}
	at = begin(at, c.q.Step)
	p := g.points[at.Unix()]
	if p == nil {
		if c.points++; c.points > pointLimit {
			return fmt.Errorf("%w: more than %d points; ask for days, or for a shorter time", ErrInvalid, pointLimit)
		}
		p = &Point{At: at, sessions: map[string]bool{}}
		g.points[at.Unix()] = p
	}
	p.Add(t)
	seen(p.sessions, session)
	return nil
}

func seen(sessions map[string]bool, session string) {
	if session != "" {
		sessions[session] = true
	}
}

// begin is the first moment of the day or hour of at.
func begin(at time.Time, step string) time.Time {
	if step == "day" {
		return time.Date(at.Year(), at.Month(), at.Day(), 0, 0, 0, 0, at.Location())
	}
	return at.Add(-time.Duration(at.Minute())*time.Minute - time.Duration(at.Second())*time.Second)
}

func (c *collector) metrics() Metrics {
	m := Metrics{Groups: []Group{}, All: c.all.close()}
	for _, g := range c.groups {
		m.Groups = append(m.Groups, *g)
	}
	slices.SortFunc(m.Groups, func(a, b Group) int {
		if c.q.By == "day" || c.q.By == "hour" {
			return cmp.Compare(a.Key, b.Key)
		}
		return cmp.Or(cmp.Compare(b.Tokens(), a.Tokens()), cmp.Compare(b.Calls+b.Refused, a.Calls+a.Refused), cmp.Compare(a.Key, b.Key))
	})
	if n := c.q.Limit; n > 0 && len(m.Groups) > n {
		rest := newGroup("")
		for _, g := range m.Groups[n:] {
			rest.join(g)
		}
		rest.More = int64(len(m.Groups) - n)
		closed := rest.close()
		m.Rest, m.Groups = &closed, m.Groups[:n]
	}
	for i := range m.Groups {
		m.Groups[i] = m.Groups[i].close()
	}
	return m
}

// join adds another group, its points too.
func (g *Group) join(o Group) {
	g.Add(o.Totals)
	for s := range o.sessions {
		g.sessions[s] = true
	}
	for at, p := range o.points {
		to := g.points[at]
		if to == nil {
			to = &Point{At: p.At, sessions: map[string]bool{}}
			g.points[at] = to
		}
		to.Add(p.Totals)
		for s := range p.sessions {
			to.sessions[s] = true
		}
	}
}

// close counts what was collected.
func (g *Group) close() Group {
	out := *g
	out.Sessions, out.Points = int64(len(g.sessions)), []Point{}
	for _, p := range g.points {
		p.Sessions = int64(len(p.sessions))
		out.Points = append(out.Points, *p)
	}
	slices.SortFunc(out.Points, func(a, b Point) int { return a.At.Compare(b.At) })
	out.sessions, out.points = nil, nil
	for i := range out.Points {
		out.Points[i].sessions = nil
	}
	return out
}
