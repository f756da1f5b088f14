package sqlite_test

import (
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"testing/fstest"

	"moeca/internal/sqlite"
)

var (
	first  = `-- +goose Up` + "\n" + `CREATE TABLE t (id INTEGER PRIMARY KEY, n INTEGER NOT NULL) STRICT;` + "\n"
	second = `-- +goose Up` + "\n" + `CREATE TABLE u (t INTEGER NOT NULL REFERENCES t (id)) STRICT;` + "\n"
	v1     = fstest.MapFS{"0001_t.sql": {Data: []byte(first)}}
	v2     = fstest.MapFS{"0001_t.sql": {Data: []byte(first)}, "0002_u.sql": {Data: []byte(second)}}
)

func open(t *testing.T, path string, m fstest.MapFS) *sqlite.DB {
	t.Helper()
	db, err := sqlite.Open(t.Context(), path, m, sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return db
}

func shut(t *testing.T, db *sqlite.DB) {
	t.Helper()
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
}

func exec(t *testing.T, db *sqlite.DB, query string) error {
	t.Helper()
	return db.Write(t.Context(), func(tx *sql.Tx) error {
		_, err := tx.ExecContext(t.Context(), query)
		return err
	})
}

func count(t *testing.T, db *sqlite.DB, query string) (n int) {
	t.Helper()
	if err := db.Read(t.Context(), func(tx *sql.Tx) error { return tx.QueryRowContext(t.Context(), query).Scan(&n) }); err != nil {
		t.Fatal(err)
	}
	return n
}

func TestNewerSchemaIsRefusedUntouched(t *testing.T) {
	path := filepath.Join(t.TempDir(), "with space & ?.db")
	db := open(t, path, v1)
	if err := exec(t, db, `INSERT INTO t VALUES (1, 2)`); err != nil {
		t.Fatal(err)
	}
	shut(t, db)
	shut(t, open(t, path, v2)) // upgrade
	_, err := sqlite.Open(t.Context(), path, v1, sqlite.Options{})
	if !errors.Is(err, sqlite.ErrNewerSchema) {
		t.Fatalf("an older binary opened it: %v", err)
	}
	db = open(t, path, v2)
	defer shut(t, db)
	if count(t, db, `SELECT count(*) FROM t`) != 1 {
		t.Fatal("rows are gone")
	}
}

func TestSecondProcessIsRefused(t *testing.T) {
	path := filepath.Join(t.TempDir(), "host.db")
	db := open(t, path, v1)
	if _, err := sqlite.Open(t.Context(), path, v1, sqlite.Options{}); !errors.Is(err, sqlite.ErrLocked) {
		t.Fatalf("opened twice: %v", err)
	}
	shut(t, db)
	shut(t, open(t, path, v1))
}

func TestFailedWriteLeavesNothing(t *testing.T) {
	db := open(t, filepath.Join(t.TempDir(), "host.db"), v2)
	defer shut(t, db)
	boom := errors.New("boom")
	err := db.Write(t.Context(), func(tx *sql.Tx) error {
		if _, err := tx.ExecContext(t.Context(), `INSERT INTO t VALUES (1, 1)`); err != nil {
			return err
		}
		return boom
	})
	if !errors.Is(err, boom) || count(t, db, `SELECT count(*) FROM t`) != 0 {
		t.Fatalf("%v, and something was kept", err)
	}
	for what, query := range map[string]string{
		"a reference to nothing":      `INSERT INTO u VALUES (7)`,
		"a word in an integer column": `INSERT INTO t VALUES (1, 'x')`,
	} {
		if exec(t, db, query) == nil {
			t.Errorf("%s was stored", what)
		}
	}
	if err := db.Read(t.Context(), func(tx *sql.Tx) error {
		_, err := tx.ExecContext(t.Context(), `INSERT INTO t VALUES (1, 1)`)
		return err
	}); err == nil {
		t.Error("a read transaction wrote")
	}
}

func TestWritersTakeTurnsAndReadersSeeOneState(t *testing.T) {
	db := open(t, filepath.Join(t.TempDir(), "host.db"), v1)
	defer shut(t, db)
	if err := exec(t, db, `INSERT INTO t VALUES (1, 0)`); err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 10 {
				err := db.Write(t.Context(), func(tx *sql.Tx) error {
					var n int
					if err := tx.QueryRowContext(t.Context(), `SELECT n FROM t`).Scan(&n); err != nil {
						return err
					}
					_, err := tx.ExecContext(t.Context(), `UPDATE t SET n = ?`, n+1)
					return err
				})
				if err != nil {
					t.Error(err)
				}
			}
		})
		wg.Go(func() {
			err := db.Read(t.Context(), func(tx *sql.Tx) error {
				var a, b int
				if err := tx.QueryRowContext(t.Context(), `SELECT n FROM t`).Scan(&a); err != nil {
					return err
				}
				if err := tx.QueryRowContext(t.Context(), `SELECT n FROM t`).Scan(&b); err != nil {
					return err
				}
				if a != b {
					t.Errorf("one read saw %d and %d", a, b)
				}
				return nil
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if n := count(t, db, `SELECT n FROM t`); n != 80 {
		t.Fatalf("80 increments made %d", n)
	}
}

func TestFileThatIsNoDatabase(t *testing.T) {
	path := filepath.Join(t.TempDir(), "host.db")
	text := []byte("this is my diary, not a database, and it is longer than a header of SQLite is")
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := sqlite.Open(t.Context(), path, v1, sqlite.Options{}); err == nil {
		t.Fatal("opened a text")
	}
	if got, err := os.ReadFile(path); err != nil || string(got) != string(text) {
		t.Fatalf("the file was changed: %q %v", got, err)
	}
}
