package audit

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// logFiles is the content of a log directory by path.
type logFiles map[string][]byte

const seg1, seg2, pack1 = "seg-000001.log", "seg-000002.log", "bodies/pack-000001.dat"

func readFiles(t testing.TB, dir string) logFiles {
	t.Helper()
	files := logFiles{}
	for _, pattern := range []string{"seg-*", "bodies/pack-*", "torn-*", CheckpointFile, VkeyFile, keyFile, "tree/*"} {
		names, err := filepath.Glob(filepath.Join(dir, pattern))
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range names {
			b, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			rel, err := filepath.Rel(dir, name)
			if err != nil {
				t.Fatal(err)
			}
			files[filepath.ToSlash(rel)] = b
		}
	}
	return files
}

func (f logFiles) write(t testing.TB, dir string) {
	t.Helper()
	for name, b := range f {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// rows are the files without tree, checkpoint and key.
func (f logFiles) rows() logFiles {
	out := logFiles{}
	for name, b := range f {
		if !strings.HasPrefix(name, "checkpoint") && !strings.HasPrefix(name, treeDir) {
			out[name] = b
		}
	}
	return out
}

// unsigned are the files as a crash leaves them before the first rows are signed.
func (f logFiles) unsigned(t testing.TB) logFiles {
	t.Helper()
	s, err := parseSigner(f[keyFile])
	if err != nil {
		t.Fatal(err)
	}
	empty := tiler{}
	c, err := s.sign(0, empty.root())
	if err != nil {
		t.Fatal(err)
	}
	out := f.rows()
	out[keyFile], out[VkeyFile], out[CheckpointFile] = f[keyFile], f[VkeyFile], []byte(c.Text)
	return out
}

func (f logFiles) clone() logFiles {
	out := logFiles{}
	for name, b := range f {
		out[name] = bytes.Clone(b)
	}
	return out
}

// splitFrames returns the header of a segment and its frames.
func splitFrames(segment []byte) (head []byte, frames [][]byte) {
	head, rest := segment[:segmentHeader], segment[segmentHeader:]
	for len(rest) > 0 {
		n := frameHead + int(binary.LittleEndian.Uint32(rest)) + frameTail
		frames, rest = append(frames, rest[:n:n]), rest[n:]
	}
	return head, frames
}

func joinFrames(head []byte, frames ...[]byte) []byte {
	return append(bytes.Clone(head), bytes.Join(frames, nil)...)
}

// fakeClock ticks a millisecond a call.
func fakeClock() func() time.Time {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	return func() time.Time { now = now.Add(time.Millisecond); return now }
}

func mustOpenLog(t testing.TB, dir string, o Options) *Log {
	t.Helper()
	l, err := Open(dir, o)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func mustQueue(t testing.TB, l *Log, r Record, bodies ...*Body) *Pending {
	t.Helper()
	bodies = append(bodies, nil, nil)
	p, err := l.Queue(r, bodies[0], bodies[1])
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func body(limit int64, text string) *Body {
	c := NewCapture(limit)
	c.Write([]byte(text))
	return c.Body()
}

// exchange queues an intent and its outcome.
func exchange(t testing.TB, l *Log, i int) *Pending {
	t.Helper()
	p := mustQueue(t, l, Record{Kind: KindIntent, Actor: ActorAgent, Upstream: "demo", Method: "POST", Target: "/v1"}, body(1<<10, fmt.Sprintf("question %d", i)))
	return mustQueue(t, l, Record{Kind: KindOutcome, Ref: p.Seq(), Result: ResultOK, Status: 200}, nil, body(5, fmt.Sprintf("answer %d", i)))
}

// smallLog writes a log of n exchanges and returns its files and head.
func smallLog(t testing.TB, n int, o Options) (logFiles, Head) {
	t.Helper()
	dir := t.TempDir()
	o.Now = fakeClock()
	l := mustOpenLog(t, dir, o)
	for i := range n {
		exchange(t, l, i)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	seq, hash := l.Head()
	return readFiles(t, dir), Head{seq, hash}
}

const instantly = time.Nanosecond

// verifyFiles runs Verify on files laid out in a fresh directory.
func verifyFiles(t testing.TB, dir string, f logFiles, o VerifyOptions) Report {
	t.Helper()
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	f.write(t, dir)
	return verifyDir(t, dir, o)
}

func verifyDir(t testing.TB, dir string, o VerifyOptions) Report {
	t.Helper()
	o.Settle = instantly
	rep, err := Verify(t.Context(), dir, o)
	if err != nil {
		t.Fatal(err)
	}
	return rep
}

func TestVerifyIntact(t *testing.T) {
	files, head := smallLog(t, 50, Options{SegmentBytes: 1000, PackBytes: 500})
	if len(files) < 10 {
		t.Fatalf("only %d files", len(files))
	}
	var seen []int64
	rep := verifyFiles(t, filepath.Join(t.TempDir(), "l"), files, VerifyOptions{
		Head: &head, Bodies: true, Progress: func(seq int64) { seen = append(seen, seq) },
	})
	want := Report{OK: true, Records: head.Seq, Head: head.Hash, Bodies: 100, Signed: head.Seq, Checkpoint: string(files[CheckpointFile])}
	if fmt.Sprint(rep) != fmt.Sprint(want) {
		t.Errorf("got %+v\nwant %+v", rep, want)
	}
}

// TestEveryBitFlipIsFound turns every bit of a small log, one at a time, with
// nothing but the log itself to compare with.
func TestEveryBitFlipIsFound(t *testing.T) {
	t.Parallel()
	files, _ := smallLog(t, 3, Options{SegmentBytes: 600})
	dir := filepath.Join(t.TempDir(), "l")
	files.write(t, dir)
	delete(files, keyFile) // which is nobody's to read but the gateway's
	for _, name := range slices.Sorted(maps.Keys(files)) {
		f, err := os.OpenFile(filepath.Join(dir, name), os.O_RDWR, 0)
		if err != nil {
			t.Fatal(err)
		}
		for i, b := range files[name] {
			for bit := range 8 {
				if _, err := f.WriteAt([]byte{b ^ 1<<bit}, int64(i)); err != nil {
					t.Fatal(err)
				}
				rep := verifyDir(t, dir, VerifyOptions{Bodies: true})
				if rep.OK || rep.FirstBroken != rep.Records+1 || rep.Problem == "" {
					t.Errorf("%s byte %d bit %d: %+v", name, i, bit, rep)
				}
			}
			if _, err := f.WriteAt([]byte{b}, int64(i)); err != nil {
				t.Fatal(err)
			}
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if rep := verifyDir(t, dir, VerifyOptions{Bodies: true}); !rep.OK {
		t.Fatalf("the log was not restored: %+v", rep)
	}
}

func TestEveryTruncationIsFound(t *testing.T) {
	t.Parallel()
	files, head := smallLog(t, 4, Options{SegmentBytes: 600})
	dir := filepath.Join(t.TempDir(), "l")
	files.write(t, dir)
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if name == keyFile {
			continue
		}
		path, o := filepath.Join(dir, name), VerifyOptions{Head: &head, Bodies: strings.HasPrefix(name, "bodies/")}
		for n := len(files[name]) - 1; n >= 0; n-- {
			if err := os.Truncate(path, int64(n)); err != nil {
				t.Fatal(err)
			}
			if rep := verifyDir(t, dir, o); rep.OK || rep.FirstBroken != rep.Records+1 {
				t.Errorf("%s cut to %d bytes: %+v", name, n, rep)
			}
		}
		if err := os.WriteFile(path, files[name], 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

func TestVerifyFindsWhatWasDone(t *testing.T) {
	files, head := smallLog(t, 6, Options{SegmentBytes: 1000})
	other, _ := smallLog(t, 6, Options{SegmentBytes: 1000})
	longer, _ := smallLog(t, 9, Options{SegmentBytes: 1000})
	head1, frames1 := splitFrames(files[seg1])
	head2, frames2 := splitFrames(files[seg2])
	id := logID(files[seg1][16:32])

	// reseal gives rows of an attacker who knows the format true checksums.
	reseal := func(edit func(r *Record)) []byte {
		f, err := parseFrame(frames1[2], id)
		if err != nil {
			t.Fatal(err)
		}
		r, err := Decode(f.row)
		if err != nil {
			t.Fatal(err)
		}
		edit(&r)
		return appendFrame(nil, id, f.batch, encodeOK(t, r))
	}
	replaceThird := func(frame []byte) logFiles {
		f := files.clone()
		f[seg1] = joinFrames(head1, append(append(slices.Clone(frames1[:2]), frame), frames1[3:]...)...)
		return f
	}
	with := func(name string, content []byte) logFiles {
		f := files.clone()
		if f[name] = content; content == nil {
			delete(f, name)
		}
		return f
	}
	last := int64(len(files.rows())) // segments and one pack
	lastName := segmentName(last - 1)
	for name, c := range map[string]struct {
		files  logFiles
		first  int64
		reason string
		bodies bool
	}{
		"a row deleted":             {with(seg1, joinFrames(head1, append(slices.Clone(frames1[:1]), frames1[2:]...)...)), 2, "says it is row 3", false},
		"the first row deleted":     {with(seg1, joinFrames(head1, frames1[1:]...)), 1, "says it is row 2", false},
		"two rows swapped":          {with(seg1, joinFrames(head1, append([][]byte{frames1[0], frames1[2], frames1[1]}, frames1[3:]...)...)), 2, "says it is row 3", false},
		"a row doubled":             {with(seg1, joinFrames(head1, append([][]byte{frames1[0], frames1[0]}, frames1[1:]...)...)), 2, "says it is row 1", false},
		"a row of another log":      {replaceThird(splitThird(other[seg1])), 3, "checksum differs", false},
		"a value changed":           {replaceThird(reseal(func(r *Record) { r.Status = 500 })), 3, "holds another hash than row 3", false},
		"one changed, with no tree": {replaceThird(reseal(func(r *Record) { r.Status = 500 })).rows(), 4, "does not continue", false},
		"a time moved back":         {replaceThird(reseal(func(r *Record) { r.Time = r.Time.Add(-time.Hour) })), 3, "older", false},
		"a commitment changed":      {replaceThird(reseal(func(r *Record) { r.Response.Commitment[0] ^= 1 })), 3, "holds another hash than row 3", false},
		"a link changed":            {replaceThird(reseal(func(r *Record) { r.Prev[0] ^= 1 })), 3, "does not continue", false},
		"the end of a segment cut":  {with(seg1, joinFrames(head1, frames1[:len(frames1)-1]...)), int64(len(frames1)), "begins with row", false},
		"a segment deleted":         {with(seg2, nil), int64(len(frames1)) + 1, "segment is missing", false},
		"the first segment deleted": {with(seg1, nil), 1, "segment is missing", false},
		"the last segment deleted":  {with(lastName, nil), 0, "shorter than the head", false},
		"a segment of another log":  {with(seg2, other[seg2]), int64(len(frames1)) + 1, "another log", false},
		"a segment doubled":         {with(segmentName(last), files[lastName]), head.Seq + 1, "says it is segment", false},
		"two segments swapped":      {swap(files, seg1, seg2), 1, "says it is segment 2", false},
		"all rows deleted":          {logFiles{pack1: files[pack1]}, 1, "shorter than the head", false},
		"all but the checkpoint":    {logFiles{CheckpointFile: files[CheckpointFile], VkeyFile: files[VkeyFile]}, 1, "shorter than the head", false},
		"the tree of another log":   {with("tree/0", other["tree/0"]), 1, "holds another hash than row 1", false},
		"the tree deleted":          {with("tree/0", nil), 1, "has lost the hash of row 1", false},
		"the checkpoint deleted":    {with(CheckpointFile, nil), head.Seq + 1, "is missing", false},
		"the vkey deleted":          {with(VkeyFile, nil), head.Seq + 1, "is missing", false},
		"another log's checkpoint":  {with(CheckpointFile, other[CheckpointFile]), head.Seq + 1, "not that of the log's key", false},
		"another log's key":         {with(VkeyFile, other[VkeyFile]), head.Seq + 1, "not that of the log's key", false},
		"another log's both": {func() logFiles {
			f := with(CheckpointFile, other[CheckpointFile])
			f[VkeyFile] = other[VkeyFile]
			return f
		}(), head.Seq, "rewritten at or before it", false},
		"all but the tree deleted":  {logFiles{"tree/0": files["tree/0"]}, 1, "shorter than the head", false},
		"a row in a later segment":  {with(seg2, joinFrames(head2, frames2[1:]...)), int64(len(frames1)) + 1, "says it is row", false},
		"the whole log written new": {other, head.Seq, "rewritten", false},
		"a longer one written new":  {longer, head.Seq, "rewritten", false},
		"the bodies deleted":        {with(pack1, nil), 2, "body in pack 1", true},
		"the bodies of another log": {with(pack1, other[pack1]), 2, "header is damaged", true},
	} {
		t.Run(name, func(t *testing.T) {
			rep := verifyFiles(t, filepath.Join(t.TempDir(), "l"), c.files, VerifyOptions{Head: &head, Bodies: c.bodies})
			if rep.OK || !strings.Contains(rep.Problem, c.reason) || rep.FirstBroken != rep.Records+1 {
				t.Fatalf("want %q: %+v", c.reason, rep)
			}
			if c.first != 0 && rep.FirstBroken != c.first {
				t.Errorf("want row %d: %+v", c.first, rep)
			}
		})
	}
}

func splitThird(segment []byte) []byte {
	_, frames := splitFrames(segment)
	return frames[2]
}

func swap(f logFiles, a, b string) logFiles {
	out := f.clone()
	out[a], out[b] = out[b], out[a]
	return out
}

// TestAlteredBodies changes contents and repairs the checksum, so that only the
// commitment can tell; also where only part of a body was kept.
func TestAlteredBodies(t *testing.T) {
	files, _ := smallLog(t, 2, Options{})
	id := logID(files[seg1][16:32])
	dir := filepath.Join(t.TempDir(), "l")
	offsets := bodyOffsets(files[pack1])
	if len(offsets) != 4 {
		t.Fatalf("%d bodies", len(offsets))
	}
	for i, off := range offsets {
		for name, c := range map[string]struct {
			at     int
			value  byte
			reason string
		}{
			"content":         {bodyHead, 'X', "does not match"},
			"salt":            {5, 0, "does not match"},
			"an odd state":    {4, 9, "damaged"},
			"marked erased":   {4, bodyErased, "no row says so"},
			"length of frame": {0, 3, "damaged"},
		} {
			f := files.clone()
			frame := f[pack1][off:]
			n := int(binary.LittleEndian.Uint32(frame))
			if frame[c.at] == c.value { // of a random salt
				c.value++
			}
			frame[c.at] = c.value
			binary.LittleEndian.PutUint32(frame[bodyHead+n:], id.checksum(frame[:bodyHead+n]))
			rep := verifyFiles(t, dir, f, VerifyOptions{Bodies: true})
			if rep.OK || !strings.Contains(rep.Problem, c.reason) {
				t.Errorf("body %d %s: %+v", i, name, rep)
			}
			if rep := verifyDir(t, dir, VerifyOptions{}); !rep.OK {
				t.Errorf("rows do not depend on bodies: %+v", rep)
			}
		}
	}
}

func bodyOffsets(pack []byte) (offsets []int) {
	for off := packHeader; off < len(pack); {
		offsets = append(offsets, off)
		off += bodyHead + int(binary.LittleEndian.Uint32(pack[off:])) + bodyTail
	}
	return offsets
}

// TestForgedReferencesAreOnlyBroken: a log made by an attacker, chain and all,
// may point anywhere.
func TestForgedReferencesAreOnlyBroken(t *testing.T) {
	files, _ := smallLog(t, 1, Options{})
	id := logID(files[seg1][16:32])
	for name, ref := range map[string]BodyRef{
		"a huge body":        {Size: 1 << 62, Stored: 1 << 62, Pack: 1, Offset: packHeader},
		"the largest body":   {Size: maxInt, Stored: maxInt, Pack: 1, Offset: packHeader},
		"a far place":        {Size: 1, Stored: 1, Pack: 1, Offset: maxInt},
		"the pack's header":  {Size: 1, Stored: 1, Pack: 1},
		"a body to the end":  {Size: 1, Stored: 1, Pack: 1, Offset: int64(len(files[pack1]))},
		"a pack far away":    {Size: 1, Stored: 1, Pack: maxInt, Offset: packHeader},
		"bytes of no pack":   {Size: 1, Stored: 1, Pack: 7, Offset: packHeader},
		"the wrong boundary": {Size: 1, Stored: 1, Pack: 1, Offset: packHeader + 1},
	} {
		r := Record{Version: 1, Seq: 1, Time: fakeClock()(), Kind: KindAdmin, Source: SourceHost, Request: &ref}
		f := files.rows().clone()
		f[seg1] = appendFrame(header{id: id, num: 1, first: 1}.encode(), id, 1, encodeOK(t, r))
		dir := layOut(t, f)
		if rep := verifyDir(t, dir, VerifyOptions{Bodies: true}); rep.OK || rep.FirstBroken != 1 {
			t.Errorf("%s: %+v", name, rep)
		}
		if b, err := openReader(t, dir).Body(&ref); err == nil {
			t.Errorf("%s: read %d bytes", name, len(b))
		}
		if err := mustOpenLog(t, dir, Options{FS: unsyncedFS{}}).Close(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// FuzzVerify gives Verify, OpenReader and Open any segment.
func FuzzVerify(f *testing.F) {
	id := logID{1}
	row := minimal()
	row.Time = fakeClock()()
	seed := appendFrame(header{id: id, num: 1, first: 1}.encode(), id, 1, encodeOK(f, row))
	f.Add(seed)
	f.Add(seed[:len(seed)-1])
	f.Add([]byte(segmentMagic))
	f.Fuzz(func(t *testing.T, segment []byte) {
		dir := filepath.Join(t.TempDir(), "l")
		logFiles{seg1: segment}.write(t, dir)
		rep, err := Verify(t.Context(), dir, VerifyOptions{Bodies: true, Settle: instantly})
		if err != nil && !errors.Is(err, ErrNewerVersion) {
			t.Fatal(err)
		}
		if r, err := OpenReader(dir); err == nil {
			if n, _ := r.Refresh(); rep.OK && n != rep.Records {
				t.Errorf("reader sees %d rows of %d", n, rep.Records)
			}
			r.Close()
		}
		l, err := Open(dir, Options{FS: unsyncedFS{}})
		if err != nil {
			return
		}
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
		if again := verifyDir(t, dir, VerifyOptions{Bodies: true}); !again.OK || rep.OK && again.Records < rep.Records {
			t.Errorf("opened and then not intact: %+v", again)
		}
	})
}

func TestVerifySince(t *testing.T) {
	files, head := smallLog(t, 30, Options{SegmentBytes: 1000})
	dir := filepath.Join(t.TempDir(), "l")
	files.write(t, dir)
	heads := map[int64]Hash{}
	r := openReader(t, dir)
	for seq := int64(1); seq <= head.Seq; seq++ {
		_, h, err := r.At(seq)
		if err != nil {
			t.Fatal(err)
		}
		heads[seq] = h
	}
	for seq, h := range heads {
		since := &Head{seq, h}
		if rep := verifyDir(t, dir, VerifyOptions{Since: since, Head: &head}); !rep.OK || rep.Records != head.Seq || rep.Head != head.Hash {
			t.Errorf("since %d: %+v", seq, rep)
		}
		since.Hash[0] ^= 1
		if rep := verifyDir(t, dir, VerifyOptions{Since: since}); rep.OK || !strings.Contains(rep.Problem, "whose hash you hold") {
			t.Errorf("since a wrong %d: %+v", seq, rep)
		}
	}
	if rep := verifyDir(t, dir, VerifyOptions{Since: &head, Head: &Head{2, Hash{9}}}); rep.OK || rep.FirstBroken != 2 {
		t.Errorf("a head before since: %+v", rep)
	}
	// Rows of segments before the head are not read again, rows after it are.
	damaged := files.clone()
	damaged[seg1][200] ^= 1
	since := &Head{head.Seq - 1, heads[head.Seq-1]}
	if rep := verifyFiles(t, dir, damaged, VerifyOptions{Since: since}); !rep.OK {
		t.Errorf("an early segment was read again: %+v", rep)
	}
	if rep := verifyDir(t, dir, VerifyOptions{Since: &Head{3, heads[3]}}); rep.OK {
		t.Error("damage after the head was not found")
	}
	if rep := verifyDir(t, dir, VerifyOptions{Since: &Head{head.Seq + 5, head.Hash}}); rep.OK || !strings.Contains(rep.Problem, "shorter") {
		t.Errorf("a head beyond the end: %+v", rep)
	}
}

func TestVerifyCannotRead(t *testing.T) {
	files, _ := smallLog(t, 1, Options{})
	newer := files.clone()
	h := newer[seg1][:segmentHeader]
	binary.LittleEndian.PutUint32(h[8:], 2)
	binary.LittleEndian.PutUint32(h[80:], crc32.Checksum(h[:80], castagnoli))
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	for name, c := range map[string]struct {
		files logFiles
		ctx   context.Context
		want  error
	}{
		"no log":             {logFiles{"seg-x.log": nil, "seg-1.log": nil}, t.Context(), ErrNoLog},
		"no directory":       {logFiles{}, t.Context(), os.ErrNotExist},
		"a newer version":    {newer, t.Context(), ErrNewerVersion},
		"a cancelled reader": {files, cancelled, context.Canceled},
	} {
		dir := filepath.Join(t.TempDir(), "l")
		c.files.write(t, dir)
		if rep, err := Verify(c.ctx, dir, VerifyOptions{}); !errors.Is(err, c.want) {
			t.Errorf("%s: %+v, %v", name, rep, err)
		}
	}
}

func TestParseHead(t *testing.T) {
	h := Head{Seq: 12, Hash: Hash{1, 2, 3}}
	if got, err := ParseHead(" " + h.String() + "\n"); err != nil || got != h {
		t.Errorf("got %v, %v", got, err)
	}
	hash := Hash{}.String()
	for _, bad := range []string{"", "1", "1:", ":" + hash, "0:" + hash, "-1:" + hash, "1:" + hash[2:], "1:" + hash + "00", "x:" + hash, "1:zz" + hash[2:], "1 " + hash} {
		if _, err := ParseHead(bad); err == nil {
			t.Errorf("%q was accepted", bad)
		}
	}
}

func openReader(t testing.TB, dir string) *Reader {
	t.Helper()
	r, err := OpenReader(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	return r
}
