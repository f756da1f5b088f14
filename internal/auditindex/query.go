package auditindex

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
)

// CountLimit is where counting stops.
const CountLimit = 10_000

// scanWindow is how many calls or rows a search of less than three characters,
// and one whose candidates are mostly none, looks at for one page.
const scanWindow = 20_000

// Query asks for a page.
type Query struct {
	Filter
	Cursor Cursor
	Limit  int
	Oldest bool // oldest first
	// Uncounted saves Calls and Rows counting what fits, where only the page is wanted.
	Uncounted bool
}

// Page is a page of an answer. Next is empty at the end; a page may be shorter
// than its limit, or empty, and still have a next one. Count is exact up to
// CountLimit and then CountLimit+1; with a text it counts what may
// match, and is -1 where the index cannot tell.
type Page[T any] struct {
	Items []T
	Next  Cursor
	Last  int64 // row after which the next page goes on
	Count int64 // of the first page, where it is wanted, else -1
}

// Row is a row as the index knows it; what it says is read from the log.
type Row struct{ Seq, Call int64 }

// Calls returns calls.
func (x *Index) Calls(ctx context.Context, q Query) (Page[Call], error) {
	cond, err := q.calls()
	if err != nil {
		return Page[Call]{}, err
	}
	return list(ctx, x, q, listing[Call]{
		table: "call", columns: callColumns, call: "seq", cond: cond,
		scan: func(row scanner, text *sql.NullString) (c Call, seq int64, err error) {
			err = c.scan(row, text)
			return c, c.Seq, err
		},
	})
}

// Rows returns rows.
func (x *Index) Rows(ctx context.Context, q Query) (Page[Row], error) {
	cond, err := q.rows()
	if err != nil {
		return Page[Row]{}, err
	}
	return list(ctx, x, q, listing[Row]{
		table: "row", columns: "seq, call", call: "call", cond: cond,
		scan: func(row scanner, text *sql.NullString) (r Row, seq int64, err error) {
			err = row.Scan(&r.Seq, &r.Call, text)
			return r, r.Seq, err
		},
	})
}

// Call returns the call that a row is part of, sql.ErrNoRows where it is none.
func (x *Index) Call(ctx context.Context, seq int64) (c Call, err error) {
	err = x.read(ctx, func(tx *sql.Tx) (err error) {
		c, err = readCall(tx, seq)
		if errors.Is(err, sql.ErrNoRows) {
			err = c.scan(tx.QueryRowContext(ctx, `SELECT `+callColumns+` FROM call WHERE seq = (SELECT call FROM row WHERE seq = ?)`, seq))
		}
		return err
	})
	return c, err
}

// listing is how a table is listed.
type listing[T any] struct {
	table, columns, call string
	cond                 *condition
	scan                 func(row scanner, text *sql.NullString) (item T, seq int64, err error)
}

func list[T any](ctx context.Context, x *Index, q Query, l listing[T]) (p Page[T], err error) {
	name := q.name(l.table, !q.Oldest)
	after, err := q.Cursor.seq(name)
	if err != nil {
		return p, err
	}
	if q.Limit < 1 {
		return p, fmt.Errorf("%w: a page has at least one item", ErrInvalid)
	}
	p.Count = -1
	err = x.read(ctx, func(tx *sql.Tx) error {
		if q.Cursor == "" && !q.short() && !q.Uncounted {
			if err := count(ctx, tx, l.table, l.cond, &p.Count); err != nil {
				return err
			}
		}
		return fill(ctx, tx, q, l, after, name, &p)
	})
	return p, err
}

func count(ctx context.Context, tx *sql.Tx, table string, cond *condition, n *int64) error {
	return tx.QueryRowContext(ctx, fmt.Sprintf(`SELECT count(*) FROM (SELECT 1 FROM %s WHERE %s LIMIT %d)`, table, cond, CountLimit+1),
		cond.args...).Scan(n)
}

// fill reads rows until the page is full, the table ends, or enough was looked
// at in vain.
func fill[T any](ctx context.Context, tx *sql.Tx, q Query, l listing[T], after int64, name string, p *Page[T]) error {
	order, compare := "DESC", "<"
	if q.Oldest {
		order, compare = "ASC", ">"
	}
	cond := *l.cond
	if after > 0 {
		cond.add("seq "+compare+" ?", after)
	}
	text, limit := "NULL", q.Limit+1
	if q.Text != "" {
		text, limit = fmt.Sprintf("(SELECT text FROM words WHERE rowid = %s.%s)", l.table, l.call), scanWindow+1
	}
	rows, err := tx.QueryContext(ctx, fmt.Sprintf(`SELECT %s, %s FROM %s WHERE %s ORDER BY seq %s LIMIT %d`,
		l.columns, text, l.table, &cond, order, limit), cond.args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	var last int64
	for seen := 0; rows.Next(); seen++ {
		if len(p.Items) == q.Limit || seen == scanWindow {
			p.Next, p.Last = cursorOf(last, name), last
			break
		}
		var text sql.NullString
		item, seq, err := l.scan(rows, &text)
		if err != nil {
			return err
		}
		if last = seq; q.Text == "" || q.matches(text.String) {
			p.Items = append(p.Items, item)
		}
	}
	return rows.Err()
}

// each calls fn for every row and closes rows.
func each(rows *sql.Rows, fn func() error) (err error) {
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		if err := fn(); err != nil {
			return err
		}
	}
	return rows.Err()
}
