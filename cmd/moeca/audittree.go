package main

import (
	"cmp"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"time"

	"moeca/internal/a2a"
	"moeca/internal/auditindex"
	"moeca/internal/hostapi"
)

// contexts lists tasks.
func (a *auditLog) contexts(e *env, api *auditAPI, q url.Values) error {
	q.Del("order")
	items, err := pages[auditindex.Context](e, api, "/api/audit/contexts", q, a.Limit)
	if err != nil {
		return err
	}
	return printList(e, items, func(c auditindex.Context) string {
		return fmt.Sprintf("%s %-16s %d runs, %d stages, %s", c.Ended.Local().Format(time.DateTime), plain(cmp.Or(c.Task, "(no task)")), c.Runs, c.Stages, totalsText(c.Totals))
	})
}

// stages lists the stages of the tasks that the filter selects.
func (a *auditLog) stages(e *env, api *auditAPI, q url.Values) error {
	stages, err := a.someStages(e, api, q)
	if err != nil {
		return err
	}
	return printList(e, stages, stageText)
}

// someStages are the stages of the newest tasks, newest first.
func (a *auditLog) someStages(e *env, api *auditAPI, q url.Values) ([]auditindex.Stage, error) {
	q.Del("order")
	tasks, err := pages[auditindex.Context](e, api, "/api/audit/contexts", q, a.Limit)
	if err != nil {
		return nil, err
	}
	q.Del("cursor")
	q.Del("limit")
	stages := []auditindex.Stage{}
	for _, t := range tasks {
		var c hostapi.AuditStages
		if err := api.get(e.ctx, "/api/audit/contexts/"+url.PathEscape(cmp.Or(t.Task, auditindex.None))+"/stages", q, &c); err != nil {
			return nil, err
		}
		for i := len(c.Stages) - 1; i >= 0 && len(stages) < a.Limit; i-- {
			stages = append(stages, c.Stages[i])
		}
	}
	return stages, nil
}

// messages lists messages, or their parts, stage by stage.
func (a *auditLog) messages(e *env, api *auditAPI, q url.Values) error {
	stages, err := a.someStages(e, api, q)
	if err != nil {
		return err
	}
	found := []a2a.Message{}
	for _, s := range stages {
		page, err := messagesOf(e, api, s, url.Values{"q": {a.Text}, "newest": {strconv.FormatBool(!a.Oldest)}, "limit": {strconv.Itoa(min(a.Limit, 500))}})
		if err != nil {
			return err
		}
		for i := range page.Items {
			if len(found) == a.Limit {
				break
			}
			if !a.Oldest {
				i = len(page.Items) - 1 - i
			}
			found = append(found, page.Items[i])
		}
	}
	if a.Granularity == "message" {
		return printList(e, found, messageText)
	}
	type part struct {
		MessageID string   `json:"messageId"`
		Part      a2a.Part `json:"part"`
	}
	parts := []part{}
	for _, m := range found {
		for _, p := range m.Parts {
			parts = append(parts, part{m.MessageID, p})
		}
	}
	return printList(e, parts, func(p part) string { return plain(p.MessageID) + " " + partText(p.Part) })
}

// messagesOf reads one page of messages of a stage.
func messagesOf(e *env, api *auditAPI, s auditindex.Stage, q url.Values) (page hostapi.AuditMessages, err error) {
	q.Set("task", cmp.Or(s.Task, auditindex.None))
	q.Set("run", cmp.Or(s.Run, auditindex.None))
	err = api.get(e.ctx, "/api/audit/stages/"+url.PathEscape(cmp.Or(s.Stage, auditindex.None))+"/messages", q, &page)
	return page, err
}

type auditTree struct {
	Task  string `arg:"" help:"Id, unique prefix of an id, or number of a task; - is what belongs to none."`
	Stage string `help:"Only this stage."`
	RunID string `name:"run" help:"Only this run, by id."`
	Text  string `help:"Only messages that contain this text."`
}

// stageView is a stage of `audit tree --json`.
type stageView struct {
	auditindex.Stage
	Messages []a2a.Message `json:"messages"`
	Problem  string        `json:"problem,omitempty"`
}

// Run prints the tree.
func (t *auditTree) Run(e *env) error {
	task, err := e.auditTask(t.Task)
	if err != nil {
		return err
	}
	run, err := e.auditRun(t.RunID)
	if err != nil {
		return err
	}
	api, done := e.audit()
	defer done()
	q := url.Values{"stage": {t.Stage}, "run": {run}}
	var c hostapi.AuditStages
	if err := api.get(e.ctx, "/api/audit/contexts/"+url.PathEscape(task)+"/stages", q, &c); err != nil {
		return err
	}
	if len(c.Stages) == 0 {
		return fail(exitFailed, "audit_task", "`moeca audit log --granularity context` lists the tasks the log knows", "the log has no call of this task")
	}
	views := []stageView{}
	for _, s := range c.Stages {
		v := stageView{Stage: s, Messages: []a2a.Message{}}
		for after, more := "", true; more; {
			page, err := messagesOf(e, api, s, url.Values{"q": {t.Text}, "after": {after}, "limit": {"500"}})
			if err != nil {
				return err
			}
			v.Messages, v.Problem = append(v.Messages, page.Items...), page.Problem
			after, more = page.Next, page.Next != ""
		}
		views = append(views, v)
	}
	if e.cli.JSON {
		return e.print(map[string]any{"task": c.Task, "stages": views})
	}
	fmt.Fprintf(e.stdout, "task %s\n", plain(cmp.Or(c.Task, "(none)")))
	for _, v := range views {
		fmt.Fprintln(e.stdout, "  "+stageText(v.Stage))
		e.auditProblem(v.Problem)
		for _, m := range v.Messages {
			fmt.Fprintln(e.stdout, "    "+messageText(m))
			for _, p := range m.Parts {
				fmt.Fprintln(e.stdout, "      "+partText(p))
			}
		}
	}
	return nil
}

func totalsText(t auditindex.Totals) string {
	s := fmt.Sprintf("%d calls, %d+%d tokens", t.Calls, t.Input, t.Output)
	if t.Failed > 0 {
		s += fmt.Sprintf(", %d failed", t.Failed)
	}
	if t.Refused > 0 {
		s += fmt.Sprintf(", %d refused", t.Refused)
	}
	return s
}

func stageText(s auditindex.Stage) string {
	return fmt.Sprintf("%s stage %s of run %s %s: %s, %s", s.Began.Local().Format(time.DateTime), plain(cmp.Or(s.Stage, "(none)")), plain(cmp.Or(s.Run, "(none)")),
		plain(s.Agent), s.Ended.Sub(s.Began).Round(time.Millisecond), totalsText(s.Totals))
}

func messageText(m a2a.Message) string {
	info := m.Metadata.Info
	who := "user"
	if m.Role == a2a.RoleAgent {
		who = "agent"
	}
	s := fmt.Sprintf("%s %s", plain(m.MessageID), who)
	if info.Kind != a2a.KindMessage {
		s = fmt.Sprintf("%s %s", plain(m.MessageID), plain(string(info.Kind)))
	}
	for _, flag := range []struct {
		set  bool
		word string
	}{{info.Claimed, "claimed"}, {info.Partial, "partial"}, {info.Erased, "erased"}, {info.Open, "open"}} {
		if flag.set {
			s += " " + flag.word
		}
	}
	return fmt.Sprintf("%s rows %v, %d parts", s, info.Seqs, len(m.Parts))
}

func partText(p a2a.Part) string {
	info := p.Metadata.Info
	s := "[" + plain(string(info.Kind)) + "]"
	if info.Name != "" {
		s += " " + plain(info.Name)
	}
	switch {
	case p.Text != nil:
		s += " " + plain(firstLine(*p.Text))
	case len(p.Data) > 0:
		s += " " + plain(firstLine(string(p.Data)))
	case p.URL != "":
		s += " " + plain(p.URL)
	}
	return s
}

// firstLine is the beginning of a text, for a list.
func firstLine(s string) string {
	line, rest, _ := strings.Cut(strings.TrimSpace(s), "\n")
	runes := []rune(line)
	if len(runes) > 120 {
		return string(runes[:120]) + "…"
	}
	if rest != "" {
		return line + " …"
	}
	return line
}
