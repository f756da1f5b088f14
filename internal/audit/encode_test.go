package audit

import (
	"bytes"
	"encoding/hex"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/encoding/protowire"
	"pgregory.net/rapid"
)

var update = flag.Bool("update", false, "write golden files; the format must not change once released")

// minimal has nothing but what a row cannot be without.
func minimal() Record { return Record{Version: 1, Seq: 1, Kind: KindSystem, Source: SourceGateway} }

// full has every field.
func full() Record {
	h := func(b byte) (h Hash) {
		for i := range h {
			h[i] = b + byte(i)
		}
		return h
	}
	return Record{
		Version: 1, Seq: 300, Time: time.Unix(1767225600, 123456789).UTC(), Prev: h(1),
		Kind: KindOutcome, Source: SourceRegistry, Actor: ActorService,
		Attribution: Attribution{Session: "s1", Run: "r2", Stage: "st3", Parent: "p4", Task: "t5", Template: "solo", Agent: "coder"},
		Ref:         299, Upstream: "anthropic", Method: "POST", Target: "/v1/messages?q=日本", Gate: "write", Reason: "not-allowed",
		Status: 200, Result: ResultOK, BytesIn: 1, BytesOut: 1 << 40, Duration: 1500 * time.Microsecond, Model: "scripted-1",
		Usage:    Usage{Input: 1, Output: 2, CacheRead: 3, CacheWrite5m: 4, CacheWrite1h: 5, Reasoning: 6, ServerTools: 7},
		CostNano: 123, Request: &BodyRef{Commitment: h(2), Size: 10, Stored: 10, Pack: 1, Offset: 44},
		Response: &BodyRef{Commitment: h(3), Size: 100, Stored: 60, Truncated: true, Pack: 2, Offset: 1 << 33, Kept: h(4)},
		Scripted: true, Replayed: true, Subject: "main", Detail: []byte(`{"a":1}`),
		Attrs: []Attr{{Key: "a", Value: "1"}, {Key: "b"}},
	}
}

func encodeOK(t testing.TB, r Record) []byte {
	t.Helper()
	row, err := Encode(nil, &r)
	if err != nil {
		t.Fatal(err)
	}
	return row
}

func TestGoldenRows(t *testing.T) {
	var got strings.Builder
	for _, c := range []struct {
		name string
		r    Record
	}{{"minimal", minimal()}, {"full", full()}} {
		row := encodeOK(t, c.r)
		fmt.Fprintf(&got, "%s\nrow %s\nhash %v\n", c.name, hex.EncodeToString(row), RowHash(row))
	}
	golden := filepath.Join("testdata", "rows.golden")
	if *update {
		if err := os.WriteFile(golden, []byte(got.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got.String()); diff != "" {
		t.Errorf("the row format changed:\n%s", diff)
	}
}

func TestEveryFieldIsInTheFormat(t *testing.T) {
	r := full()
	back, err := Decode(encodeOK(t, r))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(r, back); diff != "" {
		t.Error(diff)
	}
	var nums []protowire.Number
	for _, f := range recordFields {
		nums = append(nums, f.num)
	}
	if !slices.IsSorted(nums) || len(slices.Compact(nums)) != len(recordFields) {
		t.Errorf("field numbers are not ascending: %v", nums)
	}
}

func TestRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := drawRecord(t)
		row, err := Encode([]byte("before"), &r)
		if err != nil {
			t.Fatal(err)
		}
		row, found := bytes.CutPrefix(row, []byte("before"))
		if !found {
			t.Fatal("Encode does not append")
		}
		back, err := Decode(row)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(r, back); diff != "" {
			t.Fatal(diff)
		}
	})
}

func drawRecord(t *rapid.T) Record {
	text := func(limit int) string { return rapid.StringN(0, 20, limit).Draw(t, "text") }
	num := func() int64 { return rapid.OneOf(rapid.Just(int64(0)), rapid.Int64Range(0, maxInt)).Draw(t, "number") }
	hash := func() (h Hash) {
		copy(h[:], rapid.SliceOfN(rapid.Byte(), HashSize, HashSize).Draw(t, "hash"))
		return h
	}
	body := func() *BodyRef {
		if !rapid.Bool().Draw(t, "body") {
			return nil
		}
		b := &BodyRef{Commitment: hash(), Size: num()}
		b.Truncated = b.Size > 0 && rapid.Bool().Draw(t, "truncated")
		if b.Pack = num(); b.Pack == 0 {
			b.Truncated = b.Truncated || b.Size > 0
			return b
		}
		b.Offset, b.Stored = num(), b.Size
		if b.Truncated {
			b.Stored, b.Kept = b.Size/2, hash()
			b.Kept[0] |= 1
		}
		return b
	}
	r := Record{
		Version: 1, Seq: max(1, num()), Prev: hash(), Kind: Kind(rapid.IntRange(1, 255).Draw(t, "kind")),
		Source: Source(rapid.IntRange(1, 255).Draw(t, "source")), Actor: Actor(rapid.IntRange(0, 255).Draw(t, "actor")),
		Attribution: Attribution{Session: text(MaxID), Run: text(MaxID), Stage: text(MaxID), Parent: text(MaxID), Task: text(MaxID), Template: text(MaxID), Agent: text(MaxID)},
		Ref:         num(), Upstream: text(MaxID), Method: text(MaxID), Target: text(MaxTarget), Gate: text(MaxID), Reason: text(MaxID),
		Status: rapid.IntRange(0, maxStatus).Draw(t, "status"), Result: text(MaxID), BytesIn: num(), BytesOut: num(),
		Duration: time.Duration(rapid.Int64Range(0, 1<<50).Draw(t, "µs")) * time.Microsecond, Model: text(MaxName),
		Usage:    Usage{num(), num(), num(), num(), num(), num(), num()},
		CostNano: num(), Request: body(), Response: body(), Scripted: rapid.Bool().Draw(t, "scripted"), Replayed: rapid.Bool().Draw(t, "replayed"),
		Subject: text(MaxName),
	}
	if ns := rapid.Int64Range(0, 9e18).Draw(t, "time"); ns > 0 {
		r.Time = time.Unix(0, ns).UTC()
	}
	if b := rapid.SliceOfN(rapid.Byte(), 0, 100).Draw(t, "detail"); len(b) > 0 {
		r.Detail = b
	}
	keys := rapid.SliceOfNDistinct(rapid.StringN(1, 10, MaxID), 0, 5, rapid.ID[string]).Draw(t, "keys")
	slices.Sort(keys)
	for _, k := range keys {
		r.Attrs = append(r.Attrs, Attr{Key: k, Value: text(MaxAttr)})
	}
	return r
}

// FuzzDecode holds the claim that a record has exactly one encoding.
func FuzzDecode(f *testing.F) {
	m, all := minimal(), full()
	f.Add(encodeOK(f, m))
	f.Add(encodeOK(f, all))
	f.Add([]byte{})
	f.Add([]byte{0x08, 0x81, 0x00})
	f.Fuzz(func(t *testing.T, row []byte) {
		r, err := Decode(row)
		if err != nil {
			return
		}
		again, err := Encode(nil, &r)
		if err != nil {
			t.Fatalf("decoded and not encodable: %v", err)
		}
		if !bytes.Equal(row, again) {
			t.Fatalf("two encodings of one record:\n%x\n%x", row, again)
		}
	})
}

// raw builds rows field by field, canonical or not.
type raw []byte

func (b raw) varint(num protowire.Number, v uint64) raw {
	return protowire.AppendVarint(protowire.AppendTag(b, num, protowire.VarintType), v)
}

func (b raw) bytes(num protowire.Number, v string) raw {
	return protowire.AppendString(protowire.AppendTag(b, num, protowire.BytesType), v)
}
func (b raw) literal(v ...byte) raw { return append(b, v...) }

func rawRow() raw {
	return raw(nil).varint(1, 1).varint(2, 1).varint(3, 1).bytes(4, strings.Repeat("\x00", 32)).varint(5, 8).varint(6, 1)
}

func TestDecodeRefusesWhatEncodeNeverWrites(t *testing.T) {
	if _, err := Decode(rawRow()); err != nil {
		t.Fatalf("the row the cases are made from: %v", err)
	}
	if !new(glance).read(rawRow()) {
		t.Fatal("the row the cases are made from is refused at a glance")
	}
	for name, row := range refusedRows() {
		if r, err := Decode(row); err == nil {
			t.Errorf("%s: accepted as %+v", name, r)
		} else if errors.Is(err, ErrNewerVersion) {
			t.Errorf("%s: taken for a newer version", name)
		}
		if new(glance).read(row) {
			t.Errorf("%s: accepted at a glance", name)
		}
	}
}

// refusedRows are encodings that are not canonical or not of a record.
func refusedRows() map[string]raw {
	hash := strings.Repeat("\x07", 32)
	body := raw(nil).bytes(1, hash)
	many := rawRow()
	for i := range MaxAttrs + 1 {
		many = many.bytes(40, string(raw(nil).bytes(1, fmt.Sprintf("k%03d", i))))
	}
	return map[string]raw{
		"too many attributes":             many,
		"nothing":                         nil,
		"a missing version":               rawRow()[2:],
		"a missing seq":                   raw(nil).varint(1, 1).bytes(4, hash).varint(5, 8).varint(6, 1),
		"a missing prev":                  raw(nil).varint(1, 1).varint(2, 1).varint(5, 8).varint(6, 1),
		"a missing prev at the end":       raw(nil).varint(1, 1).varint(2, 1),
		"a missing kind":                  raw(nil).varint(1, 1).varint(2, 1).bytes(4, hash).varint(6, 1),
		"a missing source":                raw(nil).varint(1, 1).varint(2, 1).bytes(4, hash).varint(5, 8),
		"a field twice":                   rawRow().varint(7, 1).varint(7, 1),
		"descending fields":               rawRow().varint(28, 1).varint(26, 200),
		"an unknown field":                rawRow().varint(15, 1),
		"an unknown field at the end":     rawRow().varint(41, 1),
		"an unknown high field":           rawRow().varint(1<<29-1, 1),
		"field number zero":               rawRow().literal(0x00, 0x01),
		"a string as a number":            rawRow().varint(8, 1),
		"a number as a string":            rawRow().bytes(28, "1"),
		"a fixed64":                       rawRow().literal(20<<3&0x7f|1|0x80, 1, 1, 2, 3, 4, 5, 6, 7, 8),
		"a group":                         rawRow().literal(8<<3|3, 8<<3|4),
		"a zero number":                   rawRow().varint(28, 0),
		"an empty string":                 rawRow().bytes(8, ""),
		"an empty detail":                 rawRow().bytes(39, ""),
		"an empty usage":                  rawRow().bytes(32, ""),
		"an empty body":                   rawRow().bytes(34, ""),
		"an empty attribute":              rawRow().bytes(40, ""),
		"a false flag":                    rawRow().varint(36, 0),
		"a flag of two":                   rawRow().varint(36, 2),
		"a long varint":                   rawRow().literal(7<<3, 0x81, 0x00),
		"a long tag":                      rawRow().literal(7<<3|0x80, 0x00, 0x01),
		"a long length":                   rawRow().literal(8<<3|2, 0x81, 0x00, 'a'),
		"a varint over 64 bits":           rawRow().literal(7<<3, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f),
		"a cut varint":                    rawRow().literal(7<<3, 0x80),
		"a cut tag":                       rawRow().literal(0x80),
		"a tag alone":                     rawRow().literal(7 << 3),
		"a cut string":                    rawRow().literal(8<<3|2, 2, 'a'),
		"a string of 2^63 bytes":          rawRow().literal(8<<3|2, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x01),
		"a number over int64":             rawRow().varint(28, 1<<63),
		"a time over int64":               raw(nil).varint(1, 1).varint(2, 1).varint(3, 1<<63).bytes(4, hash).varint(5, 8).varint(6, 1),
		"a duration over int64":           rawRow().varint(30, maxInt/1000+1),
		"a kind over 255":                 raw(nil).varint(1, 1).varint(2, 1).bytes(4, hash).varint(5, 256).varint(6, 1),
		"a status over 999":               rawRow().varint(26, 1000),
		"invalid UTF-8":                   rawRow().bytes(8, "\xff"),
		"a surrogate":                     rawRow().bytes(8, "\xed\xa0\x80"),
		"an id over its limit":            rawRow().bytes(8, strings.Repeat("a", MaxID+1)),
		"a target over its limit":         rawRow().bytes(23, strings.Repeat("a", MaxTarget+1)),
		"a detail over its limit":         rawRow().bytes(39, strings.Repeat("a", MaxDetail+1)),
		"a short hash":                    raw(nil).varint(1, 1).varint(2, 1).bytes(4, hash[1:]).varint(5, 8).varint(6, 1),
		"a body without commitment":       rawRow().bytes(34, string(raw(nil).varint(2, 1).varint(4, 1))),
		"a body stored beyond its size":   rawRow().bytes(34, string(body.varint(2, 1).varint(3, 2).varint(5, 1))),
		"a cut body not marked":           rawRow().bytes(34, string(body.varint(2, 2).varint(3, 1).varint(5, 1))),
		"stored bytes without a pack":     rawRow().bytes(34, string(body.varint(2, 1).varint(3, 1))),
		"a whole body committed twice":    rawRow().bytes(34, string(body.varint(2, 1).varint(3, 1).varint(5, 1).bytes(7, hash))),
		"a cut body without its part":     rawRow().bytes(34, string(body.varint(2, 2).varint(3, 1).varint(4, 1).varint(5, 1))),
		"a zero hash that may be absent":  rawRow().bytes(34, string(body.varint(2, 1).varint(4, 1).varint(5, 1).bytes(7, strings.Repeat("\x00", 32)))),
		"an unknown field in a body":      rawRow().bytes(34, string(body.varint(8, 1))),
		"descending fields in usage":      rawRow().bytes(32, string(raw(nil).varint(2, 1).varint(1, 1))),
		"an attribute without key":        rawRow().bytes(40, string(raw(nil).bytes(2, "v"))),
		"descending attributes":           rawRow().bytes(40, string(raw(nil).bytes(1, "b"))).bytes(40, string(raw(nil).bytes(1, "a"))),
		"an attribute twice":              rawRow().bytes(40, string(raw(nil).bytes(1, "a"))).bytes(40, string(raw(nil).bytes(1, "a"))),
		"a field after the last repeated": rawRow().bytes(40, string(raw(nil).bytes(1, "a"))).varint(37, 1),
	}
}

func TestDecodeTellsANewerVersion(t *testing.T) {
	row := raw(nil).varint(1, 2).varint(2, 1).varint(3, 5).varint(99, 1)
	if _, err := Decode(row); !errors.Is(err, ErrNewerVersion) {
		t.Errorf("error is %v", err)
	}
}

func TestEncodeRefuses(t *testing.T) {
	for name, edit := range map[string]func(r *Record){
		"no version":            func(r *Record) { r.Version = 0 },
		"a newer version":       func(r *Record) { r.Version = 2 },
		"no kind":               func(r *Record) { r.Kind = 0 },
		"no source":             func(r *Record) { r.Source = 0 },
		"a negative number":     func(r *Record) { r.BytesIn = -1 },
		"negative usage":        func(r *Record) { r.Usage.Output = -1 },
		"a negative duration":   func(r *Record) { r.Duration = -1 },
		"a time before 1970":    func(r *Record) { r.Time = time.Unix(-1, 0) },
		"a time after 2261":     func(r *Record) { r.Time = time.Date(2300, 1, 1, 0, 0, 0, 0, time.UTC) },
		"invalid UTF-8":         func(r *Record) { r.Target = "\xff" },
		"an id too long":        func(r *Record) { r.Attribution.Run = strings.Repeat("r", MaxID+1) },
		"attributes unordered":  func(r *Record) { r.Attrs = []Attr{{Key: "b"}, {Key: "a"}} },
		"an attribute no key":   func(r *Record) { r.Attrs = []Attr{{Value: "v"}} },
		"a row over its limit":  func(r *Record) { r.Detail = bytes.Repeat([]byte("x"), MaxRow) },
		"a body that adds up":   func(r *Record) { r.Request = &BodyRef{Size: 1, Stored: 2, Pack: 1} },
		"a status of four digi": func(r *Record) { r.Status = 1000 },
	} {
		r := minimal()
		edit(&r)
		if out, err := Encode([]byte("x"), &r); err == nil || string(out) != "x" {
			t.Errorf("%s: %v, %q", name, err, out)
		}
	}
}

func TestClip(t *testing.T) {
	for name, c := range map[string]struct {
		in    string
		limit int
		want  string
	}{
		"what fits stays":           {"abc", 3, "abc"},
		"what is long is marked":    {"abcdefgh", 6, "abc…"},
		"no rune is cut":            {"日本語日本語", 10, "日本…"},
		"invalid bytes are shown":   {"a\xff\xfeb", 10, "a\uFFFDb"},
		"repaired and cut":          {strings.Repeat("\xff", 3) + "abcdef", 6, "\uFFFD…"},
		"a limit below the mark":    {"abcdef", 2, ""},
		"nothing":                   {"", 5, ""},
		"a limit of the mark alone": {"abcdef", 3, "…"},
	} {
		if got := Clip(c.in, c.limit); got != c.want || len(got) > c.limit {
			t.Errorf("%s: %q", name, got)
		}
	}
}

func TestNames(t *testing.T) {
	for k := KindIntent; k.known(); k++ {
		if got, err := ParseKind(k.String()); err != nil || got != k {
			t.Errorf("kind %v: %v, %v", k, got, err)
		}
	}
	for s := SourceGateway; s.known(); s++ {
		if got, err := ParseSource(s.String()); err != nil || got != s {
			t.Errorf("source %v: %v, %v", s, got, err)
		}
	}
	for a := ActorAgent; a.known(); a++ {
		if got, err := ParseActor(a.String()); err != nil || got != a {
			t.Errorf("actor %v: %v, %v", a, got, err)
		}
	}
	for _, bad := range []string{"", "kind-0", "Intent", "nobody"} {
		if _, err := ParseKind(bad); err == nil {
			t.Errorf("kind %q was accepted", bad)
		}
	}
	if Kind(200).String() != "kind-200" || Actor(0).String() != "" {
		t.Error("unknown values have no name")
	}
}
