package export

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"time"
	"unicode/utf8"

	"moeca/internal/audit"
	"moeca/internal/auditindex"
)

// Content is a captured content.
type Content struct {
	Size      int64  `json:"size"`
	Truncated bool   `json:"truncated,omitempty"`
	Text      string `json:"text,omitempty"`
	Base64    string `json:"base64,omitempty"`  // where it is not UTF-8
	Problem   string `json:"problem,omitempty"` // erased, not kept, or not what the row commits to
}

// callLine is a call.
type callLine struct {
	Type string `json:"type"`
	auditindex.Call
	Tools    *int64   `json:"tools,omitempty"` // left out: it is in contents, not in rows
	Request  *Content `json:"request,omitempty"`
	Response *Content `json:"response,omitempty"`
}

// Row is a row of the log.
type Row struct {
	Type   string    `json:"type"`
	Seq    int64     `json:"seq"`
	Time   time.Time `json:"time"`
	Hash   string    `json:"hash"`
	Prev   string    `json:"prev"`
	Kind   string    `json:"kind"`
	Source string    `json:"source"`
	Actor  string    `json:"actor,omitempty"`
	audit.Attribution
	Ref        int64             `json:"ref,omitempty"`
	Upstream   string            `json:"upstream,omitempty"`
	Method     string            `json:"method,omitempty"`
	Target     string            `json:"target,omitempty"`
	Gate       string            `json:"gate,omitempty"`
	Reason     string            `json:"reason,omitempty"`
	Status     int               `json:"status,omitempty"`
	Result     string            `json:"result,omitempty"`
	BytesIn    int64             `json:"bytes_in,omitempty"`
	BytesOut   int64             `json:"bytes_out,omitempty"`
	DurationUS int64             `json:"duration_us,omitempty"`
	Model      string            `json:"model,omitempty"`
	Usage      *audit.Usage      `json:"usage,omitempty"`
	CostNano   int64             `json:"cost_nano,omitempty"`
	Scripted   bool              `json:"scripted,omitempty"`
	Replayed   bool              `json:"replayed,omitempty"`
	Subject    string            `json:"subject,omitempty"`
	Detail     json.RawMessage   `json:"detail,omitempty"` // the document, or a string where it is none
	Attrs      map[string]string `json:"attrs,omitempty"`
	Request    *Content          `json:"request,omitempty"`
	Response   *Content          `json:"response,omitempty"`
}

func (e *exporter) line(v any) error {
	e.written++
	return e.lines.Encode(v)
}

// problem ends the export of a broken log.
func (e *exporter) problem(what string) error {
	return e.lines.Encode(struct {
		Type    string `json:"type"`
		Problem string `json:"problem"`
	}{"problem", what})
}

func (e *exporter) callLine(x exchange) error {
	l := callLine{Type: "call", Call: x.Call}
	if e.Content {
		l.Request, l.Response = e.content(x.first.Request), e.content(x.outcome.Response)
	}
	return e.line(l)
}

func (e *exporter) rowLine(r audit.Record, hash audit.Hash) error {
	if !e.Filter.MatchRow(r, auditindex.MetaText(r)) {
		return nil
	}
	l := Row{
		Type: "row", Seq: r.Seq, Time: r.Time, Hash: hex.EncodeToString(hash[:]), Prev: hex.EncodeToString(r.Prev[:]),
		Kind: r.Kind.String(), Source: r.Source.String(), Actor: r.Actor.String(), Attribution: r.Attribution,
		Ref: r.Ref, Upstream: r.Upstream, Method: r.Method, Target: r.Target, Gate: r.Gate, Reason: r.Reason,
		Status: r.Status, Result: r.Result, BytesIn: r.BytesIn, BytesOut: r.BytesOut, DurationUS: r.Duration.Microseconds(),
		Model: r.Model, CostNano: r.CostNano, Scripted: r.Scripted, Replayed: r.Replayed, Subject: r.Subject, Detail: document(r.Detail),
	}
	if r.Usage != (audit.Usage{}) {
		l.Usage = &r.Usage
	}
	for _, a := range r.Attrs {
		if l.Attrs == nil {
			l.Attrs = map[string]string{}
		}
		l.Attrs[a.Key] = a.Value
	}
	if e.Content {
		l.Request, l.Response = e.content(r.Request), e.content(r.Response)
	}
	return e.line(l)
}

// document is a detail as JSON.
func document(raw []byte) json.RawMessage {
	if len(raw) == 0 || json.Valid(raw) {
		return raw
	}
	text, err := json.Marshal(string(raw))
	if err != nil {
		return nil
	}
	return text
}

func (e *exporter) content(ref *audit.BodyRef) *Content {
	if ref == nil {
		return nil
	}
	c := &Content{Size: ref.Size, Truncated: ref.Truncated}
	raw, err := e.log.Body(ref)
	switch {
	case errors.Is(err, audit.ErrErased):
		c.Problem = "erased"
	case errors.Is(err, audit.ErrNotStored):
		c.Problem = "not kept"
	case err != nil:
		c.Problem = err.Error()
	case utf8.Valid(raw):
		c.Text = string(raw)
	default:
		c.Base64 = base64.StdEncoding.EncodeToString(raw)
	}
	return c
}

func sorted(m map[int64]audit.Record) []int64 { return slices.Sorted(maps.Keys(m)) }
