package audit

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"time"
)

// Open takes the log in dir for writing and creates it where there is none. It
// reads the whole log. Afterwards the log holds, durably, a row "opened", a row
// "recovered" where a crash left a torn tail, and an outcome "unknown" for each
// intent that a crash left open. Errors: ErrLocked, ErrNewerVersion,
// *BrokenError; none of them changes the log.
func Open(dir string, o Options) (*Log, error) {
	l := &Log{
		dir: dir, o: o.withDefaults(),
		wake: make(chan struct{}, 1), done: make(chan struct{}), closing: make(chan struct{}),
		open: make(map[int64]struct{}), linger: lingerTime, pace: turnTime,
	}
	l.timer = time.AfterFunc(lingerTime, l.Hurry)
	l.timer.Stop()
	if err := l.start(); err != nil {
		var broken *BrokenError
		if errors.As(err, &broken) {
			return nil, err
		}
		return nil, fmt.Errorf("audit: open log %s: %w", dir, err)
	}
	return l, nil
}

func (l *Log) start() (err error) {
	if err := l.o.FS.MkdirAll(packPath(l.dir)); err != nil {
		return err
	}
	if l.lock, err = l.o.FS.Lock(filepath.Join(l.dir, "lock")); err != nil {
		return err
	}
	found, err := l.load()
	if err == nil {
		err = l.o.FS.SyncDir(l.dir)
	}
	if err == nil {
		// The parent holds our own name. A confined process may not open it; then
		// whoever made the directory has made it durable.
		if err = l.o.FS.SyncDir(filepath.Dir(l.dir)); errors.Is(err, fs.ErrPermission) {
			err = nil
		}
	}
	if err == nil {
		err = l.settleTree(found.survey)
	}
	if err != nil {
		l.closeFiles()
		return err
	}
	go l.commitLoop()
	if err := l.announce(found); err != nil {
		return errors.Join(err, l.Close())
	}
	l.finishErasures(found.erase)
	return nil
}

func (l *Log) closeFiles() {
	for _, t := range []*tail{l.segment, l.pack} {
		if t != nil {
			t.file.Close()
		}
	}
	l.lock.Close()
}

// found is what Open learns from the rows on disk.
type found struct {
	intents map[int64][]byte // rows of open ones
	packs   map[int64]int64  // pack → end of the last body a row points to
	torn    *torn
	survey  *survey
	erase   erasures
}

// torn is a tail that was cut off.
type torn struct {
	file  string // where its bytes are now
	bytes int64
}

// note takes a row and what a glance at it showed.
func (f *found) note(g glance, row []byte) error {
	for _, b := range g.bodies {
		if b.pack > 0 {
			f.packs[b.pack] = max(f.packs[b.pack], b.end)
		}
	}
	switch g.kind {
	case KindIntent:
		f.intents[g.seq] = bytes.Clone(row)
	case KindOutcome:
		delete(f.intents, g.ref)
	case KindSystem:
		r, err := Decode(row)
		if err != nil {
			return err
		}
		f.erase.note(&r)
		return f.survey.names(&r)
	}
	return nil
}

// load reads every segment, cuts a torn tail and opens the files to append to.
func (l *Log) load() (*found, error) {
	f := &found{intents: make(map[int64][]byte), packs: make(map[int64]int64), erase: make(erasures)}
	entries, err := l.o.FS.ReadDir(l.dir)
	if err != nil {
		return nil, err
	}
	if f.survey, err = newSurvey(l.o.FS, l.dir); err != nil {
		return nil, err
	}
	defer f.survey.check.close()
	nums := numbered(entries, segmentName)
	whole := 0 // how many there are before one is missing
	for whole < len(nums) && nums[whole] == int64(whole)+1 {
		whole++
	}
	missing := whole < len(nums)
	nums = nums[:whole]
	var unborn *tail
	if !missing {
		if nums, unborn, err = l.unborn(nums); err != nil {
			return nil, err
		}
	}
	for i, num := range nums {
		if l.segment != nil {
			l.segment.file.Close()
		}
		if l.segment, err = l.openTail(l.dir, segmentName(num), num); err != nil {
			return nil, err
		}
		if err := l.loadSegment(l.segment, i == len(nums)-1 && !missing, f); err != nil {
			return nil, err
		}
	}
	if missing {
		return nil, &BrokenError{Seq: l.chain.seq + 1, File: segmentName(int64(whole) + 1), Cause: errors.New("the segment is missing")}
	}
	if err := f.survey.ends(l.chain.seq, l.id); err != nil {
		return nil, err
	}
	if err := l.dropUnborn(unborn, f); err != nil {
		return nil, err
	}
	if len(nums) == 0 {
		rand.Read(l.id[:])
	}
	l.durable = l.chain
	return f, l.loadPack(f)
}

// unborn takes a last segment that ends within its header from nums: a crash
// came between making the file and its first batch. No row was in it.
func (l *Log) unborn(nums []int64) (born []int64, unborn *tail, err error) {
	if len(nums) == 0 {
		return nums, nil, nil
	}
	num := nums[len(nums)-1]
	t, err := l.openTail(l.dir, segmentName(num), num)
	if err != nil {
		return nil, nil, err
	}
	if err := t.file.Close(); err != nil || t.end >= segmentHeader {
		return nums, nil, err
	}
	return nums[:len(nums)-1], t, nil
}

// dropUnborn sets an unborn segment aside; t may be nil.
func (l *Log) dropUnborn(t *tail, f *found) (err error) {
	if t == nil {
		return nil
	}
	path := filepath.Join(l.dir, t.name)
	if t.end == 0 {
		err = l.o.FS.Remove(path)
	} else {
		f.torn = &torn{file: "torn-" + t.name, bytes: t.end}
		err = l.o.FS.Rename(path, filepath.Join(l.dir, f.torn.file))
	}
	if err != nil {
		return err
	}
	return l.o.FS.SyncDir(l.dir)
}

func (l *Log) openTail(dir, name string, num int64) (*tail, error) {
	file, err := l.o.FS.Open(filepath.Join(dir, name))
	if err != nil {
		return nil, err
	}
	size, err := file.Size()
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return &tail{name: name, num: num, file: file, end: size, allocated: size}, nil
}

// loadSegment follows the rows of a segment.
func (l *Log) loadSegment(t *tail, isLast bool, f *found) error {
	h, err := readHeader(t.file)
	if err == nil {
		err = l.chain.checkHeader(h, t.num, l.id)
	}
	if errors.Is(err, ErrNewerVersion) || err != nil && !isDamage(err) {
		return err
	}
	if err != nil {
		return l.broken(t, 0, err)
	}
	l.id = h.id
	frames := newFrameReader(t.file, l.id, segmentHeader)
	for {
		fr, err := frames.next()
		switch {
		case err == io.EOF:
			return nil
		case err != nil && !isDamage(err):
			return err
		case err != nil && isLast:
			if err := l.checkTorn(t, frames.off); err != nil {
				return err
			}
			if err := f.survey.ends(l.chain.seq, l.id); err != nil {
				return err
			}
			return l.cut(t, frames.off, f)
		case err != nil:
			return l.broken(t, frames.off, err)
		}
		g, err := l.chain.follow(fr)
		if errors.Is(err, ErrNewerVersion) {
			return err
		}
		if err != nil {
			return l.broken(t, fr.off, err)
		}
		if err := f.note(g, fr.row); err != nil {
			return &BrokenError{Seq: g.seq, File: t.name, Offset: fr.off, Cause: err}
		}
		if err := f.survey.row(l.chain.hash); err != nil {
			return err
		}
	}
}

// broken reports damage where the row after the chain should be.
func (l *Log) broken(t *tail, off int64, cause error) error {
	return &BrokenError{Seq: l.chain.seq + 1, File: t.name, Offset: off, Cause: cause}
}

// checkTorn says whether a crash explains the damage at off of the last
// segment. A batch is written only after the one before is synced, so a crash
// damages only the last one: a whole frame of a later batch behind the damage
// means that durable bytes were changed.
func (l *Log) checkTorn(t *tail, off int64) error {
	rest := make([]byte, t.end-off)
	if _, err := t.file.ReadAt(rest, off); err != nil && err != io.EOF {
		return err
	}
	for i := range rest {
		if fr, err := parseFrame(rest[i:], l.id); err == nil && fr.batch > l.chain.seq+1 {
			return &BrokenError{
				Seq: l.chain.seq + 1, File: t.name, Offset: off,
				Cause: fmt.Errorf("damaged, and later rows follow at byte %d", off+int64(i)),
			}
		}
	}
	return nil
}

// cut moves what lies behind off to a torn file.
func (l *Log) cut(t *tail, off int64, f *found) error {
	rest := make([]byte, t.end-off)
	if _, err := t.file.ReadAt(rest, off); err != nil {
		return err
	}
	name, file, err := l.createTorn()
	if err != nil {
		return err
	}
	_, err = file.WriteAt(rest, 0)
	if err == nil {
		err = file.Sync()
	}
	if err = errors.Join(err, file.Close()); err != nil {
		return err
	}
	if err := l.o.FS.SyncDir(l.dir); err != nil {
		return err
	}
	if err := t.file.Truncate(off); err != nil {
		return err
	}
	if err := t.file.Sync(); err != nil {
		return err
	}
	f.torn = &torn{file: name, bytes: t.end - off}
	t.end, t.allocated = off, off
	return nil
}

// createTorn makes the side file torn-<seq>, where seq is the row that should
// have been there.
func (l *Log) createTorn() (string, File, error) {
	for i := 0; ; i++ {
		name := fmt.Sprintf("torn-%d", l.chain.seq+1)
		if i > 0 {
			name += "." + strconv.Itoa(i)
		}
		file, err := l.o.FS.Create(filepath.Join(l.dir, name))
		if !errors.Is(err, fs.ErrExist) {
			return name, file, err
		}
	}
}

// loadPack opens the last body pack. One that is shorter than the rows say, or
// was never finished, is left alone and a new one begun by the first body.
func (l *Log) loadPack(f *found) error {
	num, err := highest(l.o.FS, packPath(l.dir), packName)
	if err != nil || num == 0 {
		return err
	}
	l.packs = num
	t, err := l.openTail(packPath(l.dir), packName(num), num)
	if err != nil {
		return err
	}
	if checkPackHeader(t.file, l.id, num) != nil || t.end < f.packs[num] {
		return t.file.Close()
	}
	l.pack = t
	return nil
}

// subjectOpened is the subject of the row that each start of a log writes.
const subjectOpened = "opened"

// announce writes the rows of a start and waits for them.
func (l *Log) announce(f *found) error {
	rows := []Record{{Kind: KindSystem, Subject: subjectOpened, Attrs: []Attr{
		{Key: "log", Value: hex.EncodeToString(l.id[:])}, {Key: "vkey", Value: l.notary.signer.vkey},
	}}}
	if l.o.Follows != nil {
		if l.durable.seq > 0 {
			return errNotEmpty
		}
		first, err := l.o.Follows.row()
		if err != nil {
			return err
		}
		rows = append([]Record{first}, rows...)
	}
	if t := f.torn; t != nil {
		rows = append(rows, Record{Kind: KindSystem, Subject: "recovered", Attrs: []Attr{
			{Key: "bytes", Value: strconv.FormatInt(t.bytes, 10)}, {Key: "file", Value: t.file},
		}})
	}
	for _, seq := range slices.Sorted(maps.Keys(f.intents)) {
		l.open[seq] = struct{}{}
		r, err := Decode(f.intents[seq])
		if err != nil {
			return err
		}
		rows = append(rows, Record{
			Kind: KindOutcome, Ref: seq, Result: ResultUnknown,
			Upstream: r.Upstream, Actor: r.Actor, Source: r.Source, Attribution: r.Attribution,
		})
	}
	var last *Pending
	for _, r := range rows {
		var err error
		if last, err = l.Queue(r, nil, nil); err != nil {
			return err
		}
	}
	return last.Wait(context.Background())
}
