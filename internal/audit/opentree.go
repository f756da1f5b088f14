package audit

import (
	"bytes"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"slices"

	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"
)

// errNoKey: a new key would be a new log for everyone who holds a checkpoint.
var errNoKey = errors.New("the key that signs this log's checkpoints (" + keyFile + ") is missing; nothing was changed: " +
	"put it back, or, to go on with a new key that no witness knows, remove " + CheckpointFile + " and " + VkeyFile)

// survey is what Open learns of tree and checkpoint while it reads the rows. It
// changes nothing before all of them were read and agree with the last
// checkpoint that was signed.
type survey struct {
	dir string
	fs  FS

	signer signer // zero before the log has a key
	vkey   string // as it lies beside the checkpoint; empty when it does not
	signed Checkpoint
	wrong  error // what is wrong with the checkpoint itself

	tree    tiler
	edge    []savedTile // tiles beside the full ones that signed needs
	mend    *tiler      // the tree before the first tile that is missing or wrong
	differs int64       // first row of which a tile says something else
}

func newSurvey(fsys FS, dir string) (*survey, error) {
	s := &survey{dir: dir, fs: fsys}
	s.tree.full = s.compare
	key, err := s.read(keyFile, maxCheckpoint)
	if err == nil && key != nil {
		s.signer, err = parseSigner(key)
	}
	if err != nil {
		return nil, err
	}
	vkey, err := s.read(VkeyFile, maxCheckpoint)
	if err != nil {
		return nil, err
	}
	text, err := s.read(CheckpointFile, maxCheckpoint)
	if err != nil {
		return nil, err
	}
	switch {
	case vkey != nil && key == nil:
		return nil, errNoKey
	case vkey != nil && text == nil:
		s.wrong = errNoCheckpoint
	case vkey != nil:
		s.signed, s.vkey, s.wrong = checkCheckpoint(string(vkey), string(text))
		if s.wrong == nil && s.vkey != s.signer.vkey {
			s.wrong = damage("its verifier key is not that of " + keyFile)
		}
	case key != nil && text != nil: // a crash came while the files were made
		s.signed, s.wrong = parseCheckpoint(string(text))
		if s.wrong == nil {
			s.wrong = s.signed.verify(s.signer.vkey)
		}
	}
	return s, nil
}

// read returns the content of a file, nil when there is none.
func (s *survey) read(name string, limit int64) ([]byte, error) {
	f, err := s.fs.Open(filepath.Join(s.dir, filepath.FromSlash(name)))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	size, err := f.Size()
	b := make([]byte, min(size, limit+1))
	if err == nil && len(b) > 0 {
		_, err = f.ReadAt(b, 0)
	}
	if err == io.EOF { // it became shorter meanwhile
		err = nil
	}
	return b, errors.Join(err, f.Close())
}

// compare looks at a tile that the rows have filled.
func (s *survey) compare(tile tlog.Tile, hashes []Hash) error {
	if s.mend != nil {
		return nil
	}
	on, err := s.read(tileName(tile), tileWidth*HashSize)
	if err != nil {
		return err
	}
	want := appendHashes(nil, hashes)
	if bytes.Equal(on, want) {
		return nil
	}
	mend := tiler{}
	if tile.L == 0 {
		mend = s.tree.clone()
		mend.size -= tileWidth
		mend.levels[0] = mend.levels[0][:0]
	}
	s.mend = &mend
	s.noteDifference(tile, on, want)
	return nil
}

// noteDifference remembers the first row of which the leaf hash on the disk is
// another than that of the row.
func (s *survey) noteDifference(tile tlog.Tile, on, want []byte) {
	if tile.L > 0 || s.differs != 0 || len(on) != len(want) {
		return
	}
	if i := firstDifference(on, want); i >= 0 {
		s.differs = firstRow(tile, i/HashSize)
	}
}

// firstDifference is the index of the first byte that differs, or at which one
// of them ends; -1 when they are the same.
func firstDifference(a, b []byte) int {
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			return i
		}
	}
	if len(a) == len(b) {
		return -1
	}
	return min(len(a), len(b))
}

// row takes the hash of the next row.
func (s *survey) row(h Hash) error {
	if err := s.tree.add(h); err != nil {
		return err
	}
	if s.wrong != nil || s.tree.size != s.signed.Size {
		return nil
	}
	for tile, hashes := range s.tree.edge {
		want := appendHashes(nil, hashes)
		s.edge = append(s.edge, savedTile{tile, want})
		on, err := s.read(tileName(tile), tileWidth*HashSize)
		if err != nil {
			return err
		}
		s.noteDifference(tile, on, want)
	}
	if s.tree.root() == s.signed.Root {
		return nil
	}
	return s.rewritten()
}

func (s *survey) rewritten() error {
	if s.differs != 0 {
		return &BrokenError{Seq: s.differs, File: CheckpointFile, Cause: damage("is not the row that the last checkpoint signed: the log was rewritten")}
	}
	return &BrokenError{Seq: s.signed.Size, File: CheckpointFile, Cause: damage(
		"the rows up to it are not those that the last checkpoint signed: the log was rewritten at or before it")}
}

// check holds what is known against a log that ends, or is to be cut, at row
// last.
func (s *survey) check(last int64, id logID) error {
	cause := s.wrong
	switch {
	case cause != nil:
	case s.signed.Size > last:
		cause = fmt.Errorf("the log ends at row %d and the last checkpoint signed %d rows: rows were cut off", last, s.signed.Size)
	case last > 0 && s.signer.Signer != nil && s.signer.Name() != id.origin():
		cause = damage("it is that of another log")
	}
	if cause != nil {
		return &BrokenError{Seq: last + 1, File: CheckpointFile, Cause: cause}
	}
	return nil
}

// settleTree makes again what tiles are missing or wrong, gives a log its key,
// and starts the notary. Called by Open before the first row is queued.
func (l *Log) settleTree(s *survey) error {
	if s.mend != nil {
		if err := l.mendTiles(*s.mend); err != nil {
			return fmt.Errorf("make tiles again: %w", err)
		}
	}
	for _, t := range s.edge {
		on, err := s.read(tileName(t.tile), tileWidth*HashSize)
		if err == nil && !bytes.Equal(on, t.data) {
			err = saveTile(l.o.FS, l.dir, t)
		}
		if err != nil {
			return err
		}
	}
	if s.vkey == "" {
		if err := s.makeKey(l.id); err != nil {
			return fmt.Errorf("make signing key: %w", err)
		}
	}
	s.sweep()
	l.notary = notary{dir: l.dir, fs: l.o.FS, signer: s.signer, logger: l.o.Logger, pace: signPace}
	partial := make(map[int]tlog.Tile)
	for _, t := range s.edge {
		partial[t.tile.L] = t.tile
	}
	l.notary.start(s.tree, s.signed, partial)
	return nil
}

// makeKey makes what is not there of key, first checkpoint and vkey, in this
// order: a log with a vkey has had a checkpoint, and one that has none has lost
// it.
func (s *survey) makeKey(id logID) error {
	if s.signer.Signer == nil {
		skey, _, err := note.GenerateKey(rand.Reader, id.origin())
		if err != nil {
			return err
		}
		if err := s.replace(keyFile, skey+"\n"); err != nil {
			return err
		}
		if s.signer, err = parseSigner([]byte(skey)); err != nil {
			return err
		}
	}
	if s.signed.Text == "" {
		empty := tiler{}
		c, err := s.signer.sign(0, empty.root())
		if err == nil {
			err = s.replace(CheckpointFile, c.Text)
		}
		if err != nil {
			return err
		}
		s.signed = c
	}
	s.vkey = s.signer.vkey
	return s.replace(VkeyFile, s.vkey+"\n")
}

// replace writes a file whose content and name are durable before it returns.
func (s *survey) replace(name, content string) error {
	if err := replaceFile(s.fs, filepath.Join(s.dir, name), []byte(content), true); err != nil {
		return err
	}
	return s.fs.SyncDir(s.dir)
}

// mendTiles writes every tile from tree on, with the rows behind it.
func (l *Log) mendTiles(tree tiler) error {
	tree.full = func(tile tlog.Tile, hashes []Hash) error {
		return saveTile(l.o.FS, l.dir, savedTile{tile, appendHashes(nil, hashes)})
	}
	for num := l.segment.num; num > 0; num-- {
		h, err := l.segmentHeader(num)
		if err != nil {
			return err
		}
		if num > 1 && h.first > tree.size+1 {
			continue // the rows begin in an earlier segment
		}
		for ; num <= l.segment.num; num++ {
			if err := l.addRows(num, &tree); err != nil {
				return err
			}
		}
		return nil
	}
	return nil
}

func (l *Log) segmentHeader(num int64) (header, error) {
	f, err := l.o.FS.Open(filepath.Join(l.dir, segmentName(num)))
	if err != nil {
		return header{}, err
	}
	h, err := readHeader(f)
	return h, errors.Join(err, f.Close())
}

// addRows adds the rows of a segment that are not in tree yet.
func (l *Log) addRows(num int64, tree *tiler) error {
	f, err := l.o.FS.Open(filepath.Join(l.dir, segmentName(num)))
	if err != nil {
		return err
	}
	defer f.Close()
	h, err := readHeader(f)
	if err != nil {
		return err
	}
	frames := newFrameReader(f, l.id, segmentHeader)
	for seq := h.first; ; seq++ {
		fr, err := frames.next()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		if seq > tree.size {
			if err := tree.add(fr.hash()); err != nil {
				return err
			}
		}
	}
}

// sweep removes tiles that a crash left behind: those which an earlier
// checkpoint needed and files that were being written. What cannot be removed
// does no harm.
func (s *survey) sweep() {
	keep := make(map[string]bool)
	for _, t := range s.edge {
		keep[tileName(t.tile)] = true
	}
	for level := range s.tree.levels {
		n := s.signed.Size >> (tileHeight * (level + 1))
		for _, n := range []int64{n - 1, n} {
			if n >= 0 {
				s.sweepPartials(tlog.Tile{H: tileHeight, L: level, N: n, W: 1}, keep)
			}
		}
	}
}

func (s *survey) sweepPartials(tile tlog.Tile, keep map[string]bool) {
	dir := filepath.Dir(tilePath(s.dir, tile))
	entries, _ := s.fs.ReadDir(dir)
	left := slices.ContainsFunc(entries, func(e fs.DirEntry) bool { return keep[filepath.ToSlash(filepath.Dir(tileName(tile)))+"/"+e.Name()] })
	for _, e := range entries {
		if !keep[filepath.ToSlash(filepath.Dir(tileName(tile)))+"/"+e.Name()] {
			_ = s.fs.Remove(filepath.Join(dir, e.Name()))
		}
	}
	if !left && len(entries) > 0 {
		_ = s.fs.Remove(dir)
	}
}
