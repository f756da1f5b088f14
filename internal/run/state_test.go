package run

import (
	"encoding/json"
	"reflect"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func fold(events ...Event) (s State) {
	for i, e := range events {
		e.At = time.Unix(int64(i+1), 0).UTC()
		s = Fold(s, e)
	}
	return s
}

var whole = []Event{
	{Kind: EvQueued},
	{Kind: EvPreparing, Stage: "s", Name: "work", Work: "agent", Policy: "base", Driver: "native"},
	{Kind: EvTree, Stage: "s", Digest: "sha256:d"},
	{Kind: EvMinted, Stage: "s", Session: "x"},
	{Kind: EvPrepared, Stage: "s"},
	{Kind: EvStarted, Stage: "s"},
	{Kind: EvReleased, Stage: "s"},
	{Kind: EvExited, Stage: "s", Exit: "done"},
	{Kind: EvRevoked, Stage: "s", Tokens: 7, Requests: 2},
	{Kind: EvSnapshot, Stage: "s", Snapshot: &Snapshot{Head: "h", Changed: true}},
	{Kind: EvEnded, Stage: "s", Status: Done, Summary: "did it"},
}

func TestFoldOfAWholeRun(t *testing.T) {
	s := fold(whole...)
	if s.Status != Done || !s.Tree || s.Summary != "did it" || s.Tokens() != 7 || s.Snapshot.Head != "h" || s.Started.Unix() != 2 || s.Ended.Unix() != 11 {
		t.Fatalf("%+v", s)
	}
	st := s.Stages[0]
	if st.Status != Done || st.Session != "x" || !st.Revoked || st.Digest != "sha256:d" || st.Ended.Unix() != 8 || st.Requests != 2 {
		t.Fatalf("%+v", st)
	}
	for i, want := range []Status{Queued, Preparing, Preparing, Preparing, Preparing, Preparing, Running, Running, Running, Running, Done} {
		if got := fold(whole[:i+1]...).Status; got != want {
			t.Errorf("after %s the run is %s, want %s", whole[i].Kind, got, want)
		}
	}
}

func TestNothingFollowsTheEnd(t *testing.T) {
	for _, end := range []Status{Done, Failed, Stopped} {
		s := fold(append(whole[:7:7], Event{Kind: EvEnded, Stage: "s", Status: end})...)
		for _, e := range whole {
			after := Fold(s, e)
			if after.Status != end || after.Step != EvEnded || after.Snapshot != nil || len(after.Stages) != 1 {
				t.Errorf("%s after the end changed %+v", e.Kind, after)
			}
			if got := after.Stages[0].Revoked; got != (e.Kind == EvRevoked) {
				t.Errorf("%s after the end: revoked %v", e.Kind, got)
			}
		}
	}
}

// A state that was stored and read again goes on like one that was not.
func TestFoldDoesNotDependOnBeingStored(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var live, stored State
		for i, e := range rapid.SliceOfN(rapid.SampledFrom(whole), 0, 20).Draw(t, "events") {
			e.At = time.Unix(int64(i), int64(i)).UTC()
			before := live
			live = Fold(live, e)
			if got := Fold(before, e); !reflect.DeepEqual(got, live) {
				t.Fatalf("Fold changed its argument")
			}
			data, err := json.Marshal(e)
			if err != nil {
				t.Fatal(err)
			}
			read, err := Decode(e.Kind, e.At.UnixNano(), data)
			if err != nil {
				t.Fatal(err)
			}
			stored = Fold(stored, read)
			doc, err := json.Marshal(stored)
			if err != nil {
				t.Fatal(err)
			}
			stored = State{}
			if err := json.Unmarshal(doc, &stored); err != nil {
				t.Fatal(err)
			}
		}
		a, _ := json.Marshal(live)
		b, _ := json.Marshal(stored)
		if string(a) != string(b) {
			t.Fatalf("live\n%s\nstored\n%s", a, b)
		}
	})
}

func TestClipIsOneShortPrintableLine(t *testing.T) {
	for in, want := range map[string]string{
		"a\n b\tc": "a b c", "\x1b[2Jx": "[2Jx", "\xff": "\uFFFD", "\u009b1m": "1m", "": "",
	} {
		if got := clip(in); got != want {
			t.Errorf("%q becomes %q, want %q", in, got, want)
		}
	}
	if got := []rune(clip(string(make([]rune, 0)) + "é" + string(bytesOf('x', 1000)))); len(got) != tailRunes+1 {
		t.Errorf("%d runes", len(got))
	}
}

func bytesOf(b byte, n int) []byte {
	out := make([]byte, n)
	for i := range out {
		out[i] = b
	}
	return out
}
