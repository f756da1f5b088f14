package audit

import (
	"archive/tar"
	"bytes"
	"context"
	"crypto/ed25519"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"

	"filippo.io/torchwood"
	"golang.org/x/mod/sumdb/note"
)

// runsLog writes a log in which two runs of two tasks take turns, each with an
// approval and a merge, and returns its directory.
func runsLog(t testing.TB, n int) string {
	t.Helper()
	dir := t.TempDir()
	l := mustOpenLog(t, dir, Options{FS: unsyncedFS{}, Now: fakeClock(), SegmentBytes: 40_000})
	of := func(i int) Attribution {
		return Attribution{Session: fmt.Sprint("s", i%2), Run: fmt.Sprint("run-", i%2), Task: fmt.Sprint("task-", i%2)}
	}
	for i := range n {
		p := mustQueue(t, l, Record{Kind: KindIntent, Actor: ActorAgent, Upstream: "demo", Attribution: of(i)}, body(1<<10, fmt.Sprintf("question %d.", i)))
		mustQueue(t, l, Record{Kind: KindRefusal, Gate: "write", Attribution: Attribution{Run: "another"}})
		mustQueue(t, l, Record{Kind: KindOutcome, Ref: p.Seq(), Result: ResultOK, Attribution: of(i)}, nil, body(6, fmt.Sprintf("answer %d", i)))
	}
	for i := range 2 {
		mustQueue(t, l, Record{Kind: KindIntent, Attribution: of(i)}) // stays open
		a := mustQueue(t, l, Record{Kind: KindApproval, Actor: ActorPerson, Attribution: Attribution{Task: fmt.Sprint("task-", i)}})
		mustQueue(t, l, Record{Kind: KindMerge, Ref: a.Seq(), Attribution: Attribution{Task: fmt.Sprint("task-", i)}})
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	return dir
}

func mustBundle(t testing.TB, dir string, q BundleQuery) ([]byte, Manifest) {
	t.Helper()
	var b bytes.Buffer
	m, err := WriteBundle(t.Context(), dir, &b, q)
	if err != nil {
		t.Fatal(err)
	}
	return b.Bytes(), m
}

func readBundle(t testing.TB, b []byte) BundleReport {
	t.Helper()
	rep, err := VerifyBundle(t.Context(), bytes.NewReader(b))
	if err != nil {
		t.Fatal(err)
	}
	return rep
}

func TestBundleHoldsARunAndWhatBelongsToIt(t *testing.T) {
	dir := runsLog(t, 400)
	for name, c := range map[string]struct {
		q                 BundleQuery
		own, rows, bodies int64
		withheld          int64
	}{
		"a run":                  {BundleQuery{Run: "run-0"}, 401, 403, 400, 0},
		"the other":              {BundleQuery{Run: "run-1"}, 401, 403, 400, 0},
		"a task":                 {BundleQuery{Task: "task-1"}, 403, 403, 400, 0},
		"a run without contents": {BundleQuery{Run: "run-0", Withhold: true}, 401, 403, 0, 400},
		"a run of others":        {BundleQuery{Run: "another"}, 400, 400, 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			b, m := mustBundle(t, dir, c.q)
			rep := readBundle(t, b)
			if !rep.OK || rep.Records != c.rows || fmt.Sprint(rep.Manifest) != fmt.Sprint(m) {
				t.Fatalf("%+v\nwrote %+v", rep, m)
			}
			if m.Own != c.own || m.Rows != c.rows || m.Bodies != c.bodies || m.Withheld != c.withheld || m.Between != m.Last-m.First+1-m.Rows {
				t.Errorf("%+v", m)
			}
			on, vkey, err := ReadCheckpoint(dir)
			if err != nil || rep.Checkpoint != on.Text || rep.Vkey != vkey {
				t.Errorf("checkpoint %q, %v", rep.Checkpoint, err)
			}
			again, _ := mustBundle(t, dir, c.q)
			if !bytes.Equal(again, b) {
				t.Error("a bundle is not always the same")
			}
		})
	}
	for _, q := range []BundleQuery{{}, {Run: "a", Task: "b"}} {
		if _, err := WriteBundle(t.Context(), dir, io.Discard, q); err == nil {
			t.Errorf("a bundle of %+v", q)
		}
	}
	if _, err := WriteBundle(t.Context(), dir, io.Discard, BundleQuery{Run: "nobody"}); !errors.Is(err, ErrNoRows) {
		t.Errorf("a bundle of nobody: %v", err)
	}
}

// TestBundleOfACheckpoint: rows after the checkpoint are not in it, and one of
// another log proves nothing.
func TestBundleOfACheckpoint(t *testing.T) {
	dir := runsLog(t, 20)
	c, _, err := ReadCheckpoint(dir)
	if err != nil {
		t.Fatal(err)
	}
	_, before := mustBundle(t, dir, BundleQuery{Run: "run-0"})
	l := mustOpenLog(t, dir, Options{})
	mustQueue(t, l, Record{Kind: KindIntent, Attribution: Attribution{Run: "run-0"}})
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	b, m := mustBundle(t, dir, BundleQuery{Run: "run-0", Checkpoint: &c})
	if rep := readBundle(t, b); !rep.OK || m.Rows != before.Rows || m.LogRows != c.Size {
		t.Errorf("%+v", rep)
	}
	if _, m = mustBundle(t, dir, BundleQuery{Run: "run-0"}); m.Rows != before.Rows+2 { // and its outcome, unknown
		t.Errorf("%+v", m)
	}
	// One that a witness has cosigned stays so.
	cosigned := cosign(t, c)
	b, _ = mustBundle(t, dir, BundleQuery{Run: "run-0", Checkpoint: &cosigned})
	if rep := readBundle(t, b); !rep.OK || rep.Checkpoint != cosigned.Text {
		t.Errorf("%+v", rep)
	}
	other, _, err := ReadCheckpoint(runsLog(t, 20))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := WriteBundle(t.Context(), dir, io.Discard, BundleQuery{Run: "run-0", Checkpoint: &other}); err == nil {
		t.Error("proven against another log")
	}
}

// cosign adds the signature of a witness as C2SP tlog-cosignature has it.
func cosign(t *testing.T, c Checkpoint) Checkpoint {
	t.Helper()
	_, key, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	witness, err := torchwood.NewCosignatureSigner("witness.example/w1", key)
	if err != nil {
		t.Fatal(err)
	}
	text, signatures, _ := strings.Cut(c.Text, "\n\n")
	n := &note.Note{Text: text + "\n"}
	own := strings.Fields(signatures)
	raw, err := base64.StdEncoding.DecodeString(own[2])
	if err != nil {
		t.Fatal(err)
	}
	n.Sigs = []note.Signature{{Name: own[1], Hash: binary.BigEndian.Uint32(raw), Base64: own[2]}}
	signed, err := note.Sign(n, witness)
	if err != nil {
		t.Fatal(err)
	}
	out, err := ParseCheckpoint(string(signed))
	if err != nil || out.Root != c.Root || out.Text == c.Text {
		t.Fatalf("%q, %v", signed, err)
	}
	return out
}

// entries lists the entries of a bundle.
type bundleEntry struct {
	name string
	data []byte
}

func entriesOf(t testing.TB, b []byte) (list []bundleEntry) {
	t.Helper()
	r := tar.NewReader(bytes.NewReader(b))
	for {
		h, err := r.Next()
		if err == io.EOF {
			return list
		}
		if err != nil {
			t.Fatal(err)
		}
		data, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, bundleEntry{h.Name, data})
	}
}

func pack(t testing.TB, list []bundleEntry) []byte {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, e := range list {
		if err := w.WriteHeader(entryHeader(e.name, int64(len(e.data)))); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write(e.data); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// TestEveryByteOfABundleCounts turns bits of every entry, takes each out, doubles
// and swaps them: the bundle is broken, and the row is named.
func TestEveryByteOfABundleCounts(t *testing.T) {
	t.Parallel()
	dir := runsLog(t, 3)
	whole, _ := mustBundle(t, dir, BundleQuery{Run: "run-0"})
	list := entriesOf(t, whole)
	if !bytes.Equal(pack(t, list), whole) {
		t.Fatal("the bundle is not what its entries make")
	}
	broken := func(what string, changed []bundleEntry) {
		t.Helper()
		rep, err := VerifyBundle(t.Context(), bytes.NewReader(pack(t, changed)))
		if err == nil && (rep.OK || rep.Problem == "" || rep.Entry == "") {
			t.Errorf("%s: %+v", what, rep)
		}
		if err != nil && !errors.Is(err, ErrNoBundle) && !errors.Is(err, ErrNewerVersion) {
			t.Errorf("%s: %v", what, err)
		}
	}
	for i, e := range list {
		for at := range e.data {
			for bit := 0; bit < 8; bit += 3 {
				e.data[at] ^= 1 << bit
				broken(fmt.Sprintf("%s byte %d bit %d", e.name, at, bit), list)
				if strings.HasPrefix(e.name, "rows/") {
					if rep := readBundle(t, pack(t, list)); rep.Entry != e.name || rowName(rep.FirstBroken) != e.name {
						t.Errorf("%s is named %s, row %d", e.name, rep.Entry, rep.FirstBroken)
					}
				}
				e.data[at] ^= 1 << bit
			}
		}
		without := append(append([]bundleEntry(nil), list[:i]...), list[i+1:]...)
		broken(e.name+" taken out", without)
		broken(e.name+" doubled", append(append(append([]bundleEntry(nil), list[:i+1]...), e), list[i+1:]...))
		if i > 0 {
			swapped := append([]bundleEntry(nil), list...)
			swapped[i-1], swapped[i] = swapped[i], swapped[i-1]
			broken(e.name+" before "+list[i-1].name, swapped)
		}
		renamed := append([]bundleEntry(nil), list...)
		renamed[i].name += "x"
		broken(e.name+" renamed", renamed)
		longer := append([]bundleEntry(nil), list...)
		longer[i].data = append(bytes.Clone(e.data), 0)
		broken(e.name+" made longer", longer)
	}
	broken("an entry at the end", append(append([]bundleEntry(nil), list...), bundleEntry{"rows/9999999999999999999", nil}))
	if rep := readBundle(t, whole); !rep.OK {
		t.Fatalf("the bundle was not restored: %+v", rep)
	}
}

// TestEveryCutOfABundleIsFound cuts the file at every byte and turns every byte:
// what is not found is padding and changes nothing that is read.
func TestEveryCutOfABundleIsFound(t *testing.T) {
	t.Parallel()
	whole, _ := mustBundle(t, runsLog(t, 1), BundleQuery{Run: "run-0"})
	want := readBundle(t, whole)
	list := entriesOf(t, whole)
	last := len(list[len(list)-1].data)
	end := len(whole) - 1024 - (512-last%512)%512 // behind it padding and the zeros that end a tar file
	for n := range end {
		rep, err := VerifyBundle(t.Context(), bytes.NewReader(whole[:n]))
		if err == nil && rep.OK {
			t.Errorf("cut at %d of %d: %+v", n, len(whole), rep)
		}
	}
	for i := range end {
		whole[i] ^= 0x10
		rep, err := VerifyBundle(t.Context(), bytes.NewReader(whole))
		if err == nil && rep.OK && fmt.Sprint(rep) != fmt.Sprint(want) {
			t.Errorf("byte %d: %+v", i, rep)
		}
		whole[i] ^= 0x10
	}
}

func TestHostileBundles(t *testing.T) {
	whole, _ := mustBundle(t, runsLog(t, 3), BundleQuery{Run: "run-0"})
	list := entriesOf(t, whole)
	craft := func(change func(w *tar.Writer) error) []byte {
		var b bytes.Buffer
		w := tar.NewWriter(&b)
		for _, e := range list[:3] {
			if err := w.WriteHeader(entryHeader(e.name, int64(len(e.data)))); err != nil {
				t.Fatal(err)
			}
			w.Write(e.data)
		}
		if err := change(w); err != nil {
			t.Fatal(err)
		}
		return b.Bytes()
	}
	header := func(h tar.Header) []byte {
		return craft(func(w *tar.Writer) error { return w.WriteHeader(&h) })
	}
	for name, b := range map[string][]byte{
		"a huge tile":        header(tar.Header{Typeflag: tar.TypeReg, Name: "tile/0/000", Size: 1 << 32, Mode: 0o644, Format: tar.FormatUSTAR}),
		"a huge row":         header(tar.Header{Typeflag: tar.TypeReg, Name: rowName(2), Size: 1 << 32, Mode: 0o644, Format: tar.FormatUSTAR}),
		"a link":             header(tar.Header{Typeflag: tar.TypeSymlink, Name: "tile/0/000", Linkname: "/etc/passwd", Mode: 0o644, Format: tar.FormatUSTAR}),
		"a path out of it":   header(tar.Header{Typeflag: tar.TypeReg, Name: "tile/../../x", Mode: 0o644, Format: tar.FormatUSTAR}),
		"a level far up":     header(tar.Header{Typeflag: tar.TypeReg, Name: "tile/63/000.p/1", Size: 32, Mode: 0o644, Format: tar.FormatUSTAR}),
		"extended headers":   header(tar.Header{Typeflag: tar.TypeReg, Name: "tile/0/000", Mode: 0o644, Format: tar.FormatPAX, PAXRecords: map[string]string{"VENDOR.x": strings.Repeat("y", 1000)}}),
		"a name in GNU form": header(tar.Header{Typeflag: tar.TypeReg, Name: strings.Repeat("n", 300), Mode: 0o644, Format: tar.FormatGNU}),
		"a directory":        header(tar.Header{Typeflag: tar.TypeDir, Name: "rows/", Mode: 0o755, Format: tar.FormatUSTAR}),
		"nothing more":       craft(func(w *tar.Writer) error { return w.Close() }),
	} {
		if rep := readBundle(t, b); rep.OK || rep.Problem == "" || rep.Records != 0 {
			t.Errorf("%s: %+v", name, rep)
		}
	}
	for name, b := range map[string][]byte{
		"nothing": nil, "zeros": make([]byte, 4096), "text": []byte(strings.Repeat("hello\n", 300)),
		"a zip": []byte("PK\x03\x04" + strings.Repeat("x", 2000)), "another tar": pack(t, list[1:]), "another manifest": pack(t, []bundleEntry{{"manifest.json", []byte("{}")}}),
	} {
		if rep, err := VerifyBundle(t.Context(), bytes.NewReader(b)); !errors.Is(err, ErrNoBundle) {
			t.Errorf("%s: %+v, %v", name, rep, err)
		}
	}
	boom := errors.New("boom")
	if _, err := VerifyBundle(t.Context(), io.MultiReader(bytes.NewReader(whole[:3000]), iotest.ErrReader(boom))); !errors.Is(err, boom) {
		t.Errorf("a disk that fails: %v", err)
	}
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := VerifyBundle(cancelled, bytes.NewReader(whole)); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

func TestBundleNeedsTheTree(t *testing.T) {
	dir := runsLog(t, 3)
	if err := os.Truncate(treePath(dir, 0), 64); err != nil {
		t.Fatal(err)
	}
	if _, err := WriteBundle(t.Context(), dir, io.Discard, BundleQuery{Run: "run-0"}); err == nil || !strings.Contains(err.Error(), "made again") {
		t.Errorf("without tree: %v", err)
	}
	if err := os.Remove(filepath.Join(dir, VkeyFile)); err != nil {
		t.Fatal(err)
	}
	if _, err := WriteBundle(t.Context(), dir, io.Discard, BundleQuery{Run: "run-0"}); !errors.Is(err, ErrUnsigned) {
		t.Errorf("without key: %v", err)
	}
}

// FuzzVerifyBundle: nothing a stranger sends is proven, hangs or panics.
func FuzzVerifyBundle(f *testing.F) {
	whole, _ := mustBundle(f, runsLog(f, 1), BundleQuery{Run: "run-0"})
	f.Add(whole)
	f.Add(whole[:2000])
	want := readBundle(f, whole)
	f.Fuzz(func(t *testing.T, b []byte) {
		rep, err := VerifyBundle(t.Context(), bytes.NewReader(b))
		if err == nil && rep.OK && rep.Checkpoint == want.Checkpoint && fmt.Sprint(rep) != fmt.Sprint(want) {
			t.Errorf("proven: %+v", rep)
		}
		if err == nil && rep.OK != (rep.Problem == "") {
			t.Errorf("%+v", rep)
		}
	})
}
