// Package export writes the audit log out for other programs, in one pass from
// the oldest row to the newest and in bounded memory: what is kept are calls
// that have no outcome yet, and for OTLP one entry per session and run.
//
// # JSON lines
//
// One JSON object per line, with "type" first:
//
//	call  an intent joined with its outcome, or a refusal. Calls come in the order
//	      in which they ended; those without an outcome come last. The fields are
//	      those of auditindex.Call, without tools.
//	row   a row, as it is in the log: see Row. hash and prev are in hex, so that
//	      the chain can be followed.
//
// With contents, both have "request" and "response": {size, truncated, text} or
// {size, truncated, base64} where it is not UTF-8, or {size, problem} where it
// was erased or not kept. Without, contents are never read.
//
// # OTLP
//
// Lines of OTLP/JSON, each a TracesData message of at most spansPerLine spans,
// as OpenTelemetry's file exporter writes them. A run is a trace; its id is
// derived from the run's. Spans: one per run, one per session of a stage
// (invoke_agent), one per call, named by the semantic conventions for
// generative AI where the call is one to a model and by those for HTTP where it
// is not. Derived ids make a second export of the same rows the same spans.
// Spans of runs and sessions come last and cover the calls that were exported.
//
// Captured contents are left out of spans unless asked for; then a call has its
// messages in gen_ai.input.messages and gen_ai.output.messages.
//
// # A broken log
//
// What is before the damage is written, then what is wrong: in JSON lines an
// object of type "problem", in OTLP a line without spans whose resource has the
// attribute moeca.audit.problem. Write returns ErrIncomplete.
//
// A string from the log is data here: both formats are JSON, in which controls
// are escaped.
package export

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"moeca/internal/audit"
	"moeca/internal/auditindex"
	"moeca/internal/web"
)

// Formats.
const (
	JSONL = "jsonl"
	OTLP  = "otlp"
)

// Options say what is written.
type Options struct {
	Filter  auditindex.Filter // its text is looked for in what rows say
	Format  string
	Rows    bool // JSONL: rows instead of calls
	Content bool
	Version string // of this program, for OTLP
}

// ErrIncomplete: the log is broken. What is before the damage was written.
var ErrIncomplete = errors.New("the export ends where the log is broken")

// check says what cannot be meant. What is exported must be what was asked for.
func (o Options) check() error {
	if err := o.Filter.Check(); err != nil {
		return err
	}
	switch {
	case o.Format != JSONL && o.Format != OTLP || o.Rows && o.Format == OTLP:
		return fmt.Errorf("%w: the formats are jsonl, of calls or rows, and otlp", auditindex.ErrInvalid)
	case o.Rows && o.Filter.State == string(auditindex.StateOpen):
		return fmt.Errorf("%w: a row by itself does not tell that a call is open; export calls", auditindex.ErrInvalid)
	case !o.Rows:
		return o.Filter.CheckCalls()
	}
	return nil
}

// Write writes what the log holds by now. It returns how many objects or spans
// it wrote.
func Write(ctx context.Context, w io.Writer, log auditindex.Log, o Options) (int64, error) {
	if err := o.check(); err != nil {
		return 0, err
	}
	e := &exporter{Options: o, log: log, lines: json.NewEncoder(web.PlainJSON(w)), open: map[int64]audit.Record{}}
	e.lines.SetEscapeHTML(false)
	take, end, tell := e.callLine, func() error { return nil }, e.problem
	if o.Format == OTLP {
		t := &tracer{exporter: e, sessions: map[sessionKey]*section{}, runs: map[string]*section{}}
		take, end, tell = t.call, t.end, t.problem
	}
	last, broken := log.Refresh()
	if last == 0 && broken != nil {
		return 0, fmt.Errorf("export: %w", broken)
	}
	for seq := e.first(last); seq <= last; seq++ {
		if err := ctx.Err(); err != nil {
			return e.written, err
		}
		r, hash, err := log.At(seq)
		if err == nil && o.Rows {
			err = e.rowLine(r, hash)
		} else if err == nil {
			err = e.row(r, take)
		}
		if err != nil {
			return e.written, fmt.Errorf("export: row %d: %w", seq, err)
		}
	}
	if err := e.rest(take); err != nil {
		return e.written, fmt.Errorf("export: %w", err)
	}
	if err := end(); err != nil || broken == nil {
		return e.written, err
	}
	if err := tell(broken.Error()); err != nil {
		return e.written, fmt.Errorf("export: %w", err)
	}
	return e.written, fmt.Errorf("%w: %w", ErrIncomplete, broken)
}

// exporter joins rows to calls.
type exporter struct {
	Options
	log     auditindex.Log
	lines   *json.Encoder
	open    map[int64]audit.Record // intents without an outcome
	written int64
}

// exchange is a call with the rows it was made of.
type exchange struct {
	auditindex.Call
	first, outcome audit.Record
}

// first finds the first row that is not too old; rows are in order of time.
func (e *exporter) first(last int64) int64 {
	low, high := int64(1), last+1
	for !e.Filter.From.IsZero() && low < high {
		middle := low + (high-low)/2
		r, _, err := e.log.At(middle)
		if err != nil || !r.Time.Before(e.Filter.From) {
			high = middle
		} else {
			low = middle + 1
		}
	}
	return low
}

// row takes a row of calls.
func (e *exporter) row(r audit.Record, take func(exchange) error) error {
	switch r.Kind {
	case audit.KindIntent:
		e.open[r.Seq] = r
	case audit.KindRefusal:
		return e.pass(exchange{Call: auditindex.CallOf(r, audit.Record{}), first: r}, take)
	case audit.KindOutcome:
		if first, ok := e.open[r.Ref]; ok {
			delete(e.open, r.Ref)
			return e.pass(exchange{Call: auditindex.CallOf(first, r), first: first, outcome: r}, take)
		}
	}
	return nil
}

// rest takes the calls that are still open.
func (e *exporter) rest(take func(exchange) error) error {
	for _, seq := range sorted(e.open) {
		r := e.open[seq]
		if err := e.pass(exchange{Call: auditindex.CallOf(r, audit.Record{}), first: r}, take); err != nil {
			return err
		}
	}
	return nil
}

func (e *exporter) pass(x exchange, take func(exchange) error) error {
	if !e.Filter.Match(x.Call, auditindex.MetaText(x.first)+auditindex.MetaText(x.outcome)) {
		return nil
	}
	return take(x)
}
