package audit

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"
)

// forge is what an attacker can do who knows the format, the log's id and, if
// wanted, its key: change a row, and build everything after it anew.
type forge struct{ tree, checkpoint bool }

func (how forge) row(t testing.TB, files logFiles, edited int) logFiles {
	t.Helper()
	f := files.clone()
	segHead, frames := splitFrames(files[seg1])
	id := logID(files[seg1][16:32])
	c, tree := chain{}, tiler{}
	levels := map[int][]byte{}
	tree.carry = func(level int, h Hash) error { levels[level] = append(levels[level], h[:]...); return nil }
	rebuilt := bytes.Clone(segHead)
	for i, fr := range frames {
		f, err := parseFrame(fr, id)
		if err != nil {
			t.Fatal(err)
		}
		r, err := Decode(f.row)
		if err != nil {
			t.Fatal(err)
		}
		if r.Prev = c.hash; i == edited {
			r.Model = "forged"
		}
		row := encodeOK(t, r)
		if err := c.move(r.glance(), RowHash(row)); err != nil {
			t.Fatal(err)
		}
		rebuilt = appendFrame(rebuilt, id, f.batch, row)
		levels[0] = append(levels[0], c.hash[:]...)
		if err := tree.add(c.hash); err != nil {
			t.Fatal(err)
		}
	}
	f[seg1] = rebuilt
	if how.tree {
		for level, b := range levels {
			f["tree/"+strconv.Itoa(level)] = b
		}
	}
	if how.checkpoint {
		s, err := parseSigner(f[keyFile])
		if err != nil {
			t.Fatal(err)
		}
		c, err := s.sign(tree.size, tree.root())
		if err != nil {
			t.Fatal(err)
		}
		f[CheckpointFile] = []byte(c.Text)
	}
	return f
}

func parseText(t testing.TB, text []byte) *Checkpoint {
	t.Helper()
	c, err := ParseCheckpoint(string(text))
	if err != nil {
		t.Fatal(err)
	}
	return &c
}

// TestRewriteByTheWriterIsFound: without the key the log's own checkpoint tells;
// with the key only what somebody holds elsewhere.
func TestRewriteByTheWriterIsFound(t *testing.T) {
	files, head := smallLog(t, 5, Options{})
	held := parseText(t, files[CheckpointFile])
	_, frames := splitFrames(files[seg1])
	dir := filepath.Join(t.TempDir(), "l")
	for edited := range frames {
		row := int64(edited) + 1
		rep := verifyFiles(t, dir, forge{}.row(t, files, edited), VerifyOptions{})
		if rep.OK || rep.FirstBroken != row || !strings.Contains(rep.Problem, "rewritten") {
			t.Errorf("row %d forged: %+v", row, rep)
		}
		opensBroken(t, dir, row)
		rep = verifyFiles(t, dir, forge{tree: true}.row(t, files, edited), VerifyOptions{})
		if rep.OK || rep.FirstBroken != head.Seq || !strings.Contains(rep.Problem, "at or before it") {
			t.Errorf("row %d and tree forged: %+v", row, rep)
		}
		opensBroken(t, dir, head.Seq)
		if rep = verifyFiles(t, dir, forge{true, true}.row(t, files, edited), VerifyOptions{}); !rep.OK {
			t.Fatalf("the forgery is not well made: %+v", rep)
		}
		for what, o := range map[string]VerifyOptions{"head": {Head: &head}, "since": {Since: &head}, "held": {Held: held}, "from": {From: held}} {
			if rep := verifyDir(t, dir, o); rep.OK || rep.FirstBroken != head.Seq || !strings.Contains(rep.Problem, "rewritten") {
				t.Errorf("row %d forged with the key, %s: %+v", row, what, rep)
			}
		}
	}
}

// opensBroken expects that the log is not written any more, nor changed.
func opensBroken(t *testing.T, dir string, seq int64) {
	t.Helper()
	before := readFiles(t, dir)
	l, err := Open(dir, Options{FS: unsyncedFS{}})
	var broken *BrokenError
	if !errors.As(err, &broken) || broken.Seq != seq {
		t.Errorf("opened with %v, want row %d", err, seq)
	}
	if l != nil {
		l.Close()
	}
	if !sameFiles(before, readFiles(t, dir)) {
		t.Error("a log that is broken was changed")
	}
}

// TestOpenComparesWithTheLastCheckpoint: no crash takes rows or signatures that
// were there.
func TestOpenComparesWithTheLastCheckpoint(t *testing.T) {
	files, head := smallLog(t, 4, Options{})
	other, _ := smallLog(t, 4, Options{})
	segHead, frames := splitFrames(files[seg1])
	with := func(name string, b []byte) logFiles {
		f := files.clone()
		if f[name] = b; b == nil {
			delete(f, name)
		}
		return f
	}
	torn := joinFrames(segHead, frames...)
	torn = torn[:len(torn)-1]
	for name, c := range map[string]struct {
		files logFiles
		seq   int64
	}{
		"the last row cut":        {with(seg1, joinFrames(segHead, frames[:len(frames)-1]...)), head.Seq},
		"the last row torn":       {with(seg1, torn), head.Seq},
		"all rows cut":            {with(seg1, segHead), 1},
		"the segment deleted":     {with(seg1, nil), 1},
		"its header torn":         {with(seg1, segHead[:10]), 1},
		"the checkpoint deleted":  {with(CheckpointFile, nil), head.Seq + 1},
		"the checkpoint emptied":  {with(CheckpointFile, []byte{}), head.Seq + 1},
		"another's checkpoint":    {with(CheckpointFile, other[CheckpointFile]), head.Seq + 1},
		"another's vkey":          {with(VkeyFile, other[VkeyFile]), head.Seq + 1},
		"another's key":           {with(keyFile, other[keyFile]), head.Seq + 1},
		"an older one and a tail": {older(t, files, segHead, frames), head.Seq},
		"the key deleted":         {with(keyFile, nil), head.Seq + 1},
		"the key damaged":         {with(keyFile, files[keyFile][1:]), head.Seq + 1},
		"key and vkey deleted":    {without(files, keyFile, VkeyFile), head.Seq + 1},
		"all notes deleted":       {without(files, keyFile, VkeyFile, CheckpointFile), head.Seq + 1},
		"all but the key deleted": {without(files, VkeyFile, CheckpointFile), head.Seq + 1},
		"notes and tree deleted":  {files.rows(), head.Seq + 1},
		"and a tail":              {with(seg1, joinFrames(segHead, frames[:len(frames)-2]...)).rows(), head.Seq - 1},
		"the notes of a new key":  {newKey(t, files), head.Seq + 1},
	} {
		t.Run(name, func(t *testing.T) { opensBroken(t, layOut(t, c.files), c.seq) })
	}
}

func without(f logFiles, names ...string) logFiles {
	f = f.clone()
	for _, name := range names {
		delete(f, name)
	}
	return f
}

// newKey signs the log with another key of its name.
func newKey(t *testing.T, files logFiles) logFiles {
	t.Helper()
	f := files.clone()
	skey, vkey, err := note.GenerateKey(rand.Reader, parseText(t, f[CheckpointFile]).Origin)
	if err != nil {
		t.Fatal(err)
	}
	f[keyFile], f[VkeyFile] = []byte(skey+"\n"), []byte(vkey+"\n")
	return forge{checkpoint: true}.row(t, f, -1)
}

// A log whose vkey got lost gets the same one again: key and rows have it.
func TestAVkeyIsMadeAgain(t *testing.T) {
	files, _ := smallLog(t, 4, Options{})
	dir := layOut(t, without(files, VkeyFile))
	if err := mustOpenLog(t, dir, Options{FS: unsyncedFS{}}).Close(); err != nil {
		t.Fatal(err)
	}
	if got := readFiles(t, dir)[VkeyFile]; !bytes.Equal(got, files[VkeyFile]) {
		t.Errorf("vkey is %q", got)
	}
}

// A row that names another key than the ones before it was not written by the
// log, whatever signs it.
func TestALogHasOneKey(t *testing.T) {
	files, head := smallLog(t, 4, Options{})
	f := newKey(t, files)
	segHead, frames := splitFrames(f[seg1])
	r := minimal()
	r.Seq, r.Prev, r.Kind, r.Source, r.Subject, r.Time = head.Seq+1, head.Hash, KindSystem, SourceGateway, subjectOpened, time.Date(2100, 1, 1, 0, 0, 0, 0, time.UTC)
	r.Attrs = []Attr{{"log", hex.EncodeToString(f[seg1][16:32])}, {"vkey", strings.TrimSpace(string(f[VkeyFile]))}}
	f[seg1] = appendFrame(joinFrames(segHead, frames...), logID(f[seg1][16:32]), r.Seq, encodeOK(t, r))
	f = forge{tree: true, checkpoint: true}.row(t, f, -1)
	if rep := verifyFiles(t, filepath.Join(t.TempDir(), "l"), f, VerifyOptions{}); rep.OK || rep.FirstBroken != r.Seq || !strings.Contains(rep.Problem, "another key") {
		t.Errorf("%+v", rep)
	}
	opensBroken(t, layOut(t, f), r.Seq)
}

// Whoever verifies what another one sent is not kept, filled or painted over.
func TestVerifyReadsNoMoreThanALog(t *testing.T) {
	files, _ := smallLog(t, 2, Options{})
	for _, name := range []string{CheckpointFile, VkeyFile, seg1, pack1, "tree/0"} {
		dir := layOut(t, files)
		path := filepath.Join(dir, name)
		if err := errors.Join(os.Remove(path), os.Symlink("/dev/zero", path)); err != nil {
			t.Fatal(err)
		}
		if rep, err := Verify(t.Context(), dir, VerifyOptions{Bodies: true}); err == nil && rep.OK {
			t.Errorf("%s without an end is intact", name)
		}
	}
	skey, vkey, err := note.GenerateKey(rand.Reader, "moeca/\x1b[2J")
	if err != nil {
		t.Fatal(err)
	}
	f := files.clone()
	f[keyFile], f[VkeyFile] = []byte(skey+"\n"), []byte(vkey+"\n")
	f = forge{checkpoint: true}.row(t, f, -1)
	for what, f := range map[string]logFiles{"both": f, "the vkey": f.with(CheckpointFile, files[CheckpointFile])} {
		if rep := verifyFiles(t, filepath.Join(t.TempDir(), "l"), f, VerifyOptions{}); rep.OK || strings.Contains(rep.Problem, "\x1b") {
			t.Errorf("%s: %+v", what, rep)
		}
	}
}

// older cuts the last row and signs what is left; only the tree still tells.
func older(t *testing.T, files logFiles, segHead []byte, frames [][]byte) logFiles {
	f := files.clone()
	f[seg1] = joinFrames(segHead, frames[:len(frames)-1]...)
	return logFiles.with(forge{checkpoint: true}.row(t, f, -1), "tree/0", files["tree/0"])
}

func (f logFiles) with(name string, b []byte) logFiles {
	f[name] = b
	return f
}

// manyCheckpoints writes a log of some segments and returns checkpoints taken
// on the way.
func manyCheckpoints(t *testing.T) (logFiles, []Checkpoint) {
	t.Helper()
	dir := t.TempDir()
	l := mustOpenLog(t, dir, Options{FS: unsyncedFS{}, SegmentBytes: 10_000, Now: fakeClock()})
	var list []Checkpoint
	for i := range 300 {
		p := exchange(t, l, i)
		if i%37 != 0 {
			continue
		}
		if err := p.Wait(t.Context()); err != nil {
			t.Fatal(err)
		}
		c, err := l.Checkpoint(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, c)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	c, _, err := ReadCheckpoint(dir)
	if err != nil {
		t.Fatal(err)
	}
	return readFiles(t, dir), append(list, c)
}

func TestVerifyFromACheckpoint(t *testing.T) {
	files, list := manyCheckpoints(t)
	last := list[len(list)-1]
	dir := filepath.Join(t.TempDir(), "l")
	files.write(t, dir)
	for _, c := range list {
		for what, o := range map[string]VerifyOptions{"from": {From: &c}, "held": {Held: &c}, "both": {From: &c, Held: &list[0]}} {
			if rep := verifyDir(t, dir, o); !rep.OK || rep.Records != last.Size || rep.Checkpoint != last.Text || rep.Signed != last.Size {
				t.Errorf("%s %d: %+v", what, c.Size, rep)
			}
			wrong := c
			wrong.Root[3] ^= 1
			if o.Held = &wrong; what == "from" {
				o = VerifyOptions{From: &wrong}
			}
			if rep := verifyDir(t, dir, o); rep.OK || rep.FirstBroken != c.Size || !strings.Contains(rep.Problem, "you hold") {
				t.Errorf("%s a wrong %d: %+v", what, c.Size, rep)
			}
		}
	}
	beyond := last
	beyond.Size += 3
	if rep := verifyDir(t, dir, VerifyOptions{From: &beyond}); rep.OK || !strings.Contains(rep.Problem, "shorter than the checkpoint you hold") {
		t.Errorf("a checkpoint beyond the end: %+v", rep)
	}
	foreign := list[2]
	foreign.Origin = "moeca/0000000000000000"
	if rep := verifyDir(t, dir, VerifyOptions{From: &foreign}); rep.OK || !strings.Contains(rep.Problem, "another log") {
		t.Errorf("a checkpoint of another log: %+v", rep)
	}
	late := &list[len(list)-2]
	// Rows of earlier segments are not read again, what comes later is.
	damaged := files.clone()
	damaged[seg1][200] ^= 1
	if rep := verifyFiles(t, dir, damaged, VerifyOptions{From: late}); !rep.OK {
		t.Errorf("an early segment was read again: %+v", rep)
	}
	if rep := verifyDir(t, dir, VerifyOptions{From: &list[0]}); rep.OK || rep.FirstBroken > 3 {
		t.Errorf("damage was not found: %+v", rep)
	}
	// A tree that was changed where it is not read again: the root tells, and
	// reading everything names the row.
	damaged = files.clone()
	damaged["tree/0"][(last.Size-40)*HashSize] ^= 1
	damaged["tree/1"][0] ^= 1
	if rep := verifyFiles(t, dir, damaged, VerifyOptions{From: late}); rep.OK || rep.FirstBroken != 256 {
		t.Errorf("a changed tree: %+v", rep)
	}
	// Without a tree everything is read.
	damaged = files.clone()
	delete(damaged, "tree/1")
	if rep := verifyFiles(t, dir, damaged, VerifyOptions{From: late}); rep.OK || rep.FirstBroken != 256 || !strings.Contains(rep.Problem, "has lost") {
		t.Errorf("a lost level: %+v", rep)
	}
}

// TestVerifyBesideAWriter: rows, tree and checkpoint grow while they are read,
// and each run goes on from the checkpoint that the one before returned.
func TestVerifyBesideAWriter(t *testing.T) {
	dir := t.TempDir()
	l := mustOpenLog(t, dir, Options{FS: unsyncedFS{}, SegmentBytes: 20_000})
	ended := make(chan error, 1)
	go func() {
		for i := range 3000 {
			p, err := l.Queue(Record{Kind: KindRefusal, Gate: "write"}, body(100, fmt.Sprint("content ", i)), nil)
			if err == nil && i%4 == 0 {
				err = p.Wait(context.Background())
			}
			if err == nil && i%50 == 0 {
				_, err = l.Checkpoint(context.Background())
			}
			if err != nil {
				ended <- err
				return
			}
		}
		ended <- nil
	}()
	var from *Checkpoint
	for i, writing := 0, true; writing; i++ {
		select {
		case err := <-ended:
			if err != nil {
				t.Fatal(err)
			}
			writing = false // one more run
		default:
		}
		o := VerifyOptions{Bodies: i%3 == 0, From: from}
		if i%2 == 0 {
			o.From, o.Held = nil, from
		}
		rep, err := Verify(t.Context(), dir, o)
		if err != nil || !rep.OK {
			t.Fatalf("run %d: %+v, %v", i, rep, err)
		}
		from = parseText(t, []byte(rep.Checkpoint))
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if from.Size == 0 {
		t.Error("nothing was signed meanwhile")
	}
}

func TestConsistencyIsProvenToOthers(t *testing.T) {
	files, list := manyCheckpoints(t)
	dir := filepath.Join(t.TempDir(), "l")
	files.write(t, dir)
	for i, old := range list {
		for _, c := range list[i:] {
			proof, err := ConsistencyProof(t.Context(), dir, old.Size, c)
			if err != nil {
				t.Fatalf("%d to %d: %v", old.Size, c.Size, err)
			}
			var theirs tlog.TreeProof
			for _, h := range proof {
				theirs = append(theirs, tlog.Hash(h))
			}
			if err := tlog.CheckTree(theirs, c.Size, tlog.Hash(c.Root), old.Size, tlog.Hash(old.Root)); err != nil {
				t.Errorf("%d to %d: %v", old.Size, c.Size, err)
			}
			if old.Size < c.Size {
				if err := tlog.CheckTree(theirs, c.Size, tlog.Hash(c.Root), old.Size, tlog.Hash(c.Root)); err == nil {
					t.Errorf("%d to %d proves anything", old.Size, c.Size)
				}
			}
		}
	}
	if proof, err := ConsistencyProof(t.Context(), dir, 0, list[3]); err != nil || len(proof) != 0 {
		t.Errorf("from nothing: %v, %v", proof, err)
	}
	if _, err := ConsistencyProof(t.Context(), dir, list[3].Size, list[2]); err == nil {
		t.Error("a smaller tree continues a larger one")
	}
	files["tree/0"][100] ^= 1
	files.write(t, dir)
	if _, err := ConsistencyProof(t.Context(), dir, 3, list[3]); err == nil {
		t.Error("a damaged tree proves something")
	}
}

func TestCheckpointsThatAreNone(t *testing.T) {
	files, _ := smallLog(t, 1, Options{})
	good := string(files[CheckpointFile])
	c, err := ParseCheckpoint(good)
	if err != nil {
		t.Fatal(err)
	}
	vkey := strings.TrimSpace(string(files[VkeyFile]))
	if err := c.Verify(vkey); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(good, "\n")
	join := func(change func(l []string)) string {
		l := append([]string(nil), lines...)
		change(l)
		return strings.Join(l, "\n")
	}
	for name, text := range map[string]string{
		"nothing":          "",
		"a word":           "checkpoint",
		"no signature":     strings.Join(lines[:4], "\n") + "\n",
		"no origin":        join(func(l []string) { l[0] = "" }),
		"a padded size":    join(func(l []string) { l[1] = "0" + l[1] }),
		"a negative size":  join(func(l []string) { l[1] = "-1" }),
		"a short root":     join(func(l []string) { l[2] = l[2][4:] }),
		"a loose root":     join(func(l []string) { l[2] = l[2][:42] + "/=" }),
		"another line":     join(func(l []string) { l[2] += "\nextension" }),
		"a long signature": good + strings.Repeat("x", maxCheckpoint),
	} {
		if c, err := ParseCheckpoint(text); err == nil {
			t.Errorf("%s was read as %+v", name, c)
		}
	}
	for i := range good {
		for bit := range 7 {
			b := []byte(good)
			b[i] ^= 1 << bit
			if c, err := ParseCheckpoint(string(b)); err == nil && c.Verify(vkey) == nil {
				t.Errorf("bit %d of byte %d does not count", bit, i)
			}
		}
	}
	for i := range vkey {
		b := []byte(vkey)
		b[i] ^= 1
		if c.Verify(string(b)) == nil {
			t.Errorf("byte %d of the vkey does not count", i)
		}
	}
}

// FuzzParseCheckpoint: what is read is what was signed, and nothing panics.
func FuzzParseCheckpoint(f *testing.F) {
	files, _ := smallLog(f, 1, Options{})
	vkey := strings.TrimSpace(string(files[VkeyFile]))
	f.Add(string(files[CheckpointFile]))
	f.Add("moeca/x\n0\n" + fmt.Sprint(Hash{}) + "\n\n— x y\n")
	f.Fuzz(func(t *testing.T, text string) {
		c, err := ParseCheckpoint(text)
		if err != nil {
			return
		}
		if !strings.HasPrefix(text, c.body()+"\n") {
			t.Errorf("%q was read as %+v", text, c)
		}
		if c.Verify(vkey) == nil && text != string(files[CheckpointFile]) && !strings.Contains(text, "\n\n— ") {
			t.Errorf("%q is signed", text)
		}
	})
}
