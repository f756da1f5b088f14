package auditindex

import (
	"context"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"moeca/internal/audit"
)

// rig is a log and an index of it.
type rig struct {
	t    *testing.T
	dir  string
	now  time.Time
	log  *audit.Log
	read *audit.Reader
	x    *Index
}

// newRig makes an empty log whose clock advances a second per row.
func newRig(t *testing.T) *rig {
	t.Helper()
	r := &rig{t: t, dir: t.TempDir(), now: time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)}
	r.openLog("audit")
	r.openIndex()
	return r
}

func (r *rig) openLog(name string) {
	r.t.Helper()
	dir := filepath.Join(r.dir, name)
	log, err := audit.Open(dir, audit.Options{Now: func() time.Time { r.now = r.now.Add(time.Second); return r.now }})
	r.check(err)
	r.t.Cleanup(func() { log.Close() })
	read, err := audit.OpenReader(dir)
	r.check(err)
	r.t.Cleanup(func() { read.Close() })
	r.log, r.read = log, read
}

func (r *rig) path() string { return filepath.Join(r.dir, "index.db") }

func (r *rig) openIndex() {
	r.t.Helper()
	x, err := Open(r.t.Context(), r.path(), r.read)
	r.check(err)
	r.t.Cleanup(func() { x.Close() })
	r.x = x
}

func (r *rig) check(err error) {
	r.t.Helper()
	if err != nil {
		r.t.Fatal(err)
	}
}

// append adds a row and returns its number.
func (r *rig) append(rec audit.Record, request, response string) int64 {
	r.t.Helper()
	p, err := r.log.Queue(rec, body(request), body(response))
	r.check(err)
	r.check(p.Wait(context.Background()))
	return p.Seq()
}

func body(s string) *audit.Body {
	if s == "" {
		return nil
	}
	c := audit.NewCapture(1 << 20)
	_, _ = c.Write([]byte(s))
	return c.Body()
}

// who is the attribution of a stage of a run.
func who(task, run, stage string) audit.Attribution {
	return audit.Attribution{Session: "session-" + stage, Run: run, Stage: stage, Task: task, Template: "solo", Agent: "claude"}
}

// intent is a model call that was let through.
func intent(a audit.Attribution) audit.Record {
	return audit.Record{
		Kind: audit.KindIntent, Actor: audit.ActorAgent, Attribution: a, Upstream: "anthropic", Method: "POST",
		Target: "https://api.example.org/v1/messages", Model: "claude-x", BytesIn: 10, Attrs: []audit.Attr{{Key: "class", Value: "inference"}},
	}
}

// outcome ends an intent well.
func outcome(a audit.Attribution, ref int64, input, output int64) audit.Record {
	r := intent(a)
	r.Kind, r.Ref, r.Result, r.Status, r.Attrs = audit.KindOutcome, ref, audit.ResultOK, 200, nil
	r.Usage = audit.Usage{Input: input, Output: output}
	r.CostNano, r.Duration = 1000*output, 500*time.Millisecond
	return r
}

// call is a whole exchange; it returns the number of its intent.
func (r *rig) call(a audit.Attribution, input, output int64) int64 {
	seq := r.append(intent(a), "", "")
	r.append(outcome(a, seq, input, output), "", "")
	return seq
}

func refusal(a audit.Attribution) audit.Record {
	r := intent(a)
	r.Kind, r.Gate, r.Reason, r.Status, r.Attrs = audit.KindRefusal, "budget", "exhausted", 402, nil
	return r
}

func (r *rig) sync() {
	r.t.Helper()
	r.check(r.x.Sync(r.t.Context(), nil))
}

// seqs lists the calls a filter selects, newest first.
func (r *rig) seqs(f Filter) (list []int64) {
	r.t.Helper()
	page, err := r.x.Calls(r.t.Context(), Query{Filter: f, Limit: 100})
	r.check(err)
	for _, c := range page.Items {
		list = append(list, c.Seq)
	}
	return list
}

func toString(v any) string {
	if b, ok := v.([]byte); ok {
		return fmt.Sprintf("%x", b)
	}
	return fmt.Sprint(v)
}
