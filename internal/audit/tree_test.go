package audit

import (
	"crypto/sha256"
	"encoding/binary"
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

// TestTreeIsThatOfOthers compares roots and the hashes of every level with
// golang.org/x/mod, up to where three levels are in use.
func TestTreeIsThatOfOthers(t *testing.T) {
	var other storedTree
	var count [treeLevels]int64
	mine := tiler{}
	mine.carry = func(level int, h Hash) error {
		if want := other[tlog.StoredHashIndex(level*tileHeight, count[level])]; h != Hash(want) {
			t.Fatalf("hash %d of level %d is %v, want %v", count[level], level, h, want)
		}
		count[level]++
		return nil
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
	}
	for level := 1; level < treeLevels; level++ {
		if want := hashesAt(size, level); count[level] != want {
			t.Errorf("level %d has %d hashes, want %d", level, count[level], want)
		}
	}
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

func TestRowsBelowAHash(t *testing.T) {
	for at, want := range map[[2]int64][2]int64{
		{0, 0}: {1, 1}, {0, 514}: {515, 515}, {1, 0}: {1, 256}, {1, 1}: {257, 512}, {2, 2}: {131073, 196608},
	} {
		first, last := rowsBelow(int(at[0]), at[1])
		if got := [2]int64{first, last}; got != want {
			t.Errorf("level %d hash %d: rows %v, want %v", at[0], at[1], got, want)
		}
	}
}

func BenchmarkTiler(b *testing.B) {
	var t tiler
	h := leaf(0)
	for range b.N {
		if err := t.add(h); err != nil {
			b.Fatal(err)
		}
	}
}
