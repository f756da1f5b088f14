package audit

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestReaderOfAnEmptyDirectory(t *testing.T) {
	dir := t.TempDir()
	r := openReader(t, dir)
	if n, err := r.Refresh(); n != 0 || err != nil {
		t.Errorf("%d rows, %v", n, err)
	}
	if _, _, err := r.At(1); !errors.Is(err, ErrNoRow) {
		t.Errorf("At: %v", err)
	}
	l := mustOpenLog(t, dir, Options{})
	defer l.Close()
	if n, err := r.Refresh(); n != 1 || err != nil {
		t.Errorf("after a writer came: %d rows, %v", n, err)
	}
	for _, seq := range []int64{-1, 0, 2} {
		if _, _, err := r.At(seq); !errors.Is(err, ErrNoRow) {
			t.Errorf("At(%d): %v", seq, err)
		}
	}
}

func TestOpenReaderSaysWhatIsMissing(t *testing.T) {
	if _, err := OpenReader(filepath.Join(t.TempDir(), "none")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no directory: %v", err)
	}
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := OpenReader(file); err == nil {
		t.Error("a file was opened as a log")
	}
}

// TestReaderWaitsForWholeRows grows a log byte by byte under a reader.
func TestReaderWaitsForWholeRows(t *testing.T) {
	files, head := smallLog(t, 4, Options{SegmentBytes: 600})
	dir := t.TempDir()
	r := openReader(t, dir)
	var want int64
	for num := int64(1); files[segmentName(num)] != nil; num++ {
		content := files[segmentName(num)]
		f, err := os.Create(filepath.Join(dir, segmentName(num)))
		if err != nil {
			t.Fatal(err)
		}
		_, frames := splitFrames(content)
		next := segmentHeader
		for i := range content {
			if _, err := f.Write(content[i : i+1]); err != nil {
				t.Fatal(err)
			}
			if len(frames) > 0 && i+1 == next+len(frames[0]) {
				next, frames, want = i+1, frames[1:], want+1
			}
			if got, err := r.Refresh(); got != want || err != nil {
				t.Fatalf("segment %d, %d bytes: %d rows of %d, %v", num, i+1, got, want, err)
			}
		}
		f.Close()
	}
	if _, h, err := r.At(head.Seq); err != nil || h != head.Hash {
		t.Errorf("last row is %v, %v", h, err)
	}
}

func TestReaderReportsDamage(t *testing.T) {
	files, _ := smallLog(t, 4, Options{})
	dir := layOut(t, files)
	r := openReader(t, dir)
	_, frames := splitFrames(files[seg1])
	files[seg1][segmentHeader+len(frames[0])+40] ^= 1
	files.write(t, dir)
	var broken *BrokenError
	if _, _, err := r.At(2); !errors.As(err, &broken) || broken.Seq != 2 {
		t.Errorf("a row changed after it was seen: %v", err)
	}
	if _, _, err := r.At(1); err != nil {
		t.Errorf("the row before: %v", err)
	}
	fresh := openReader(t, dir)
	if n, err := fresh.Refresh(); n != 1 || !errors.As(err, &broken) || broken.Seq != 2 {
		t.Errorf("a fresh reader: %d rows, %v", n, err)
	}
}

func TestReaderBodies(t *testing.T) {
	dir := t.TempDir()
	l := mustOpenLog(t, dir, Options{BodyCap: 20, PackBytes: 200})
	defer l.Close()
	cut := NewCapture(100)
	fmt.Fprint(cut, "a stream that")
	cut.Cut()
	late := NewCapture(4)
	for _, part := range []string{"ab", "cdef", "", "g"} {
		late.Write([]byte(part))
	}
	big := strings.Repeat("0123456789", 4)
	for name, c := range map[string]struct {
		body      *Body
		want      string
		size      int64
		truncated bool
	}{
		"whole":                 {body(100, "hello"), "hello", 5, false},
		"empty":                 {body(100, ""), "", 0, false},
		"cut by the capture":    {late.Body(), "abcd", 7, true},
		"cut by the log":        {body(100, big), big[:20], 40, true},
		"broken off":            {cut.Body(), "a stream that", 13, true},
		"only the size":         {body(0, "hello"), "", 5, true},
		"a negative capture":    {body(-1, "hello"), "", 5, true},
		"exactly the cap":       {body(100, big[:20]), big[:20], 20, false},
		"one byte over the cap": {body(100, big[:21]), big[:20], 21, true},
	} {
		p := mustQueue(t, l, Record{Kind: KindAdmin}, nil, c.body)
		if err := p.Wait(t.Context()); err != nil {
			t.Fatal(err)
		}
		r := openReader(t, dir)
		rec, _, err := r.At(p.Seq())
		if err != nil {
			t.Fatal(err)
		}
		ref := rec.Response
		if ref.Size != c.size || ref.Truncated != c.truncated || ref.Stored != int64(len(c.want)) || ref.Commitment != c.body.Commitment {
			t.Errorf("%s: reference is %+v", name, ref)
		}
		if got, err := r.Body(ref); err != nil || string(got) != c.want {
			t.Errorf("%s: %q, %v", name, got, err)
		}
		for what, edit := range map[string]func(b *BodyRef){
			"another place":      func(b *BodyRef) { b.Offset++ },
			"behind the end":     func(b *BodyRef) { b.Offset = 1 << 40 },
			"another pack":       func(b *BodyRef) { b.Pack = 99 },
			"a negative place":   func(b *BodyRef) { b.Offset = -5 },
			"another commitment": func(b *BodyRef) { b.Commitment[0] ^= 1; b.Kept[0] ^= 1; b.Truncated = true },
			"an absurd length":   func(b *BodyRef) { b.Stored, b.Size = 1<<60, 1<<60 },
		} {
			wrong := *ref
			edit(&wrong)
			if got, err := r.Body(&wrong); err == nil {
				t.Errorf("%s: %s gives %q", name, what, got)
			}
		}
	}
	r := openReader(t, dir)
	for name, ref := range map[string]*BodyRef{"nil": nil, "no pack": {Size: 4, Truncated: true}} {
		if _, err := r.Body(ref); !errors.Is(err, ErrNotStored) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestSaltHidesEqualBodies(t *testing.T) {
	a, b := body(100, "yes"), body(100, "yes")
	if a.Commitment == b.Commitment || a.Salt == b.Salt {
		t.Error("equal bodies have equal commitments")
	}
	if commit(a.Salt, []byte("yes")) != a.Commitment {
		t.Error("the commitment is not SHA-256 of salt and body")
	}
}

func TestErasedBody(t *testing.T) {
	files, _ := smallLog(t, 1, Options{})
	id := logID(files[seg1][16:32])
	frame := files[pack1][packHeader:]
	n := bodyHead + len("question 0")
	clear(frame[5:n])
	frame[4] = bodyErased
	sum := id.checksum(frame[:n])
	for i := range 4 {
		frame[n+i] = byte(sum >> (8 * i))
	}
	r := openReader(t, layOut(t, files))
	rec, _, err := r.At(2)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.Body(rec.Request); !errors.Is(err, ErrErased) {
		t.Errorf("error is %v", err)
	}
}

func TestClosedReader(t *testing.T) {
	files, _ := smallLog(t, 1, Options{})
	r := openReader(t, layOut(t, files))
	rec, _, err := r.At(2)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(r.Close(), r.Close()); err != nil {
		t.Fatal(err)
	}
	if _, err := r.Refresh(); !errors.Is(err, ErrClosed) {
		t.Errorf("Refresh: %v", err)
	}
	if _, _, err := r.At(1); !errors.Is(err, ErrClosed) {
		t.Errorf("At: %v", err)
	}
	if _, err := r.Body(rec.Request); !errors.Is(err, ErrClosed) {
		t.Errorf("Body: %v", err)
	}
}

func TestRange(t *testing.T) {
	files, head := smallLog(t, 3, Options{SegmentBytes: 500})
	r := openReader(t, layOut(t, files))
	var seqs []int64
	for rec, err := range r.Range(head.Seq, 2) {
		if err != nil {
			t.Fatal(err)
		}
		seqs = append(seqs, rec.Seq)
	}
	if fmt.Sprint(seqs) != "[8 7 6 5 4 3 2]" {
		t.Errorf("rows %v", seqs)
	}
	var last error
	for _, err := range r.Range(7, 100) {
		last = err
	}
	if !errors.Is(last, ErrNoRow) {
		t.Errorf("the end: %v", last)
	}
}
