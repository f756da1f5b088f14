// Package sqlite opens the host's databases; no other package does.
//
// A database is one file in WAL mode with foreign keys on. Writes go through
// one connection, one transaction at a time, begun IMMEDIATE, so that a
// transaction never fails half way because another writer came first; reads go
// through a small pool and see the last committed state. Tables are STRICT.
//
// Durability: synchronous=FULL. A transaction that Write reported as committed
// survives the loss of the process and of the machine.
//
// Migrations are numbered goose files handed in by the package that owns the
// tables. A database that a newer binary migrated is refused with
// ErrNewerSchema, and nothing in it is changed. A second process that opens the
// same file gets ErrLocked: the lock is a file beside the database, held by the
// operating system, so that a killed process leaves none behind.
//
// DB is safe for concurrent use. It does not retry, cache or map rows.
package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/pressly/goose/v3"
	driver "modernc.org/sqlite" // registers the driver "sqlite"
	codes "modernc.org/sqlite/lib"
)

// Errors of Open.
var (
	ErrNewerSchema = errors.New("this data directory was written by a newer moeca")
	ErrLocked      = errors.New("another moeca process is using this data directory")
)

// Options tune a database. The zero value is what the host uses.
type Options struct {
	BusyTimeout time.Duration // 0: 5 s
	Readers     int           // connections of the read pool, 0: 4
}

// DB is an open database.
type DB struct {
	path    string
	o       Options
	w, r    *sql.DB
	release func() error
}

// Open opens path, creating it when it is missing, and brings its schema up to
// the newest of migrations.
func Open(ctx context.Context, path string, migrations fs.FS, o Options) (*DB, error) {
	if o.BusyTimeout == 0 {
		o.BusyTimeout = 5 * time.Second
	}
	if o.Readers == 0 {
		o.Readers = 4
	}
	release, err := lockFile(path + ".lock")
	if err != nil {
		return nil, fmt.Errorf("sqlite: open %s: %w", path, err)
	}
	db := &DB{path: path, o: o, release: release}
	if err := db.open(ctx, migrations, o); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return db, nil
}

func (db *DB) open(ctx context.Context, migrations fs.FS, o Options) error {
	f, err := os.OpenFile(db.path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return fmt.Errorf("sqlite: create %s: %w", db.path, err)
	}
	if err := f.Close(); err != nil {
		return fmt.Errorf("sqlite: create %s: %w", db.path, err)
	}
	if db.w, err = sql.Open("sqlite", dsn(db.path, o, "immediate", false)); err != nil {
		return fmt.Errorf("sqlite: open %s: %w", db.path, err)
	}
	db.w.SetMaxOpenConns(1)
	if err := migrate(ctx, db.w, migrations); err != nil {
		return fmt.Errorf("sqlite: migrate %s: %w", db.path, err)
	}
	if db.r, err = sql.Open("sqlite", dsn(db.path, o, "deferred", true)); err != nil {
		return fmt.Errorf("sqlite: open %s for reading: %w", db.path, err)
	}
	db.r.SetMaxOpenConns(o.Readers)
	db.r.SetMaxIdleConns(o.Readers)
	return nil
}

// Write runs fn in the one write transaction and commits it. When fn or the
// commit fails nothing of it remains. fn must not use the DB itself.
func (db *DB) Write(ctx context.Context, fn func(*sql.Tx) error) (err error) {
	tx, err := db.w.BeginTx(ctx, nil)
	if err != nil {
		return fmt.Errorf("sqlite: begin: %w", err)
	}
	done := false
	defer func() {
		if !done {
			err = errors.Join(err, ignoreDone(tx.Rollback()))
		}
	}()
	if err := fn(tx); err != nil {
		return err
	}
	if err := tx.Commit(); err != nil {
		return fmt.Errorf("sqlite: commit: %w", err)
	}
	done = true
	return nil
}

// Read runs fn in a read transaction: everything it sees is one state.
func (db *DB) Read(ctx context.Context, fn func(*sql.Tx) error) (err error) {
	tx, err := db.r.BeginTx(ctx, &sql.TxOptions{ReadOnly: true})
	if err != nil {
		return fmt.Errorf("sqlite: begin read: %w", err)
	}
	defer func() { err = errors.Join(err, ignoreDone(tx.Rollback())) }()
	return fn(tx)
}

// Close ends all connections and gives up the lock.
func (db *DB) Close() error {
	var errs []error
	for _, c := range []*sql.DB{db.r, db.w} {
		if c != nil {
			errs = append(errs, c.Close())
		}
	}
	return errors.Join(append(errs, db.release())...)
}

// migrate applies what is missing and refuses a schema it does not know.
func migrate(ctx context.Context, w *sql.DB, migrations fs.FS) error {
	p, err := goose.NewProvider(goose.DialectSQLite3, w, migrations, goose.WithDisableGlobalRegistry(true))
	if err != nil {
		return err
	}
	have, err := p.GetDBVersion(ctx)
	if err != nil {
		return err
	}
	var newest int64
	for _, s := range p.ListSources() {
		newest = max(newest, s.Version)
	}
	if have > newest {
		return fmt.Errorf("%w: its schema is version %d and this binary knows %d; start that newer version, nothing was changed", ErrNewerSchema, have, newest)
	}
	_, err = p.Up(ctx)
	return err
}

func dsn(path string, o Options, lock string, readOnly bool) string {
	q := url.Values{"_txlock": {lock}}
	for _, p := range []string{
		fmt.Sprintf("busy_timeout(%d)", o.BusyTimeout.Milliseconds()),
		"journal_mode(WAL)", "synchronous(FULL)", "foreign_keys(1)", "trusted_schema(0)",
	} {
		q.Add("_pragma", p)
	}
	if readOnly {
		q.Add("_pragma", "query_only(1)")
	}
	return "file:" + (&url.URL{Path: path}).EscapedPath() + "?" + strings.ReplaceAll(q.Encode(), "+", "%20")
}

// IsDamaged says whether an error means that the file of a database is damaged.
func IsDamaged(err error) bool {
	var e *driver.Error
	return errors.As(err, &e) && (e.Code()&0xff == codes.SQLITE_CORRUPT || e.Code()&0xff == codes.SQLITE_NOTADB)
}

func ignoreDone(err error) error {
	if errors.Is(err, sql.ErrTxDone) {
		return nil
	}
	return err
}
