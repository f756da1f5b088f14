package audit

import (
	"context"
	"fmt"

	"golang.org/x/mod/sumdb/tlog"
)

// ConsistencyProof proves to whoever holds the tree hash of the first from rows
// that c continues the same log: the hashes of RFC 6962, section 2.1.2, in the
// order in which C2SP tlog-witness sends them. It reads the tree in dir, beside
// a running writer or without one, and believes nothing there that c does not
// confirm. For from 0 or c.Size the proof is empty.
func ConsistencyProof(ctx context.Context, dir string, from int64, c Checkpoint) ([]Hash, error) {
	if from < 0 || from > c.Size {
		return nil, fmt.Errorf("audit: prove %d to %d rows: the checkpoint must cover both", from, c.Size)
	}
	if from == 0 {
		return nil, nil
	}
	proof, err := tlog.ProveTree(c.Size, from, c.proven(treeFiles{ctx, dir}))
	if err != nil {
		return nil, fmt.Errorf("audit: prove %d to %d rows: %w", from, c.Size, err)
	}
	out := make([]Hash, len(proof))
	for i, h := range proof {
		out[i] = Hash(h)
	}
	return out, nil
}

// edgeOf reads the right edge of the tree of the first size rows. It is to be
// believed once a root that includes it was confirmed.
func (f treeFiles) edgeOf(size int64) (tiler, error) {
	t := tiler{size: size}
	for level := 0; hashesAt(size, level) > 0; level++ {
		have := hashesAt(size, level)
		hashes := make([]Hash, 0, tileWidth)
		if w := int(have % tileWidth); w > 0 {
			b, err := f.tile(tlog.Tile{H: tileHeight, L: level, N: have / tileWidth, W: w})
			if err != nil {
				return tiler{}, err
			}
			for ; len(b) > 0; b = b[HashSize:] {
				hashes = append(hashes, Hash(b[:HashSize]))
			}
		}
		t.levels = append(t.levels, hashes)
	}
	return t, nil
}
