package audit

import (
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"moeca/internal/audit/witnesstest"
)

// submit is one add-checkpoint; the client of the product is the gateway's.
func submit(t *testing.T, w *witnesstest.Witness, body string) (int, string) {
	t.Helper()
	resp, err := http.Post(w.URL+"/add-checkpoint", "", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(b)
}

// TestAWitnessOfOthersCosignsTheLog has each checkpoint of a log that grows
// cosigned by a witness that is made of other people's code.
func TestAWitnessOfOthersCosignsTheLog(t *testing.T) {
	dir := t.TempDir()
	l := mustOpenLog(t, dir, Options{FS: unsyncedFS{}, Now: fakeClock()})
	w := witnesstest.New(t)
	w.Know(t, l.Vkey())
	key, err := ParseWitnessKey(w.Vkey)
	if err != nil {
		t.Fatal(err)
	}
	old := int64(0)
	var last Checkpoint
	for i := range 40 {
		for range 1 + i*i/3 {
			exchange(t, l, i)
		}
		c := signAll(t, l)
		proof, err := ConsistencyProof(t.Context(), dir, old, c)
		if err != nil {
			t.Fatal(err)
		}
		status, answer := submit(t, w, AddCheckpoint(old, proof, c))
		if status != 200 {
			t.Fatalf("%d to %d rows: %d %s", old, c.Size, status, answer)
		}
		cosigned, at, err := key.Cosign(c, answer)
		if err != nil || time.Since(at).Abs() > time.Hour {
			t.Fatalf("%v, %v", at, err)
		}
		again, err := key.Cosigned(cosigned)
		if err != nil || !again.Equal(at) || cosigned.Verify(l.Vkey()) != nil {
			t.Fatalf("%v, %v", again, err)
		}
		old, last = c.Size, cosigned
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	now, _, err := ReadCheckpoint(dir)
	if err != nil || Continues(t.Context(), dir, now, last) != nil {
		t.Fatal(err)
	}
	if _, err := key.Cosigned(now); err == nil {
		t.Error("a checkpoint nobody cosigned passes")
	}
}

func TestCosignaturesThatAreNone(t *testing.T) {
	w := witnesstest.New(t)
	dir := t.TempDir()
	l := mustOpenLog(t, dir, Options{FS: unsyncedFS{}, Now: fakeClock()})
	w.Know(t, l.Vkey())
	key, err := ParseWitnessKey(w.Vkey)
	if err != nil {
		t.Fatal(err)
	}
	c := signAll(t, l)
	_, answer := submit(t, w, AddCheckpoint(0, nil, c))
	later := signAll(t, l)
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if _, _, err := key.Cosign(c, "\u2014 other.example AAAAAAAA\n\nnonsense\n"+answer); err != nil {
		t.Errorf("what stands beside it spoils it: %v", err)
	}
	if _, _, err := key.Cosign(later, answer); err == nil {
		t.Error("it counts for another checkpoint")
	}
	if _, _, err := (WitnessKey{}).Cosign(c, answer); err == nil {
		t.Error("no key verifies it")
	}
	for i := range answer {
		b := []byte(answer)
		b[i] ^= 1
		if got, _, err := key.Cosign(c, string(b)); err == nil {
			t.Errorf("byte %d does not matter: %q", i, got.Text)
		}
	}
	for what, vkey := range map[string]string{
		"nothing": "", "the key of a log": l.Vkey(), "another name": "x" + w.Vkey, "half of it": w.Vkey[:len(w.Vkey)-4],
		"no name": w.Vkey[strings.Index(w.Vkey, "+"):], "a space": "a b" + w.Vkey[strings.Index(w.Vkey, "+"):],
		"another hash": strings.Replace(w.Vkey, "+", "+0", 1), "a line end": w.Vkey + "\n",
	} {
		if _, err := ParseWitnessKey(vkey); err == nil {
			t.Errorf("%s is a witness key: %q", what, vkey)
		}
	}
}

// TestALogThatDoesNotContinue compares logs that somebody with the key wrote anew
// with a checkpoint that somebody holds.
func TestALogThatDoesNotContinue(t *testing.T) {
	files, _ := smallLog(t, 40, Options{FS: unsyncedFS{}})
	held := *parseText(t, files[CheckpointFile])
	segHead, frames := splitFrames(files[seg1])
	shorter := files.clone()
	shorter[seg1] = joinFrames(segHead, frames[:len(frames)-3]...)
	another, _ := smallLog(t, 40, Options{FS: unsyncedFS{}})
	for what, test := range map[string]struct {
		files logFiles
		want  string
	}{
		"the same log":                    {files, ""},
		"the last row forged":             {forge{tree: true, checkpoint: true}.row(t, files, len(frames)-1), "rewritten"},
		"the first row forged":            {forge{tree: true, checkpoint: true}.row(t, files, 0), "rewritten"},
		"the tail cut":                    {forge{tree: true, checkpoint: true}.row(t, shorter, -1), "cut off"},
		"all rows deleted, another begun": {another, "another log"},
	} {
		dir := layOut(t, test.files)
		now, _, err := ReadCheckpoint(dir)
		if err != nil {
			t.Fatal(err)
		}
		err = Continues(t.Context(), dir, now, held)
		var diverged *DivergedError
		if test.want == "" && err != nil || test.want != "" && (!errors.As(err, &diverged) || !strings.Contains(diverged.Problem, test.want)) {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// TestEveryCheckpointOfALogIsContinued takes old checkpoints of a log of some
// segments, and the same with other roots.
func TestEveryCheckpointOfALogIsContinued(t *testing.T) {
	files, list := manyCheckpoints(t)
	dir := layOut(t, files)
	now := list[len(list)-1]
	for _, held := range list {
		if err := Continues(t.Context(), dir, now, held); err != nil {
			t.Errorf("%d rows: %v", held.Size, err)
		}
		held.Root[0] ^= 1
		var diverged *DivergedError
		if err := Continues(t.Context(), dir, now, held); !errors.As(err, &diverged) {
			t.Errorf("%d rows, another root: %v", held.Size, err)
		}
	}
	if err := os.Truncate(filepath.Join(dir, treeDir, "0"), 40); err != nil {
		t.Fatal(err)
	}
	var diverged *DivergedError
	if err := Continues(t.Context(), dir, now, list[2]); err == nil || errors.As(err, &diverged) {
		t.Errorf("without the tree: %v", err)
	}
}

func TestSightings(t *testing.T) {
	_, checkpoints := manyCheckpoints(t)
	at := time.Date(2026, 3, 1, 10, 0, 0, 0, time.UTC)
	var text string
	for i, c := range checkpoints {
		text += Sighting{at.Add(time.Duration(i) * time.Minute), c}.String()
	}
	list, unreadable := ParseSightings(text)
	if len(list) != len(checkpoints) || unreadable != 0 {
		t.Fatalf("%d, %d unreadable", len(list), unreadable)
	}
	for i, s := range list {
		if s.Checkpoint != checkpoints[i] || !s.At.Equal(at.Add(time.Duration(i)*time.Minute)) {
			t.Errorf("%d: %+v", i, s)
		}
	}
	one, unreadable := ParseSightings(checkpoints[1].Text)
	if len(one) != 1 || unreadable != 0 || one[0].Checkpoint != checkpoints[1] {
		t.Errorf("one checkpoint alone: %+v, %d", one, unreadable)
	}
	// Cut anywhere and gone on with, it loses the entry that was cut and no other.
	first := len(list[0].String())
	second := first + len(list[1].String())
	for cut := first + 1; cut < second; cut++ {
		got, bad := ParseSightings(text[:cut] + "\n" + text[second:])
		whole := 0
		for _, s := range got {
			for _, c := range checkpoints {
				if s.Checkpoint == c {
					whole++
				}
			}
		}
		if whole < len(list)-1 || len(got)-whole > 1 || len(got)+bad < len(list)-1 {
			t.Errorf("cut at %d: %d entries, %d of them whole, %d unreadable", cut, len(got), whole, bad)
		}
	}
}

func FuzzParseSightings(f *testing.F) {
	one := "at 2026-03-01T10:00:00Z\nmoeca/0\n12\n" + strings.Repeat("A", 43) + "=\n\n\u2014 moeca/0 AAAA\n\n"
	f.Add(one)
	f.Add(one + one[3:])
	f.Add(one + one)
	f.Add("at 2026-03-01T10:00:00Z\n")
	f.Fuzz(func(t *testing.T, text string) {
		list, _ := ParseSightings(text)
		var again string
		for _, s := range list {
			again += s.String()
		}
		got, unreadable := ParseSightings(again)
		if len(got) != len(list) || unreadable != 0 {
			t.Fatalf("%d entries are written, %d read, %d unreadable", len(list), len(got), unreadable)
		}
	})
}
