package audit

import (
	"archive/tar"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"

	"golang.org/x/mod/sumdb/tlog"
)

// An evidence bundle is a tar file with the rows of a run or a task and what
// proves that they are in the log of a signed checkpoint. In this order:
//
//	manifest.json
//	checkpoint.vkey, checkpoint
//	tile/<level>/<n>[.p/<width>]     as C2SP tlog-tiles names them
//	rows/<seq>                       the row as it is in the log, by number
//	bodies/<seq>.request             salt and content, behind their row
//	bodies/<seq>.response.erased     empty: .erased, .withheld, .not-kept
//
// The tiles are those that an ordinary client of the log reads to prove the
// rows, and all leaf hashes from the first row to the last. A reader needs no
// more than the file. Nothing in it is compressed, and everything is where the
// order says, so that a bundle cannot grow while it is read.

// BundleQuery says whose rows go into a bundle: Run or Task, not both.
type BundleQuery struct {
	Run  string `json:"run,omitempty"`
	Task string `json:"task,omitempty"`

	Withhold   bool        `json:"-"` // leave contents out; their commitments stay in the rows
	Checkpoint *Checkpoint `json:"-"` // to prove against, such as one with cosignatures; nil = the log's last
}

func (q BundleQuery) check() error {
	if (q.Run == "") == (q.Task == "") {
		return errors.New("a bundle is of a run or of a task")
	}
	return nil
}

// owns says whether a row is of the run or task itself.
func (q BundleQuery) owns(r *Record) bool {
	if q.Run != "" {
		return r.Attribution.Run == q.Run
	}
	return r.Attribution.Task == q.Task
}

// Manifest is what a bundle says of itself. A reader derives all of it from the
// rest of the bundle and accepts no other.
type Manifest struct {
	Format   string      `json:"format"`
	Version  int         `json:"version"`
	Origin   string      `json:"origin"`
	Query    BundleQuery `json:"query"`
	LogRows  int64       `json:"log_rows"` // rows the checkpoint covers
	Root     Hash        `json:"root"`
	Rows     int64       `json:"rows"`    // in the bundle
	Own      int64       `json:"own"`     // of them of the run or task itself; the others belong to them
	First    int64       `json:"first"`   // number of the first row
	Last     int64       `json:"last"`    // and of the last
	Between  int64       `json:"between"` // rows between them that are not in the bundle
	Bodies   int64       `json:"bodies"`
	Erased   int64       `json:"erased"`
	Withheld int64       `json:"withheld"`
	NotKept  int64       `json:"not_kept"`
	Open     int64       `json:"open"` // requests without outcome
	Proves   []string    `json:"proves"`
	NotShown []string    `json:"does_not_prove"`
}

const bundleFormat = "moeca evidence bundle"

// proves and notShown are part of the format.
var (
	proves = [...]string{
		"each row is, byte for byte, a row of the log of which the checkpoint is signed, at the number it says",
		"each content is the one to which its row commits",
	}
	notShown = [...]string{
		"that the key in the bundle is the log's: compare it with one from elsewhere",
		"that no row of the run or task was left out: rows in between are shown as hashes only, whose content the keeper of the log can show one by one",
		"that the log was told everything, or that a time in it is right",
		"anything about contents that are erased, withheld or were not kept",
	}
)

// Most of what a bundle may hold.
const (
	maxManifest   = 64 << 10
	maxTiles      = 16 << 10  // 128 MiB of hashes
	maxSpan       = 1 << 20   // rows between the first and the last that are shown as hashes
	maxBundleBody = 256 << 20 // a content
)

// ErrNoRows: nothing is recorded of the run or task.
var ErrNoRows = errors.New("the log has no row of it")

// WriteBundle writes the evidence bundle of a run or task of the log in dir to
// w, beside a running writer or without one, and returns its manifest. It shows
// the log as the checkpoint has it; rows after it are left out.
func WriteBundle(ctx context.Context, dir string, w io.Writer, q BundleQuery) (Manifest, error) {
	m, err := writeBundle(ctx, dir, w, q)
	if err != nil {
		return Manifest{}, fmt.Errorf("audit: bundle of run %q task %q: %w", q.Run, q.Task, err)
	}
	return m, nil
}

func writeBundle(ctx context.Context, dir string, w io.Writer, q BundleQuery) (Manifest, error) {
	if err := q.check(); err != nil {
		return Manifest{}, err
	}
	c, vkey, err := readCheckpoint(dir)
	if err != nil {
		return Manifest{}, err
	}
	if q.Checkpoint != nil {
		if err := q.Checkpoint.verify(vkey); err != nil {
			return Manifest{}, err
		}
		c = *q.Checkpoint
	}
	rows, err := OpenReader(dir)
	if err != nil {
		return Manifest{}, err
	}
	defer rows.Close()
	if _, err := rows.Refresh(); err != nil {
		return Manifest{}, err
	}
	b := &bundler{ctx: ctx, rows: rows, q: q, picked: make(map[int64]struct{})}
	if err := b.pick(c.Size); err != nil {
		return Manifest{}, err
	}
	if len(b.picked) == 0 {
		return Manifest{}, ErrNoRows
	}
	b.tally = newTally(c, q)
	seqs := slices.Sorted(maps.Keys(b.picked))
	for _, seq := range seqs {
		if err := b.count(seq); err != nil {
			return Manifest{}, err
		}
	}
	tiles, err := provingTiles(ctx, dir, c, seqs)
	if err != nil {
		return Manifest{}, err
	}
	b.tar = tar.NewWriter(w)
	m := b.tally.manifest()
	b.tally = newTally(c, q)
	err = b.write(m, c, vkey, tiles, seqs)
	if err == nil {
		err = b.tar.Close()
	}
	if err == nil && b.tally.m.Erased != m.Erased {
		err = errors.New("contents were erased meanwhile: write the bundle again")
	}
	return m, err
}

// bundler writes a bundle.
type bundler struct {
	ctx    context.Context
	rows   *Reader
	q      BundleQuery
	picked map[int64]struct{}
	tally  *tally
	tar    *tar.Writer
}

// pick chooses rows up to last: those of the run or task, those that refer to
// one that was chosen, those it refers to, and what was decided about its tasks.
func (b *bundler) pick(last int64) error {
	tasks := make(map[string]bool)
	for seq := int64(1); seq <= last; seq++ {
		if seq%1000 == 0 && b.ctx.Err() != nil {
			return context.Cause(b.ctx)
		}
		r, _, err := b.rows.At(seq)
		if err != nil {
			return err
		}
		_, refers := b.picked[r.Ref]
		switch {
		case b.q.owns(&r):
			tasks[r.Attribution.Task] = r.Attribution.Task != ""
		case refers:
		case r.Attribution.Run == "" && tasks[r.Attribution.Task] &&
			(r.Kind == KindApproval || r.Kind == KindMerge || r.Kind == KindCI || r.Kind == KindAdmin):
		default:
			continue
		}
		b.picked[seq] = struct{}{}
		if err := b.pickBehind(r.Ref); err != nil {
			return err
		}
	}
	return nil
}

// pickBehind chooses a row that was referred to, and what it refers to itself.
func (b *bundler) pickBehind(seq int64) error {
	for seq > 0 {
		if _, ok := b.picked[seq]; ok {
			return nil
		}
		r, _, err := b.rows.At(seq)
		if err != nil {
			return err
		}
		b.picked[seq] = struct{}{}
		if r.Ref >= seq {
			return nil
		}
		seq = r.Ref
	}
	return nil
}

// count enters a row and its contents in the manifest.
func (b *bundler) count(seq int64) error {
	r, _, err := b.rows.At(seq)
	if err != nil {
		return err
	}
	b.tally.row(&r)
	for _, part := range parts(&r) {
		if _, state, err := b.body(part); err != nil {
			return fmt.Errorf("row %d: %w", seq, err)
		} else {
			b.tally.body(state)
		}
	}
	return nil
}

// part is a content of a row.
type part struct {
	name string
	ref  *BodyRef
}

func parts(r *Record) []part {
	var list []part
	for _, p := range []part{{"request", r.Request}, {"response", r.Response}} {
		if p.ref != nil {
			list = append(list, p)
		}
	}
	return list
}

// bodyState says what a bundle shows of a content: nothing but its mark, unless
// it is shown.
type bodyState string

const (
	bodyShown    bodyState = ""
	bodyGone     bodyState = ".erased"
	bodyWithheld bodyState = ".withheld"
	bodyNotKept  bodyState = ".not-kept"
)

// body returns salt and content, or why there is none.
func (b *bundler) body(p part) ([]byte, bodyState, error) {
	switch {
	case p.ref.Pack == 0:
		return nil, bodyNotKept, nil
	case b.q.Withhold:
		return nil, bodyWithheld, nil
	}
	data, err := b.rows.salted(p.ref)
	if errors.Is(err, ErrErased) {
		return nil, bodyGone, nil
	}
	return data, bodyShown, err
}

// provingTiles are the tiles from which the leaf hashes of rows are proven, and
// those between the first and the last row. They were checked.
func provingTiles(ctx context.Context, dir string, c Checkpoint, seqs []int64) ([]namedTile, error) {
	list := &tileRecorder{treeFiles: treeFiles{ctx, dir}}
	if _, err := c.proven(list).ReadHashes(leafIndexes(seqs)); err != nil {
		return nil, err
	}
	if len(list.tiles) > maxTiles {
		return nil, fmt.Errorf("%d tiles are needed, a bundle holds %d", len(list.tiles), maxTiles)
	}
	slices.SortFunc(list.tiles, namedTile.compare)
	return list.tiles, nil
}

// leafIndexes are the stored hashes of the rows, and one of each tile between
// them.
func leafIndexes(seqs []int64) []int64 {
	first, last := seqs[0], seqs[len(seqs)-1]
	set := make(map[int64]struct{})
	for _, seq := range seqs {
		set[seq-1] = struct{}{}
	}
	if last-first < maxSpan {
		for n := (first-1)/tileWidth + 1; n <= (last-1)/tileWidth; n++ {
			set[n*tileWidth] = struct{}{}
		}
	}
	var list []int64
	for _, n := range slices.Sorted(maps.Keys(set)) {
		list = append(list, tlog.StoredHashIndex(0, n))
	}
	return list
}

type namedTile struct {
	tile tlog.Tile
	data []byte
}

// compare orders tiles from the root down.
func (t namedTile) compare(o namedTile) int {
	switch {
	case t.tile.L != o.tile.L:
		return o.tile.L - t.tile.L
	case t.tile.N != o.tile.N:
		return int(min(max(t.tile.N-o.tile.N, -1), 1))
	}
	return t.tile.W - o.tile.W
}

// tileRecorder keeps the tiles that are read through it.
type tileRecorder struct {
	treeFiles
	tiles []namedTile
}

// ReadTiles implements tlog.TileReader.
func (t *tileRecorder) ReadTiles(tiles []tlog.Tile) ([][]byte, error) {
	data, err := t.treeFiles.ReadTiles(tiles)
	for i := range data {
		t.tiles = append(t.tiles, namedTile{tiles[i], data[i]})
	}
	return data, err
}

func (b *bundler) write(m Manifest, c Checkpoint, vkey string, tiles []namedTile, seqs []int64) error {
	text, err := m.encode()
	if err != nil {
		return err
	}
	for _, e := range []struct{ name, text string }{{"manifest.json", string(text)}, {VkeyFile, vkey + "\n"}, {CheckpointFile, c.Text}} {
		if err := b.entry(e.name, []byte(e.text)); err != nil {
			return err
		}
	}
	for _, t := range tiles {
		if err := b.entry(tileName(t.tile), t.data); err != nil {
			return err
		}
	}
	for _, seq := range seqs {
		if b.ctx.Err() != nil {
			return context.Cause(b.ctx)
		}
		if err := b.writeRow(seq); err != nil {
			return err
		}
	}
	return nil
}

func (b *bundler) writeRow(seq int64) error {
	r, _, err := b.rows.At(seq)
	if err != nil {
		return err
	}
	row, err := Encode(nil, &r) // the one encoding it has
	if err == nil {
		err = b.entry(rowName(seq), row)
	}
	if err != nil {
		return err
	}
	for _, p := range parts(&r) {
		data, state, err := b.body(p)
		b.tally.body(state)
		if err == nil {
			err = b.entry(bodyName(seq, p.name, state), data)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func rowName(seq int64) string { return fmt.Sprintf("rows/%019d", seq) }

func bodyName(seq int64, part string, state bodyState) string {
	return fmt.Sprintf("bodies/%019d.%s%s", seq, part, state)
}

func (b *bundler) entry(name string, data []byte) error {
	if err := b.tar.WriteHeader(entryHeader(name, int64(len(data)))); err != nil {
		return err
	}
	_, err := b.tar.Write(data)
	return err
}

func entryHeader(name string, size int64) *tar.Header {
	return &tar.Header{Typeflag: tar.TypeReg, Name: name, Size: size, Mode: 0o644, Format: tar.FormatUSTAR}
}

// encode is the one form of a manifest.
func (m Manifest) encode() ([]byte, error) {
	b, err := json.MarshalIndent(m, "", "  ")
	return append(b, '\n'), err
}

// tally derives the manifest from rows and contents, in their order.
type tally struct {
	m    Manifest
	open map[int64]struct{}
}

func newTally(c Checkpoint, q BundleQuery) *tally {
	return &tally{m: Manifest{
		Format: bundleFormat, Version: FormatVersion, Origin: c.Origin, Query: BundleQuery{Run: q.Run, Task: q.Task},
		LogRows: c.Size, Root: c.Root, Proves: proves[:], NotShown: notShown[:],
	}, open: make(map[int64]struct{})}
}

func (t *tally) row(r *Record) {
	t.m.Rows++
	if t.m.Query.owns(r) {
		t.m.Own++
	}
	if t.m.First == 0 {
		t.m.First = r.Seq
	}
	t.m.Last = r.Seq
	switch r.Kind {
	case KindIntent:
		t.open[r.Seq] = struct{}{}
	case KindOutcome:
		delete(t.open, r.Ref)
	}
}

func (t *tally) body(s bodyState) {
	switch s {
	case bodyShown:
		t.m.Bodies++
	case bodyGone:
		t.m.Erased++
	case bodyWithheld:
		t.m.Withheld++
	case bodyNotKept:
		t.m.NotKept++
	}
}

func (t *tally) manifest() Manifest {
	m := t.m
	m.Between = m.Last - m.First + 1 - m.Rows
	m.Open = int64(len(t.open))
	return m
}
