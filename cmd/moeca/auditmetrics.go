package main

import (
	"cmp"
	"fmt"
	"net/url"
	"strconv"

	"moeca/internal/auditindex"
	"moeca/internal/gateway/gatewayapi"
)

type auditMetrics struct {
	By       string `help:"What is summed up: ${enum}." enum:"none,task,run,stage,agent,model,upstream,day,hour" default:"model"`
	Step     string `help:"With points of each group, in the JSON: day or hour." enum:",day,hour" default:""`
	From     string `help:"Only from this time on: 2026-03-01, 2026-03-01T12:00:00Z, or 24h, 7d ago."`
	To       string `help:"Only before this time."`
	Zone     string `help:"Whose days and hours these are, like Europe/Berlin." default:"UTC"`
	Task     string `help:"Only this task."`
	RunID    string `name:"run" help:"Only this run."`
	Agent    string `help:"Only this agent."`
	Model    string `help:"Only this model."`
	Upstream string `help:"Only this upstream."`
	Limit    int    `help:"Groups to print; others are summed up as the rest." default:"50"`
}

// Run sums up.
func (m *auditMetrics) Run(e *env) error {
	f := auditFilter{Task: m.Task, RunID: m.RunID, Agent: m.Agent, Model: m.Model, Upstream: m.Upstream, From: m.From, To: m.To}
	q, err := f.values(e)
	if err != nil {
		return err
	}
	q.Set("by", m.By)
	q.Set("step", m.Step)
	q.Set("zone", m.Zone)
	q.Set("limit", strconv.Itoa(m.Limit))
	api, done := e.audit()
	defer done()
	var sums auditindex.Metrics
	if err := api.get(e.ctx, "/api/audit/metrics", q, &sums); err != nil {
		return err
	}
	if e.cli.JSON {
		return e.print(sums)
	}
	w := newTable(e.stdout, "WHAT", "CALLS", "FAILED", "REFUSED", "SESSIONS", "TOKENS IN", "CACHED", "TOKENS OUT", "USD", "TIME")
	line := func(name string, g auditindex.Group) {
		cells := []string{name}
		for _, n := range []int64{g.Calls, g.Failed, g.Refused, g.Sessions, g.Input, g.CacheRead, g.Output} {
			cells = append(cells, strconv.FormatInt(n, 10))
		}
		w.line(append(cells, gatewayapi.USD(g.CostNano), micros(g.DurationUS))...)
	}
	for _, g := range sums.Groups {
		line(cmp.Or(g.Key, "(none)"), g)
	}
	if sums.Rest != nil {
		line(fmt.Sprintf("%d others", sums.Rest.More), *sums.Rest)
	}
	line("all", sums.All)
	return w.Flush()
}

type auditDiff struct {
	A string `arg:"" help:"The run to compare with: its id, or a task: then its newest run."`
	B string `arg:"" help:"The run that is judged."`
}

// Run compares runs.
func (d *auditDiff) Run(e *env) error {
	a, err := e.auditRun(d.A)
	if err != nil {
		return err
	}
	b, err := e.auditRun(d.B)
	if err != nil {
		return err
	}
	api, done := e.audit()
	defer done()
	var out auditindex.RunDiff
	if err := api.get(e.ctx, "/api/audit/diff", url.Values{"a": {a}, "b": {b}}, &out); err != nil {
		return err
	}
	if e.cli.JSON {
		return e.print(out)
	}
	w := newTable(e.stdout, "FIGURE", short(a), short(b), "DELTA", "VERDICT")
	for _, f := range out.Figures {
		verdict := string(f.Verdict)
		if f.Decides {
			verdict += " *"
		}
		w.line(f.Name, amount(f.Unit, f.A), amount(f.Unit, f.B), amount(f.Unit, f.Delta), verdict)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	fmt.Fprintf(e.stdout, "%s (by the figures with *)\n", out.Verdict)
	return nil
}

func amount(unit string, n int64) string {
	switch unit {
	case "nano_usd":
		if n < 0 {
			return "-" + gatewayapi.USD(-n)
		}
		return gatewayapi.USD(n)
	case "us":
		return micros(n)
	}
	return strconv.FormatInt(n, 10)
}
