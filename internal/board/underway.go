package board

import (
	"context"
	"database/sql"
	"time"
)

// UnderWaySince is when the oldest run began that is not over; the zero time
// where none is.
func (s *Service) UnderWaySince(ctx context.Context) (began time.Time, err error) {
	var ms sql.NullInt64
	err = s.DB.Read(ctx, func(tx *sql.Tx) error {
		return tx.QueryRowContext(ctx, `SELECT min(created_at) FROM runs WHERE status IN ('queued', 'preparing', 'running', 'waiting')`).Scan(&ms)
	})
	if err != nil || !ms.Valid {
		return time.Time{}, err
	}
	return at(ms.Int64), nil
}
