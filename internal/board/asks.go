package board

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"moeca/internal/gateway/gatewayapi"
	"moeca/internal/run"
)

// SetAsks tells which requests wait for a person now; none that is not in open
// waits any more. A run with one of them shows that it waits, and its task moves
// to where the person looks; nothing else follows from an ask here.
func (s *Service) SetAsks(ctx context.Context, open []gatewayapi.Ask) error {
	s.asksMu.Lock()
	defer s.asksMu.Unlock()
	waiting := map[string]string{} // run → cause
	for _, a := range open {
		if _, first := waiting[a.Run]; a.Run != "" && !first {
			waiting[a.Run] = askCause(a, open)
		}
	}
	s.waitMu.Lock()
	s.waiting = waiting // before the transaction: see released
	s.waitMu.Unlock()
	err := s.change(ctx, func(c *change) error {
		for _, a := range open {
			if !slices.Contains(s.asks, a.ID) {
				if err := c.event(ctx, TopicAsks, EventAskOpened, a.ID, a); err != nil {
					return err
				}
			}
		}
		for _, id := range s.asks {
			if !slices.ContainsFunc(open, func(a gatewayapi.Ask) bool { return a.ID == id }) {
				if err := c.event(ctx, TopicAsks, EventAskEnded, id, nil); err != nil {
					return err
				}
			}
		}
		return c.wait(ctx, waiting)
	})
	if err != nil {
		return wrap("note what waits", err)
	}
	s.asks = s.asks[:0]
	for _, a := range open {
		s.asks = append(s.asks, a.ID)
	}
	return nil
}

// maxAskWords is how many operations a card names: one request may hold many.
const maxAskWords = 3

// askCause says on one line what is wanted; how many more of the run wait is
// said, too.
func askCause(a gatewayapi.Ask, open []gatewayapi.Ask) string {
	more := -1
	for _, other := range open {
		if other.Run == a.Run {
			more++
		}
	}
	what := a.Operations
	if len(what) > maxAskWords {
		what = append(slices.Clone(what[:maxAskWords]), fmt.Sprintf("and %d more", len(what)-maxAskWords))
	}
	cause := fmt.Sprintf("the agent wants to %s at %s; allow or refuse", strings.Join(what, ", "), a.Upstream)
	if more > 0 {
		cause += fmt.Sprintf(" (%d more wait)", more)
	}
	return cause
}

// released notes that a run waits already as its agent is noted to work: an
// agent may ask before the host has written down that it has let it go.
func (c *change) released(ctx context.Context, id string) error {
	c.s.waitMu.Lock()
	cause := c.s.waiting[id]
	c.s.waitMu.Unlock()
	if cause == "" {
		return nil
	}
	return c.waitRun(ctx, id, cause)
}

// wait brings the runs that wait, or did, to what is so now.
func (c *change) wait(ctx context.Context, waiting map[string]string) error {
	runs := map[string]bool{}
	for id := range waiting {
		runs[id] = true
	}
	rows, err := c.QueryContext(ctx, `SELECT id FROM runs WHERE status = ?`, StatusWaiting)
	if err != nil {
		return err
	}
	if err := each(rows, func() error {
		var id string
		err := rows.Scan(&id)
		runs[id] = true
		return err
	}); err != nil {
		return err
	}
	for id := range runs {
		if err := c.waitRun(ctx, id, waiting[id]); err != nil {
			return err
		}
	}
	return nil
}

// waitRun notes that a run waits, or with an empty cause that it does not.
func (c *change) waitRun(ctx context.Context, id, cause string) error {
	_, _, st, err := readState(ctx, c, id)
	if KindOf(err) == NotFound {
		return nil // of a run that was deleted
	}
	if err != nil {
		return err
	}
	e := run.Event{At: c.s.Now(), Cause: cause}
	if n := len(st.Stages); n > 0 {
		e.Stage = st.Stages[n-1].ID
	}
	switch {
	case cause != "" && (st.Status == run.Running || st.Status == run.Waiting && st.Cause != cause):
		e.Kind = run.EvWaiting
	case cause == "" && st.Status == run.Waiting:
		e.Kind = run.EvResumed
	default:
		return nil
	}
	return c.appendRun(ctx, id, e)
}
