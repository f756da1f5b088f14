package gateway

import (
	"context"

	"moeca/internal/audit"
)

// Log is where rows go. Queue places a row and returns without waiting for the
// disk; after an error nothing was queued. A Row is durable when Wait returned
// nil, and so is every row queued before it; a row that nobody waits for yet may
// wait for others until Hurry is called. Err is not nil for ever once a write
// failed. Implementations are safe for concurrent use.
type Log interface {
	Queue(r audit.Record, request, response *audit.Body) (Row, error)
	Hurry()
	Err() error
}

// Row is a queued row.
type Row interface {
	Wait(ctx context.Context) error
	Seq() int64
	Hash() audit.Hash
}

// AuditLog is the audit log as a Log.
type AuditLog struct{ *audit.Log }

// Queue places a row in the audit log.
func (l AuditLog) Queue(r audit.Record, request, response *audit.Body) (Row, error) {
	p, err := l.Log.Queue(r, request, response)
	if err != nil {
		return nil, err
	}
	return p, nil
}
