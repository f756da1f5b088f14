package auditindex

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"moeca/internal/audit"
)

// Purge makes the text of these rows' calls again from the log, so that nothing
// of a content remains that was erased there. What was is overwritten, in the
// index and in its journal, when Purge returns. Rows that are not indexed are
// left out: Sync finds their contents erased.
func (x *Index) Purge(ctx context.Context, seqs ...int64) error {
	x.apply.Lock()
	defer x.apply.Unlock()
	calls := map[int64]bool{}
	for _, seq := range seqs {
		var call int64
		err := x.read(ctx, func(tx *sql.Tx) error {
			return tx.QueryRowContext(ctx, `SELECT call FROM row WHERE seq = ?`, seq).Scan(&call)
		})
		if err != nil && !errors.Is(err, sql.ErrNoRows) {
			return fmt.Errorf("audit index: purge row %d: %w", seq, err)
		}
		if err == nil {
			calls[call] = true
		}
	}
	for call := range calls {
		if err := x.again(ctx, call); err != nil {
			return fmt.Errorf("audit index: purge call %d: %w", call, err)
		}
	}
	if len(calls) == 0 {
		return nil
	}
	// Until its parts are merged, an index of words keeps what was deleted.
	if err := x.change(ctx, func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, `INSERT INTO words (words) VALUES ('optimize')`)
		return err
	}); err != nil {
		return fmt.Errorf("audit index: purge: %w", err)
	}
	return x.reopen(ctx)
}

// again makes the text of a call from what the log holds of it now.
func (x *Index) again(ctx context.Context, call int64) error {
	var rows []int64
	if err := x.read(ctx, func(tx *sql.Tx) error {
		found, err := tx.QueryContext(ctx, `SELECT seq FROM call WHERE seq = ?1 UNION SELECT outcome FROM call WHERE seq = ?1 AND outcome > 0
			UNION SELECT seq FROM row WHERE seq = ?1 ORDER BY 1`, call)
		if err != nil {
			return err
		}
		return each(found, func() error {
			var seq int64
			err := found.Scan(&seq)
			rows = append(rows, seq)
			return err
		})
	}); err != nil {
		return err
	}
	text := ""
	for _, seq := range rows {
		r, _, err := x.log.At(seq)
		if err != nil {
			return err
		}
		text += textsOf(x.log, r).text
	}
	return x.change(ctx, func(tx *sql.Tx) error {
		if _, err := tx.ExecContext(ctx, `DELETE FROM words WHERE rowid = ?`, call); err != nil {
			return err
		}
		_, err := tx.ExecContext(ctx, `INSERT INTO words (rowid, text) VALUES (?, ?)`, call, text)
		return err
	})
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
		return fmt.Errorf("audit index: purge: cut the journal: %w", err)
	}
	return nil
}

// PurgeErased looks through the contents of all indexed rows and purges those
// that were erased, also by another process while nobody followed.
func (x *Index) PurgeErased(ctx context.Context) error {
	var gone []int64
	for seq := int64(1); seq <= x.State().Head; seq++ {
		if err := ctx.Err(); err != nil {
			return err
		}
		r, _, err := x.log.At(seq)
		if err != nil {
			return fmt.Errorf("audit index: purge: %w", err)
		}
		for _, ref := range []*audit.BodyRef{r.Request, r.Response} {
			if ref == nil || ref.Pack == 0 {
				continue
			}
			if _, err := x.log.Body(ref); errors.Is(err, audit.ErrErased) {
				gone = append(gone, seq)
				break
			}
		}
	}
	return x.Purge(ctx, gone...)
}
