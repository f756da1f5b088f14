package main

import (
	"fmt"
	"net/url"
	"strconv"
	"time"

	"moeca/internal/auditindex"
	"moeca/internal/hostapi"
)

type auditCmd struct {
	Log        auditLog        `cmd:"" help:"Print rows, calls, stages, messages or parts, newest first."`
	Show       auditShow       `cmd:"" help:"Print one row, its call, and its contents."`
	Tree       auditTree       `cmd:"" help:"Print what was said in a task: stages, messages, parts."`
	Metrics    auditMetrics    `cmd:"" help:"Add calls up by run, stage, agent, model, upstream, task, day or hour."`
	Diff       auditDiff       `cmd:"" help:"Compare two runs."`
	Tail       auditTail       `cmd:"" help:"Print the last rows, and go on with new ones."`
	Export     auditExport     `cmd:"" help:"Write the log as JSON lines, as OpenTelemetry traces, or as tiles for other verifiers."`
	Reindex    auditReindex    `cmd:"" help:"Delete the index and make it again from the log; the log is only read."`
	Bundle     auditBundle     `cmd:"" help:"Write the rows of a run with their proofs, as one file that moeca-verify checks."`
	Checkpoint auditCheckpoint `cmd:"" help:"Print the last signed checkpoint, to keep it elsewhere."`
	Erase      auditErase      `cmd:"" help:"Destroy captured contents; needs a terminal and a typed confirmation. Rows stay."`
	Retention  auditRetention  `cmd:"" help:"Show how long captured contents are kept, or set it, which needs a terminal and a typed confirmation; rows are kept for ever."`
	Restart    auditRestart    `cmd:"" help:"Keep a broken log whole and begin another one; needs a terminal and a typed confirmation."`
	Verify     auditVerify     `cmd:"" help:"Verify the whole log, and compare it with what every witness holds; reads the files, blocks nothing."`
	Witness    auditWitness    `cmd:"" help:"Name who keeps checkpoints of the log elsewhere, so that a log that is cut or written anew shows."`
}

type auditLog struct {
	auditFilter
	Granularity string `help:"What is listed: ${enum}." enum:"context,task,message,part,call,row" default:"row"`
	Limit       int    `help:"Items to print." default:"50"`
	Before      int64  `help:"Only rows below this sequence."`
	After       int64  `help:"Only rows above this sequence."`
	Oldest      bool   `help:"Oldest first."`
}

// Run lists.
func (a *auditLog) Run(e *env) error {
	q, err := a.values(e)
	if err != nil {
		return err
	}
	api, done := e.audit()
	defer done()
	if a.Oldest {
		q.Set("order", "oldest")
	}
	switch a.Granularity {
	case "context":
		return a.contexts(e, api, q)
	case "task":
		return a.stages(e, api, q)
	case "message", "part":
		return a.messages(e, api, q)
	case "call":
		calls, err := pages[auditindex.Call](e, api, "/api/audit/calls", q, a.Limit)
		if err != nil {
			return err
		}
		return printList(e, calls, callText)
	}
	rows, err := a.rows(e, api, q)
	if err != nil {
		return err
	}
	return printList(e, rows, auditText)
}

// rows reads pages until there are enough.
func (a *auditLog) rows(e *env, api *auditAPI, q url.Values) ([]hostapi.AuditRow, error) {
	rows := []hostapi.AuditRow{}
	before, after := a.Before, a.After
	for len(rows) < a.Limit {
		q.Set("limit", strconv.Itoa(min(a.Limit-len(rows), 500)))
		q.Set("before", strconv.FormatInt(before, 10))
		q.Set("after", strconv.FormatInt(after, 10))
		var page hostapi.AuditPage
		if err := api.get(e.ctx, "/api/audit", q, &page); err != nil {
			return nil, err
		}
		e.auditProblem(page.Problem)
		rows = append(rows, page.Items...)
		if page.Next == 0 {
			break
		}
		if before = page.Next; a.Oldest {
			before, after = a.Before, page.Next
		}
	}
	return rows, nil
}

// auditProblem says on standard error what is wrong with the log, once.
func (e *env) auditProblem(problem string) {
	if problem != "" && problem != e.problem {
		fmt.Fprintln(e.stderr, "moeca:", plain(problem))
	}
	e.problem = problem
}

// printList prints items as one document, or line by line.
func printList[T any](e *env, items []T, text func(T) string) error {
	if e.cli.JSON {
		return e.print(items)
	}
	for _, item := range items {
		fmt.Fprintln(e.stdout, text(item))
	}
	return nil
}

func auditText(r hostapi.AuditRow) string {
	s := fmt.Sprintf("%6d %s %-8s %-7s", r.Seq, r.Time.Local().Format(time.DateTime), r.Kind, r.Actor)
	if r.Method != "" {
		s += " " + plain(r.Method) + " " + plain(r.Target)
	}
	if r.Status != 0 {
		s += " " + strconv.Itoa(r.Status)
	}
	if r.Gate != "" {
		s += fmt.Sprintf(" refused by %s: %s", plain(r.Gate), plain(r.Reason))
	}
	if r.Result != "" {
		s += " " + plain(r.Result)
	}
	if a := r.Attrs["action"]; a != "" {
		s += " " + plain(a)
	}
	if r.Subject != "" {
		s += " " + plain(r.Subject)
	}
	if r.Input+r.Output > 0 {
		s += fmt.Sprintf(" %d+%d tokens", r.Input, r.Output)
	}
	if r.Scripted {
		s += " (scripted)"
	}
	return s
}

func callText(c auditindex.Call) string {
	s := fmt.Sprintf("%6d %s %-7s %s %s", c.Seq, c.Time.Local().Format(time.DateTime), c.State, plain(c.Method), plain(c.Target))
	if c.Model != "" {
		s += " " + plain(c.Model)
	}
	if c.Status != 0 {
		s += " " + strconv.Itoa(c.Status)
	}
	if c.Gate != "" {
		s += fmt.Sprintf(" refused by %s: %s", plain(c.Gate), plain(c.Reason))
	}
	if c.Count > 1 {
		s += fmt.Sprintf(" %d times", c.Count)
	}
	if c.Outcome > 0 {
		s += fmt.Sprintf(" %s %d+%d tokens", micros(c.DurationUS), c.Input, c.Output)
	}
	if c.Scripted {
		s += " (scripted)"
	}
	return s
}

func micros(us int64) string {
	return (time.Duration(us) * time.Microsecond).Round(time.Millisecond).String()
}
