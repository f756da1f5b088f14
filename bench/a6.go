package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"moeca/internal/audit"
	"moeca/internal/auditindex"
	"moeca/internal/hostapi"
	"moeca/internal/stack"
)

const (
	a6Rows  = 100_000
	a6Tasks = 400
	a6Turns = 20 // calls of a stage
)

// auditScreen measures what a person waits for on the audit screen with 100,000
// rows: first pages, an expanded stage, sums and searches. The peer is the same
// page read from the log without an index.
func (b *bench) auditScreen(ctx context.Context) ([]row, error) {
	data := b.path("audit-data")
	dir := filepath.Join(data, "audit")
	defer os.RemoveAll(data)
	if err := fillConversations(dir); err != nil {
		return nil, err
	}
	view := stack.ReadAudit(data)
	defer view.Close()
	built, err := timed(func() error { _, err := view.State(ctx); return err })
	if err != nil {
		return nil, err
	}
	tasks, err := view.Contexts(ctx, auditindex.Query{Limit: 100})
	if err != nil {
		return nil, err
	}
	first := auditindex.Query{Limit: 100}
	var rows []row
	for _, m := range []struct {
		metric, target string
		ask            func(i int) error
		peer           bool
	}{
		{"first_page_rows", "≤ 300 ms", func(int) error {
			_, err := view.Page(ctx, hostapi.AuditQuery{Limit: 200})
			return err
		}, true},
		{"first_page_calls", "≤ 300 ms", func(int) error { _, err := view.Calls(ctx, first); return err }, true},
		{"first_page_tasks", "≤ 300 ms", func(int) error { _, err := view.Contexts(ctx, first); return err }, false},
		{"first_page_search", "≤ 300 ms; a text that is in 1 of 1,000 calls", func(i int) error {
			q := first
			q.Text = fmt.Sprintf("needle-%d ", i%50)
			page, err := view.Calls(ctx, q)
			if err == nil && len(page.Items) == 0 {
				err = fmt.Errorf("%s was not found", q.Text)
			}
			return err
		}, false},
		{"first_page_search_common", "≤ 300 ms; a text that is in every call", func(int) error {
			q := first
			q.Text = "the answer"
			_, err := view.Calls(ctx, q)
			return err
		}, false},
		{"expand_task", "≤ 50 ms", func(i int) error {
			_, err := view.Stages(ctx, auditindex.Filter{Task: tasks.Items[i%len(tasks.Items)].Task})
			return err
		}, false},
		{"expand_stage", "≤ 50 ms; contents read and made into messages", func(i int) error {
			q := hostapi.AuditMessageQuery{Filter: auditindex.Filter{Stage: fmt.Sprintf("stage-%d", i*7%a6Tasks)}, Limit: 100}
			_, err := view.Messages(ctx, q)
			return err
		}, false},
		{"metrics_by_model", "≤ 300 ms; with days", func(int) error {
			_, err := view.Metrics(ctx, auditindex.MetricsQuery{By: "model", Step: "day"})
			return err
		}, false},
		{"run_diff", "≤ 300 ms", func(i int) error {
			_, err := view.Diff(ctx, fmt.Sprintf("run-%d", i%a6Tasks), fmt.Sprintf("run-%d", (i+1)%a6Tasks))
			return err
		}, false},
	} {
		i := 0
		ask := func() error { i++; return m.ask(i) }
		peer := func() error { return nil }
		if m.peer {
			peer = func() error { return lastRows(dir, 200) }
		}
		ours, other, err := interleave(3*b.windows, ask, peer)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", m.metric, err)
		}
		if !m.peer {
			rows = append(rows, compare("A6", m.metric, ours, "", nil, m.target))
			continue
		}
		rows = append(rows, compare("A6", m.metric, ours, "open the log and read 200 rows", other, m.target))
	}
	return append(rows, figure("A6", "indexed_rows_per_second", "1/s", series{a6Rows / built.Seconds()}, "", nil, "once, from an empty index, contents of 2 to 12 kB")), nil
}

// lastRows reads the end of a log without an index.
func lastRows(dir string, n int64) error {
	r, err := audit.OpenReader(dir)
	if err != nil {
		return err
	}
	defer r.Close()
	last, err := r.Refresh()
	if err != nil {
		return err
	}
	for _, err := range r.Range(last, last-n+1) {
		if err != nil {
			return err
		}
	}
	return nil
}

// fillConversations writes a log of stages in which an agent takes turns, each
// request repeating what was said, as real ones do.
func fillConversations(dir string) error {
	log, err := audit.Open(dir, audit.Options{QueueBytes: 1 << 30})
	if err != nil {
		return err
	}
	for i := 0; i < a6Rows/2; {
		task := i / a6Turns
		for turn := range a6Turns {
			if err := logCall(log, task%a6Tasks, task, turn, i); err != nil {
				return err
			}
			i++
		}
	}
	return log.Close()
}

func logCall(log *audit.Log, task, stage, turn, i int) error {
	r := benchRow(0)
	r.Kind, r.Gate, r.Reason, r.Status = audit.KindIntent, "", "", 0
	r.Model = fmt.Sprintf("model-%d", i%4)
	r.Attribution.Task, r.Attribution.Run, r.Attribution.Stage = fmt.Sprintf("task-%d", task), fmt.Sprintf("run-%d", task), fmt.Sprintf("stage-%d", stage)
	r.Attribution.Session = fmt.Sprintf("session-%d", stage)
	var said strings.Builder
	fmt.Fprintf(&said, `{"model":%q,"system":"You work on one task.","messages":[{"role":"user","content":"Do the work of task %d."}`, r.Model, task)
	for t := range turn {
		fmt.Fprintf(&said, `,{"role":"assistant","content":[{"type":"text","text":%q},{"type":"tool_use","id":"t%d","name":"read_file","input":{"path":"file-%d.go"}}]}`, words(stage, t, 200), t, t)
		fmt.Fprintf(&said, `,{"role":"user","content":[{"type":"tool_result","tool_use_id":"t%d","content":%q}]}`, t, words(stage, t+100, 300))
	}
	said.WriteString("]}")
	request := audit.NewCapture(1 << 20)
	_, _ = request.Write([]byte(said.String()))
	intent, err := log.Queue(r, request.Body(), nil)
	if err != nil {
		return err
	}
	r.Kind, r.Ref, r.Result, r.Status, r.Attrs = audit.KindOutcome, intent.Seq(), audit.ResultOK, 200, nil
	r.Usage, r.CostNano, r.Duration = audit.Usage{Input: int64(100 * turn), Output: 50}, 1000, 2*time.Second
	response := audit.NewCapture(1 << 20)
	_, _ = response.Write(fmt.Appendf(nil, `{"type":"message","role":"assistant","content":[{"type":"text","text":%q},{"type":"tool_use","id":"t%d","name":"read_file","input":{"path":"file-%d.go"}}]}`,
		fmt.Sprintf("This is the answer, needle-%d of it. %s", i%1000, words(stage, turn, 200)), turn, turn))
	_, err = log.Queue(r, nil, response.Body())
	return err
}

// words makes text that compresses to no few trigrams.
func words(a, b, n int) string {
	var s strings.Builder
	for x := uint32(a*31 + b + 1); s.Len() < n; {
		x = x*1664525 + 1013904223
		s.WriteString([]string{"gateway ", "sandbox ", "review ", "merge ", "the ", "function ", "returns ", "an error ", "because ", "of ", "stage "}[x>>16%11])
		fmt.Fprintf(&s, "%d ", x>>20%97)
	}
	return s.String()
}
