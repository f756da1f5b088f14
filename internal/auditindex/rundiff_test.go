package auditindex

import (
	"errors"
	"testing"
	"time"
)

func TestVerdictOfTwoRuns(t *testing.T) {
	base := RunSummary{
		WallUS: time.Minute.Microseconds(), Stages: 3, Sessions: 3, RoundTrips: 10,
		Totals: Totals{Calls: 20, Failed: 2, Refused: 4, Input: 90_000, Output: 10_000, CostNano: 5e9},
	}
	for what, c := range map[string]struct {
		change  func(r *RunSummary)
		verdict Verdict
		figures map[string]Verdict
	}{
		"the same run":                    {func(*RunSummary) {}, Unchanged, map[string]Verdict{"tokens": Unchanged, "cost": Unchanged, "errors": Unchanged, "wall_time": Unchanged}},
		"fewer tokens":                    {func(r *RunSummary) { r.Input = 50_000 }, Improved, map[string]Verdict{"tokens": Improved, "tokens_in": Improved, "tokens_out": Unchanged}},
		"more tokens":                     {func(r *RunSummary) { r.Output = 40_000 }, Regressed, map[string]Verdict{"tokens": Regressed}},
		"tokens within the noise":         {func(r *RunSummary) { r.Input = 94_000 }, Unchanged, map[string]Verdict{"tokens": Unchanged}},
		"tokens just within the noise":    {func(r *RunSummary) { r.Input = 85_000 }, Unchanged, map[string]Verdict{"tokens": Unchanged}},
		"tokens just beyond the noise":    {func(r *RunSummary) { r.Input = 84_999 }, Improved, map[string]Verdict{"tokens": Improved}},
		"cheaper":                         {func(r *RunSummary) { r.CostNano = 1e9 }, Improved, map[string]Verdict{"cost": Improved}},
		"free now":                        {func(r *RunSummary) { r.CostNano = 0 }, Improved, map[string]Verdict{"cost": Improved}},
		"one error more":                  {func(r *RunSummary) { r.Failed = 3 }, Regressed, map[string]Verdict{"errors": Regressed}},
		"one error less":                  {func(r *RunSummary) { r.Failed = 1 }, Improved, map[string]Verdict{"errors": Improved}},
		"slower":                          {func(r *RunSummary) { r.WallUS *= 2 }, Regressed, map[string]Verdict{"wall_time": Regressed}},
		"a little slower":                 {func(r *RunSummary) { r.WallUS = r.WallUS * 11 / 10 }, Unchanged, map[string]Verdict{"wall_time": Unchanged}},
		"cheaper and slower":              {func(r *RunSummary) { r.CostNano = 1e9; r.WallUS *= 2 }, Mixed, map[string]Verdict{"cost": Improved, "wall_time": Regressed}},
		"cheaper and faster":              {func(r *RunSummary) { r.CostNano = 1e9; r.WallUS /= 2 }, Improved, map[string]Verdict{"cost": Improved, "wall_time": Improved}},
		"dearer, with errors":             {func(r *RunSummary) { r.CostNano = 9e9; r.Failed = 9 }, Regressed, nil},
		"more refusals do not decide":     {func(r *RunSummary) { r.Refused = 40 }, Unchanged, map[string]Verdict{"refusals": Regressed}},
		"fewer tokens, as all is refused": {func(r *RunSummary) { r.Totals = Totals{Refused: 5} }, Mixed, map[string]Verdict{"tokens": Improved, "refusals": Regressed}},
		"more calls are neither":          {func(r *RunSummary) { r.Calls, r.RoundTrips, r.Stages = 90, 50, 9 }, Unchanged, map[string]Verdict{"calls": "", "tool_round_trips": "", "stages": ""}},
		"fewer tokens, dearer, the rest":  {func(r *RunSummary) { r.Input, r.CostNano = 10_000, 9e9 }, Mixed, nil},
	} {
		t.Run(what, func(t *testing.T) {
			b := base
			c.change(&b)
			d := Compare(base, b)
			if d.Verdict != c.verdict {
				t.Errorf("verdict is %q, want %q", d.Verdict, c.verdict)
			}
			for _, f := range d.Figures {
				if want, ok := c.figures[f.Name]; ok && f.Verdict != want {
					t.Errorf("%s: %d → %d is %q, want %q", f.Name, f.A, f.B, f.Verdict, want)
				}
				if f.Delta != f.B-f.A {
					t.Errorf("%s: delta is %d", f.Name, f.Delta)
				}
			}
			back := map[Verdict]Verdict{Improved: Regressed, Regressed: Improved, Mixed: Mixed, Unchanged: Unchanged}
			if r := Compare(b, base); r.Verdict != back[d.Verdict] {
				t.Errorf("the other way round it is %q", r.Verdict)
			}
		})
	}
}

// Short runs differ by moments that mean nothing.
func TestASecondIsNoise(t *testing.T) {
	a, b := RunSummary{WallUS: 200_000}, RunSummary{WallUS: 1_100_000}
	if v := Compare(a, b).Verdict; v != Unchanged {
		t.Errorf("0.2 s and 1.1 s are %q", v)
	}
	b.WallUS = 1_300_000
	if v := Compare(a, b).Verdict; v != Regressed {
		t.Errorf("0.2 s and 1.3 s are %q", v)
	}
}

func TestRunsAreComparedByTheirRows(t *testing.T) {
	r := newRig(t)
	a, b := who("1", "run-a", "sa"), who("1", "run-b", "sb")
	r.call(a, 1000, 100)
	r.call(a, 1000, 100)
	seq := r.append(intent(b), "", "")
	r.append(outcome(b, seq, 500, 50), "", `{"type":"message","role":"assistant","content":[{"type":"tool_use","id":"1","name":"x","input":{}},{"type":"tool_use","id":"2","name":"y","input":{}}]}`)
	r.sync()
	d, err := r.x.Diff(t.Context(), "run-a", "run-b")
	r.check(err)
	if d.Verdict != Improved || d.A.Calls != 2 || d.B.Calls != 1 || d.B.RoundTrips != 1 || d.B.Tools != 2 || d.A.RoundTrips != 0 ||
		d.A.Task != "1" || d.A.Model != "claude-x" || d.A.WallUS < 3_000_000 || d.A.Stages != 1 || d.A.Sessions != 1 {
		t.Errorf("diff is %+v", d)
	}
	if _, err := r.x.Diff(t.Context(), "run-a", "no-such"); !errors.Is(err, ErrNoRun) {
		t.Errorf("an unknown run: %v", err)
	}
	if _, err := r.x.Run(t.Context(), ""); !errors.Is(err, ErrInvalid) {
		t.Errorf("no run: %v", err)
	}
}
