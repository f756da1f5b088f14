package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"moeca/internal/auditindex"
	"moeca/internal/hostapi"
	"moeca/internal/web"
)

type auditShow struct {
	Seq     int64 `arg:"" help:"Number of the row."`
	Content bool  `help:"Print captured contents too."`
}

// rowView is what `audit show --json` prints.
type rowView struct {
	Row    hostapi.AuditRow     `json:"row"`
	Call   *auditindex.Call     `json:"call,omitempty"`
	Bodies *hostapi.AuditBodies `json:"bodies,omitempty"`
}

// Run shows a row.
func (s *auditShow) Run(e *env) error {
	api, done := e.audit()
	defer done()
	var v rowView
	at := "/api/audit/" + strconv.FormatInt(s.Seq, 10)
	if err := api.get(e.ctx, at, nil, &v.Row); err != nil {
		return err
	}
	switch v.Row.Kind {
	case "intent", "outcome", "refusal":
		v.Call = &auditindex.Call{}
		if err := api.get(e.ctx, at+"/call", nil, v.Call); err != nil {
			return err
		}
	}
	if s.Content {
		v.Bodies = &hostapi.AuditBodies{}
		if err := api.get(e.ctx, at+"/bodies", nil, v.Bodies); err != nil {
			return err
		}
	}
	if e.cli.JSON {
		return e.print(v)
	}
	e.showRow(v)
	return nil
}

func (e *env) showRow(v rowView) {
	fmt.Fprintln(e.stdout, auditText(v.Row))
	if v.Call != nil {
		fmt.Fprintln(e.stdout, callText(*v.Call))
	}
	for _, f := range [][2]string{
		{"hash", v.Row.Hash},
		{"task", v.Row.Task},
		{"run", v.Row.Run},
		{"stage", v.Row.Stage},
		{"session", v.Row.Session},
		{"agent", v.Row.Agent},
		{"upstream", v.Row.Upstream},
		{"model", v.Row.Model},
		{"detail", v.Row.Detail},
	} {
		if f[1] != "" {
			fmt.Fprintf(e.stdout, "  %-9s %s\n", f[0], plain(f[1]))
		}
	}
	for _, key := range slices.Sorted(maps.Keys(v.Row.Attrs)) {
		fmt.Fprintf(e.stdout, "  %-9s %s\n", plain(key), plain(v.Row.Attrs[key]))
	}
	if v.Bodies == nil {
		return
	}
	for _, b := range []struct {
		name string
		body *hostapi.AuditBody
	}{{"request", v.Bodies.Request}, {"response", v.Bodies.Response}} {
		if b.body == nil {
			continue
		}
		fmt.Fprintf(e.stdout, "  %s, %d bytes %s\n%s\n", b.name, b.body.Size, plain(b.body.Problem), plainLines(b.body.Text))
	}
}

type auditTail struct {
	auditFilter
	Lines  int  `short:"n" help:"Rows to begin with." default:"20"`
	Follow bool `short:"f" help:"Go on until interrupted."`
}

// tailEvery is how often new rows are asked for.
const tailEvery = 500 * time.Millisecond

// Run prints the end of the log, oldest row first. With --json and -f each row
// is a document on a line of its own.
func (t *auditTail) Run(e *env) error {
	q, err := t.values(e)
	if err != nil {
		return err
	}
	api, done := e.audit()
	defer done()
	l := auditLog{Limit: t.Lines}
	rows, err := l.rows(e, api, q)
	if err != nil {
		return err
	}
	slices.Reverse(rows)
	if !t.Follow {
		return printList(e, rows, auditText)
	}
	last := int64(0)
	tick := time.NewTicker(tailEvery)
	defer tick.Stop()
	q.Set("order", "oldest")
	for {
		if err := t.show(e, rows); err != nil {
			return err
		}
		if len(rows) > 0 {
			last = rows[len(rows)-1].Seq
		}
		select {
		case <-e.ctx.Done():
			return nil
		case <-tick.C:
		}
		l = auditLog{Limit: 10_000, After: last, Oldest: true}
		if rows, err = l.rows(e, api, q); err != nil {
			return err
		}
	}
}

func (t *auditTail) show(e *env, rows []hostapi.AuditRow) error {
	for _, r := range rows {
		if !e.cli.JSON {
			fmt.Fprintln(e.stdout, auditText(r))
		} else if err := json.NewEncoder(web.PlainJSON(e.stdout)).Encode(r); err != nil {
			return err
		}
	}
	return nil
}
