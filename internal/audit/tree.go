package audit

import (
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/mod/sumdb/tlog"
)

// The tree is the Merkle tree of RFC 6962 over the whole rows. Its hashes lie in
// the directory "tree", in one file a level: hash i of file 0 is the leaf hash
// of row i+1, hash i of file l the root over 256 hashes of the file below. A
// tile of C2SP tlog-tiles, whole or partial, is therefore a run of bytes of
// such a file; ExportTiles lays tiles out as files. One file for each 256 rows
// would cost more than writing the rows (docs/design/0008).
//
// The files are derived from the rows, are not synced, and can be made again at
// any time. Bytes are appended after the rows they stand for are durable.

const (
	treeDir    = "tree"
	tileHeight = 8
	tileWidth  = 1 << tileHeight
	treeLevels = 8 // 256⁸ rows
)

func treePath(dir string, level int) string {
	return filepath.Join(dir, treeDir, strconv.Itoa(level))
}

// tiler builds the tree from leaf hashes in their order. It holds the tiles
// that are not full yet, at most 255 hashes a level, and so the whole right
// edge of the tree.
type tiler struct {
	size   int64
	levels [][]Hash
	// carry takes each hash above the leaves once the rows below it are there,
	// lower levels first. May be nil.
	carry func(level int, h Hash) error
}

// add appends a leaf. After an error of carry the tiler is of no more use.
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
		h = subtree(hashes)
		t.levels[level] = hashes[:0]
		if t.carry == nil {
			continue
		}
		if err := t.carry(level+1, h); err != nil {
			return err
		}
	}
}

// clone is a copy that shares nothing with t and carries nothing.
func (t *tiler) clone() tiler {
	c := tiler{size: t.size}
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

func appendHashes(dst []byte, hashes []Hash) []byte {
	for i := range hashes {
		dst = append(dst, hashes[i][:]...)
	}
	return dst
}

// hashesAt is the number of hashes at a level of a tree of size rows.
func hashesAt(size int64, level int) int64 { return size >> (tileHeight * level) }

// rowsBelow are the rows from first to last below hash i of a level.
func rowsBelow(level int, i int64) (first, last int64) {
	return i<<(tileHeight*level) + 1, (i + 1) << (tileHeight * level)
}

// tileName is the path of a tile as tlog-tiles has it, with slashes. tlog names
// the height too, which is fixed at 8 there.
func tileName(t tlog.Tile) string {
	return "tile" + strings.TrimPrefix(t.Path(), fmt.Sprintf("tile/%d", tileHeight))
}

// treeFiles reads tiles from the files of the tree. It is a tlog.TileReader, so
// that tlog.TileHashReader authenticates whatever is read against a root.
type treeFiles struct {
	ctx context.Context
	dir string
}

// Height implements tlog.TileReader.
func (treeFiles) Height() int { return tileHeight }

// SaveTiles implements tlog.TileReader.
func (treeFiles) SaveTiles([]tlog.Tile, [][]byte) {}

// ReadTiles implements tlog.TileReader.
func (f treeFiles) ReadTiles(tiles []tlog.Tile) ([][]byte, error) {
	out := make([][]byte, 0, len(tiles))
	for _, t := range tiles {
		if err := f.ctx.Err(); err != nil {
			return nil, context.Cause(f.ctx)
		}
		b, err := f.tile(t)
		if err != nil {
			return nil, err
		}
		out = append(out, b)
	}
	return out, nil
}

func (f treeFiles) tile(t tlog.Tile) ([]byte, error) {
	if t.L < 0 || t.L >= treeLevels {
		return nil, fmt.Errorf("the tree has no level %d", t.L)
	}
	file, err := openRegular(treePath(f.dir, t.L))
	if err != nil {
		return nil, err
	}
	defer file.Close()
	b := make([]byte, t.W*HashSize)
	if _, err := file.ReadAt(b, t.N*tileWidth*HashSize); err != nil && err != io.EOF {
		return nil, err
	} else if err == io.EOF {
		return nil, damage(fmt.Sprintf("%s/%d is shorter than the checkpoint; it is made again when the gateway opens the log", treeDir, t.L))
	}
	return b, nil
}

// proven reads hashes of the tree of c, each of which its root confirms.
func (c Checkpoint) proven(tiles tlog.TileReader) tlog.HashReader {
	return tlog.TileHashReader(tlog.Tree{N: c.Size, Hash: tlog.Hash(c.Root)}, tiles)
}
