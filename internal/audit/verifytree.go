package audit

import (
	"context"
	"errors"
	"fmt"
)

// treeVerifier lays the tree over the rows that a verifier reads, and compares
// it with the log's checkpoint, with those that the caller holds, and with the
// files of the tree.
type treeVerifier struct {
	unsigned bool       // the log has no key
	vkey     string     // of the log
	named    string     // by the rows
	signed   Checkpoint // zero when there is none, or wrong says why
	wrong    error

	off     bool // nothing is there to compare with
	tree    tiler
	check   treeCheck
	parted  bool     // rows or files are not those that were signed
	differs int      // level at which the last row differs from the files, or -1
	bad     *badTree // the first difference between rows and files
}

// badTree is a row at which the files of the tree say something else.
type badTree struct {
	*BrokenError
	before chain // up to the row before
}

// open reads the checkpoint and looks how much of the tree there is.
func (v *treeVerifier) open(dir string) error {
	v.tree.carry = v.compare
	v.signed, v.vkey, v.wrong = readCheckpoint(dir)
	v.unsigned = errors.Is(v.wrong, ErrUnsigned)
	switch {
	case v.unsigned:
		v.wrong = nil
	case v.wrong != nil && !isDamage(v.wrong):
		return v.wrong
	}
	if v.wrong != nil {
		v.signed = Checkpoint{}
	}
	for level := range v.check.need {
		v.check.need[level] = hashesAt(v.signed.Size, level)
	}
	return v.check.open(func(level int) (sizedFile, error) {
		f, err := openRegular(treePath(dir, level))
		if err != nil {
			return nil, err
		}
		return osFile{f}, nil
	})
}

// laid says whether the log has a tree that a checkpoint confirms.
func (v *treeVerifier) laid() bool { return v.signed.Text != "" }

// skip begins with the tree of the first size rows as the files have it.
func (v *treeVerifier) skip(ctx context.Context, dir string, size int64) error {
	if v.off {
		return nil
	}
	t, err := treeFiles{ctx, dir}.edgeOf(size)
	if err != nil {
		return err
	}
	v.tree.size, v.tree.levels = t.size, t.levels
	v.check.skip(size)
	return nil
}

// row takes the hash of the next row; before is the chain up to the one before.
// It returns what is wrong with the row.
func (v *treeVerifier) row(before chain, h Hash, held [2]*Checkpoint) error {
	if v.off {
		return nil
	}
	v.differs = -1
	err := v.compare(0, h)
	if err == nil {
		err = v.tree.add(h)
	}
	if err != nil {
		return err
	}
	if v.differs >= 0 {
		v.note(v.differs, before)
	}
	return v.roots(held)
}

// compare holds the next hash of a level against the file.
func (v *treeVerifier) compare(level int, h Hash) error {
	if v.bad != nil {
		return nil
	}
	same, err := v.check.next(level, h)
	if !same && v.differs < 0 {
		v.differs = level
	}
	return err
}

// note remembers where rows and files differ first.
func (v *treeVerifier) note(level int, before chain) {
	i, seq := v.check.done[level]-1, before.seq+1
	v.parted = true
	what := fmt.Sprintf("holds another hash than row %d has", seq)
	if i >= v.check.have[level] {
		what = fmt.Sprintf("has lost the hash of row %d", seq)
	}
	v.bad = &badTree{&BrokenError{
		Seq: seq, File: fmt.Sprintf("%s/%d", treeDir, level), Offset: i * HashSize,
		Cause: damage(what + "; when the gateway opens the log it makes the tree again, if the rows agree with the last checkpoint"),
	}, before}
}

// roots compares the tree with the checkpoints that cover just these rows.
func (v *treeVerifier) roots(held [2]*Checkpoint) error {
	for _, c := range [3]*Checkpoint{&v.signed, held[0], held[1]} {
		if c == nil || c.Text == "" || c.Size != v.tree.size || c.Root == v.tree.root() {
			continue
		}
		whose := "you hold"
		if c == &v.signed {
			whose = "of the log"
		}
		v.parted = true
		if v.bad != nil {
			v.bad.Cause = damage("is not the row that the checkpoint " + whose + " signed: the log was rewritten")
			return v.bad.Cause
		}
		return damage("the rows up to it are not those that the checkpoint " + whose + " signed: the log was rewritten at or before it")
	}
	return nil
}

// ends says what is wrong with a log of rows rows.
func (v *treeVerifier) ends(rows int64, id logID, short func(what string, rows int64) error) error {
	switch {
	case v.wrong != nil:
		return fmt.Errorf("%s: %w", CheckpointFile, v.wrong)
	case v.unsigned && v.named != "":
		return errUnsigned
	case v.unsigned:
		return nil
	case v.signed.Size > rows:
		return short("its own checkpoint", v.signed.Size)
	case v.check.have[0] > rows:
		return short("its tree", v.check.have[0])
	case rows > 0 && v.signed.Origin != id.origin():
		return damage(CheckpointFile + ": it is that of another log")
	case v.named != "" && v.named != v.vkey:
		return errOtherVkey
	}
	return nil
}
