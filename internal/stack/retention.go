package stack

import (
	"context"
	"fmt"
	"os"
	"strings"
	"sync"
	"time"

	"moeca/internal/board"
	"moeca/internal/gateway/gatewayapi"
)

// Contents are erased when they are older than the retention, once a day and at a
// start. Rows stay. A sweep is one erasure of the log, which its rows tell.
//
// It reaches back from the beginning of the UTC day, so that a host that is
// started ten times a day sweeps once; and never to rows of a run that is not
// over, or of a session that lives: nothing is erased that is newer than the
// oldest of those. A clock that has jumped ahead by more than the retention would
// have everything erased: then the first sweep waits, so that the clock can be
// put right.

const (
	sweepEvery = time.Hour // it is looked whether a day has begun
	sweepWait  = time.Hour // before a sweep that would erase everything
)

// eraser is what the sweep asks of the gateway.
type eraser interface {
	Retention(ctx context.Context) (gatewayapi.Retention, error)
	SetRetention(ctx context.Context, r gatewayapi.Retention) (gatewayapi.Retention, error)
	Erase(ctx context.Context, r gatewayapi.EraseRequest) (gatewayapi.Erased, error)
	Sessions(ctx context.Context) ([]gatewayapi.SessionState, error)
}

// retention has contents erased.
type retention struct {
	admin eraser
	log   *AuditView
	began func(context.Context) (time.Time, error) // of the oldest run that is not over
	whole func() bool                              // the log is; one that is broken is evidence
	file  string                                   // holds up to when was swept
	now   func() time.Time

	mu   sync.Mutex // held while sweeping
	last time.Time  // when the clock was read before: of the newest row, at a start
	held time.Time  // since when it waits for the clock to be put right; zero: it does not
}

// eraseOld begins the sweeps.
func (s *Stack) eraseOld(context.Context) error {
	s.retention = &retention{
		admin: s.gateway.Admin, log: s.audit, began: s.board.UnderWaySince, whole: func() bool { return s.gateway.Broken() == nil },
		file: s.data.Join("audit.swept"), now: time.Now, last: s.lastRow,
	}
	s.background(func(ctx context.Context) {
		s.retention.follow(ctx, func(err error) { s.log.Warn("retention of contents", "error", err) })
	})
	return nil
}

// follow sweeps at once and then every day, until ctx ends.
func (r *retention) follow(ctx context.Context, failed func(error)) {
	tick := time.NewTicker(sweepEvery)
	defer tick.Stop()
	for {
		if _, err := r.sweep(ctx); err != nil && ctx.Err() == nil {
			failed(err)
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// sweep erases what is due. It says what it did; nothing where nothing was.
func (r *retention) sweep(ctx context.Context) (done gatewayapi.Erased, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	keep, err := r.admin.Retention(ctx)
	age := time.Duration(keep.Days) * 24 * time.Hour
	if waits := r.waits(age); err != nil || keep.Days == 0 || waits || !r.whole() {
		return done, err
	}
	before, err := r.reach(ctx, age)
	if err != nil {
		return done, err
	}
	if first, _, err := r.log.At(1); err != nil || !first.Time.Before(before) {
		return done, nil // there is nothing that old
	}
	if r.swept(before) {
		return done, nil
	}
	done, err = r.admin.Erase(ctx, gatewayapi.EraseRequest{Before: &before, Actor: "host", Reason: fmt.Sprintf("contents are kept for %d days", keep.Days)})
	if err != nil {
		return done, fmt.Errorf("erase contents that are older than %d days: %w", keep.Days, err)
	}
	r.log.trees.forget()
	return done, writeFile(r.file, []byte(before.Format(time.RFC3339)+"\n"), 0o600)
}

// waits says whether the clock has jumped so far that it may be wrong.
func (r *retention) waits(age time.Duration) bool {
	now := r.now()
	if age > 0 && !r.last.IsZero() && now.Round(0).Sub(r.last.Round(0)) > age {
		r.held = now
	}
	r.last = now
	return !r.held.IsZero() && now.Sub(r.held) < sweepWait
}

// reach is the time before which contents are erased.
func (r *retention) reach(ctx context.Context, age time.Duration) (time.Time, error) {
	before := r.now().UTC().Truncate(24 * time.Hour).Add(-age)
	began, err := r.began(ctx)
	if err != nil {
		return before, err
	}
	earliest := func(t time.Time) {
		if !t.IsZero() && t.Before(before) {
			before = t.UTC().Truncate(time.Second)
		}
	}
	earliest(began)
	sessions, err := r.admin.Sessions(ctx)
	for _, s := range sessions {
		earliest(s.Minted)
	}
	return before, err
}

// swept says whether the last sweep reached as far.
func (r *retention) swept(before time.Time) bool {
	raw, err := os.ReadFile(r.file)
	if err != nil {
		return false
	}
	last, err := time.Parse(time.RFC3339, strings.TrimSpace(string(raw)))
	return err == nil && !before.After(last)
}

// Retention implements hostapi.Retention.
func (r *retention) Retention(ctx context.Context) (gatewayapi.Retention, error) {
	out, err := r.admin.Retention(ctx)
	return out, ofRetention(err)
}

// SetRetention implements hostapi.Retention: a shorter one is swept at once.
func (r *retention) SetRetention(ctx context.Context, set gatewayapi.Retention) (gatewayapi.Retention, error) {
	out, err := r.admin.SetRetention(ctx, set)
	if err != nil {
		return out, ofRetention(err)
	}
	_, err = r.sweep(ctx)
	return out, ofRetention(err)
}

func ofRetention(err error) error {
	return ofGateway(err, board.Invalid, "name a number of days, or 0")
}
