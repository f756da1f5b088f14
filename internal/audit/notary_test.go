package audit

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"filippo.io/torchwood"
	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"
)

// treeOf is the tree over the first rows of a log as golang.org/x/mod sees it.
func treeOf(t testing.TB, dir string, size int64) storedTree {
	t.Helper()
	r := openReader(t, dir)
	var tree storedTree
	for seq := int64(1); seq <= size; seq++ {
		_, h, err := r.At(seq)
		if err != nil {
			t.Fatal(err)
		}
		tree.add(t, seq-1, h)
	}
	return tree
}

// checkCheckpointOf holds a checkpoint and the tiles it needs against the rows,
// with code of others.
func checkCheckpointOf(t testing.TB, dir string, c Checkpoint) {
	t.Helper()
	vkey, err := os.ReadFile(filepath.Join(dir, VkeyFile))
	if err != nil {
		t.Fatal(err)
	}
	v, err := note.NewVerifier(strings.TrimSpace(string(vkey)))
	if err != nil {
		t.Fatal(err)
	}
	n, err := note.Open([]byte(c.Text), note.VerifierList(v))
	if err != nil {
		t.Fatal(err)
	}
	other, err := torchwood.ParseCheckpoint(n.Text)
	if err != nil || other.N != c.Size || other.Hash != tlog.Hash(c.Root) || other.Origin != c.Origin || other.Extension != "" {
		t.Fatalf("%+v, %v", other, err)
	}
	tree := treeOf(t, dir, c.Size)
	root, err := tlog.TreeHash(c.Size, tree)
	if err != nil || root != other.Hash {
		t.Fatalf("root of %d rows is %v, %v", c.Size, root, err)
	}
	for _, tile := range tlog.NewTiles(tileHeight, 0, c.Size) {
		want, err := tlog.ReadTileData(tile, tree)
		if err != nil {
			t.Fatal(err)
		}
		got, err := treeFiles{t.Context(), dir}.tile(tile)
		if err != nil || !bytes.Equal(got, want) {
			t.Fatalf("tile %s: %v", torchwood.TilePath(tile), err)
		}
	}
}

func TestCheckpointCoversEveryDurableRow(t *testing.T) {
	dir := t.TempDir()
	l := mustOpenLog(t, dir, Options{FS: unsyncedFS{}, SegmentBytes: 20_000})
	defer l.Close()
	for i := range 700 {
		p := exchange(t, l, i)
		if i%97 != 0 && i < 695 {
			continue
		}
		if err := p.Wait(t.Context()); err != nil {
			t.Fatal(err)
		}
		c, err := l.Checkpoint(t.Context())
		if err != nil || c.Size < p.Seq() {
			t.Fatalf("row %d: %d rows, %v", p.Seq(), c.Size, err)
		}
		checkCheckpointOf(t, dir, c)
		if on, _, err := ReadCheckpoint(dir); err != nil || on.Size < c.Size {
			t.Fatalf("%+v, %v", on, err)
		}
		again, err := l.Checkpoint(t.Context())
		if err != nil || again != c {
			t.Fatalf("without new rows: %+v, %v", again, err)
		}
	}
}

func TestCloseSignsTheLastRow(t *testing.T) {
	dir := t.TempDir()
	origin := ""
	for i := range 300 {
		l := mustOpenLog(t, dir, Options{FS: unsyncedFS{}})
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
		c, _, err := ReadCheckpoint(dir)
		if seq, _ := l.Head(); err != nil || c.Size != seq || origin != "" && c.Origin != origin {
			t.Fatalf("%+v, %v", c, err)
		}
		if origin = c.Origin; i%43 == 0 || i == 299 {
			checkCheckpointOf(t, dir, c)
		}
	}
}

func TestCheckpointIsSignedWithoutBeingAsked(t *testing.T) {
	dir := t.TempDir()
	l := mustOpenLog(t, dir, Options{})
	defer l.Close()
	p := exchange(t, l, 0)
	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(time.Millisecond) {
		if c, _, err := ReadCheckpoint(dir); err != nil {
			t.Fatal(err)
		} else if c.Size >= p.Seq() {
			return
		}
		if time.Now().After(deadline) {
			t.Fatal("no checkpoint came")
		}
	}
}

func TestKeyIsTheGatewaysAlone(t *testing.T) {
	dir := t.TempDir()
	if err := mustOpenLog(t, dir, Options{}).Close(); err != nil {
		t.Fatal(err)
	}
	st, err := os.Stat(filepath.Join(dir, keyFile))
	if err != nil || st.Mode().Perm() != 0o600 {
		t.Fatalf("%v, %v", st, err)
	}
	c, vkey, err := ReadCheckpoint(dir)
	if err != nil || c.Verify(vkey) != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(filepath.Join(dir, seg1))
	if err != nil {
		t.Fatal(err)
	}
	if id := fmt.Sprintf("%x", b[16:32]); strings.Contains(c.Text+vkey, id[:8]) {
		t.Error("the origin tells the id of the log")
	}
	if err := os.Remove(filepath.Join(dir, keyFile)); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(dir, Options{}); !errors.Is(err, errNoKey) || !isBroken(err) {
		t.Errorf("without its key: %v", err)
	}
}

// TestTroubleOfTheNotaryIsNotTheLogs makes each of its steps fail, as an error
// and as a power cut. Rows are kept, and the next start makes good what is not.
func TestTroubleOfTheNotaryIsNotTheLogs(t *testing.T) {
	t.Parallel()
	for _, dead := range []bool{false, true} {
		for step := 1; ; step++ {
			fs := newFaultFS(t)
			fs.failOn, fs.dead = step, dead
			dir := filepath.Join(fs.root, "audit")
			acked, l, err := workload(fs, dir)
			if fs.failed == "" {
				if step < 20 {
					t.Fatalf("only %d steps", step)
				}
				break
			}
			if !dead && l != nil && len(acked) < 37 {
				t.Errorf("step %d (%s): rows were lost: %d, %v", step, fs.failed, len(acked), err)
			}
			if err != nil && !errors.Is(err, syscall.EIO) && !errors.Is(err, syscall.ENOSPC) {
				t.Errorf("step %d (%s): the cause is lost: %v", step, fs.failed, err)
			}
			for how := lostAll; how <= lostNone; how++ {
				checkSurvivors(t, fs, acked, how, fmt.Sprintf("step %d (%s) dead=%v lost=%d", step, fs.failed, dead, how))
			}
			if l != nil {
				l.Close()
			}
		}
	}
}

// TestTreeIsMadeAgain removes, cuts and damages the files of the tree of a log
// that was closed.
func TestTreeIsMadeAgain(t *testing.T) {
	dir := t.TempDir()
	l := mustOpenLog(t, dir, Options{FS: unsyncedFS{}, SegmentBytes: 30_000})
	for i := range 900 {
		exchange(t, l, i)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	for what, damage := range map[string]func(level string) error{
		"nothing":         func(string) error { return nil },
		"a level lost":    os.Remove,
		"a level emptied": func(name string) error { return os.Truncate(name, 0) },
		"all lost":        func(name string) error { return os.RemoveAll(filepath.Dir(name)) },
		"a bit turned":    func(name string) error { return changeFile(name, func(b []byte) []byte { b[70] ^= 1; return b }) },
		"an end lost":     func(name string) error { return changeFile(name, func(b []byte) []byte { return b[:len(b)-33] }) },
		"its end torn":    func(name string) error { return changeFile(name, func(b []byte) []byte { return append(b, 1, 2, 3) }) },
	} {
		for level := range 2 {
			if err := damage(treePath(dir, level)); err != nil && !errors.Is(err, fs.ErrNotExist) {
				t.Fatal(err)
			}
			if err := mustOpenLog(t, dir, Options{FS: unsyncedFS{}}).Close(); err != nil {
				t.Fatal(err)
			}
			c, _, err := ReadCheckpoint(dir)
			if err != nil {
				t.Fatalf("%s: %v", what, err)
			}
			checkCheckpointOf(t, dir, c)
		}
	}
}

func changeFile(name string, change func([]byte) []byte) error {
	b, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	return os.WriteFile(name, change(b), 0o600)
}
