package audit

import (
	"crypto/sha256"
	"fmt"
	"time"
)

// Longest values of a row, in bytes. Encode and Decode refuse longer ones, so
// that a row always fits MaxRow; Clip shortens what comes from a stranger.
const (
	MaxID     = 128     // ids of an attribution, upstream, gate, reason, attribute keys
	MaxName   = 512     // model, subject
	MaxTarget = 16384   // canonical URL
	MaxDetail = 1 << 20 // JSON document
	MaxAttr   = 8192    // value of an attribute
	MaxAttrs  = 64      // attributes of a row
	MaxRow    = 2 << 20 // encoded row
)

// RowHash is the RFC 6962 leaf hash of an encoded row.
func RowHash(row []byte) Hash {
	h := sha256.New()
	h.Write([]byte{0})
	h.Write(row)
	var out Hash
	h.Sum(out[:0])
	return out
}

// Encode appends the canonical encoding of r to dst. It refuses records that
// Decode would refuse; dst is returned unchanged then. A duration is cut to
// whole microseconds.
func Encode(dst []byte, r *Record) ([]byte, error) {
	if err := r.check(); err != nil {
		return dst, fmt.Errorf("audit: encode record: %w", err)
	}
	out, err := encodeMessage(dst, recordFields, r)
	if err != nil {
		return dst, fmt.Errorf("audit: encode record: %w", err)
	}
	if n := len(out) - len(dst); n > MaxRow {
		return dst, fmt.Errorf("audit: encode record: row of %d bytes is over %d", n, MaxRow)
	}
	return out, nil
}

// Decode reads an encoded row. It accepts exactly what Encode produces: fields
// in ascending order and once, varints of minimal length, no field whose value
// is zero, no unknown field, valid UTF-8, values within their limits. Hence
// Encode(Decode(row)) is row, and two rows differ if and only if their records
// do. A row of a newer version gives ErrNewerVersion.
func Decode(row []byte) (Record, error) {
	var r Record
	if len(row) > MaxRow {
		return Record{}, fmt.Errorf("audit: decode record: row of %d bytes is over %d", len(row), MaxRow)
	}
	if err := decodeMessage(row, recordFields, &r); err != nil {
		return Record{}, fmt.Errorf("audit: decode record: %w", err)
	}
	if err := r.check(); err != nil {
		return Record{}, fmt.Errorf("audit: decode record: %w", err)
	}
	return r, nil
}

// recordFields is the row format: number, name, limit and place of each field.
var recordFields = []field[Record]{
	versionField(1, "version", func(r *Record) *int { return &r.Version }),
	number(2, "seq", maxInt, func(r *Record) *int64 { return &r.Seq }),
	instant(3, "time", func(r *Record) *time.Time { return &r.Time }),
	digest(4, "prev", true, func(r *Record) *Hash { return &r.Prev }),
	number(5, "kind", maxByte, func(r *Record) *Kind { return &r.Kind }),
	number(6, "source", maxByte, func(r *Record) *Source { return &r.Source }),
	number(7, "actor", maxByte, func(r *Record) *Actor { return &r.Actor }),
	text(8, "session", MaxID, func(r *Record) *string { return &r.Attribution.Session }),
	text(9, "run", MaxID, func(r *Record) *string { return &r.Attribution.Run }),
	text(10, "stage", MaxID, func(r *Record) *string { return &r.Attribution.Stage }),
	text(11, "parent", MaxID, func(r *Record) *string { return &r.Attribution.Parent }),
	text(12, "task", MaxID, func(r *Record) *string { return &r.Attribution.Task }),
	text(13, "template", MaxID, func(r *Record) *string { return &r.Attribution.Template }),
	text(14, "agent", MaxID, func(r *Record) *string { return &r.Attribution.Agent }),
	number(20, "ref", maxInt, func(r *Record) *int64 { return &r.Ref }),
	text(21, "upstream", MaxID, func(r *Record) *string { return &r.Upstream }),
	text(22, "method", MaxID, func(r *Record) *string { return &r.Method }),
	text(23, "target", MaxTarget, func(r *Record) *string { return &r.Target }),
	text(24, "gate", MaxID, func(r *Record) *string { return &r.Gate }),
	text(25, "reason", MaxID, func(r *Record) *string { return &r.Reason }),
	number(26, "status", maxStatus, func(r *Record) *int { return &r.Status }),
	text(27, "result", MaxID, func(r *Record) *string { return &r.Result }),
	number(28, "bytes in", maxInt, func(r *Record) *int64 { return &r.BytesIn }),
	number(29, "bytes out", maxInt, func(r *Record) *int64 { return &r.BytesOut }),
	micros(30, "duration", func(r *Record) *time.Duration { return &r.Duration }),
	text(31, "model", MaxName, func(r *Record) *string { return &r.Model }),
	embedded(32, "usage", usageFields, func(r *Record) *Usage { return &r.Usage }),
	number(33, "cost", maxInt, func(r *Record) *int64 { return &r.CostNano }),
	optional(34, "request", bodyFields, func(r *Record) **BodyRef { return &r.Request }),
	optional(35, "response", bodyFields, func(r *Record) **BodyRef { return &r.Response }),
	truth(36, "scripted", func(r *Record) *bool { return &r.Scripted }),
	truth(37, "replayed", func(r *Record) *bool { return &r.Replayed }),
	text(38, "subject", MaxName, func(r *Record) *string { return &r.Subject }),
	blob(39, "detail", MaxDetail, func(r *Record) *[]byte { return &r.Detail }),
	repeated(40, "attr", MaxAttrs, attrFields, func(r *Record) *[]Attr { return &r.Attrs }),
}

var usageFields = []field[Usage]{
	number(1, "input", maxInt, func(u *Usage) *int64 { return &u.Input }),
	number(2, "output", maxInt, func(u *Usage) *int64 { return &u.Output }),
	number(3, "cache read", maxInt, func(u *Usage) *int64 { return &u.CacheRead }),
	number(4, "cache write 5m", maxInt, func(u *Usage) *int64 { return &u.CacheWrite5m }),
	number(5, "cache write 1h", maxInt, func(u *Usage) *int64 { return &u.CacheWrite1h }),
	number(6, "reasoning", maxInt, func(u *Usage) *int64 { return &u.Reasoning }),
	number(7, "server tools", maxInt, func(u *Usage) *int64 { return &u.ServerTools }),
}

var bodyFields = []field[BodyRef]{
	digest(1, "commitment", true, func(b *BodyRef) *Hash { return &b.Commitment }),
	number(2, "size", maxInt, func(b *BodyRef) *int64 { return &b.Size }),
	number(3, "stored", maxInt, func(b *BodyRef) *int64 { return &b.Stored }),
	truth(4, "truncated", func(b *BodyRef) *bool { return &b.Truncated }),
	number(5, "pack", maxInt, func(b *BodyRef) *int64 { return &b.Pack }),
	number(6, "offset", maxInt, func(b *BodyRef) *int64 { return &b.Offset }),
	digest(7, "kept", false, func(b *BodyRef) *Hash { return &b.Kept }),
}

var attrFields = []field[Attr]{
	text(1, "key", MaxID, func(a *Attr) *string { return &a.Key }),
	text(2, "value", MaxAttr, func(a *Attr) *string { return &a.Value }),
}

// check holds the rules between fields. A kind, source or actor this program
// does not know is accepted: an older verifier reads a newer writer's rows as
// long as their form is the same. Queue is stricter.
func (r *Record) check() error {
	switch {
	case r.Version != FormatVersion:
		return fmt.Errorf("version %d is not %d", r.Version, FormatVersion)
	case r.Seq < 1:
		return fmt.Errorf("seq %d is not a row number", r.Seq)
	case r.Kind == 0:
		return fmt.Errorf("kind is missing")
	case r.Source == 0:
		return fmt.Errorf("source is missing")
	}
	if err := r.Request.check(); err != nil {
		return fmt.Errorf("request body: %w", err)
	}
	if err := r.Response.check(); err != nil {
		return fmt.Errorf("response body: %w", err)
	}
	for i, a := range r.Attrs {
		if a.Key == "" {
			return fmt.Errorf("attribute %d has no key", i)
		}
		if i > 0 && a.Key <= r.Attrs[i-1].Key {
			return fmt.Errorf("attribute %q is out of order", a.Key)
		}
	}
	return nil
}

func (b *BodyRef) check() error {
	switch {
	case b == nil:
		return nil
	case b.Stored > b.Size:
		return fmt.Errorf("%d bytes stored of %d", b.Stored, b.Size)
	case b.Stored < b.Size && !b.Truncated:
		return fmt.Errorf("%d of %d bytes stored and not marked truncated", b.Stored, b.Size)
	case b.Pack == 0 && (b.Stored != 0 || b.Offset != 0):
		return fmt.Errorf("stored bytes without a pack")
	case b.Kept != Hash{} && (!b.Truncated || b.Pack == 0):
		return fmt.Errorf("a whole body has one commitment")
	case b.Kept == Hash{} && b.Truncated && b.Pack != 0:
		return fmt.Errorf("kept bytes without a commitment")
	}
	return nil
}
