package export

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"moeca/internal/audit"
	"moeca/internal/auditindex"
)

// newLog writes a log with one of each: a call with tools, a call that failed, a
// counted refusal, a write to another service, a call that is open, an approval.
func newLog(t *testing.T) *audit.Reader {
	t.Helper()
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	dir := t.TempDir()
	log, err := audit.Open(dir, audit.Options{Now: func() time.Time { now = now.Add(time.Second); return now }})
	check(t, err)
	add := func(r audit.Record, request, response string) int64 {
		p, err := log.Queue(r, body(request), body(response))
		check(t, err)
		check(t, p.Wait(context.Background()))
		return p.Seq()
	}
	parent := audit.Attribution{Session: "sess-1", Run: "run-1", Stage: "build", Task: "task-1", Template: "solo", Agent: "claude"}
	child := parent
	child.Session, child.Parent, child.Agent = "sess-2", "sess-1", "helper"
	ask := audit.Record{
		Kind: audit.KindIntent, Actor: audit.ActorAgent, Attribution: parent, Upstream: "anthropic", Method: "POST",
		Target: "https://api.anthropic.com/v1/messages", Model: "claude-x", BytesIn: 99, Attrs: []audit.Attr{{Key: "class", Value: "inference"}},
	}
	end := func(r audit.Record, seq int64) audit.Record {
		r.Kind, r.Ref, r.Result, r.Status, r.Attrs, r.Duration = audit.KindOutcome, seq, audit.ResultOK, 200, nil, 1500*time.Millisecond
		return r
	}
	seq := add(ask, `{"model":"claude-x","system":"Be brief.","messages":[{"role":"user","content":"What is in x.txt? \u001b[31m\u0000"}]}`, "")
	o := end(ask, seq)
	o.Model, o.CostNano = "claude-x-20260101", 4_200_000
	o.Usage = audit.Usage{Input: 10, Output: 20, CacheRead: 300, CacheWrite5m: 40, Reasoning: 5}
	add(o, "", `{"type":"message","role":"assistant","stop_reason":"tool_use","content":[{"type":"thinking","thinking":"I look.","signature":"s"},{"type":"text","text":"One moment."},{"type":"tool_use","id":"t1","name":"read_file","input":{"path":"x.txt"}}]}`)
	sub := ask
	sub.Attribution = child
	seq = add(sub, "", "")
	o = end(sub, seq)
	o.Result, o.Status, o.Attrs = audit.ResultUpstreamError, 529, []audit.Attr{{Key: "cause", Value: "overloaded"}}
	add(o, "", "")
	refused := ask
	refused.Kind, refused.Gate, refused.Reason, refused.Status, refused.Attrs = audit.KindRefusal, "budget", "exhausted", 402, []audit.Attr{{Key: "count", Value: "3"}}
	add(refused, "", "")
	push := ask
	push.Upstream, push.Method, push.Target, push.Model = "github", "POST", "https://api.github.com/repos/a/b/pulls", ""
	push.Attrs = []audit.Attr{{Key: "class", Value: "write"}, {Key: "operation", Value: "create-pull"}}
	seq = add(push, "\xff\xfe binary", "")
	add(end(push, seq), "", `{"number":7}`)
	add(ask, "", "") // open
	add(audit.Record{Kind: audit.KindApproval, Source: audit.SourceHost, Actor: audit.ActorPerson, Subject: "main", Detail: []byte(`{"head":"abc"}`)}, "", "")
	check(t, log.Close())
	r, err := audit.OpenReader(dir)
	check(t, err)
	t.Cleanup(func() { r.Close() })
	return r
}

func body(s string) *audit.Body {
	if s == "" {
		return nil
	}
	c := audit.NewCapture(1 << 20)
	_, _ = c.Write([]byte(s))
	return c.Body()
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func write(t *testing.T, log auditindex.Log, o Options) string {
	t.Helper()
	var b bytes.Buffer
	_, err := Write(t.Context(), &b, log, o)
	check(t, err)
	return b.String()
}

// Hashes differ in each log, as its id, its key and salts are random.
var random = regexp.MustCompile(`"(hash|prev|log|vkey)":"[^"]+"`)

// TestGolden holds the documented formats. UPDATE_GOLDEN=1 writes them again.
func TestGolden(t *testing.T) {
	log := newLog(t)
	for name, o := range map[string]Options{
		"calls":         {Format: JSONL},
		"calls-content": {Format: JSONL, Content: true},
		"rows":          {Format: JSONL, Rows: true},
		"rows-content":  {Format: JSONL, Rows: true, Content: true},
		"otlp":          {Format: OTLP, Version: "1.0"},
		"otlp-content":  {Format: OTLP, Version: "1.0", Content: true},
	} {
		t.Run(name, func(t *testing.T) {
			got := random.ReplaceAllString(write(t, log, o), `"$1":"…"`)
			if strings.ContainsAny(got, "\x1b\x00") {
				t.Error("control characters are not escaped")
			}
			for line := range strings.Lines(got) {
				if !json.Valid([]byte(line)) {
					t.Errorf("not JSON: %s", line)
				}
			}
			file := filepath.Join("testdata", name+".jsonl")
			if update() {
				check(t, os.WriteFile(file, []byte(got), 0o644))
			}
			want, err := os.ReadFile(file)
			check(t, err)
			if got != string(want) {
				t.Errorf("got\n%s\nwant\n%s", got, want)
			}
		})
	}
}

func update() bool { return os.Getenv("UPDATE_GOLDEN") != "" }

func TestContentIsOnlyWrittenWhenAsked(t *testing.T) {
	log := newLog(t)
	for _, o := range []Options{{Format: JSONL}, {Format: JSONL, Rows: true}, {Format: OTLP}} {
		out := write(t, watched{log, t}, o)
		for _, said := range []string{"One moment", "x.txt", "Be brief", "binary"} {
			if strings.Contains(out, said) {
				t.Errorf("%+v: %q is written", o, said)
			}
		}
	}
}

// watched is a log whose contents must not be read.
type watched struct {
	auditindex.Log
	t *testing.T
}

func (w watched) Body(*audit.BodyRef) ([]byte, error) {
	w.t.Error("a content was read")
	return nil, audit.ErrErased
}

func TestFilters(t *testing.T) {
	log := newLog(t)
	at, _, err := log.At(6)
	check(t, err)
	for what, c := range map[string]struct {
		o    Options
		want []int64
	}{
		"failed calls":         {Options{Format: JSONL, Filter: auditindex.Filter{State: "failed"}}, []int64{4}},
		"a session":            {Options{Format: JSONL, Filter: auditindex.Filter{Session: "sess-2"}}, []int64{4}},
		"open calls come last": {Options{Format: JSONL}, []int64{2, 4, 6, 7, 9}},
		"a text of rows":       {Options{Format: JSONL, Filter: auditindex.Filter{Text: "OVERLOADED"}}, []int64{4}},
		"rows of a kind":       {Options{Format: JSONL, Rows: true, Filter: auditindex.Filter{Kind: "approval"}}, []int64{10}},
		"rows from a time on":  {Options{Format: JSONL, Rows: true, Filter: auditindex.Filter{From: at.Time, Kind: "outcome"}}, []int64{8}},
		"rows before a time":   {Options{Format: JSONL, Rows: true, Filter: auditindex.Filter{To: at.Time, Kind: "outcome"}}, []int64{3, 5}},
	} {
		var got []int64
		for line := range strings.Lines(write(t, log, c.o)) {
			var v struct{ Seq int64 }
			check(t, json.Unmarshal([]byte(line), &v))
			got = append(got, v.Seq)
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", what, got, c.want)
		}
	}
}

func TestWhatCannotBeMeantWritesNothing(t *testing.T) {
	log := newLog(t)
	for _, o := range []Options{
		{},
		{Format: "csv"},
		{Format: OTLP, Rows: true},
		{Format: JSONL, Filter: auditindex.Filter{Status: "abc"}},
		{Format: JSONL, Filter: auditindex.Filter{Kind: "merge"}}, // is no call
		{Format: OTLP, Filter: auditindex.Filter{Kind: "merge"}},
		{Format: JSONL, Rows: true, Filter: auditindex.Filter{State: "open"}},
	} {
		var b bytes.Buffer
		if _, err := Write(t.Context(), &b, log, o); !errors.Is(err, auditindex.ErrInvalid) || b.Len() > 0 {
			t.Errorf("%+v: %v, %d bytes", o, err, b.Len())
		}
	}
}

// TestAnExportOfABrokenLogSaysSo: what is before the damage looks like a whole
// log.
func TestAnExportOfABrokenLogSaysSo(t *testing.T) {
	log := newLog(t)
	broken := &audit.BrokenError{Seq: 11, File: "seg-000001.log", Cause: errors.New("checksum differs")}
	for _, o := range []Options{{Format: JSONL}, {Format: JSONL, Rows: true}, {Format: OTLP}} {
		var whole, b bytes.Buffer
		_, err := Write(t.Context(), &whole, log, o)
		check(t, err)
		_, err = Write(t.Context(), &b, damaged{log, broken}, o)
		if !errors.Is(err, ErrIncomplete) || !errors.Is(err, broken) {
			t.Errorf("%+v: %v", o, err)
		}
		last, ok := strings.CutPrefix(b.String(), whole.String())
		if !ok || strings.Count(last, "\n") != 1 || !json.Valid([]byte(last)) || !strings.Contains(last, "row 11 is broken") {
			t.Errorf("%+v ends with %s", o, last)
		}
	}
}

// damaged is a log that is broken behind its last row.
type damaged struct {
	auditindex.Log
	err error
}

func (d damaged) Refresh() (int64, error) {
	last, _ := d.Log.Refresh()
	return last, d.err
}

func TestAnExportEndsWithItsReader(t *testing.T) {
	log := newLog(t)
	full := errors.New("full")
	if _, err := Write(t.Context(), writerFunc(func([]byte) (int, error) { return 0, full }), log, Options{Format: JSONL}); !errors.Is(err, full) {
		t.Errorf("a full disk: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Write(ctx, io.Discard, log, Options{Format: OTLP}); !errors.Is(err, context.Canceled) {
		t.Errorf("a reader that left: %v", err)
	}
}

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }

// TestLongContentsAreManyLines: a session repeats its history in each call, so
// contents of two hundred calls would not fit in memory.
func TestLongContentsAreManyLines(t *testing.T) {
	dir := t.TempDir()
	l, err := audit.Open(dir, audit.Options{})
	check(t, err)
	long := `{"model":"m","messages":[{"role":"user","content":"` + strings.Repeat("x", 1<<20-100) + `"}]}`
	for range 20 {
		_, err := l.Queue(audit.Record{
			Kind: audit.KindIntent, Upstream: "anthropic", Method: "POST", Target: "https://api.anthropic.com/v1/messages", Attrs: []audit.Attr{{Key: "class", Value: "inference"}},
		}, body(long), nil)
		check(t, err)
	}
	check(t, l.Close())
	log, err := audit.OpenReader(dir)
	check(t, err)
	defer log.Close()
	out := write(t, log, Options{Format: OTLP, Content: true})
	for line := range strings.Lines(out) {
		if len(line) > 2*textPerLine {
			t.Errorf("a line has %d bytes", len(line))
		}
	}
	if n := strings.Count(out, "\n"); n < 4 || len(out) < 20<<20 {
		t.Errorf("%d lines, %d bytes", n, len(out))
	}
}

// TestSpansFormTraces checks what a collector needs of spans: ids of the right
// length, unique, parents in the same trace, and times that contain each other.
func TestSpansFormTraces(t *testing.T) {
	log := newLog(t)
	spans := map[string]span{}
	for line := range strings.Lines(write(t, log, Options{Format: OTLP})) {
		d := json.NewDecoder(strings.NewReader(line))
		d.DisallowUnknownFields()
		var data tracesData
		check(t, d.Decode(&data))
		for _, rs := range data.ResourceSpans {
			for _, ss := range rs.ScopeSpans {
				for _, s := range ss.Spans {
					if spans[s.SpanID].SpanID != "" {
						t.Errorf("span %s is there twice", s.SpanID)
					}
					spans[s.SpanID] = s
				}
			}
		}
	}
	if len(spans) != 5+2+1 {
		t.Errorf("%d spans: %v", len(spans), spans)
	}
	hex := regexp.MustCompile(`^[0-9a-f]+$`)
	for id, s := range spans {
		if len(s.TraceID) != 32 || len(id) != 16 || !hex.MatchString(s.TraceID+id) {
			t.Errorf("ids are %q, %q", s.TraceID, id)
		}
		if s.Start > s.End || s.Start == "" {
			t.Errorf("%s is from %s to %s", s.Name, s.Start, s.End)
		}
		if s.ParentID == "" {
			if s.Name != "run" {
				t.Errorf("%s has no parent", s.Name)
			}
			continue
		}
		p, ok := spans[s.ParentID]
		if !ok || p.TraceID != s.TraceID {
			t.Errorf("%s has no parent in its trace", s.Name)
		}
	}
	if again := write(t, log, Options{Format: OTLP}); again != write(t, log, Options{Format: OTLP}) {
		t.Error("two exports differ")
	}
}

func TestLongExportsAreManyLines(t *testing.T) {
	dir := t.TempDir()
	l, err := audit.Open(dir, audit.Options{})
	check(t, err)
	for i := range 2*spansPerLine + 1 {
		_, err := l.Queue(audit.Record{Kind: audit.KindRefusal, Gate: "g", Reason: "r", Upstream: fmt.Sprint(i)}, nil, nil)
		check(t, err)
	}
	check(t, l.Close())
	log, err := audit.OpenReader(dir)
	check(t, err)
	defer log.Close()
	if n := strings.Count(write(t, log, Options{Format: OTLP}), "\n"); n != 3 {
		t.Errorf("%d lines", n)
	}
}
