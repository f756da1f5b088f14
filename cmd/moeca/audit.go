package main

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strconv"
	"time"

	"moeca/internal/board"
	"moeca/internal/hostapi"
	"moeca/internal/stack"
)

type auditCmd struct {
	Log    auditLog    `cmd:"" help:"Print rows of the log, newest first."`
	Verify auditVerify `cmd:"" help:"Verify the whole log; reads the files, blocks nothing."`
}

type auditLog struct {
	Limit  int    `help:"Rows to print." default:"50"`
	Before int64  `help:"Only rows below this sequence."`
	Kind   string `help:"Only rows of this kind: intent, outcome, refusal, admin, approval, merge, ci, system."`
	Task   string `help:"Only rows of this task."`
	RunID  string `name:"run" help:"Only rows of this run."`
	Text   string `help:"Only rows that contain this text."`
}

// Run reads the log's files itself, so that it works whether or not a host
// runs on the data directory.
func (a *auditLog) Run(e *env) error {
	view := stack.ReadAudit(e.cli.Data)
	q := hostapi.AuditQuery{Before: a.Before, Limit: a.Limit, Kind: a.Kind, Task: a.Task, Run: a.RunID, Text: a.Text}
	rows := []hostapi.AuditRow{}
	for len(rows) < a.Limit {
		q.Limit = a.Limit - len(rows)
		page, err := view.Page(e.ctx, q)
		if err != nil {
			return err
		}
		rows = append(rows, page.Items...)
		if q.Before = page.Next; page.Next == 0 {
			break
		}
	}
	if e.cli.JSON {
		return e.print(rows)
	}
	for _, r := range rows {
		fmt.Fprintln(e.stdout, auditText(r))
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

type auditVerify struct{}

// verifyView is what `audit verify --json` prints.
type verifyView struct {
	OK          bool   `json:"ok"`
	Records     int64  `json:"records"`
	Head        string `json:"head"`
	FirstBroken int64  `json:"first_broken,omitempty"`
	Problem     string `json:"problem,omitempty"`
	Open        int    `json:"open_intents"`
}

// Run verifies the log of the data directory.
func (auditVerify) Run(e *env) error {
	report, err := stack.ReadAudit(e.cli.Data).Verify(e.ctx)
	if errors.Is(err, fs.ErrNotExist) || board.KindOf(err) == board.NotFound {
		return fail(exitMissing, "audit_none", "run a task first, or name the directory with --data",
			"there is no log in %s", filepath.Join(e.cli.Data, "audit"))
	}
	if err != nil {
		return err
	}
	v := verifyView{
		OK: report.OK, Records: report.Records, Head: fmt.Sprintf("%x", report.Head[:]),
		FirstBroken: report.FirstBroken, Problem: report.Problem, Open: len(report.OpenIntents),
	}
	switch {
	case e.cli.JSON:
		err = e.print(v)
	case v.OK:
		fmt.Fprintf(e.stdout, "intact: %d rows, head %s\n", v.Records, v.Head)
	default:
		fmt.Fprintf(e.stdout, "BROKEN at row %d: %s\n", v.FirstBroken, v.Problem)
	}
	if err == nil && !v.OK {
		return notGood()
	}
	return err
}
