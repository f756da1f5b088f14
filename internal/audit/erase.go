package audit

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"
)

// Erasing destroys captured contents together with their salts, so that the
// commitment that stays in a row can no longer be confirmed by guessing. Rows,
// their details, tree and checkpoints stay as they are and prove what they
// proved before.
//
// A row "erase" that says what and by whom is durable first. Then the state of
// each content becomes "erased" and is synced, then salt and content become
// zeros and are synced, then a row "erased" says that it is done. What a crash
// interrupts, Open ends: it is decided by the first row. A content that is
// marked erased and of which no row says so is damage.
//
// Not erased: rows and their details, copies in backups and bundles, what a file
// system or a disk keeps of blocks that were overwritten, and the ends of packs
// whose rows a crash took. An index made from the log is its owner's to purge.

// Subjects of the rows of an erasure.
const (
	subjectErase  = "erase"  // Detail is the Erasure
	subjectErased = "erased" // Ref is the row "erase"
)

// Selection says whose contents: exactly one of its fields.
type Selection struct {
	Run    string     `json:"run,omitempty"`
	Task   string     `json:"task,omitempty"`
	Rows   []int64    `json:"rows,omitempty"`   // by number
	Before *time.Time `json:"before,omitempty"` // rows older than this
}

// maxErasedRows of one Selection by number.
const maxErasedRows = 10_000

// Erasure is the content of a row "erase".
type Erasure struct {
	Select Selection `json:"select"`
	Actor  Actor     `json:"-"` // who wants it; in the row itself
	Reason string    `json:"reason,omitempty"`
	Note   string    `json:"note"` // set by Erase: what is not erased
}

const eraseNote = "contents and salts of these rows are destroyed here; rows and their details stay, and so do logs of runs and copies in backups and bundles made before"

// Erased says what an erasure did.
type Erased struct {
	Row    int64 `json:"row"`    // the row "erase"
	Bodies int64 `json:"bodies"` // contents destroyed that were not before
	Bytes  int64 `json:"bytes"`
}

// ErrSelection: the selection says nothing, or more than one thing.
var ErrSelection = errors.New("select contents by exactly one of run, task, rows and before")

func (s Selection) check() error {
	n := 0
	for _, given := range []bool{s.Run != "", s.Task != "", len(s.Rows) > 0, s.Before != nil} {
		if given {
			n++
		}
	}
	if n != 1 {
		return ErrSelection
	}
	if len(s.Rows) > maxErasedRows {
		return fmt.Errorf("%d rows at once, at most %d", len(s.Rows), maxErasedRows)
	}
	return nil
}

// erasures are the rows "erase" of a log by their number.
type erasures map[int64]*erasure

type erasure struct {
	Selection
	done bool
}

// note takes a row of the log itself.
func (e erasures) note(r *Record) {
	if r.Kind != KindSystem || r.Source != SourceGateway {
		return
	}
	switch r.Subject {
	case subjectErase:
		var d Erasure
		if json.Unmarshal(r.Detail, &d) == nil && d.Select.check() == nil {
			e[r.Seq] = &erasure{Selection: d.Select}
		}
	case subjectErased:
		if known := e[r.Ref]; known != nil {
			known.done = true
		}
	}
}

// selected are the rows that erasures select. Its size is theirs, and asking it
// takes the time of one look-up, however many rows were named one by one.
type selected struct {
	runs, tasks map[string]int64 // each with the last row "erase" that names it
	rows        map[int64]int64
	before      []erasedBefore
}

type erasedBefore struct {
	time time.Time
	seq  int64
}

// selected are the rows of all erasures, or of those that are done.
func (e erasures) selected(doneOnly bool) *selected {
	s := &selected{runs: make(map[string]int64), tasks: make(map[string]int64), rows: make(map[int64]int64)}
	for seq, x := range e {
		switch {
		case doneOnly && !x.done:
		case x.Run != "":
			s.runs[x.Run] = max(s.runs[x.Run], seq)
		case x.Task != "":
			s.tasks[x.Task] = max(s.tasks[x.Task], seq)
		case x.Before != nil:
			s.before = append(s.before, erasedBefore{*x.Before, seq})
		}
		for _, row := range x.Rows {
			if !doneOnly || x.done {
				s.rows[row] = max(s.rows[row], seq)
			}
		}
	}
	return s
}

// has says whether a row "erase" behind row r selects it.
func (s *selected) has(r *Record) bool {
	if max(s.runs[r.Attribution.Run], s.tasks[r.Attribution.Task], s.rows[r.Seq]) > r.Seq {
		return true
	}
	return slices.ContainsFunc(s.before, func(b erasedBefore) bool { return b.seq > r.Seq && r.Time.Before(b.time) })
}

// Erase destroys the contents that e selects among the rows so far. When it
// returns nil they are gone from the packs of this log. After an error some may
// be; what a row "erase" says is carried on at the next Open.
func (l *Log) Erase(ctx context.Context, e Erasure) (Erased, error) {
	out, err := l.erase(ctx, e)
	if err != nil {
		return out, fmt.Errorf("audit: erase contents: %w", err)
	}
	return out, nil
}

func (l *Log) erase(ctx context.Context, e Erasure) (Erased, error) {
	if err := e.Select.check(); err != nil {
		return Erased{}, err
	}
	e.Reason, e.Note = Clip(e.Reason, MaxAttr), eraseNote
	detail, err := json.Marshal(e)
	if err != nil {
		return Erased{}, err
	}
	l.erasing.Lock()
	defer l.erasing.Unlock()
	p, err := l.Queue(Record{Kind: KindSystem, Actor: e.Actor, Subject: subjectErase, Detail: detail}, nil, nil)
	if err == nil {
		err = p.Wait(ctx)
	}
	if err != nil {
		return Erased{}, err
	}
	return l.carryOut(ctx, p.Seq(), e.Select)
}

// carryOut does what row seq says, and writes that it is done.
func (l *Log) carryOut(ctx context.Context, seq int64, s Selection) (out Erased, err error) {
	out.Row = seq
	defer func() { l.unerased = l.unerased || err != nil }()
	packs, err := l.selected(ctx, seq, s)
	if err != nil {
		return out, err
	}
	for _, num := range slices.Sorted(maps.Keys(packs)) {
		n, size, err := l.erasePack(num, packs[num])
		out.Bodies, out.Bytes = out.Bodies+n, out.Bytes+size
		if err != nil {
			return out, fmt.Errorf("body pack %d: %w", num, err)
		}
	}
	p, err := l.Queue(Record{Kind: KindSystem, Subject: subjectErased, Ref: seq, Attrs: []Attr{
		{Key: "bodies", Value: strconv.FormatInt(out.Bodies, 10)}, {Key: "bytes", Value: strconv.FormatInt(out.Bytes, 10)},
	}}, nil, nil)
	if err != nil {
		return out, err
	}
	return out, p.Wait(ctx)
}

// selected are the contents of the rows before row seq that s selects, by pack.
func (l *Log) selected(ctx context.Context, seq int64, s Selection) (map[int64][]*BodyRef, error) {
	rows, err := OpenReader(l.dir)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	chosen := erasures{seq: {Selection: s}}.selected(false)
	packs := make(map[int64][]*BodyRef)
	for r, err := range rows.Range(1, seq) {
		if err != nil {
			return nil, err
		}
		if r.Seq%1000 == 0 && ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		if !chosen.has(&r) {
			continue
		}
		for _, p := range parts(&r) {
			if p.ref.Pack > 0 {
				packs[p.ref.Pack] = append(packs[p.ref.Pack], p.ref)
			}
		}
	}
	return packs, nil
}

// erasePack marks the contents, then destroys them. It returns how many were not
// erased before.
func (l *Log) erasePack(num int64, refs []*BodyRef) (n, size int64, err error) {
	f, err := l.o.FS.Open(filepath.Join(packPath(l.dir), packName(num)))
	if err != nil {
		return 0, 0, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	var due []*BodyRef
	for _, ref := range refs {
		state, err := stateOf(f, ref)
		if err == nil && state != bodyErased {
			n, size = n+1, size+ref.Stored
			_, err = f.WriteAt([]byte{bodyErased}, ref.Offset+4)
		}
		if err != nil {
			return n, size, err
		}
		if state != bodyErased || l.unerased { // else it was destroyed when it was marked
			due = append(due, ref)
		}
	}
	if len(due) == 0 {
		return n, size, nil
	}
	if err := f.Sync(); err != nil {
		return n, size, err
	}
	for _, ref := range due {
		if _, err := f.WriteAt(erasedFrame(l.id, ref), ref.Offset); err != nil {
			return n, size, err
		}
	}
	return n, size, f.Sync()
}

// stateOf reads the state of a content.
func stateOf(src io.ReaderAt, ref *BodyRef) (byte, error) {
	var b [1]byte
	_, err := src.ReadAt(b[:], ref.Offset+4)
	return b[0], err
}

// erasedFrame is the frame of a content after it was erased.
func erasedFrame(id logID, ref *BodyRef) []byte {
	f := make([]byte, ref.frameSize())
	binary.LittleEndian.PutUint32(f, uint32(ref.Stored))
	f[4] = bodyErased
	end := len(f) - bodyTail
	binary.LittleEndian.PutUint32(f[end:], id.checksum(f[:end]))
	return f
}

// erasedAlready says whether a content is marked erased. From then on nothing
// else about it matters.
func erasedAlready(pack *os.File, ref *BodyRef) bool {
	state, err := stateOf(pack, ref)
	return err == nil && state == bodyErased
}

// readKept is readBody beside somebody who erases.
func readKept(pack *os.File, id logID, ref *BodyRef) ([]byte, error) {
	if erasedAlready(pack, ref) {
		return nil, ErrErased
	}
	b, err := readBody(pack, id, ref)
	if err != nil && erasedAlready(pack, ref) {
		err = ErrErased
	}
	return b, err
}

// isErased says whether nothing is left of a content.
func isErased(pack *os.File, id logID, ref *BodyRef) bool {
	st, err := pack.Stat()
	if err != nil || ref.Stored > st.Size() {
		return false
	}
	b := make([]byte, ref.frameSize())
	_, err = pack.ReadAt(b, ref.Offset)
	return err == nil && bytes.Equal(b, erasedFrame(id, ref))
}

// finishErasures carries on what a crash interrupted. What cannot be erased is
// tried again at the next start.
func (l *Log) finishErasures(list erasures) {
	for _, seq := range slices.Sorted(maps.Keys(list)) {
		if list[seq].done {
			continue
		}
		l.erasing.Lock()
		before := l.unerased
		l.unerased = true
		_, err := l.carryOut(context.Background(), seq, list[seq].Selection)
		l.unerased = before || err != nil
		l.erasing.Unlock()
		if err != nil {
			l.o.Logger.Warn("contents that were to be erased could not be; it is tried again at the next start", "row", seq, "err", err)
		}
	}
}
