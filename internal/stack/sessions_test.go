package stack

import (
	"maps"
	"path/filepath"
	"testing"
	"time"

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

// TestWhatASessionDrewIsReadOnce: what is told every few seconds is added up from
// new rows only, for sessions that came and went meanwhile too.
func TestWhatASessionDrewIsReadOnce(t *testing.T) {
	dir := t.TempDir()
	log, err := audit.Open(filepath.Join(dir, "audit"), audit.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { log.Close() })
	queue := func(r audit.Record) int64 {
		p, err := log.Queue(r, nil, nil)
		if err == nil {
			err = p.Wait(t.Context())
		}
		if err != nil {
			t.Fatal(err)
		}
		return p.Seq()
	}
	begin := func(session string) int64 {
		return queue(audit.Record{
			Kind: audit.KindIntent, Attribution: audit.Attribution{Session: session},
			Attrs: []audit.Attr{{Key: audit.AttrReserved, Value: "100"}},
		})
	}
	end := func(session string, ref, tokens int64) {
		queue(audit.Record{
			Kind: audit.KindOutcome, Attribution: audit.Attribution{Session: session}, Ref: ref,
			Usage: audit.Usage{Input: tokens}, CostNano: 10 * tokens,
		})
	}
	s := &sessions{log: newAuditView(dir), now: time.Now, live: map[string]*liveSession{}}
	live := func(name, id string, before audit.Spend) {
		from, err := s.log.Refresh()
		if err != nil {
			t.Fatal(err)
		}
		s.live[name] = &liveSession{id: id, from: from, spent: before}
	}
	drew := func(want map[string]audit.Spend) {
		t.Helper()
		got, err := s.drawn(t.Context())
		if err != nil || !maps.Equal(got, want) {
			t.Errorf("%+v, %v, want %+v", got, err, want)
		}
		if last, _ := s.log.Refresh(); s.drew.seen != last {
			t.Errorf("%d rows of %d were read", s.drew.seen, last)
		}
	}
	end("a", begin("a"), 1) // before the session was minted here
	live("a", "a", audit.Spend{})
	end("a", begin("a"), 20)
	open := begin("a")
	drew(map[string]audit.Spend{"a": {Tokens: 20, Cost: 200}})
	live("b", "b", audit.Spend{})
	end("b", begin("b"), 3)
	end("a", open, 5) // it began among the rows that were read
	drew(map[string]audit.Spend{"a": {Tokens: 25, Cost: 250}, "b": {Tokens: 3, Cost: 30}})
	drew(map[string]audit.Spend{"a": {Tokens: 25, Cost: 250}, "b": {Tokens: 3, Cost: 30}})
	live("a", "a2", audit.Spend{Tokens: 25, Cost: 250}) // minted again
	end("a2", begin("a2"), 7)
	delete(s.live, "b")
	end("b", begin("b"), 1000)
	drew(map[string]audit.Spend{"a": {Tokens: 32, Cost: 320}})
	s.live["c"] = &liveSession{id: "", spent: audit.Spend{Tokens: 4}} // could not be minted again
	end("", begin(""), 9)
	drew(map[string]audit.Spend{"a": {Tokens: 32, Cost: 320}, "c": {Tokens: 4}})
	s.forget()
	drew(map[string]audit.Spend{})
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
