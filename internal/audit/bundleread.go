package audit

import (
	"archive/tar"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/mod/sumdb/tlog"
)

// BundleReport is the result of VerifyBundle.
type BundleReport struct {
	OK          bool     `json:"ok"`
	Records     int64    `json:"records"`                // rows proven before anything broken
	FirstBroken int64    `json:"first_broken,omitempty"` // row at which, or behind which, something is broken
	Entry       string   `json:"entry,omitempty"`        // the entry of the file that is
	Problem     string   `json:"problem,omitempty"`
	Manifest    Manifest `json:"manifest"`
	Vkey        string   `json:"vkey,omitempty"` // key that signed the checkpoint
	Checkpoint  string   `json:"checkpoint,omitempty"`
}

// ErrNoBundle: the file is something else.
var ErrNoBundle = errors.New("not an evidence bundle")

// VerifyBundle checks an evidence bundle, of which it believes nothing, with the
// bundle alone. It streams: memory is bounded by the tiles, at most 128 MiB. An
// error means that the bundle could not be read (I/O, ErrNoBundle,
// ErrNewerVersion, ctx), not that it is broken.
func VerifyBundle(ctx context.Context, r io.Reader) (BundleReport, error) {
	v := &bundleVerifier{ctx: ctx, src: &sourceReader{r: r}, leavesOf: -1}
	v.tar = tar.NewReader(v.src)
	err := v.run()
	switch {
	case err == nil:
	case ctx.Err() != nil:
		return BundleReport{}, fmt.Errorf("audit: verify bundle: %w", context.Cause(ctx))
	case v.src.err != nil:
		return BundleReport{}, fmt.Errorf("audit: verify bundle: %w", v.src.err)
	case errors.Is(err, ErrNewerVersion) || errors.Is(err, ErrNoBundle):
		return BundleReport{}, fmt.Errorf("audit: verify bundle: %w", err)
	default:
		return BundleReport{Records: v.rows, FirstBroken: v.at, Entry: v.entry, Problem: err.Error()}, nil
	}
	return BundleReport{OK: true, Records: v.rows, Manifest: v.tally.m, Vkey: v.vkey, Checkpoint: v.c.Text}, nil
}

// sourceReader tells errors of reading from those of what was read.
type sourceReader struct {
	r   io.Reader
	err error
}

func (s *sourceReader) Read(p []byte) (int, error) {
	n, err := s.r.Read(p)
	if err != nil && err != io.EOF {
		s.err = err
	}
	return n, err
}

// bundleVerifier reads a bundle in its order. It is used once.
type bundleVerifier struct {
	ctx context.Context
	src *sourceReader
	tar *tar.Reader

	next  *tar.Header // of the entry that was not taken yet; nil at the end
	entry string      // the entry being read
	at    int64       // the row being read
	rows  int64       // rows proven

	vkey  string
	c     Checkpoint
	tiles bundleTiles
	tally *tally

	leavesOf int64       // tile of level 0 of which leaves are known, -1 before the first
	leaves   []tlog.Hash // proven
}

func (v *bundleVerifier) run() error {
	claimed, err := v.head()
	if err != nil {
		return err
	}
	if err := v.readTiles(); err != nil {
		return err
	}
	proven := v.c.proven(&v.tiles)
	v.tally = newTally(v.c, claimed.Query)
	for v.next != nil {
		if v.ctx.Err() != nil {
			return v.ctx.Err()
		}
		if err := v.row(proven); err != nil {
			return err
		}
	}
	v.entry = "manifest.json"
	return v.compare(claimed)
}

// head reads what stands before the tiles. The first entry tells a bundle from
// another file.
func (v *bundleVerifier) head() (claimed Manifest, err error) {
	if err := v.advance(); err != nil {
		return Manifest{}, fmt.Errorf("%w (%w)", ErrNoBundle, err)
	}
	if v.next == nil || v.next.Name != "manifest.json" {
		return Manifest{}, ErrNoBundle
	}
	text, err := v.take("manifest.json", maxManifest)
	if err != nil {
		return Manifest{}, err
	}
	var kind struct {
		Format  string
		Version int
	}
	if json.Unmarshal(text, &kind) != nil || kind.Format != bundleFormat {
		return Manifest{}, ErrNoBundle
	}
	if kind.Version > FormatVersion {
		return Manifest{}, fmt.Errorf("%w (bundle version %d, this program knows %d)", ErrNewerVersion, kind.Version, FormatVersion)
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(&claimed); err != nil {
		return Manifest{}, err
	}
	if again, err := claimed.encode(); err != nil || !bytes.Equal(again, text) {
		return Manifest{}, damage("is not written as a bundle writes it")
	}
	if err := claimed.Query.check(); err != nil {
		return Manifest{}, err
	}
	vkey, err := v.take(VkeyFile, 1024)
	if err != nil {
		return Manifest{}, err
	}
	note, err := v.take(CheckpointFile, maxCheckpoint)
	if err == nil {
		v.c, v.vkey, err = checkCheckpoint(string(vkey), string(note))
	}
	return claimed, err
}

// advance reads the next header.
func (v *bundleVerifier) advance() error {
	h, err := v.tar.Next()
	switch {
	case err == io.EOF:
		v.next = nil
		return nil
	case err != nil:
		return fmt.Errorf("the file is cut or damaged behind this: %w", err)
	}
	v.next = h
	want := entryHeader(h.Name, h.Size)
	if h.Typeflag != want.Typeflag || h.Format != want.Format || h.Mode != want.Mode || h.Linkname != "" || h.Size < 0 {
		v.entry = clipName(h.Name)
		return damage("is no entry of a bundle")
	}
	return nil
}

// take reads the next entry, which must have this name and at most limit bytes.
func (v *bundleVerifier) take(name string, limit int64) ([]byte, error) {
	size, err := v.expect(name, limit)
	if err != nil {
		return nil, err
	}
	b := make([]byte, size)
	if _, err := io.ReadFull(v.tar, b); err != nil {
		return nil, fmt.Errorf("the file is cut: %w", err)
	}
	return b, v.advance()
}

func (v *bundleVerifier) expect(name string, limit int64) (size int64, err error) {
	v.entry = name
	switch {
	case v.next == nil:
		return 0, damage("is missing")
	case v.next.Name != name:
		return 0, damage("is missing; " + clipName(v.next.Name) + " is in its place")
	case v.next.Size > limit:
		return 0, damage(fmt.Sprintf("%d bytes are too many", v.next.Size))
	}
	return v.next.Size, nil
}

func clipName(s string) string { return strconv.Quote(Clip(s, 100)) }

// bundleTiles are the tiles of a bundle. What is asked for and not there, or is
// there and not asked for, is an error; so is whatever the root does not
// confirm.
type bundleTiles struct {
	list []namedTile
	used map[string]bool
}

// Height implements tlog.TileReader.
func (t *bundleTiles) Height() int { return tileHeight }

// SaveTiles implements tlog.TileReader.
func (t *bundleTiles) SaveTiles([]tlog.Tile, [][]byte) {}

// ReadTiles implements tlog.TileReader.
func (t *bundleTiles) ReadTiles(tiles []tlog.Tile) ([][]byte, error) {
	var out [][]byte
	for _, want := range tiles {
		i, ok := slices.BinarySearchFunc(t.list, namedTile{tile: want}, namedTile.compare)
		if !ok {
			return nil, damage(tileName(want) + " is missing")
		}
		out = append(out, t.list[i].data)
		t.used[tileName(want)] = true
	}
	return out, nil
}

// readTiles takes the tiles, from the root down.
func (v *bundleVerifier) readTiles() error {
	v.tiles.used = make(map[string]bool)
	for v.next != nil && strings.HasPrefix(v.next.Name, "tile/") {
		v.entry = clipName(v.next.Name)
		tile, err := tlog.ParseTilePath("tile/" + strconv.Itoa(tileHeight) + "/" + strings.TrimPrefix(v.next.Name, "tile/"))
		if err != nil || tile.L < 0 || tileName(tile) != v.next.Name {
			return damage("is not the name of a tile")
		}
		if v.next.Size != int64(tile.W)*HashSize {
			return damage(fmt.Sprintf("has %d bytes", v.next.Size))
		}
		if n := len(v.tiles.list); n == maxTiles || n > 0 && v.tiles.list[n-1].compare(namedTile{tile: tile}) >= 0 {
			return damage("is one too many or out of order")
		}
		data, err := v.take(tileName(tile), tileWidth*HashSize)
		if err != nil {
			return err
		}
		v.tiles.list = append(v.tiles.list, namedTile{tile, data})
	}
	v.entry = CheckpointFile
	return nil
}

// row takes a row and its contents.
func (v *bundleVerifier) row(proven tlog.HashReader) error {
	digits, ok := strings.CutPrefix(v.next.Name, "rows/")
	seq, err := strconv.ParseInt(digits, 10, 64)
	if !ok || err != nil || seq < 1 || rowName(seq) != v.next.Name {
		v.entry = clipName(v.next.Name)
		return damage("is not the name of a row")
	}
	before := v.at
	v.at = seq
	if seq <= before || seq > v.c.Size {
		v.entry = rowName(seq)
		return damage("is out of order, or not covered by the checkpoint")
	}
	row, err := v.take(rowName(seq), MaxRow)
	if err != nil {
		return err
	}
	v.entry = rowName(seq)
	leaf, err := v.leaf(proven, seq-1)
	if err != nil {
		return fmt.Errorf("its proof: %w", err)
	}
	if leaf != RowHash(row) {
		return damage("is not the row that is in the log")
	}
	r, err := Decode(row)
	if err != nil {
		return err
	}
	if r.Seq != seq {
		return damage(fmt.Sprintf("says it is row %d", r.Seq))
	}
	v.tally.row(&r)
	for _, p := range parts(&r) {
		if err := v.body(seq, p); err != nil {
			return err
		}
	}
	v.rows++
	return nil
}

// leaf returns a proven leaf hash. All of a tile are proven together.
func (v *bundleVerifier) leaf(proven tlog.HashReader, i int64) (Hash, error) {
	if n := i / tileWidth; n != v.leavesOf {
		var indexes []int64
		for j := n * tileWidth; j < min((n+1)*tileWidth, v.c.Size); j++ {
			indexes = append(indexes, tlog.StoredHashIndex(0, j))
		}
		leaves, err := proven.ReadHashes(indexes)
		if err != nil {
			return Hash{}, err
		}
		v.leaves, v.leavesOf = leaves, n
	}
	return Hash(v.leaves[i%tileWidth]), nil
}

// body takes a content or the mark that stands for it.
func (v *bundleVerifier) body(seq int64, p part) error {
	v.entry = bodyName(seq, p.name, bodyShown)
	if v.next == nil {
		return damage("is missing")
	}
	for _, s := range []bodyState{bodyGone, bodyWithheld, bodyNotKept} {
		if v.next.Name != bodyName(seq, p.name, s) {
			continue
		}
		if (s == bodyNotKept) != (p.ref.Pack == 0) {
			return damage("its mark is not what the row says")
		}
		v.tally.body(s)
		_, err := v.take(v.next.Name, 0)
		return err
	}
	size, err := v.expect(bodyName(seq, p.name, bodyShown), maxBundleBody)
	if err != nil {
		return err
	}
	if p.ref.Pack == 0 || size != HashSize+p.ref.Stored {
		return damage(fmt.Sprintf("has %d bytes, the row says %d", size-HashSize, p.ref.Stored))
	}
	sum := sha256.New()
	if n, err := io.Copy(sum, v.tar); err != nil || n != size {
		return fmt.Errorf("the file is cut: %w", err)
	}
	if Hash(sum.Sum(nil)) != p.ref.committed() {
		return damage("does not match the commitment in its row")
	}
	v.tally.body(bodyShown)
	return v.advance()
}

// compare holds the manifest against what was found.
func (v *bundleVerifier) compare(claimed Manifest) error {
	if v.rows == 0 {
		return damage("the bundle has no row")
	}
	v.tally.m = v.tally.manifest()
	found, err := v.tally.m.encode()
	if err != nil {
		return err
	}
	said, err := claimed.encode()
	if err != nil {
		return err
	}
	if !bytes.Equal(found, said) {
		line := 1
		for i := 0; i < len(said) && i < len(found) && said[i] == found[i]; i++ {
			if said[i] == '\n' {
				line++
			}
		}
		return damage(fmt.Sprintf("line %d is not what the bundle shows: rows or contents were taken out, or it was changed", line))
	}
	if v.tally.m.Own == 0 {
		return damage("no row is of the run or task that it names")
	}
	return v.tilesBetween()
}

// tilesBetween checks the tiles that no row needed, which show the hashes of
// rows in between.
func (v *bundleVerifier) tilesBetween() error {
	m := v.tally.m
	var indexes []int64
	for _, t := range v.tiles.list {
		if t.tile.L == 0 && !v.tiles.used[tileName(t.tile)] {
			indexes = append(indexes, tlog.StoredHashIndex(0, t.tile.N*tileWidth))
		}
	}
	v.entry = "tile"
	if _, err := v.c.proven(&v.tiles).ReadHashes(indexes); err != nil {
		return err
	}
	if len(v.tiles.used) != len(v.tiles.list) {
		return damage("one is in the bundle that proves nothing")
	}
	if m.Last-m.First < maxSpan {
		for n := (m.First - 1) / tileWidth; n <= (m.Last-1)/tileWidth; n++ {
			w := int(min(tileWidth, v.c.Size-n*tileWidth))
			if name := tileName(tlog.Tile{H: tileHeight, L: 0, N: n, W: w}); !v.tiles.used[name] {
				return damage(name + " with hashes between the rows is missing")
			}
		}
	}
	return nil
}
