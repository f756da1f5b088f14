package board

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"time"

	"moeca/internal/audit"
)

// clockSlack is how far apart the clocks of host and gateway may seem to be.
const clockSlack = time.Second

func (s *Service) logHead() (string, error) {
	last, err := s.Log.Refresh()
	if err != nil {
		return "", unreadable(err)
	}
	if last == 0 {
		return "", nil
	}
	_, hash, err := s.Log.At(last)
	if err != nil {
		return "", unreadable(err)
	}
	return hex.EncodeToString(hash[:]), nil
}

func unreadable(err error) error {
	return &Error{Kind: Unavailable, Code: "audit_unreadable", Err: err, Message: "the audit log cannot be read", Next: "run moeca audit verify"}
}

// mergeRow finds the row of a merge among those after its approval.
func (s *Service) mergeRow(m merge) (int64, error) {
	last, err := s.Log.Refresh()
	if err != nil {
		return 0, err
	}
	for seq := last; seq > m.approval.Seq; seq-- {
		r, _, err := s.Log.At(seq)
		if err != nil {
			return 0, err
		}
		var d struct{ Merge string }
		if r.Kind == audit.KindMerge && r.Ref == m.approval.Seq && json.Unmarshal(r.Detail, &d) == nil && d.Merge == m.id {
			return seq, nil
		}
	}
	return 0, nil
}

// countRequests counts what a stage asked of the gateway: what was let pass
// and what was refused.
func (s *Service) countRequests(ctx context.Context, stage string, since time.Time) (int, error) {
	n := 0
	last, err := s.Log.Refresh()
	if err != nil {
		return 0, err
	}
	for seq := last; seq > 0 && ctx.Err() == nil; seq-- {
		r, _, err := s.Log.At(seq)
		if err != nil {
			return n, err
		}
		if r.Time.Before(since.Add(-clockSlack)) {
			break
		}
		if r.Attribution.Stage == stage && (r.Kind == audit.KindIntent || r.Kind == audit.KindRefusal) {
			n++
		}
	}
	return n, nil
}
