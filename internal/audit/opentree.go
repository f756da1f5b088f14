package audit

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"

	"golang.org/x/mod/sumdb/note"
)

// errNoKey: a new key would be a new log for everyone who holds a checkpoint.
const errNoKey = damage("the key that signs this log's checkpoints (" + keyFile + ") is missing; put it back from a backup")

// survey is what Open learns of tree and checkpoint while it reads the rows. It
// changes nothing before all of them were read and agree with the last
// checkpoint that was signed.
type survey struct {
	dir string
	fs  FS

	signer signer // zero before the log has a key
	vkey   string // as it lies beside the checkpoint; empty when it does not
	named  string // by the rows; empty before one does
	signed Checkpoint
	wrong  error // what is wrong with the checkpoint itself, or with the key

	tree    tiler
	check   treeCheck
	mend    *tiler // the tree of which the files hold everything; nil when that is all of it
	differs int64  // first row of which the tree says something else
}

func newSurvey(fsys FS, dir string) (*survey, error) {
	s := &survey{dir: dir, fs: fsys}
	if err := s.readNotes(); err != nil {
		return nil, err
	}
	err := s.check.open(func(level int) (sizedFile, error) { return fsys.Open(treePath(dir, level)) })
	if err != nil {
		return nil, errors.Join(err, s.check.close())
	}
	s.tree.carry = s.compare
	return s, nil
}

// readNotes reads key, vkey and checkpoint.
func (s *survey) readNotes() error {
	key, err := s.read(keyFile)
	if err != nil {
		return err
	}
	var badKey error
	if key != nil {
		s.signer, badKey = parseSigner(key)
	}
	vkey, err := s.read(VkeyFile)
	if err != nil {
		return err
	}
	text, err := s.read(CheckpointFile)
	if err != nil {
		return err
	}
	switch {
	case badKey != nil:
		s.wrong = badKey
	case vkey != nil && key == nil:
		s.wrong = errNoKey
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
	return nil
}

// read returns the content of a small file, nil when there is none.
func (s *survey) read(name string) ([]byte, error) {
	f, err := s.fs.Open(filepath.Join(s.dir, name))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	size, err := f.Size()
	b := make([]byte, min(size, maxCheckpoint+1))
	if err == nil && len(b) > 0 {
		_, err = f.ReadAt(b, 0)
	}
	return b, errors.Join(err, f.Close())
}

// compare holds a hash of the tree against the files.
func (s *survey) compare(level int, h Hash) error {
	if s.mend != nil {
		return nil
	}
	same, err := s.check.next(level, h)
	if err != nil || same {
		return err
	}
	s.mend = new(tiler) // everything is made again
	if level == 0 && s.differs == 0 {
		s.differs = s.tree.size + 1
	}
	return nil
}

// row takes the hash of the next row.
func (s *survey) row(h Hash) error {
	if s.mend == nil && s.tree.size == s.check.whole() {
		whole := s.tree.clone()
		s.mend = &whole
	}
	if err := s.compare(0, h); err != nil {
		return err
	}
	if err := s.tree.add(h); err != nil {
		return err
	}
	if s.wrong != nil || s.tree.size != s.signed.Size || s.tree.root() == s.signed.Root {
		return nil
	}
	if s.differs != 0 {
		return &BrokenError{Seq: s.differs, File: CheckpointFile, Cause: damage("is not the row that the last checkpoint signed: the log was rewritten")}
	}
	return &BrokenError{Seq: s.signed.Size, File: CheckpointFile, Cause: damage(
		"the rows up to it are not those that the last checkpoint signed: the log was rewritten at or before it")}
}

// names takes the key that a row names. A log has one key for good: whoever
// takes key and checkpoints away does not get to begin with others.
func (s *survey) names(r *Record) (err error) {
	s.named, err = keyNamed(s.named, r)
	return err
}

// ends holds what is known against a log that ends, or is to be cut, at row
// last.
func (s *survey) ends(last int64, id logID) error {
	cause := s.wrong
	switch {
	case cause != nil:
	case s.signed.Size > last:
		cause = fmt.Errorf("the log ends at row %d and the last checkpoint signed %d rows: rows were cut off", last, s.signed.Size)
	case s.check.have[0] > last && s.vkey != "":
		cause = fmt.Errorf("the log ends at row %d and its tree has %d: rows were cut off", last, s.check.have[0])
	case s.named != "" && s.vkey == "" && (s.signed.Text == "" || s.signer.vkey != s.named):
		cause = errUnsigned
	case s.named != "" && s.vkey != "" && s.vkey != s.named:
		cause = errOtherVkey
	case last > 0 && s.signer.Signer != nil && s.signer.Name() != id.origin():
		cause = damage("it is that of another log")
	}
	if cause != nil {
		return &BrokenError{Seq: last + 1, File: CheckpointFile, Cause: cause}
	}
	if last == 0 { // a log that never had a row is named anew, and so is its key
		s.signer, s.vkey, s.signed = signer{}, "", Checkpoint{}
	}
	return nil
}

// settleTree makes again what the files of the tree lack, gives a log its key,
// and starts the notary. Called by Open before the first row is queued.
func (l *Log) settleTree(s *survey) error {
	l.notary = notary{dir: l.dir, fs: l.o.FS, logger: l.o.Logger, pace: signPace}
	if s.mend == nil {
		l.notary.follows(s.tree)
	} else {
		l.notary.follows(*s.mend)
		if err := l.mendTree(s.mend.size); err != nil {
			return errors.Join(fmt.Errorf("make the tree again: %w", err), l.notary.closeFiles())
		}
	}
	if s.vkey == "" {
		if err := s.makeKey(l.id); err != nil {
			return errors.Join(fmt.Errorf("make signing key: %w", err), l.notary.closeFiles())
		}
	}
	l.notary.signer, l.notary.signed = s.signer, s.signed
	l.notary.start()
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
	if err := replaceFile(s.fs, filepath.Join(s.dir, name), []byte(content)); err != nil {
		return err
	}
	return s.fs.SyncDir(s.dir)
}

// mendTree adds the rows behind row from to the notary's tree and writes it.
func (l *Log) mendTree(from int64) error {
	num := l.segment.num
	for ; num > 1; num-- {
		h, err := l.segmentHeader(num)
		if err != nil {
			return err
		}
		if h.first <= from+1 {
			break // the rows before it are in the tree
		}
	}
	for ; num <= l.segment.num; num++ {
		if err := l.addRows(num, from); err != nil {
			return err
		}
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

// addRows adds the rows of a segment that are behind row from.
func (l *Log) addRows(num, from int64) error {
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
	var leaves []Hash
	for seq := h.first; ; seq++ {
		fr, err := frames.next()
		if err != nil && err != io.EOF {
			return err
		}
		if err == nil && seq > from {
			leaves = append(leaves, fr.hash())
		}
		if err == io.EOF || len(leaves) == 4*tileWidth {
			l.notary.add(leaves)
			if err := l.notary.saveTree(); err != nil {
				return err
			}
			leaves = leaves[:0]
		}
		if err == io.EOF {
			return nil
		}
	}
}
