package board

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"moeca/internal/run"
)

// owedEnd is the end of a run that could not be recorded. Nothing of the run is
// executing; the row says otherwise until the end is stored.
type owedEnd struct {
	event run.Event // kind EvEnded: all but this is recorded
	why   string    // else: what Recover is to say
}

// maxRetry is the longest wait between two tries to record what is owed.
const maxRetry = time.Minute

// oweRun keeps the end of a run and tries to store it until that succeeds, or
// the service is closed; then the next start settles it.
func (s *Service) oweRun(id string, err error) {
	o := owedEnd{why: fmt.Sprintf("the run was ended because it could not be recorded (%v)", err)}
	var u *run.UnrecordedError
	if errors.As(err, &u) {
		o.why = fmt.Sprintf("the run was ended because it could not be recorded (%v)", u.Err)
		if u.Event.Kind == run.EvEnded {
			o.event = u.Event
		}
	}
	s.mu.Lock()
	s.owed[id] = o
	s.mu.Unlock()
	s.Logger.Error("run not recorded; tried again", slog.String("run", id), slog.Any("error", err))
	s.owe(func(ctx context.Context) error { return s.settleOwed(ctx, id) })
}

// owe repeats record in the background, waiting longer each time.
func (s *Service) owe(record func(context.Context) error) {
	s.bg.Go(func() {
		for wait := s.Settings.RetryAfter; ; wait = min(2*wait, maxRetry) {
			timer := time.NewTimer(wait)
			select {
			case <-timer.C:
			case <-s.life.Done():
				timer.Stop()
				return
			}
			if err := record(s.life); err == nil {
				s.admit()
				return
			}
		}
	})
}

// settleOwed stores the end of a run that nothing executes. It is safe to call
// at any time: one call at a time does it, the others find it done.
func (s *Service) settleOwed(ctx context.Context, id string) error {
	unlock, err := s.runLocks.lock(ctx, id)
	if err != nil {
		return err
	}
	defer unlock()
	r, err := s.Run(ctx, id)
	if err != nil && KindOf(err) != NotFound {
		return err
	}
	s.mu.Lock()
	o, owed := s.owed[id]
	s.mu.Unlock()
	switch {
	case err != nil || run.Status(r.Status).Over(): // deleted, or settled
	case owed && o.event.Kind == run.EvEnded:
		err = s.change(ctx, func(c *change) error { return c.appendRun(ctx, id, o.event) })
	case owed:
		err = s.recoverRun(ctx, id, o.why)
	default:
		err = s.recoverRun(ctx, id, run.HostStopped)
	}
	if err != nil && KindOf(err) != NotFound {
		return err
	}
	s.mu.Lock()
	delete(s.owed, id)
	s.mu.Unlock()
	return nil
}
