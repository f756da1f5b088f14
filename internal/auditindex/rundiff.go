package auditindex

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"
)

// ErrNoRun: the log has no call of the run.
var ErrNoRun = errors.New("the log has no call of this run")

// RunSummary is what one run caused.
type RunSummary struct {
	Run        string    `json:"run"`
	Task       string    `json:"task"`
	Template   string    `json:"template"`
	Agent      string    `json:"agent"`
	Model      string    `json:"model"` // of most calls
	Began      time.Time `json:"began"`
	Ended      time.Time `json:"ended"`
	WallUS     int64     `json:"wall_us"` // from its first to its last row
	Stages     int64     `json:"stages"`
	Sessions   int64     `json:"sessions"`
	RoundTrips int64     `json:"tool_round_trips"` // answers that asked for tools
	Totals
}

// Verdict of a comparison.
type Verdict string

// Verdicts. A run is compared with an earlier one: improved is better than it.
const (
	Improved  Verdict = "improved"
	Regressed Verdict = "regressed"
	Mixed     Verdict = "mixed"
	Unchanged Verdict = "unchanged"
)

// Figure is one figure of two runs. Decides says that it enters the verdict of
// the whole.
type Figure struct {
	Name    string  `json:"name"`
	Unit    string  `json:"unit" enum:",tokens,nano_usd,us"` // "" is a count
	A       int64   `json:"a"`
	B       int64   `json:"b"`
	Delta   int64   `json:"delta"`                                        // B − A
	Verdict Verdict `json:"verdict" enum:",improved,regressed,unchanged"` // "" where neither more nor less is better
	Decides bool    `json:"decides"`
}

// RunDiff compares run B with run A.
type RunDiff struct {
	A       RunSummary `json:"a"`
	B       RunSummary `json:"b"`
	Figures []Figure   `json:"figures"`
	Verdict Verdict    `json:"verdict" enum:"improved,regressed,mixed,unchanged"`
}

// rule says how a figure is compared. Lower is better for all that decide. A
// difference within percent of the larger figure, or within least, is noise:
// models answer the same question with a few words more or less, and a machine
// is not always as fast. Errors have no noise.
type rule struct {
	name, unit string
	of         func(RunSummary) int64
	percent    int64
	least      int64
	role       role
}

// role of a figure in a comparison.
type role int

const (
	describes role = iota // neither more nor less is better
	judged                // less is better; it does not enter the verdict
	decides               // less is better
)

// rules are the figures of a comparison in their order. What only describes a
// run (calls, round trips, stages) has no better or worse: fewer calls may be
// less work done. Parts of tokens, and refusals, which may be a policy at work,
// are judged but do not decide: but a run that was refused more than the other
// did less for less, and has not improved.
var rules = []rule{
	{"tokens", "tokens", func(r RunSummary) int64 { return r.Tokens() }, 5, 0, decides},
	{"cost", "nano_usd", func(r RunSummary) int64 { return r.CostNano }, 5, 0, decides},
	{"errors", "", func(r RunSummary) int64 { return r.Failed }, 0, 0, decides},
	{"wall_time", "us", func(r RunSummary) int64 { return r.WallUS }, 10, time.Second.Microseconds(), decides},
	{"tokens_in", "tokens", func(r RunSummary) int64 { return r.Input }, 5, 0, judged},
	{"tokens_out", "tokens", func(r RunSummary) int64 { return r.Output }, 5, 0, judged},
	{"cache_read", "tokens", func(r RunSummary) int64 { return r.CacheRead }, 5, 0, describes},
	{"calls", "", func(r RunSummary) int64 { return r.Calls }, 0, 0, describes},
	{"tool_round_trips", "", func(r RunSummary) int64 { return r.RoundTrips }, 0, 0, describes},
	{"refusals", "", func(r RunSummary) int64 { return r.Refused }, 0, 0, judged},
	{"stages", "", func(r RunSummary) int64 { return r.Stages }, 0, 0, describes},
	{"sessions", "", func(r RunSummary) int64 { return r.Sessions }, 0, 0, describes},
}

// Compare compares b with a. The verdict is that of the figures that decide:
// improved when some improved and none regressed, regressed the other way
// round, mixed when there are both, unchanged when there are none.
func Compare(a, b RunSummary) RunDiff {
	d := RunDiff{A: a, B: b, Verdict: Unchanged}
	for _, r := range rules {
		f := Figure{Name: r.name, Unit: r.unit, A: r.of(a), B: r.of(b), Decides: r.role == decides}
		f.Delta = f.B - f.A
		if r.role != describes {
			f.Verdict = r.judge(f.A, f.B)
		}
		if r.role == decides {
			d.Verdict = d.Verdict.and(f.Verdict)
		}
		d.Figures = append(d.Figures, f)
	}
	if d.Verdict == Improved && b.Refused > a.Refused || d.Verdict == Regressed && b.Refused < a.Refused {
		d.Verdict = Mixed
	}
	return d
}

// judge compares one figure.
func (r rule) judge(a, b int64) Verdict {
	delta := max(a, b) - min(a, b)
	noise := max(int64(float64(max(a, b))*float64(r.percent)/100), r.least)
	switch {
	case delta == 0 || delta <= noise && noise > 0:
		return Unchanged
	case b < a:
		return Improved
	}
	return Regressed
}

// and joins verdicts.
func (v Verdict) and(o Verdict) Verdict {
	switch {
	case v == Unchanged || v == o:
		return o
	case o == Unchanged:
		return v
	}
	return Mixed
}

// Diff compares run b with run a.
func (x *Index) Diff(ctx context.Context, a, b string) (RunDiff, error) {
	before, err := x.Run(ctx, a)
	if err != nil {
		return RunDiff{}, err
	}
	after, err := x.Run(ctx, b)
	if err != nil {
		return RunDiff{}, err
	}
	return Compare(before, after), nil
}

// Run sums up a run. ErrNoRun where the log knows none.
func (x *Index) Run(ctx context.Context, run string) (r RunSummary, err error) {
	if run == "" {
		return r, fmt.Errorf("%w: name a run", ErrInvalid)
	}
	r.Run = run
	err = x.read(ctx, func(tx *sql.Tx) error {
		err := tx.QueryRowContext(ctx, `SELECT task, template, agent FROM call WHERE run = ? ORDER BY seq LIMIT 1`, run).Scan(&r.Task, &r.Template, &r.Agent)
		if errors.Is(err, sql.ErrNoRows) {
			return fmt.Errorf("run %q: %w", run, ErrNoRun)
		}
		if err != nil {
			return err
		}
		if err := tx.QueryRowContext(ctx, `SELECT model FROM call WHERE run = ? AND state <> 3 GROUP BY model ORDER BY count(*) DESC, model LIMIT 1`, run).
			Scan(&r.Model); err != nil && !errors.Is(err, sql.ErrNoRows) {
			return err
		}
		var began, ended int64
		if err := tx.QueryRowContext(ctx, `SELECT coalesce(sum(tools > 0), 0), count(DISTINCT nullif(stage, '')), min(at), max(at + duration * 1000) FROM call WHERE run = ?`, run).
			Scan(&r.RoundTrips, &r.Stages, &began, &ended); err != nil {
			return err
		}
		var first, last sql.NullInt64
		if err := tx.QueryRowContext(ctx, `SELECT count(DISTINCT session), min(began), max(ended) FROM node WHERE run = ?`, run).
			Scan(&r.Sessions, &first, &last); err != nil {
			return err
		}
		if first.Valid {
			began, ended = min(began, first.Int64), max(ended, last.Int64)
		}
		r.Began, r.Ended = time.Unix(0, began).UTC(), time.Unix(0, ended).UTC()
		r.WallUS = r.Ended.Sub(r.Began).Microseconds()
		return tx.QueryRowContext(ctx, `SELECT `+sumColumns+` FROM total WHERE run = ?`, run).Scan(r.fields()...)
	})
	return r, err
}
