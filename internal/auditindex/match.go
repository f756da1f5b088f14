package auditindex

import (
	"slices"

	"moeca/internal/audit"
)

// Match says whether a call is one the filter selects, as Calls would, but for
// the text, which is looked for in what rows say and not in contents.
func (f Filter) Match(c Call, text string) bool {
	switch {
	case !f.same(c.Attribution, c.Upstream, c.Model, c.Status):
		return false
	case !f.From.IsZero() && c.Time.Before(f.From), !f.To.IsZero() && !c.Time.Before(f.To):
		return false
	case f.Kind == "intent" && c.State == StateRefused, f.Kind == "outcome" && c.Outcome == 0, f.Kind == "refusal" && c.State != StateRefused:
		return false
	case f.State == "bad" && c.State != StateFailed && c.State != StateRefused, f.State != "" && f.State != "bad" && f.State != string(c.State):
		return false
	}
	return f.matches(text)
}

// MatchRow is Match of a row. The state open is unknown of a row alone.
func (f Filter) MatchRow(r audit.Record, text string) bool {
	switch {
	case !f.same(r.Attribution, r.Upstream, r.Model, r.Status):
		return false
	case !f.From.IsZero() && r.Time.Before(f.From), !f.To.IsZero() && !r.Time.Before(f.To):
		return false
	case f.Kind != "" && f.Kind != r.Kind.String():
		return false
	case f.State == "bad" && !bad(r), f.State == "failed" && (!bad(r) || r.Kind == audit.KindRefusal),
		f.State == "refused" && r.Kind != audit.KindRefusal, f.State == "ok" && (bad(r) || r.Kind != audit.KindOutcome):
		return false
	}
	return f.matches(text)
}

// same compares what calls and rows share.
func (f Filter) same(a audit.Attribution, upstream, model string, status int) bool {
	for _, e := range [][2]string{
		{f.Task, a.Task}, {f.Run, a.Run}, {f.Stage, a.Stage}, {f.Session, a.Session}, {f.Agent, a.Agent}, {f.Model, model}, {f.Upstream, upstream},
	} {
		if want := e[0]; want != "" && want != e[1] && (want != None || e[1] != "") {
			return false
		}
	}
	low, high, err := f.statuses()
	return err == nil && (f.Status == "" || low <= int64(status) && int64(status) <= high)
}

// Check says what is wrong with a filter.
func (f Filter) Check() error {
	if _, _, err := f.statuses(); err != nil {
		return err
	}
	if f.State != "" && f.State != "bad" && !slices.Contains(states, CallState(f.State)) {
		return errState
	}
	if f.Kind != "" {
		_, err := audit.ParseKind(f.Kind)
		return invalid(err)
	}
	return nil
}

// CheckCalls says what is wrong with a filter of calls.
func (f Filter) CheckCalls() error {
	_, err := f.calls()
	return err
}
