package auditindex

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"
)

// month is a log of calls at known times.
func month(t *testing.T) *rig {
	r := newRig(t)
	at := func(day, hour, minute int) { r.now = time.Date(2026, 3, day, hour, minute, 0, 0, time.UTC) }
	a, b := who("1", "run-1", "s1"), who("2", "run-2", "s2")
	at(1, 10, 0)
	r.call(a, 100, 10)
	at(1, 23, 40) // the next day in Berlin and in Kolkata
	r.call(b, 200, 20)
	at(2, 10, 0)
	r.call(a, 300, 30)
	r.append(refusal(b), "", "")
	at(2, 18, 20) // in Kolkata ten minutes before midnight
	r.call(b, 400, 40)
	r.sync()
	return r
}

func TestMetricsGroup(t *testing.T) {
	r := month(t)
	berlin, err := time.LoadLocation("Europe/Berlin")
	r.check(err)
	kolkata, err := time.LoadLocation("Asia/Kolkata")
	r.check(err)
	for what, c := range map[string]struct {
		q    MetricsQuery
		want string
	}{
		"by run":                    {MetricsQuery{By: "run"}, "run-2:660/1/1 run-1:440/0/1"},
		"by task within a run":      {MetricsQuery{By: "task", Run: "run-1"}, "1:440/0/1"},
		"by stage":                  {MetricsQuery{By: "stage"}, "s2:660/1/1 s1:440/0/1"},
		"by agent":                  {MetricsQuery{By: "agent"}, "claude:1100/1/2"},
		"by model":                  {MetricsQuery{By: "model"}, "claude-x:1100/1/2"},
		"by upstream":               {MetricsQuery{By: "upstream"}, "anthropic:1100/1/2"},
		"all together":              {MetricsQuery{By: "none"}, ":1100/1/2"},
		"by day":                    {MetricsQuery{By: "day"}, "2026-03-01T00:00:00Z:330/0/2 2026-03-02T00:00:00Z:770/1/2"},
		"by day in Berlin":          {MetricsQuery{By: "day", Zone: berlin}, "2026-03-01T00:00:00+01:00:110/0/1 2026-03-02T00:00:00+01:00:990/1/2"},
		"by day in Kolkata":         {MetricsQuery{By: "day", Zone: kolkata}, "2026-03-01T00:00:00+05:30:110/0/1 2026-03-02T00:00:00+05:30:990/1/2"},
		"by hour":                   {MetricsQuery{By: "hour", Task: "1"}, "2026-03-01T10:00:00Z:110/0/1 2026-03-02T10:00:00Z:330/0/1"},
		"from a time":               {MetricsQuery{By: "none", From: time.Date(2026, 3, 2, 0, 0, 0, 0, time.UTC)}, ":770/1/2"},
		"to a time":                 {MetricsQuery{By: "none", To: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)}, ":110/0/1"},
		"of an unknown model":       {MetricsQuery{By: "none", Model: "no-such"}, ""},
		"the first, the rest apart": {MetricsQuery{By: "run", Limit: 1}, "run-2:660/1/1 | +1:440/0/1"},
	} {
		t.Run(what, func(t *testing.T) {
			m, err := r.x.Metrics(t.Context(), c.q)
			r.check(err)
			var out []string
			var sum Totals
			for _, g := range m.Groups {
				out = append(out, groupText(g))
				sum.Add(g.Totals)
			}
			if m.Rest != nil {
				out = append(out, "|", fmt.Sprintf("+%d", m.Rest.More)+groupText(*m.Rest))
				sum.Add(m.Rest.Totals)
			}
			if got := strings.Join(out, " "); got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
			if sum != m.All.Totals {
				t.Errorf("groups are %+v together, all is %+v", sum, m.All.Totals)
			}
		})
	}
}

func groupText(g Group) string {
	return fmt.Sprintf("%s:%d/%d/%d", g.Key, g.Tokens(), g.Refused, g.Sessions)
}

func TestMetricsHavePoints(t *testing.T) {
	r := month(t)
	m, err := r.x.Metrics(t.Context(), MetricsQuery{By: "run", Step: "day"})
	r.check(err)
	for _, g := range append(m.Groups, m.All) {
		var sum Totals
		for i, p := range g.Points {
			sum.Add(p.Totals)
			if i > 0 && !p.At.After(g.Points[i-1].At) {
				t.Errorf("%s: points are not in order", g.Key)
			}
		}
		if sum != g.Totals || len(g.Points) != 2 {
			t.Errorf("%s: %d points are %+v together, the group is %+v", g.Key, len(g.Points), sum, g.Totals)
		}
	}
	hours, err := r.x.Metrics(t.Context(), MetricsQuery{By: "none", Step: "hour"})
	r.check(err)
	if len(hours.All.Points) != 4 || !hours.All.Points[0].At.Equal(time.Date(2026, 3, 1, 10, 0, 0, 0, time.UTC)) {
		t.Errorf("hours are %+v", hours.All.Points)
	}
}

func TestMetricsThatCannotBeMeantAreRefused(t *testing.T) {
	r := month(t)
	for _, q := range []MetricsQuery{{}, {By: "odd"}, {By: "run", Step: "week"}, {By: "slot"}} {
		if _, err := r.x.Metrics(t.Context(), q); !errors.Is(err, ErrInvalid) {
			t.Errorf("%+v: %v", q, err)
		}
	}
}

func TestFacetsAreWhatThereIs(t *testing.T) {
	r := month(t)
	f, err := r.x.Facets(t.Context())
	r.check(err)
	if fmt.Sprint(f) != "{[claude] [claude-x] [anthropic] [run-2 run-1]}" {
		t.Errorf("facets are %v", f)
	}
}
