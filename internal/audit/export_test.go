package audit

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"filippo.io/torchwood"
	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"
)

// exportedDir serves a directory to torchwood, which brings everything else.
type exportedDir struct{ dir string }

func (d exportedDir) ReadTiles(ctx context.Context, tiles []tlog.Tile) ([][]byte, error) {
	var out [][]byte
	for _, t := range tiles {
		b, err := d.ReadEndpoint(ctx, torchwood.TilePath(t))
		if err != nil {
			return nil, err
		}
		out = append(out, b)
	}
	return out, nil
}

func (exportedDir) SaveTiles([]tlog.Tile, [][]byte) {}

func (d exportedDir) ReadEndpoint(_ context.Context, path string) ([]byte, error) {
	return os.ReadFile(filepath.Join(d.dir, filepath.FromSlash(path)))
}

// readAsOthers reads an export with torchwood: it checks the signature, every
// tile and every entry, and returns the checkpoint and the number of entries.
func readAsOthers(t *testing.T, dir string) (torchwood.Checkpoint, int64, error) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, CheckpointFile))
	if err != nil {
		t.Fatal(err)
	}
	vkey, err := os.ReadFile(filepath.Join(dir, VkeyFile))
	if err != nil {
		t.Fatal(err)
	}
	v, err := note.NewVerifier(strings.TrimSpace(string(vkey)))
	if err != nil {
		t.Fatal(err)
	}
	n, err := note.Open(text, note.VerifierList(v))
	if err != nil {
		t.Fatal(err)
	}
	c, err := torchwood.ParseCheckpoint(n.Text)
	if err != nil {
		t.Fatal(err)
	}
	client, err := torchwood.NewClient(exportedDir{dir})
	if err != nil {
		t.Fatal(err)
	}
	count := int64(0)
	for count < c.N { // it may stop before a partial tile, then goes on
		before := count
		for i, entry := range client.Entries(t.Context(), c.Tree, count) {
			r, err := Decode(entry)
			if err != nil || r.Seq != i+1 || i != count {
				t.Fatalf("entry %d is row %d, %v", i, r.Seq, err)
			}
			count++
		}
		if err := client.Err(); err != nil || count == before {
			return c, count, err
		}
	}
	for _, i := range []int64{0, c.N / 2, c.N - 1} {
		entry, proof, err := client.Entry(t.Context(), c.Tree, i)
		if err != nil {
			return c, count, err
		}
		if err := tlog.CheckRecord(proof, c.N, c.Hash, i, tlog.RecordHash(entry)); err != nil {
			t.Fatal(err)
		}
	}
	return c, count, nil
}

// TestOthersReadAnExport exports a log as it grows and reads it with torchwood.
func TestOthersReadAnExport(t *testing.T) {
	dir, out := t.TempDir(), filepath.Join(t.TempDir(), "out")
	l := mustOpenLog(t, dir, Options{FS: unsyncedFS{}})
	defer l.Close()
	for round, n := range []int{1, 200, 150, 400} {
		for i := range n {
			exchange(t, l, i)
		}
		c := signAll(t, l)
		e, err := ExportTiles(t.Context(), dir, out)
		if err != nil || e.Checkpoint.Size < c.Size || len(e.LeftOut) > 0 || e.Tiles == 0 {
			t.Fatalf("round %d: %+v, %v", round, e, err)
		}
		got, entries, err := readAsOthers(t, out)
		if err != nil || got.N != e.Checkpoint.Size || entries != got.N {
			t.Fatalf("round %d: %d of %d entries, %v", round, entries, got.N, err)
		}
		if again, err := ExportTiles(t.Context(), dir, out); err != nil || again.Tiles > 4 {
			t.Errorf("round %d again: %+v, %v", round, again, err)
		}
	}
	path := filepath.Join(out, "tile/entries/000")
	if err := changeFile(path, func(b []byte) []byte { b[100] ^= 1; return b }); err != nil {
		t.Fatal(err)
	}
	if _, _, err := readAsOthers(t, out); err == nil {
		t.Error("a changed entry was read")
	}
}

// signAll returns a checkpoint of all rows, and of one more.
func signAll(t *testing.T, l *Log) Checkpoint {
	t.Helper()
	if err := mustQueue(t, l, Record{Kind: KindRefusal}).Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
	c, err := l.Checkpoint(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestLongRowsAreLeftOutOfAnExport(t *testing.T) {
	dir, out := t.TempDir(), filepath.Join(t.TempDir(), "out")
	l := mustOpenLog(t, dir, Options{FS: unsyncedFS{}})
	for i := range 600 {
		r := Record{Kind: KindAdmin}
		if i == 300 {
			r.Detail = []byte(`"` + strings.Repeat("x", 70_000) + `"`)
		}
		mustQueue(t, l, r)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	e, err := ExportTiles(t.Context(), dir, out)
	if err != nil || len(e.LeftOut) != 1 || e.LeftOut[0] != 257 {
		t.Fatalf("%+v, %v", e, err)
	}
	for name, want := range map[string]bool{"tile/entries/000": true, "tile/entries/001": false, "tile/0/001": true, "tile/1/000.p/2": true, "tile/entries/002.p/90": true} {
		if _, err := os.Stat(filepath.Join(out, name)); (err == nil) != want {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestExportsAreNotMixed: files that are there are not written again, so they
// must be those of the same log.
func TestExportsAreNotMixed(t *testing.T) {
	dir, other := runsLog(t, 300), runsLog(t, 10)
	whole := filepath.Join(t.TempDir(), "whole")
	if _, err := ExportTiles(t.Context(), dir, whole); err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func(out string) error{
		"another's files": func(out string) error { return os.WriteFile(filepath.Join(out, "notes.txt"), nil, 0o600) },
		"another log": func(out string) error {
			_, err := ExportTiles(context.Background(), other, out)
			return err
		},
		"another log's, not finished": func(out string) error {
			_, err := ExportTiles(context.Background(), other, out)
			return errors.Join(err, os.Remove(filepath.Join(out, CheckpointFile)))
		},
		"a later state": func(out string) error {
			s, err := os.ReadFile(filepath.Join(dir, keyFile))
			if err != nil {
				return err
			}
			sig, err := parseSigner(s)
			if err != nil {
				return err
			}
			c, err := sig.sign(1<<20, Hash{1})
			if err != nil {
				return err
			}
			return errors.Join(os.CopyFS(out, os.DirFS(whole)), os.WriteFile(filepath.Join(out, CheckpointFile), []byte(c.Text), 0o600))
		},
		"what was signed before a rewrite": func(out string) error {
			s, err := os.ReadFile(filepath.Join(dir, keyFile))
			if err != nil {
				return err
			}
			sig, err := parseSigner(s)
			if err != nil {
				return err
			}
			c, err := sig.sign(7, Hash{1})
			if err != nil {
				return err
			}
			return errors.Join(os.CopyFS(out, os.DirFS(whole)), os.WriteFile(filepath.Join(out, CheckpointFile), []byte(c.Text), 0o600))
		},
	} {
		out := t.TempDir()
		if err := change(out); err != nil {
			t.Fatal(err)
		}
		before := readFiles(t, out)
		if e, err := ExportTiles(t.Context(), dir, out); err == nil {
			t.Errorf("%s: %+v", name, e)
		}
		if !sameFiles(before, readFiles(t, out)) {
			t.Errorf("%s was changed", name)
		}
	}
}

func TestExportRefusesATreeThatIsNotTheCheckpoints(t *testing.T) {
	dir := runsLog(t, 10)
	if err := changeFile(treePath(dir, 0), func(b []byte) []byte { b[5] ^= 1; return b }); err != nil {
		t.Fatal(err)
	}
	out := t.TempDir()
	if e, err := ExportTiles(t.Context(), dir, out); err == nil {
		t.Errorf("%+v", e)
	}
	if _, err := os.Stat(filepath.Join(out, CheckpointFile)); err == nil {
		t.Error("a checkpoint was written")
	}
}
