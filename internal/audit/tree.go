package audit

import (
	"crypto/sha256"
	"fmt"
	"path/filepath"
	"strings"

	"golang.org/x/mod/sumdb/tlog"
)

// The tree is the Merkle tree of RFC 6962 over the whole rows. Its hashes are
// cut into tiles of 256 as C2SP tlog-tiles lays them out: tile n of level 0
// holds the leaf hashes of rows 256n+1 to 256n+256, tile n of a higher level
// the roots of 256 tiles below. Tiles are derived from the rows and can be made
// again from them at any time.

const (
	tileDir    = "tile"
	tileHeight = 8
	tileWidth  = 1 << tileHeight
)

// tiler builds the tree from leaf hashes in their order. It holds the tiles
// that are not full yet, at most 255 hashes a level, and so the whole right
// edge of the tree.
type tiler struct {
	size   int64
	levels [][]Hash
	// full takes each tile that became full, lower levels first. The hashes are
	// valid until it returns.
	full func(tile tlog.Tile, hashes []Hash) error
}

// add appends a leaf. After an error of full the tiler is of no more use.
func (t *tiler) add(h Hash) error {
	t.size++
	for level := 0; ; level++ {
		if level == len(t.levels) {
			t.levels = append(t.levels, make([]Hash, 0, tileWidth))
		}
		hashes := append(t.levels[level], h)
		t.levels[level] = hashes
		if len(hashes) < tileWidth {
			return nil
		}
		if t.full != nil {
			n := t.size>>(tileHeight*(level+1)) - 1
			if err := t.full(tlog.Tile{H: tileHeight, L: level, N: n, W: tileWidth}, hashes); err != nil {
				return err
			}
		}
		h = subtree(hashes)
		t.levels[level] = hashes[:0]
	}
}

// clone is a copy that shares nothing with t but full.
func (t *tiler) clone() tiler {
	c := tiler{size: t.size, full: t.full}
	for _, hashes := range t.levels {
		c.levels = append(c.levels, append(make([]Hash, 0, tileWidth), hashes...))
	}
	return c
}

// root is the hash of the tree, that of nothing when it is empty.
func (t *tiler) root() Hash {
	var root Hash
	some := false
	for _, hashes := range t.levels {
		for n := len(hashes); n > 0; {
			size := n & -n // the perfect subtree at the right
			h := subtree(hashes[n-size : n])
			if some {
				h = nodeHash(h, root)
			}
			root, some, n = h, true, n-size
		}
	}
	if !some {
		return sha256.Sum256(nil)
	}
	return root
}

// edge yields the tiles that are not full, lower levels first.
func (t *tiler) edge(yield func(tile tlog.Tile, hashes []Hash) bool) {
	for level, hashes := range t.levels {
		if len(hashes) == 0 {
			continue
		}
		n := t.size >> (tileHeight * (level + 1))
		if !yield(tlog.Tile{H: tileHeight, L: level, N: n, W: len(hashes)}, hashes) {
			return
		}
	}
}

// subtree is the root over hashes, whose number is a power of two.
func subtree(hashes []Hash) Hash {
	if len(hashes) == 1 {
		return hashes[0]
	}
	var room [tileWidth / 2]Hash
	half := room[:len(hashes)/2]
	for i := range half {
		half[i] = nodeHash(hashes[2*i], hashes[2*i+1])
	}
	for n := len(half) / 2; n > 0; n /= 2 {
		for i := range n {
			half[i] = nodeHash(half[2*i], half[2*i+1])
		}
	}
	return half[0]
}

func nodeHash(left, right Hash) Hash {
	return Hash(tlog.NodeHash(tlog.Hash(left), tlog.Hash(right)))
}

// tileName is the path of a tile below the directory of the log, with slashes.
// tlog names the height too, which tlog-tiles fixes at 8.
func tileName(t tlog.Tile) string {
	return tileDir + strings.TrimPrefix(t.Path(), fmt.Sprintf("tile/%d", tileHeight))
}

func tilePath(dir string, t tlog.Tile) string {
	return filepath.Join(dir, filepath.FromSlash(tileName(t)))
}

// firstRow is the first row that is below hash i of tile t.
func firstRow(t tlog.Tile, i int) int64 {
	return (t.N<<tileHeight+int64(i))<<(tileHeight*t.L) + 1
}

func appendHashes(dst []byte, hashes []Hash) []byte {
	for i := range hashes {
		dst = append(dst, hashes[i][:]...)
	}
	return dst
}
