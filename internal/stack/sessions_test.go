package stack

import (
	"path/filepath"
	"testing"

	"moeca/internal/audit"
)

func TestSpentBySession(t *testing.T) {
	dir := t.TempDir()
	log, err := audit.Open(filepath.Join(dir, "audit"), audit.Options{})
	if err != nil {
		t.Fatal(err)
	}
	queue := func(r audit.Record) int64 {
		r.Source = audit.SourceGateway
		p, err := log.Queue(r, nil, nil)
		if err == nil {
			err = p.Wait(t.Context())
		}
		if err != nil {
			t.Fatal(err)
		}
		return p.Seq()
	}
	call := func(session string, outcome *audit.Record) {
		at := audit.Attribution{Session: session}
		seq := queue(audit.Record{Kind: audit.KindIntent, Attribution: at, Attrs: []audit.Attr{{Key: audit.AttrReserved, Value: "100"}, {Key: audit.AttrReservedCost, Value: "7000"}}})
		if outcome != nil {
			outcome.Kind, outcome.Attribution, outcome.Ref = audit.KindOutcome, at, seq
			queue(*outcome)
		}
	}
	call("a", &audit.Record{Usage: audit.Usage{Input: 1}, CostNano: 10}) // before the session was minted here
	from := queue(audit.Record{Kind: audit.KindAdmin})
	call("a", &audit.Record{Usage: audit.Usage{Input: 20, Output: 3}, CostNano: 500})
	call("b", &audit.Record{Usage: audit.Usage{Input: 1000}, CostNano: 9000})
	call("a", &audit.Record{Attrs: []audit.Attr{{Key: audit.AttrUsage, Value: audit.UsageUnknown}}})
	call("a", nil)
	last := queue(audit.Record{Kind: audit.KindAdmin})
	s := &sessions{log: newAuditView(dir)}
	if _, err := s.log.Refresh(); err != nil {
		t.Fatal(err)
	}
	got, err := s.spentBy("a", from, last)
	if want := (audit.Spend{Tokens: 223, Cost: 14_500}); err != nil || got != want {
		t.Errorf("%+v, %v, want %+v", got, err, want)
	}
	if err := log.Close(); err != nil {
		t.Error(err)
	}
}

func TestWhatIsLeftOfABound(t *testing.T) {
	for _, c := range []struct {
		bound, spent, rest int64
		enough             bool
	}{
		{100, 30, 70, true},
		{100, 100, 0, false}, // zero would be the default
		{100, 130, -30, false},
		{0, 30, 0, true}, // no bound
		{-1, 30, -1, true},
	} {
		if rest, enough := left(c.bound, c.spent); rest != c.rest || enough != c.enough {
			t.Errorf("%+v: %d, %v", c, rest, enough)
		}
	}
}
