package audit

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"

	"golang.org/x/mod/sumdb/tlog"
)

// Exported says what ExportTiles wrote.
type Exported struct {
	Checkpoint Checkpoint
	Tiles      int     // files of hashes and of entries that were not there yet
	LeftOut    []int64 // first rows of bundles of entries that the format cannot hold
}

// ExportTiles lays the log in dir out below out as C2SP tlog-tiles says, for
// programs that know nothing of moeca: checkpoint, tile/<level>/<n> and
// tile/entries/<n>, where an entry is a whole row. It goes on where it left off
// before, and adds the checkpoint last. Contents are not exported.
//
// An entry of that format has at most 65,535 bytes. Bundles of entries with a
// longer row, whose detail is very long, are left out and listed; hashes never
// are. A directory that holds something else, or the export of another log, is
// left as it is.
func ExportTiles(ctx context.Context, dir, out string) (Exported, error) {
	e, err := exportTiles(ctx, dir, out)
	if err != nil {
		return Exported{}, fmt.Errorf("audit: export tiles of %s: %w", dir, err)
	}
	return e, nil
}

func exportTiles(ctx context.Context, dir, out string) (Exported, error) {
	c, vkey, err := readCheckpoint(dir)
	if err != nil {
		return Exported{}, err
	}
	rows, err := OpenReader(dir)
	if err != nil {
		return Exported{}, err
	}
	defer rows.Close()
	if _, err := rows.Refresh(); err != nil {
		return Exported{}, err
	}
	x := &exporter{out: out, rows: rows, e: Exported{Checkpoint: c}}
	tree := treeFiles{ctx, dir}
	if err := x.begin(vkey, tree); err != nil {
		return Exported{}, err
	}
	for _, tile := range tlog.NewTiles(tileHeight, 0, c.Size) {
		if err := x.write(tileName(tile), func() ([]byte, error) { return tree.tile(tile) }); err != nil {
			return Exported{}, err
		}
		if tile.L > 0 {
			continue
		}
		entries := tile
		entries.L = -1
		err := x.write(entriesName(entries), func() ([]byte, error) { return x.entries(tile) })
		if errors.Is(err, errLongRow) {
			x.e.LeftOut, err = append(x.e.LeftOut, tile.N*tileWidth+1), nil
		}
		if err != nil {
			return Exported{}, err
		}
	}
	// A tree that is not the checkpoint's is not exported as if it were.
	if got, err := tlog.TreeHash(c.Size, c.proven(tree)); err != nil || Hash(got) != c.Root {
		return Exported{}, errors.Join(errors.New("the tree does not agree with the checkpoint"), err)
	}
	return x.e, x.replace(CheckpointFile, []byte(c.Text))
}

// entriesName is the path of a bundle of entries.
func entriesName(t tlog.Tile) string {
	t.L = 0
	name, _ := filepath.Rel("tile/0", tileName(t))
	return "tile/entries/" + filepath.ToSlash(name)
}

type exporter struct {
	out  string
	rows *Reader
	e    Exported
}

// begin sees to it that whatever is there already is of this log.
func (x *exporter) begin(vkey string, tree treeFiles) error {
	entries, err := os.ReadDir(x.out)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if len(entries) == 0 {
		return x.replace(VkeyFile, []byte(vkey+"\n"))
	}
	there, err := readSmall(filepath.Join(x.out, VkeyFile))
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%s is not empty and no export; name another directory", x.out)
	}
	if err != nil {
		return err
	}
	another := fmt.Errorf("%s holds the export of another log; name another directory", x.out)
	if string(there) != vkey+"\n" {
		return another
	}
	text, err := readSmall(filepath.Join(x.out, CheckpointFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil // it was not finished
	}
	if err != nil {
		return err
	}
	before, _, err := checkCheckpoint(string(there), string(text))
	if err != nil {
		return fmt.Errorf("%s: %w", filepath.Join(x.out, CheckpointFile), err)
	}
	if before.Size > x.e.Checkpoint.Size {
		return another
	}
	if root, err := tlog.TreeHash(before.Size, x.e.Checkpoint.proven(tree)); err != nil || Hash(root) != before.Root {
		return errors.Join(another, err)
	}
	return nil
}

// write writes a file that is not there yet. One that is has the same content:
// names hold level, number and width.
func (x *exporter) write(name string, content func() ([]byte, error)) error {
	path := filepath.Join(x.out, filepath.FromSlash(name))
	if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	b, err := content()
	if err != nil {
		return err
	}
	x.e.Tiles++
	return x.replace(name, b)
}

func (x *exporter) replace(name string, b []byte) error {
	path := filepath.Join(x.out, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	return replaceFile(osFS{}, path, b)
}

var errLongRow = errors.New("a row is longer than an entry may be")

// entries is the bundle of the rows of a tile of level 0.
func (x *exporter) entries(t tlog.Tile) ([]byte, error) {
	var b []byte
	for r, err := range x.rows.Range(t.N*tileWidth+1, t.N*tileWidth+int64(t.W)) {
		if err != nil {
			return nil, err
		}
		row, err := Encode(nil, &r) // the one encoding it has
		if err != nil {
			return nil, err
		}
		if len(row) > math.MaxUint16 {
			return nil, errLongRow
		}
		b = append(binary.BigEndian.AppendUint16(b, uint16(len(row))), row...)
	}
	return b, nil
}
