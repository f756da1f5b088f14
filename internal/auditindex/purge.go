package auditindex

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"moeca/internal/audit"
)

// erased is the subject of the row of the log that says that contents were
// erased; its Ref is the row that says whose (audit.Log.Erase).
const erased = "erased"

// purgeErased purges what a row says was erased. It comes before the row itself
// is indexed, so that a crash in between leaves it to be done again.
func (x *Index) purgeErased(ctx context.Context, r audit.Record) error {
	if r.Kind != audit.KindSystem || r.Subject != erased {
		return nil
	}
	what, _, err := x.log.At(r.Ref)
	if err != nil {
		return err
	}
	var e audit.Erasure
	if err := json.Unmarshal(what.Detail, &e); err != nil {
		return fmt.Errorf("row %d does not say what was erased: %w", r.Ref, err)
	}
	c := &condition{}
	c.add("seq < ?", r.Ref)
	switch {
	case e.Select.Run != "":
		c.equal("run", e.Select.Run)
	case e.Select.Task != "":
		c.equal("task", e.Select.Task)
	case e.Select.Before != nil:
		c.add("at < ?", nanos(*e.Select.Before))
	default:
		rows, err := json.Marshal(e.Select.Rows)
		if err != nil {
			return err
		}
		c.add("seq IN (SELECT value FROM json_each(?))", string(rows))
	}
	return x.purge(ctx, c)
}

// purge makes the texts of the calls of rows again from the log, so that nothing
// of a content remains that was erased there. What was is overwritten, in the
// index and in its journal, when purge returns.
func (x *Index) purge(ctx context.Context, c *condition) error {
	var calls []int64
	err := x.read(ctx, func(tx *sql.Tx) error {
		rows, err := tx.QueryContext(ctx, "SELECT DISTINCT call FROM row WHERE "+c.String(), c.args...)
		if err != nil {
			return err
		}
		return each(rows, func() error {
			var call int64
			err := rows.Scan(&call)
			calls = append(calls, call)
			return err
		})
	})
	for some := range slices.Chunk(calls, batchRows/2) {
		if err == nil {
			err = x.again(ctx, some)
		}
	}
	if err == nil && len(calls) > 0 {
		// Until its parts are merged, an index of words keeps what was deleted.
		err = x.change(ctx, func(tx *sql.Tx) error {
			_, err := tx.ExecContext(ctx, `INSERT INTO words (words) VALUES ('optimize')`)
			return err
		})
	}
	if err == nil && len(calls) > 0 {
		x.purges.Add(1)
		err = x.reopen(ctx)
	}
	if err != nil {
		return fmt.Errorf("audit index: purge: %w", err)
	}
	return nil
}

// Purges counts the erasures that this process saw: what was made of contents
// before another count may hold what is gone.
func (x *Index) Purges() int64 { return x.purges.Load() }

// again makes the texts of calls from what the log holds of them now.
func (x *Index) again(ctx context.Context, calls []int64) error {
	return x.change(ctx, func(tx *sql.Tx) error {
		for _, call := range calls {
			text, err := x.textOfCall(ctx, tx, call)
			if err != nil {
				return fmt.Errorf("call %d: %w", call, err)
			}
			if _, err := tx.ExecContext(ctx, `DELETE FROM words WHERE rowid = ?`, call); err != nil {
				return err
			}
			if _, err := tx.ExecContext(ctx, `INSERT INTO words (rowid, text) VALUES (?, ?)`, call, text); err != nil {
				return err
			}
		}
		return nil
	})
}

// textOfCall is the text of a call, or of a row that is none.
func (x *Index) textOfCall(ctx context.Context, tx *sql.Tx, call int64) (string, error) {
	seqs := []int64{call}
	var outcome int64
	err := tx.QueryRowContext(ctx, `SELECT outcome FROM call WHERE seq = ? AND outcome > 0`, call).Scan(&outcome)
	switch {
	case err == nil:
		seqs = append(seqs, outcome)
	case !errors.Is(err, sql.ErrNoRows):
		return "", err
	}
	text := ""
	for _, seq := range seqs {
		r, _, err := x.log.At(seq)
		if err != nil {
			return "", err
		}
		text += textsOf(x.log, r).text
	}
	return text, nil
}

// reopen closes the database, which writes its journal back and deletes it, and
// opens it again.
func (x *Index) reopen(ctx context.Context) error {
	x.mu.Lock()
	defer x.mu.Unlock()
	err := x.db.Close()
	x.db = nil
	if err == nil {
		err = x.open(ctx)
	}
	if err != nil {
		return fmt.Errorf("cut the journal: %w", err)
	}
	return nil
}
