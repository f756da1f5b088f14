package audit

import (
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"time"
)

// A log that is broken is never repaired: whoever could repair it could rewrite
// it. A person decides to keep it as it is and to begin another one, whose first
// row says which log it follows, how far that one was intact, and what was
// broken. The rows of the two are not chained to each other; the head in the
// first row is what ties the intact part of the old log to the new one.

// subjectRestarted is the subject of that first row.
const subjectRestarted = "restarted"

// Predecessor is what the first row of a log says about the broken one before
// it. It is the row's Detail.
type Predecessor struct {
	Log    string    `json:"log,omitempty"`  // its id; empty when nothing of it could be read
	Rows   int64     `json:"rows"`           // intact rows
	Head   Hash      `json:"head"`           // hash of the last of them
	Broken Breakage  `json:"broken"`         // what was wrong behind them
	Kept   string    `json:"kept,omitempty"` // base name of the directory it is kept in
	At     time.Time `json:"at"`             // when it was decided
	Actor  Actor     `json:"-"`              // who decided; in the row itself
}

// Breakage is a BrokenError as a value.
type Breakage struct {
	Row    int64  `json:"row"` // first row that is damaged, missing or out of place
	File   string `json:"file"`
	Offset int64  `json:"offset"`
	Cause  string `json:"cause"`
}

// Breakage is what the error says.
func (e *BrokenError) Breakage() Breakage {
	return Breakage{Row: e.Seq, File: e.File, Offset: e.Offset, Cause: Clip(e.Cause.Error(), MaxAttr)}
}

var errNotEmpty = errors.New("a log that follows another one begins empty, and there are rows here")

// row is the first row of the log that follows.
func (p *Predecessor) row() (Record, error) {
	detail, err := json.Marshal(p)
	return Record{Kind: KindSystem, Actor: p.Actor, Subject: subjectRestarted, Detail: detail}, err
}

// PredecessorOf reads the first row of a log: ok is false where the log follows
// no other.
func PredecessorOf(first Record) (p Predecessor, ok bool) {
	if first.Seq != 1 || first.Kind != KindSystem || first.Subject != subjectRestarted || json.Unmarshal(first.Detail, &p) != nil {
		return Predecessor{}, false
	}
	p.Actor = first.Actor
	return p, true
}

// Intact tells what can be relied on of the log in dir, which Open found broken:
// the rows before the damage, and the hash of the last. It changes nothing.
func Intact(dir string, broken *BrokenError) (Predecessor, error) {
	p := Predecessor{Broken: broken.Breakage()}
	r, err := OpenReader(dir)
	if err != nil {
		return p, err
	}
	defer r.Close()
	last, err := r.Refresh()
	if err != nil && !isBroken(err) {
		return p, err
	}
	id, known, err := idOf(dir)
	if err != nil {
		return p, err
	}
	if known {
		p.Log = hex.EncodeToString(id[:])
	}
	if p.Rows = max(min(last, broken.Seq-1), 0); p.Rows == 0 {
		return p, nil
	}
	_, p.Head, err = r.At(p.Rows)
	return p, err
}

// idOf finds the id of a log of which headers may be damaged: the one under
// which a row of its first segment can be read. Segments and packs have it at the
// same place.
func idOf(dir string) (id logID, ok bool, err error) {
	var names []string
	for _, pattern := range []string{filepath.Join(dir, "seg-*.log"), filepath.Join(packPath(dir), "pack-*.dat")} {
		found, err := filepath.Glob(pattern)
		if err != nil {
			return logID{}, false, err
		}
		names = append(names, found...)
	}
	rows, err := os.ReadFile(filepath.Join(dir, segmentName(1)))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return logID{}, false, err
	}
	for _, name := range names {
		if err := readAtStart(name, 16, id[:]); err != nil {
			continue // it is too short
		}
		for range framesIn(rows, id) {
			return id, true, nil
		}
	}
	return logID{}, false, nil
}

func readAtStart(name string, off int64, b []byte) error {
	f, err := os.Open(name)
	if err != nil {
		return err
	}
	_, err = f.ReadAt(b, off)
	return errors.Join(err, f.Close())
}

// Behind yields the rows that can still be read behind the damage, in their
// order, with the numbers they say they have. They prove nothing: rows between
// them can be missing or changed.
func Behind(dir string, p Predecessor) iter.Seq2[Record, error] {
	return func(yield func(Record, error) bool) {
		raw, err := hex.DecodeString(p.Log)
		if err != nil || len(raw) != len(logID{}) {
			return // nothing of it can be told from other bytes
		}
		entries, err := os.ReadDir(dir)
		if err != nil {
			yield(Record{}, fmt.Errorf("audit: read behind the damage: %w", err))
			return
		}
		after := p.Rows
		for _, num := range numbered(entries, segmentName) {
			b, err := os.ReadFile(filepath.Join(dir, segmentName(num)))
			if err != nil {
				yield(Record{}, fmt.Errorf("audit: read behind the damage: %w", err))
				return
			}
			for r := range framesIn(b, logID(raw)) {
				if r.Seq <= after {
					continue
				}
				if after = r.Seq; !yield(r, nil) {
					return
				}
			}
		}
	}
}

// framesIn yields the rows whose frames are whole, wherever they begin.
func framesIn(b []byte, id logID) iter.Seq[Record] {
	return func(yield func(Record) bool) {
		for len(b) > frameHead+frameTail {
			f, err := parseFrame(b, id)
			if err != nil {
				b = b[1:]
				continue
			}
			b = b[frameHead+len(f.row)+frameTail:]
			if r, err := Decode(f.row); err == nil && !yield(r) {
				return
			}
		}
	}
}

// Keep names what SetAside does: the log in dir, the one that follows it, and
// where the broken one stays.
type Keep struct{ Dir, Next, Kept string }

// SetAside puts the log that follows in the place of the broken one, which stays
// whole under another name. Nobody may have either of them open. A crash in
// between is ended by Settle.
func (k Keep) SetAside() error {
	if _, err := os.Lstat(k.Kept); err == nil {
		return fmt.Errorf("audit: keep the broken log: %s exists; nothing was changed", k.Kept)
	}
	err := os.RemoveAll(k.Next) // of a try that a crash ended
	if err == nil {
		err = moveDir(filepath.Join(k.Dir, NextDir), k.Next)
	}
	if err == nil {
		err = moveDir(k.Dir, k.Kept)
	}
	if err == nil {
		if err = moveDir(k.Next, k.Dir); err != nil {
			err = errors.Join(err, moveDir(k.Kept, k.Dir))
		}
	}
	if err != nil {
		return fmt.Errorf("audit: keep the broken log: %w", err)
	}
	return nil
}

// Settle ends what a crash left of SetAside: the log that follows takes its place
// where the broken one has left it. Where that one is still there nothing was
// decided for good, and what was prepared is dropped.
func (k Keep) Settle() error {
	if _, err := os.Lstat(k.Next); err != nil {
		return nil // nothing was prepared
	}
	if _, err := os.Lstat(k.Dir); err == nil {
		return os.RemoveAll(k.Next)
	}
	if err := moveDir(k.Next, k.Dir); err != nil {
		return fmt.Errorf("audit: put the log that follows in its place: %w", err)
	}
	return nil
}

// NextDir is the directory inside that of a broken log in which the log that
// follows it is made.
const NextDir = "next"

// moveDir renames a directory and makes both names durable.
func moveDir(from, to string) error {
	if err := os.Rename(from, to); err != nil {
		return err
	}
	var fsys osFS
	return errors.Join(fsys.SyncDir(filepath.Dir(to)), fsys.SyncDir(filepath.Dir(from)))
}
