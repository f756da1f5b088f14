package auditindex

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"sync"
	"sync/atomic"

	"moeca/internal/audit"
	"moeca/internal/sqlite"
)

// format is the version of what is stored. An index of another one is made
// again; there is nothing to migrate.
const format = 2

//go:embed schema/*.sql
var schemaFiles embed.FS

// ErrLocked: another process has this index open.
var ErrLocked = sqlite.ErrLocked

// Log is what is indexed; *audit.Reader is one. It must be safe for concurrent
// use. Body fails with audit.ErrErased for content that was erased.
type Log interface {
	Refresh() (last int64, err error)
	At(seq int64) (audit.Record, audit.Hash, error)
	Body(ref *audit.BodyRef) ([]byte, error)
}

// Index is an open index.
type Index struct {
	path string
	log  Log

	purges  atomic.Int64
	damaged atomic.Bool // the file is, as an answer or a batch found out
	apply   sync.Mutex  // held by the one that applies rows or replaces the database

	mu     sync.RWMutex // guards the following; held for reading while db is used
	db     *sqlite.DB   // nil when it is closed, or could not be opened again
	closed bool
	state  State
}

// State says how far the index is.
type State struct {
	Head    int64  `json:"head"`              // last row that is indexed
	Last    int64  `json:"last"`              // last row of the log that can be read
	Problem string `json:"problem,omitempty"` // why the rows after Last cannot be read
}

// Open opens the index at path of a log, or makes a new one where there is
// none, or none that fits. It indexes nothing yet: Sync and Follow do.
func Open(ctx context.Context, path string, log Log) (*Index, error) {
	x := &Index{path: path, log: log}
	err := x.open(ctx)
	switch {
	case err == nil:
		var fits bool
		if fits, err = x.fits(ctx); err == nil && fits {
			return x, nil
		}
	case errors.Is(err, ErrLocked):
		return nil, fmt.Errorf("audit index: %w", err)
	}
	// Whatever it is, it holds nothing that the log does not.
	if err := x.reset(ctx); err != nil {
		return nil, errors.Join(err, x.Close())
	}
	return x, nil
}

func (x *Index) open(ctx context.Context) error {
	schema, err := fs.Sub(schemaFiles, "schema")
	if err != nil {
		return err
	}
	x.db, err = sqlite.Open(ctx, x.path, schema, sqlite.Options{})
	return err
}

// fits says whether the index is one of this log, and reads how far it is.
func (x *Index) fits(ctx context.Context) (bool, error) {
	var have struct {
		format, head int64
		first, hash  []byte
	}
	err := x.db.Read(ctx, func(tx *sql.Tx) error {
		return tx.QueryRowContext(ctx, `SELECT format, first, head, hash FROM log`).Scan(&have.format, &have.first, &have.head, &have.hash)
	})
	last, _ := x.log.Refresh() // damage is told by Sync
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return true, nil // nothing is indexed
	case err != nil:
		return false, err
	case have.format != format || have.head > last || len(have.first) != audit.HashSize || len(have.hash) != audit.HashSize:
		return false, nil
	}
	for seq, want := range map[int64][]byte{1: have.first, have.head: have.hash} {
		if _, hash, err := x.log.At(seq); err != nil || hash != audit.Hash(want) {
			return false, nil
		}
	}
	x.state = State{Head: have.head, Last: last}
	return true, nil
}

// reset replaces the database by an empty one.
func (x *Index) reset(ctx context.Context) error {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.db != nil {
		_ = x.db.Close() // a damaged one may not close well; it goes all the same
		x.db = nil
	}
	for _, end := range []string{"", "-wal", "-shm", "-journal"} {
		if err := os.Remove(x.path + end); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("audit index: delete: %w", err)
		}
	}
	x.state = State{}
	if err := x.open(ctx); err != nil {
		return fmt.Errorf("audit index: make anew: %w", err)
	}
	return nil
}

// Reset deletes the index and begins anew; Sync and Follow go on from there.
func (x *Index) Reset(ctx context.Context) error {
	x.apply.Lock()
	defer x.apply.Unlock()
	return x.reset(ctx)
}

// State says how far the index is; Last is as of the last Sync.
func (x *Index) State() State {
	x.mu.RLock()
	defer x.mu.RUnlock()
	return x.state
}

// read runs fn in a read transaction.
func (x *Index) read(ctx context.Context, fn func(*sql.Tx) error) error {
	x.mu.RLock()
	defer x.mu.RUnlock()
	if x.db == nil {
		return errClosed
	}
	return x.notice(x.db.Read(ctx, fn))
}

// notice remembers that the file is damaged: it is made again by the next that
// applies rows.
func (x *Index) notice(err error) error {
	if sqlite.IsDamaged(err) {
		x.damaged.Store(true)
	}
	return err
}

// mend makes an index again, from the beginning, that is damaged or was lost to
// a full disk. The caller holds apply.
func (x *Index) mend(ctx context.Context) error {
	x.mu.RLock()
	lost := x.db == nil && !x.closed
	x.mu.RUnlock()
	if !lost && !x.damaged.Load() {
		return nil
	}
	if err := x.reset(ctx); err != nil {
		return err
	}
	x.damaged.Store(false)
	return nil
}

// change runs fn in a write transaction. The caller holds apply.
func (x *Index) change(ctx context.Context, fn func(*sql.Tx) error) error {
	x.mu.RLock()
	defer x.mu.RUnlock()
	if x.db == nil {
		return errClosed
	}
	return x.notice(x.db.Write(ctx, func(tx *sql.Tx) error {
		// What is deleted is overwritten: a text may be one that is erased later.
		if _, err := tx.ExecContext(ctx, `PRAGMA secure_delete = ON`); err != nil {
			return err
		}
		return fn(tx)
	}))
}

var errClosed = errors.New("audit index: closed")

// Close closes the database. The reader of the log stays open.
func (x *Index) Close() error {
	x.apply.Lock()
	defer x.apply.Unlock()
	x.mu.Lock()
	defer x.mu.Unlock()
	x.closed = true
	if x.db == nil {
		return nil
	}
	err := x.db.Close()
	x.db = nil
	return err
}
