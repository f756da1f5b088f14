package audit

import "time"

// FormatVersion is the version of the row encoding written into every row.
// A reader refuses rows of a newer version; an older one is migrated by copy.
const FormatVersion = 1

// HashSize is the size in bytes of every hash in the log (SHA-256).
const HashSize = 32

// Hash is a SHA-256 value. The hash of a row is its RFC 6962 leaf hash,
// SHA-256(0x00 ‖ row), so that the chain and a Merkle tree share it.
type Hash [HashSize]byte

// Kind says what a row is. The numbers are part of the format and never change.
type Kind uint8

// Kinds of row. Zero is not a kind: an encoder refuses it.
const (
	KindIntent   Kind = 1 // every gate let the request pass; nothing was sent yet
	KindOutcome  Kind = 2 // how an intent ended; Ref is the intent's Seq
	KindRefusal  Kind = 3 // a gate refused; no intent exists
	KindAdmin    Kind = 4 // a change through the admin listener
	KindApproval Kind = 5 // a person approved; Detail is the signed statement
	KindMerge    Kind = 6 // the host landed an approved result; Ref is the approval
	KindFetch    Kind = 7 // the registry proxy served an artefact
	KindSystem   Kind = 8 // the log itself: opened, closed, recovered
	KindCI       Kind = 9 // a CI gate ended; Detail binds tree, gate and image
)

// Source is the zone that appended a row. The gateway stamps it; an appender
// cannot choose it.
type Source uint8

// Sources of rows.
const (
	SourceGateway  Source = 1
	SourceHost     Source = 2
	SourceRegistry Source = 3
)

// Actor says what kind of party caused a row.
type Actor uint8

// Actors. Zero is nobody known: the log itself, or a caller without a session.
const (
	ActorAgent   Actor = 1 // code in a sandbox
	ActorPerson  Actor = 2 // a person through UI or terminal
	ActorHost    Actor = 3 // the host process on its own account
	ActorService Actor = 4 // a service session of the host (ticket pulls, embeddings)
)

// Attribution comes from the session, never from the caller (I4).
// Every field may be empty; ids are at most 128 bytes of UTF-8.
type Attribution struct {
	Session  string `json:"session,omitempty"` // public id of the session, never its token
	Run      string `json:"run,omitempty"`
	Stage    string `json:"stage,omitempty"`
	Parent   string `json:"parent,omitempty"` // session id of the parent sandbox
	Task     string `json:"task,omitempty"`
	Template string `json:"template,omitempty"`
	Agent    string `json:"agent,omitempty"`
}

// Usage counts tokens as the upstream billed them. Zero means not reported.
type Usage struct {
	Input        int64 `json:"input,omitempty"`
	Output       int64 `json:"output,omitempty"`
	CacheRead    int64 `json:"cache_read,omitempty"`
	CacheWrite5m int64 `json:"cache_write_5m,omitempty"`
	CacheWrite1h int64 `json:"cache_write_1h,omitempty"`
	Reasoning    int64 `json:"reasoning,omitempty"` // contained in Output
	ServerTools  int64 `json:"server_tools,omitempty"`
}

// BodyRef points at captured content. Commitment is H(salt ‖ whole body) where
// H is SHA-256 and the 32-byte salt is kept with the body, so that a body can
// be shown, withheld or erased without breaking the row.
type BodyRef struct {
	Commitment Hash  `json:"-"`
	Size       int64 `json:"size"`                // bytes of the whole body
	Stored     int64 `json:"stored"`              // bytes kept; less than Size when capped
	Truncated  bool  `json:"truncated,omitempty"` // Stored < Size, or the stream was cut
	Pack       int64 `json:"pack,omitempty"`      // body pack number, 1-based; 0 = nothing stored
	Offset     int64 `json:"offset,omitempty"`    // byte offset of the frame in the pack
	Kept       Hash  `json:"-"`                   // H(salt ‖ stored bytes) when they are not the whole body, else zero
}

// Attr is a further named value of a row. Keys are unique and ascending.
type Attr struct {
	Key   string `json:"key"`
	Value string `json:"value"`
}

// Record is one row of the log. Its canonical encoding is the protobuf wire
// format with fields in ascending order, minimal varints, and absent fields
// where the value is zero; the numbers in the comments are the field numbers
// and never change. The log sets Version, Seq, Time, Prev, Request and
// Response; the gateway sets Source (left zero, the log writes SourceGateway).
type Record struct {
	Version int       // 1
	Seq     int64     // 2, first row is 1, no gaps
	Time    time.Time // 3, Unix nanoseconds; never before the row above it
	Prev    Hash      // 4, hash of the row before; always present, zero for row 1

	Kind        Kind        // 5
	Source      Source      // 6
	Actor       Actor       // 7
	Attribution Attribution // 8–14 in the order of the struct

	Ref      int64         // 20, the row this one ends or follows
	Upstream string        // 21, name of the upstream or route
	Method   string        // 22
	Target   string        // 23, canonical URL, never with a credential
	Gate     string        // 24, gate that refused
	Reason   string        // 25, reason constant
	Status   int           // 26, HTTP status answered
	Result   string        // 27, how an outcome ended: one of the Result constants
	BytesIn  int64         // 28, request body bytes read from the caller
	BytesOut int64         // 29, response body bytes written to the caller
	Duration time.Duration // 30, whole microseconds
	Model    string        // 31
	Usage    Usage         // 32, embedded message, fields 1–7 in struct order
	CostNano int64         // 33, cost in 1e-9 USD
	Request  *BodyRef      // 34, embedded message, fields 1–7 in struct order
	Response *BodyRef      // 35, likewise
	Scripted bool          // 36, answered by the scripted model
	Replayed bool          // 37, answered from the log
	Subject  string        // 38, the object of an admin, approval or merge row
	Detail   []byte        // 39, JSON document belonging to Kind
	Attrs    []Attr        // 40, repeated message {1 key, 2 value}
}

// Results of an outcome.
const (
	ResultOK            = "ok"             // the whole answer was passed on
	ResultUpstreamError = "upstream-error" // no answer, or it broke off
	ResultClientGone    = "client-gone"    // the caller hung up first
	ResultCut           = "cut"            // we ended it: budget, revoked session, time
	ResultPanic         = "panic"          // the proxy failed
	ResultUnknown       = "unknown"        // found open after a crash
)

// Body is captured content handed to the log together with its row. A Capture
// makes one while the content streams past, so that the commitment covers the
// whole body even where only its beginning is kept.
type Body struct {
	Salt       [32]byte
	Commitment Hash   // SHA-256(Salt ‖ whole body)
	Content    []byte // what was kept, at most the capture cap
	Size       int64  // bytes of the whole body
	Truncated  bool   // Content is not the whole body

	captured []byte // Content as the Capture made it, whose commitment is known to be right
}
