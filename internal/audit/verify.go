package audit

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Head names a row and its hash: whoever holds the head of a log can later tell
// whether any row up to it was changed.
type Head struct {
	Seq  int64 `json:"seq"`
	Hash Hash  `json:"hash"`
}

// VerifyOptions of Verify. The zero value checks every row.
type VerifyOptions struct {
	Head     *Head           // head the caller holds: must be in the log
	Since    *Head           // head up to which the log was verified before: rows up to it are not read again
	Held     *Checkpoint     // checkpoint the caller holds: the log must continue it
	From     *Checkpoint     // checkpoint up to which the log was verified before, likewise
	Bodies   bool            // check captured contents too
	Progress func(seq int64) // called every thousand rows
	Settle   time.Duration   // how long an unfinished last row may take; 0 = 200 ms
}

// Report is the result of Verify.
type Report struct {
	OK          bool    `json:"ok"`
	Records     int64   `json:"records"` // intact rows from the beginning
	Head        Hash    `json:"head"`    // hash of the last of them
	FirstBroken int64   `json:"first_broken,omitempty"`
	Problem     string  `json:"problem,omitempty"`
	OpenIntents []int64 `json:"open_intents,omitempty"` // intents without outcome, among the rows read
	Bodies      int64   `json:"bodies,omitempty"`       // bodies checked
	Erased      int64   `json:"erased,omitempty"`       // bodies erased, of which nothing can be checked
	Signed      int64   `json:"signed,omitempty"`       // rows that the log's own checkpoint covers
	Checkpoint  string  `json:"checkpoint,omitempty"`   // that checkpoint, to be kept elsewhere
}

// String is the form of ParseHead.
func (h Head) String() string { return strconv.FormatInt(h.Seq, 10) + ":" + h.Hash.String() }

// ParseHead reads "seq:hex".
func ParseHead(s string) (Head, error) {
	num, digits, ok := strings.Cut(strings.TrimSpace(s), ":")
	seq, err := strconv.ParseInt(num, 10, 64)
	b, hexErr := hex.DecodeString(digits)
	if !ok || err != nil || hexErr != nil || seq < 1 || len(b) != HashSize {
		return Head{}, fmt.Errorf("audit: %q is not a head; it is written as row number, colon, 64 hex digits", s)
	}
	return Head{Seq: seq, Hash: Hash(b)}, nil
}

// String is the hash in hex.
func (h Hash) String() string { return hex.EncodeToString(h[:]) }

// MarshalText implements encoding.TextMarshaler.
func (h Hash) MarshalText() ([]byte, error) { return []byte(h.String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler.
func (h *Hash) UnmarshalText(text []byte) error {
	b, err := hex.DecodeString(string(text))
	if err != nil || len(b) != HashSize {
		return fmt.Errorf("audit: %q is not a hash", text)
	}
	*h = Hash(b)
	return nil
}

// Verify reads the log in dir, beside a running writer or without one, and
// reports the first row that is damaged, missing or out of place. It streams:
// memory does not grow with the log. An error means that the log could not be
// read (ErrNoLog, ErrNewerVersion, I/O, ctx), not that it is broken.
//
// With Since or From only the rows behind it are read: that the log continues it
// is proven by the tree. Rows up to it whose bytes were changed since, while the
// tree was not, are found by a Verify without them.
func Verify(ctx context.Context, dir string, o VerifyOptions) (Report, error) {
	if o.Settle <= 0 {
		o.Settle = 200 * time.Millisecond
	}
	v := newVerifier(dir, o)
	defer func() { v.close() }()
	err := v.run(ctx)
	if isBroken(err) && v.shortened && v.tree.parted {
		v.close()
		v = newVerifier(dir, o)
		v.whole = true // so that the row is named
		err = v.run(ctx)
	}
	rep := Report{
		OK: err == nil, Records: v.chain.seq, Head: v.chain.hash,
		OpenIntents: slices.Sorted(maps.Keys(v.open)), Bodies: v.bodies, Erased: v.erased,
	}
	if err == nil {
		rep.Signed, rep.Checkpoint = v.tree.signed.Size, v.tree.signed.Text
	}
	var broken *BrokenError
	if errors.As(err, &broken) {
		rep.FirstBroken, rep.Problem = broken.Seq, broken.problem()
		return rep, nil
	}
	if err != nil {
		return Report{}, fmt.Errorf("audit: verify %s: %w", dir, err)
	}
	return rep, nil
}

func (e *BrokenError) problem() string {
	if e.File == "" {
		return e.Cause.Error()
	}
	return fmt.Sprintf("%s, byte %d: %v", e.File, e.Offset, e.Cause)
}

// verifier walks the segments in order. It is used once.
type verifier struct {
	dir       string
	o         VerifyOptions
	whole     bool // begin at row 1 in any case
	shortened bool // rows were left out
	tree      treeVerifier

	id     logID
	chain  chain
	end    int64 // size of the last segment at the beginning: a writer may be faster than we are
	batch  int64 // commit of the last row; 0 before the first row read
	open   map[int64]struct{}
	packs  map[int64]*os.File
	bodies int64
	erased int64

	from     int64 // segment that was read first
	erasures erasures
	late     *selected // by erasures that came meanwhile; nil before one is found
}

func newVerifier(dir string, o VerifyOptions) *verifier {
	return &verifier{dir: dir, o: o, open: make(map[int64]struct{}), packs: make(map[int64]*os.File), erasures: make(erasures)}
}

func (v *verifier) close() {
	v.tree.check.close()
	for _, f := range v.packs {
		f.Close()
	}
}

func (v *verifier) run(ctx context.Context) error {
	// What the tree says was durable before, so the rows read later hold it.
	if err := v.tree.open(v.dir); err != nil {
		return err
	}
	v.tree.off = v.tree.unsigned && v.o.Held == nil && v.o.From == nil
	entries, err := os.ReadDir(v.dir)
	if err != nil {
		return err
	}
	nums := numbered(entries, segmentName)
	if len(nums) == 0 && v.expected() == 0 {
		return ErrNoLog
	}
	err = v.segments(ctx, nums)
	if err == nil || isBroken(err) {
		err = v.ends(err)
	}
	if err == nil && v.o.Bodies {
		err = v.checkErased(ctx)
	}
	return err
}

func (v *verifier) segments(ctx context.Context, nums []int64) error {
	if len(nums) == 0 {
		return nil
	}
	last := nums[len(nums)-1]
	st, err := os.Stat(filepath.Join(v.dir, segmentName(last)))
	if err != nil {
		return err
	}
	v.end = st.Size()
	num, err := v.firstSegment(ctx, last)
	if err != nil {
		return err
	}
	v.from = num
	for ; ; num++ {
		more, err := v.segment(ctx, num, last)
		if err != nil || !more {
			return err
		}
	}
}

// expected is how many rows there must be at least.
func (v *verifier) expected() int64 {
	n := max(v.tree.signed.Size, v.tree.check.have[0])
	for _, h := range v.heads() {
		if h != nil {
			n = max(n, h.Seq)
		}
	}
	for _, c := range v.held() {
		if c != nil {
			n = max(n, c.Size)
		}
	}
	return n
}

// heads are the heads the caller holds; either may be nil.
func (v *verifier) heads() [2]*Head { return [2]*Head{v.o.Head, v.o.Since} }

// held are the checkpoints the caller holds; either may be nil.
func (v *verifier) held() [2]*Checkpoint { return [2]*Checkpoint{v.o.Held, v.o.From} }

// ends says what is wrong with the log as a whole, or earlier in it than what
// was found.
func (v *verifier) ends(found error) error {
	if bad := v.tree.bad; bad != nil {
		var broken *BrokenError
		if !errors.As(found, &broken) || broken.Seq >= bad.Seq {
			v.chain = bad.before
			return bad.BrokenError
		}
	}
	if found != nil {
		return found
	}
	short := func(what string, rows int64) error {
		return fmt.Errorf("the log ends at row %d and is shorter than %s (row %d): rows were cut off", v.chain.seq, what, rows)
	}
	var err error
	for _, h := range v.heads() {
		if h != nil && h.Seq > v.chain.seq {
			err = short("the head you hold", h.Seq)
		}
	}
	for _, c := range v.held() {
		switch {
		case c != nil && c.Size > v.chain.seq:
			err = short("the checkpoint you hold", c.Size)
		case c != nil && c.Origin != v.id.origin():
			err = errors.New("the checkpoint you hold is that of another log")
		}
	}
	if err == nil {
		err = v.tree.ends(v.chain.seq, v.id, short)
	}
	if err != nil {
		return &BrokenError{Seq: v.chain.seq + 1, Cause: err}
	}
	return nil
}

// firstSegment is the segment that holds the first row to be compared with what
// is held, or 1 without Since or From. Chain and tree then begin as its header
// and the files of the tree say, which what is held and the checkpoint confirm.
func (v *verifier) firstSegment(ctx context.Context, last int64) (int64, error) {
	first := v.firstRow()
	if first == 1 {
		return 1, nil
	}
	for num := last; num > 1; num-- {
		f, err := openRegular(filepath.Join(v.dir, segmentName(num)))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return 0, err
		}
		h, err := readHeader(f)
		f.Close()
		if err != nil || h.first > first {
			continue
		}
		if err := v.tree.skip(ctx, v.dir, h.first-1); err != nil {
			if ctx.Err() != nil {
				return 0, err
			}
			return 1, nil // not all of the tree is there: begin at its beginning
		}
		v.id, v.chain, v.shortened = h.id, chain{seq: h.first - 1, hash: h.prev}, true
		return num, nil
	}
	return 1, nil
}

// firstRow is the first row that must be read; 1 to read all of them.
func (v *verifier) firstRow() int64 {
	if v.whole || v.o.Since == nil && v.o.From == nil {
		return 1
	}
	first := int64(math.MaxInt64)
	for _, h := range v.heads() {
		if h != nil {
			first = min(first, h.Seq)
		}
	}
	for _, c := range v.held() {
		if c != nil {
			first = min(first, c.Size)
		}
	}
	if v.tree.laid() {
		first = min(first, v.tree.signed.Size)
	}
	return max(first, 1)
}

// segment verifies segment num and says whether another one follows. last is
// the highest segment seen at the start.
func (v *verifier) segment(ctx context.Context, num, last int64) (more bool, err error) {
	name := segmentName(num)
	f, err := openRegular(filepath.Join(v.dir, name))
	if errors.Is(err, fs.ErrNotExist) {
		return false, &BrokenError{Seq: v.chain.seq + 1, File: name, Cause: damage("the segment is missing")}
	}
	if err != nil {
		return false, err
	}
	defer f.Close()
	h, err := v.header(ctx, f)
	if err == nil {
		err = v.chain.checkHeader(h, num, v.id)
	}
	if err != nil {
		return false, v.broken(name, 0, err)
	}
	v.id = h.id
	frames := newFrameReader(f, h.id, segmentHeader)
	if num == last {
		return false, v.rows(ctx, name, frames, v.end)
	}
	if err := v.rows(ctx, name, frames, math.MaxInt64); err != nil {
		return false, err
	}
	if err := v.follows(ctx, num+1); err != nil {
		return false, err
	}
	// Its header was written after our last row: now there are no more to come.
	return true, v.rows(ctx, name, frames, math.MaxInt64)
}

// header reads the header of a segment that may just be coming into being.
func (v *verifier) header(ctx context.Context, f *os.File) (header, error) {
	h, err := readHeader(f)
	if err != errShort {
		return h, err
	}
	if err := v.settle(ctx); err != nil {
		return header{}, err
	}
	return readHeader(f)
}

// follows waits for the header of a segment that there is.
func (v *verifier) follows(ctx context.Context, num int64) error {
	f, err := openRegular(filepath.Join(v.dir, segmentName(num)))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer f.Close()
	if _, err := v.header(ctx, f); err != nil && !isDamage(err) && !errors.Is(err, ErrNewerVersion) {
		return err
	}
	return nil
}

// rows verifies the rows of the segment that begin before end.
func (v *verifier) rows(ctx context.Context, name string, frames *frameReader, end int64) error {
	frames.seek(frames.off)
	waited := false
	for frames.off < end {
		if v.chain.seq%1000 == 0 {
			if err := ctx.Err(); err != nil {
				return context.Cause(ctx)
			}
			if v.o.Progress != nil && v.chain.seq > 0 {
				v.o.Progress(v.chain.seq)
			}
		}
		f, err := frames.next()
		if err == io.EOF {
			return nil
		}
		if err == errShort && !waited {
			waited = true
			if err := v.settle(ctx); err != nil {
				return err
			}
			frames.seek(frames.off)
			continue
		}
		if err != nil {
			return v.broken(name, frames.off, err)
		}
		waited = false
		if err := v.row(name, f); err != nil {
			return err
		}
	}
	return nil
}

func (v *verifier) row(name string, f frame) error {
	before := v.chain
	g, err := v.chain.follow(f)
	if err == nil && f.batch != g.seq && (f.batch > g.seq || v.batch != 0 && f.batch != v.batch) {
		err = damage("belongs to another commit")
	}
	if err == nil && (g.kind == KindSystem || v.o.Bodies && !v.before(g.seq)) {
		err = v.content(f.row)
	}
	if err == nil {
		err = v.checkHeads()
	}
	if err == nil {
		err = v.tree.row(before, v.chain.hash, v.held())
	}
	if err != nil {
		v.chain = before
		return v.broken(name, f.off, err)
	}
	v.batch = f.batch
	switch g.kind {
	case KindIntent:
		if !v.before(g.seq) {
			v.open[g.seq] = struct{}{}
		}
	case KindOutcome:
		delete(v.open, g.ref)
	}
	return nil
}

// content checks what a row says about the log and about bodies.
func (v *verifier) content(row []byte) error {
	r, err := Decode(row)
	if err != nil {
		return err
	}
	v.erasures.note(&r)
	if r.Kind == KindSystem && r.Subject == subjectOpened && r.attr("log") != hex.EncodeToString(v.id[:]) {
		return damage("was written for another log")
	}
	if v.tree.named, err = keyNamed(v.tree.named, &r); err != nil {
		return err
	}
	if v.o.Bodies && !v.before(r.Seq) {
		return v.checkBodies(&r)
	}
	return nil
}

// attr is the value of an attribute, empty when there is none.
func (r *Record) attr(key string) string {
	for _, a := range r.Attrs {
		if a.Key == key {
			return a.Value
		}
	}
	return ""
}

// before says whether row seq was verified earlier.
func (v *verifier) before(seq int64) bool {
	return v.o.Since != nil && seq <= v.o.Since.Seq || v.o.From != nil && seq <= v.o.From.Size
}

func (v *verifier) checkHeads() error {
	for _, h := range v.heads() {
		if h != nil && h.Seq == v.chain.seq && h.Hash != v.chain.hash {
			return damage("is not the row whose hash you hold: the log was rewritten at or before it")
		}
	}
	return nil
}

// broken keeps errors that are not about the bytes of the log as they are.
func (v *verifier) broken(name string, off int64, err error) error {
	var path *fs.PathError
	if errors.Is(err, ErrNewerVersion) || errors.As(err, &path) {
		return err
	}
	return &BrokenError{Seq: v.chain.seq + 1, File: name, Offset: off, Cause: err}
}

// settle gives a writer time to finish the row it is writing.
func (v *verifier) settle(ctx context.Context) error {
	t := time.NewTimer(v.o.Settle)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
