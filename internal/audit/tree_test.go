package audit

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"testing"

	"filippo.io/torchwood"
	"golang.org/x/mod/sumdb/tlog"
)

func leaf(i int64) Hash { return RowHash(binary.BigEndian.AppendUint64(nil, uint64(i))) }

// storedTree keeps every hash as tlog does.
type storedTree []tlog.Hash

func (s storedTree) ReadHashes(indexes []int64) ([]tlog.Hash, error) {
	out := make([]tlog.Hash, len(indexes))
	for i, at := range indexes {
		out[i] = s[at]
	}
	return out, nil
}

func (s *storedTree) add(t testing.TB, n int64, h Hash) {
	t.Helper()
	more, err := tlog.StoredHashesForRecordHash(n, tlog.Hash(h), s)
	if err != nil {
		t.Fatal(err)
	}
	*s = append(*s, more...)
}

// TestTreeIsThatOfOthers compares root and tiles with golang.org/x/mod at every
// size up to where three levels of tiles are in use.
func TestTreeIsThatOfOthers(t *testing.T) {
	var other storedTree
	full := 0
	mine := tiler{}
	mine.full = func(tile tlog.Tile, hashes []Hash) error {
		full++
		return sameTile(other, tile, hashes)
	}
	if mine.root() != sha256.Sum256(nil) {
		t.Errorf("the empty tree has root %v", mine.root())
	}
	const size = 2<<16 + 777
	for n := int64(0); n < size; n++ {
		other.add(t, n, leaf(n))
		if err := mine.add(leaf(n)); err != nil {
			t.Fatal(err)
		}
		if n > 1000 && n%97 != 0 && (n+1)%tileWidth > 1 {
			continue
		}
		want, err := tlog.TreeHash(n+1, other)
		if err != nil {
			t.Fatal(err)
		}
		if got := mine.root(); got != Hash(want) {
			t.Fatalf("root of %d rows is %v, want %v", n+1, got, want)
		}
		for tile, hashes := range mine.edge {
			if err := sameTile(other, tile, hashes); err != nil {
				t.Fatalf("at %d rows: %v", n+1, err)
			}
		}
	}
	if want := size>>8 + size>>16; full != want {
		t.Errorf("%d tiles became full, want %d", full, want)
	}
}

func sameTile(other storedTree, tile tlog.Tile, hashes []Hash) error {
	want, err := tlog.ReadTileData(tile, other)
	if err != nil {
		return err
	}
	if string(want) != string(appendHashes(nil, hashes)) {
		return fmt.Errorf("tile %s differs", tileName(tile))
	}
	return nil
}

func TestTilesAreNamedAsOthersNameThem(t *testing.T) {
	for _, tile := range []tlog.Tile{
		{L: 0, N: 0, W: 256}, {L: 0, N: 7, W: 3}, {L: 1, N: 999, W: 256}, {L: 2, N: 1000, W: 255}, {L: 0, N: 1234067, W: 256}, {L: 5, N: 0, W: 1},
	} {
		tile.H = tileHeight
		if got, want := tileName(tile), torchwood.TilePath(tile); got != want {
			t.Errorf("%+v is %s, want %s", tile, got, want)
		}
	}
}

func TestFirstRowOfAHash(t *testing.T) {
	for want, at := range map[int64]struct {
		tile tlog.Tile
		i    int
	}{
		1:        {tlog.Tile{L: 0, N: 0}, 0},
		256:      {tlog.Tile{L: 0, N: 0}, 255},
		515:      {tlog.Tile{L: 0, N: 2}, 2},
		257:      {tlog.Tile{L: 1, N: 0}, 1},
		131073:   {tlog.Tile{L: 2, N: 0}, 2},
		16777217: {tlog.Tile{L: 2, N: 1}, 0},
	} {
		if got := firstRow(at.tile, at.i); got != want {
			t.Errorf("%+v: row %d, want %d", at, got, want)
		}
	}
}

func BenchmarkTiler(b *testing.B) {
	var t tiler
	for i := range b.N {
		if err := t.add(leaf0); err != nil {
			b.Fatal(i, err)
		}
	}
}

var leaf0 = leaf(0)
