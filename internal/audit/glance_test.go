package audit

import (
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// TestGlanceReadsWhatEncodeWrites: the fast path is taken for every row a log
// can hold, and sees what Decode sees.
func TestGlanceReadsWhatEncodeWrites(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := drawRecord(t)
		if r.Time.IsZero() {
			r.Time = time.Unix(0, 1).UTC() // the log sets a time
		}
		row, err := Encode(nil, &r)
		if err != nil {
			t.Fatal(err)
		}
		var g glance
		if !g.read(row) {
			t.Fatalf("a row of the log needs Decode: %x", row)
		}
		if g != r.glance() {
			t.Fatalf("glance %+v, decoded %+v", g, r.glance())
		}
	})
}

// FuzzGlance holds that a glance accepts nothing that Decode refuses, and sees
// no other values.
func FuzzGlance(f *testing.F) {
	m, all := minimal(), full()
	f.Add(encodeOK(f, m))
	f.Add(encodeOK(f, all))
	for _, row := range refusedRows() {
		f.Add([]byte(row))
	}
	f.Fuzz(func(t *testing.T, row []byte) {
		var g glance
		if !g.read(row) {
			return
		}
		r, err := Decode(row)
		if err != nil {
			t.Fatalf("accepted at a glance, refused by Decode: %v", err)
		}
		if g != r.glance() {
			t.Fatalf("glance %+v, decoded %+v", g, r.glance())
		}
	})
}

// TestRowHashInPlace: the hash taken in the frame is the leaf hash of the row.
func TestRowHashInPlace(t *testing.T) {
	for _, batch := range []int64{1, 1 << 40, 1 << 60} {
		row := []byte(strings.Repeat("r", 100))
		_, raw := closeFrame(append(openFrame(nil, batch), row...), logID{1})
		f, err := parseFrame(raw, logID{1})
		if err != nil {
			t.Fatal(err)
		}
		if f.hash() != RowHash(row) {
			t.Errorf("batch %d: another hash", batch)
		}
	}
}
