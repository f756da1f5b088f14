package stack

import (
	"context"
	"path/filepath"
	"testing"
	"time"

	"moeca/internal/audit"
	"moeca/internal/gateway/gatewayapi"
	"moeca/internal/session"
)

// sweeper is a gateway that notes what it is to erase.
type sweeper struct {
	keep     gatewayapi.Retention
	sessions []gatewayapi.SessionState
	asked    []gatewayapi.EraseRequest
}

func (s *sweeper) Retention(context.Context) (gatewayapi.Retention, error) { return s.keep, nil }

func (s *sweeper) SetRetention(_ context.Context, r gatewayapi.Retention) (gatewayapi.Retention, error) {
	s.keep = r
	return r, nil
}

func (s *sweeper) Erase(_ context.Context, r gatewayapi.EraseRequest) (gatewayapi.Erased, error) {
	s.asked = append(s.asked, r)
	return gatewayapi.Erased{Row: 1}, nil
}

func (s *sweeper) Sessions(context.Context) ([]gatewayapi.SessionState, error) {
	return s.sessions, nil
}

// newSweep makes a log whose first row is of first, and a sweep of it.
func newSweep(t *testing.T, first, now time.Time) (*retention, *sweeper) {
	t.Helper()
	data := t.TempDir()
	l, err := audit.Open(filepath.Join(data, "audit"), audit.Options{Now: func() time.Time { return first }})
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	s := &sweeper{keep: gatewayapi.Retention{Days: 30}}
	r := &retention{
		admin: s, log: newAuditView(data), file: filepath.Join(data, "audit.swept"), now: func() time.Time { return now },
		began: func(context.Context) (time.Time, error) { return time.Time{}, nil }, whole: func() bool { return true },
	}
	t.Cleanup(func() { _ = r.log.letGo() })
	return r, s
}

var (
	sweepNow = time.Date(2026, 5, 20, 15, 4, 5, 0, time.UTC)
	sweepDue = time.Date(2026, 4, 20, 0, 0, 0, 0, time.UTC)
	longAgo  = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
)

// TestSweepErasesWhatIsDueAndNothingElse: how far a sweep reaches, or that there
// is none.
func TestSweepErasesWhatIsDueAndNothingElse(t *testing.T) {
	for name, c := range map[string]struct {
		edit func(*retention, *sweeper)
		want time.Time // zero: nothing is erased
	}{
		"what is older than the retention": {func(*retention, *sweeper) {}, sweepDue},
		"contents are kept for ever":       {func(_ *retention, s *sweeper) { s.keep.Days = 0 }, time.Time{}},
		"a run that began before is not over": {func(r *retention, _ *sweeper) {
			r.began = func(context.Context) (time.Time, error) { return sweepDue.Add(-48 * time.Hour), nil }
		}, sweepDue.Add(-48 * time.Hour)},
		"a run that began after is not over": {func(r *retention, _ *sweeper) {
			r.began = func(context.Context) (time.Time, error) { return sweepNow, nil }
		}, sweepDue},
		"a session that began before lives": {func(_ *retention, s *sweeper) {
			s.sessions = []gatewayapi.SessionState{
				{Session: session.Session{Minted: sweepNow}}, {Session: session.Session{Minted: sweepDue.Add(-time.Hour)}},
			}
		}, sweepDue.Add(-time.Hour)},
		"a run is as old as the log": {func(r *retention, _ *sweeper) {
			r.began = func(context.Context) (time.Time, error) { return longAgo, nil }
		}, time.Time{}},
		"the log is broken": {func(r *retention, _ *sweeper) { r.whole = func() bool { return false } }, time.Time{}},
		"nobody knows what runs": {func(r *retention, _ *sweeper) {
			r.began = func(context.Context) (time.Time, error) { return time.Time{}, context.DeadlineExceeded }
		}, time.Time{}},
		"the clock has jumped ahead by years": {func(r *retention, _ *sweeper) { r.last = sweepNow.AddDate(-2, 0, 0) }, time.Time{}},
		"the host was away for a weekend":     {func(r *retention, _ *sweeper) { r.last = sweepNow.AddDate(0, 0, -3) }, sweepDue},
	} {
		t.Run(name, func(t *testing.T) {
			r, s := newSweep(t, longAgo, sweepNow)
			c.edit(r, s)
			if _, err := r.sweep(t.Context()); err != nil && !c.want.IsZero() {
				t.Fatal(err)
			}
			switch {
			case c.want.IsZero() && len(s.asked) > 0:
				t.Errorf("erased %+v", s.asked)
			case !c.want.IsZero() && (len(s.asked) != 1 || !s.asked[0].Before.Equal(c.want) || s.asked[0].Actor != "host" || s.asked[0].Reason == ""):
				t.Errorf("erased %+v, want before %s", s.asked, c.want)
			}
		})
	}
}

// TestSweepsOnceADay: a sweep is two rows of the log, and a host is started more
// than once a day.
func TestSweepsOnceADay(t *testing.T) {
	r, s := newSweep(t, longAgo, sweepNow)
	sweep := func() {
		t.Helper()
		if _, err := r.sweep(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	sweep()
	sweep()
	if len(s.asked) != 1 {
		t.Fatalf("%d sweeps in a day", len(s.asked))
	}
	r.now = func() time.Time { return sweepNow.AddDate(0, 0, 1) }
	sweep()
	if len(s.asked) != 2 {
		t.Errorf("%d sweeps in two days", len(s.asked))
	}
	if _, err := r.SetRetention(t.Context(), gatewayapi.Retention{Days: 7}); err != nil || len(s.asked) != 3 {
		t.Errorf("a shorter retention: %d sweeps, %v", len(s.asked), err)
	}
	if _, err := r.SetRetention(t.Context(), gatewayapi.Retention{Days: 300}); err != nil || len(s.asked) != 3 {
		t.Errorf("a longer retention: %d sweeps, %v", len(s.asked), err)
	}
}

// TestAClockThatJumpedIsGivenAnHour: what would be erased at once by a clock that
// is wrong waits; when the clock was put right nothing is erased by it.
func TestAClockThatJumpedIsGivenAnHour(t *testing.T) {
	r, s := newSweep(t, sweepNow.AddDate(0, 0, -2), sweepNow)
	at := func(now time.Time) int {
		t.Helper()
		r.now = func() time.Time { return now }
		if _, err := r.sweep(t.Context()); err != nil {
			t.Fatal(err)
		}
		return len(s.asked)
	}
	wrong := sweepNow.AddDate(1, 0, 0)
	if at(sweepNow) != 0 || at(wrong) != 0 || at(wrong.Add(sweepWait/2)) != 0 {
		t.Error("a clock that had jumped erased contents at once")
	}
	if at(sweepNow.Add(time.Hour)) != 0 {
		t.Error("contents of two days ago were erased")
	}
	if at(wrong) != 0 || at(wrong.Add(sweepWait+time.Second)) != 1 {
		t.Error("a clock that stays is never believed")
	}
}

// TestNothingOldIsNoRow: a log in which nothing is old gets no rows of sweeps.
func TestNothingOldIsNoRow(t *testing.T) {
	r, s := newSweep(t, sweepNow.AddDate(0, 0, -29), sweepNow)
	if _, err := r.sweep(t.Context()); err != nil || len(s.asked) > 0 {
		t.Errorf("%+v, %v", s.asked, err)
	}
}
