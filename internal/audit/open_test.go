package audit

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// crashedLog is a log whose writer died: n exchanges, each its own batch, then
// a batch of three refusals, and no row "closed".
func crashedLog(t *testing.T, n int, o Options) logFiles {
	t.Helper()
	fs := newFaultFS(t)
	dir := fs.root
	slow := &gatedFS{faultFS: fs, gate: make(chan struct{}), reached: make(chan struct{}, 100)}
	o.FS, o.Now = fs, fakeClock()
	l := mustOpenLog(t, dir, o)
	for i := range n {
		if err := exchange(t, l, i).Wait(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	o.FS, o.SegmentBytes = slow, 0
	go func() { slow.gate <- struct{}{} }()
	l = mustOpenLog(t, dir, o)
	<-slow.reached
	mustQueue(t, l, Record{Kind: KindRefusal, Gate: "alone"})
	<-slow.reached
	var last *Pending
	for i := range 3 {
		last = mustQueue(t, l, Record{Kind: KindRefusal, Gate: fmt.Sprint("together ", i)})
	}
	slow.gate <- struct{}{}
	<-slow.reached
	go close(slow.gate)
	if err := last.Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
	files := readFiles(t, dir).unsigned(t)
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	return files
}

func layOut(t *testing.T, f logFiles) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "l")
	f.write(t, dir)
	return dir
}

func TestOpenCutsATornTail(t *testing.T) {
	t.Parallel()
	files := crashedLog(t, 2, Options{})
	head, frames := splitFrames(files[seg1])
	whole := joinFrames(head, frames[:len(frames)-1]...)
	lastFrame := frames[len(frames)-1]
	for n := 1; n < len(lastFrame); n++ {
		f := files.clone()
		f[seg1] = append(bytes.Clone(whole), lastFrame[:n]...)
		checkRecovered(t, f, int64(len(frames)), lastFrame[:n])
	}
}

// TestOpenCutsADamagedLastBatch: pages of a batch that was never synced may
// reach the disk in any order, also later ones without earlier ones.
func TestOpenCutsADamagedLastBatch(t *testing.T) {
	files := crashedLog(t, 2, Options{})
	head, frames := splitFrames(files[seg1])
	batch := len(frames) - 3 // first frame of the last batch
	for hit := batch; hit < len(frames); hit++ {
		for i := 0; i < len(frames[hit]); i += 7 {
			damaged := slices.Clone(frames)
			damaged[hit] = bytes.Clone(frames[hit])
			damaged[hit][i] ^= 0xff
			f := files.clone()
			f[seg1] = joinFrames(head, damaged...)
			checkRecovered(t, f, int64(hit)+1, bytes.Join(damaged[hit:], nil))
		}
	}
}

// checkRecovered opens a log whose row seq is torn and expects the torn bytes
// beside it, a note in it, and an intact log.
func checkRecovered(t *testing.T, f logFiles, seq int64, torn []byte) {
	t.Helper()
	dir := layOut(t, f)
	l, err := Open(dir, Options{FS: unsyncedFS{}})
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	name := fmt.Sprintf("torn-%d", seq)
	kept, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil || !bytes.Equal(kept, torn) {
		t.Fatalf("%s holds %d bytes of %d, %v", name, len(kept), len(torn), err)
	}
	rep := verifyDir(t, dir, VerifyOptions{Bodies: true})
	if !rep.OK || rep.Records != seq+2 {
		t.Fatalf("%+v", rep)
	}
	r, _, err := openReader(t, dir).At(seq + 1)
	if err != nil || r.Subject != "recovered" || r.attr("file") != name || r.attr("bytes") != fmt.Sprint(len(torn)) {
		t.Fatalf("the note is %+v, %v", r, err)
	}
}

func TestASecondTornTailKeepsTheFirst(t *testing.T) {
	files := crashedLog(t, 1, Options{})
	n := len(files[seg1])
	files[seg1] = files[seg1][:n-1]
	_, frames := splitFrames(append(bytes.Clone(files[seg1]), 0))
	name := fmt.Sprintf("torn-%d", len(frames))
	files[name] = []byte("from before")
	dir := layOut(t, files)
	if err := mustOpenLog(t, dir, Options{}).Close(); err != nil {
		t.Fatal(err)
	}
	after := readFiles(t, dir)
	if string(after[name]) != "from before" || !bytes.Equal(after[name+".1"], frames[len(frames)-1][:len(frames[len(frames)-1])-1]) {
		t.Errorf("files are %q and %q", after[name], after[name+".1"])
	}
}

// TestOpenRefusesDamageNoCrashExplains turns bytes of rows that were synced
// before the last batch was begun.
func TestOpenRefusesDamageNoCrashExplains(t *testing.T) {
	t.Parallel()
	files := crashedLog(t, 2, Options{SegmentBytes: 600})
	if len(files) < 3 {
		t.Fatalf("%d files", len(files))
	}
	last := segmentName(int64(len(files.rows())) - 1) // one of them is the pack
	_, frames := splitFrames(files[last])
	synced := len(files[last]) - len(bytes.Join(frames[len(frames)-3:], nil))
	dir := layOut(t, files)
	for name, end := range map[string]int{seg1: len(files[seg1]), last: synced} {
		path := filepath.Join(dir, name)
		for i := range end {
			damaged := bytes.Clone(files[name])
			damaged[i] ^= 0x10
			if err := os.WriteFile(path, damaged, 0o600); err != nil {
				t.Fatal(err)
			}
			_, err := Open(dir, Options{FS: unsyncedFS{}})
			var broken *BrokenError
			if !errors.As(err, &broken) || broken.File != name || !strings.Contains(err.Error(), "audit restart --keep") {
				t.Fatalf("%s byte %d: %v", name, i, err)
			}
			if after, err := os.ReadFile(path); err != nil || !bytes.Equal(after, damaged) {
				t.Fatalf("%s byte %d: Open changed the log, %v", name, i, err)
			}
			if i%5 == 0 {
				checkReadable(t, dir, broken.Seq-1)
			}
		}
		if err := os.WriteFile(path, files[name], 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if !sameFiles(files, readFiles(t, dir)) {
		t.Error("Open changed a broken log")
	}
}

func sameFiles(a, b logFiles) bool {
	same := len(a) == len(b)
	for name := range a {
		same = same && bytes.Equal(a[name], b[name])
	}
	return same
}

// checkReadable: rows up to last can still be read.
func checkReadable(t *testing.T, dir string, last int64) {
	t.Helper()
	r, err := OpenReader(dir)
	if err != nil {
		t.Error(err)
		return
	}
	defer r.Close()
	// A length that points behind the end looks like a row being written.
	if n, err := r.Refresh(); n != last {
		t.Errorf("reader sees %d rows of %d, %v", n, last, err)
	}
	for seq := int64(1); seq <= last; seq++ {
		if _, _, err := r.At(seq); err != nil {
			t.Error(err)
		}
	}
}

func TestOpenRefusesAMissingSegment(t *testing.T) {
	files, _ := smallLog(t, 10, Options{SegmentBytes: 900})
	_, frames := splitFrames(files[seg1])
	delete(files, seg2)
	dir := layOut(t, files)
	opensBroken(t, dir, int64(len(frames))+1)
	_, err := Open(dir, Options{FS: unsyncedFS{}})
	var broken *BrokenError
	if !errors.As(err, &broken) || broken.File != seg2 {
		t.Errorf("error is %v", err)
	}
	last, err := openReader(t, dir).Refresh()
	if !errors.As(err, &broken) || broken.File != seg2 || last != int64(len(frames)) {
		t.Errorf("a reader finds %d rows, %v", last, err)
	}
}

func TestOpenAfterACrashBetweenFileAndHeader(t *testing.T) {
	files := crashedLog(t, 2, Options{})
	header := header{id: logID(files[seg1][16:32]), num: 2, first: 100}.encode()
	for n := range len(header) {
		f := files.clone()
		f[seg2] = header[:n]
		dir := layOut(t, f)
		l := mustOpenLog(t, dir, Options{FS: unsyncedFS{}})
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
		after := readFiles(t, dir)
		if _, there := after[seg2]; there || n > 0 && !bytes.Equal(after["torn-"+seg2], header[:n]) {
			t.Errorf("%d bytes: %d files", n, len(after))
		}
		if rep := verifyDir(t, dir, VerifyOptions{}); !rep.OK {
			t.Errorf("%d bytes: %+v", n, rep)
		}
	}
}

// TestRecoveryCanBeInterrupted makes each step of a recovery fail as a power cut.
func TestRecoveryCanBeInterrupted(t *testing.T) {
	t.Parallel()
	files := crashedLog(t, 2, Options{})
	files[seg1] = files[seg1][:len(files[seg1])-5]
	files[seg2] = []byte("moeca")
	for step := 1; ; step++ {
		fs := newFaultFS(t)
		dir := filepath.Join(fs.root, "audit")
		files.write(t, dir)
		fs.adopt(t, dir)
		fs.failAt, fs.dead = step, true
		l, err := Open(dir, Options{FS: fs})
		if err == nil {
			l.Close()
		}
		for how := lostAll; how <= lostNone; how++ {
			checkSurvivors(t, fs, nil, how, fmt.Sprintf("step %d (%s) lost=%d", step, fs.failed, how))
		}
		if fs.failed == "" {
			break
		}
	}
}

// adopt makes everything in dir durable.
func (f *faultFS) adopt(t *testing.T, dir string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, e os.DirEntry, err error) error {
		n := &node{dir: e.IsDir()}
		if !n.dir {
			n.synced, err = os.ReadFile(path)
		}
		f.live[path], f.durable[path] = n, n
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestOpenLockedAndNewer(t *testing.T) {
	dir := t.TempDir()
	l := mustOpenLog(t, dir, Options{})
	if _, err := Open(dir, Options{}); !errors.Is(err, ErrLocked) || !strings.Contains(err.Error(), "another data directory") {
		t.Errorf("second writer: %v", err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	files := readFiles(t, dir)
	h := files[seg1][:segmentHeader]
	binary.LittleEndian.PutUint32(h[8:], 7)
	binary.LittleEndian.PutUint32(h[80:], crc32.Checksum(h[:80], castagnoli))
	dir = layOut(t, files)
	if _, err := Open(dir, Options{}); !errors.Is(err, ErrNewerVersion) || !strings.Contains(err.Error(), "update moeca") {
		t.Errorf("newer segment: %v", err)
	}
	if !sameFiles(files, readFiles(t, dir)) {
		t.Error("a newer log was changed")
	}
	if _, err := Open(dir, Options{}); errors.Is(err, ErrLocked) {
		t.Error("a failed Open keeps the lock")
	}
}

func TestOpenEndsIntentsACrashLeftOpen(t *testing.T) {
	fs := newFaultFS(t)
	dir := filepath.Join(fs.root, "audit")
	l := mustOpenLog(t, dir, Options{FS: fs})
	defer l.Close()
	who := Attribution{Session: "s", Run: "r", Stage: "st", Task: "t"}
	left := mustQueue(t, l, Record{Kind: KindIntent, Upstream: "demo", Actor: ActorAgent, Attribution: who})
	done := mustQueue(t, l, Record{Kind: KindIntent})
	if err := mustQueue(t, l, Record{Kind: KindOutcome, Ref: done.Seq()}).Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
	root := t.TempDir()
	fs.crash(t, root, lostAll)
	dir = filepath.Join(root, "audit")
	if rep := verifyDir(t, dir, VerifyOptions{}); !slices.Equal(rep.OpenIntents, []int64{left.Seq()}) {
		t.Errorf("before Open: %+v", rep)
	}
	again := mustOpenLog(t, dir, Options{})
	seq, _ := again.Head()
	r, _, err := openReader(t, dir).At(seq)
	if err != nil || r.Kind != KindOutcome || r.Ref != left.Seq() || r.Result != ResultUnknown || r.Upstream != "demo" || r.Actor != ActorAgent || r.Attribution != who {
		t.Errorf("last row is %+v, %v", r, err)
	}
	if err := again.Close(); err != nil {
		t.Fatal(err)
	}
	if rep := verifyDir(t, dir, VerifyOptions{}); !rep.OK || len(rep.OpenIntents) > 0 {
		t.Errorf("after Open: %+v", rep)
	}
}

// TestAnAgentsBytesAreNoFrame: a torn row that contains a well-made frame of a
// later batch, checksum seeded with a guessed id, is still only a torn row.
func TestAnAgentsBytesAreNoFrame(t *testing.T) {
	files := crashedLog(t, 1, Options{})
	id := logID(files[seg1][16:32])
	fake := minimal()
	fake.Seq = 1000
	forged := appendFrame(nil, logID{}, 1000, encodeOK(t, fake))
	head, frames := splitFrames(files[seg1])
	whole := joinFrames(head, frames...)
	torn := appendFrame(nil, id, int64(len(frames))+1, forged)
	torn = torn[:len(torn)-1]
	files[seg1] = append(whole, torn...)
	checkRecovered(t, files, int64(len(frames))+1, torn)
}

func TestPackThatLostItsEndIsNotContinued(t *testing.T) {
	files, _ := smallLog(t, 2, Options{})
	files[pack1] = files[pack1][:len(files[pack1])-3]
	dir := layOut(t, files)
	l := mustOpenLog(t, dir, Options{})
	p := mustQueue(t, l, Record{Kind: KindAdmin}, body(100, "fresh"))
	if err := errors.Join(p.Wait(t.Context()), l.Close()); err != nil {
		t.Fatal(err)
	}
	r := openReader(t, dir)
	rec, _, err := r.At(p.Seq())
	if err != nil || rec.Request.Pack != 2 {
		t.Fatalf("%+v, %v", rec.Request, err)
	}
	if b, err := r.Body(rec.Request); err != nil || string(b) != "fresh" {
		t.Errorf("%q, %v", b, err)
	}
	if !bytes.Equal(readFiles(t, dir)[pack1], files[pack1]) {
		t.Error("the damaged pack was changed")
	}
}

// appendFrame appends the frame of row.
func appendFrame(dst []byte, id logID, batch int64, row []byte) []byte {
	_, b := closeFrame(append(openFrame(nil, batch), row...), id)
	return append(dst, b...)
}
