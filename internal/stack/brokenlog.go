package stack

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"moeca/internal/audit"
	"moeca/internal/board"
	"moeca/internal/gateway/gatewayapi"
	"moeca/internal/hostapi"
)

// A broken log is kept and never repaired. The person's decision takes four
// steps: the gateway, which alone writes logs, makes the one that follows inside
// the directory of the broken one; the gateway ends; the host puts what it knows
// of the broken log beside it, and renames; the gateway starts with the log that
// follows. A crash before the second of the renames leaves everything as it was,
// one after it is ended at the next start (audit.Keep).

// witnessFile is what the host knew of a log, kept in the directory of the log
// once that is set aside.
const witnessFile = "host.head"

// keepLog names where the log of a data directory is, where the one that follows
// waits, and under which name the broken one is kept.
func keepLog(data, kept string) audit.Keep {
	return audit.Keep{Dir: filepath.Join(data, "audit"), Next: filepath.Join(data, "audit-next"), Kept: filepath.Join(data, kept)}
}

// restartLog implements the decision of a person.
func (s *Stack) restartLog(ctx context.Context, q hostapi.LogRestart) (hostapi.LogRestarted, error) {
	kept := "audit-broken-" + time.Now().UTC().Format("20060102-150405")
	made, err := s.gateway.Admin.PrepareRestart(ctx, gatewayapi.RestartPrepare{Row: q.Row, File: q.File, Kept: kept})
	if err != nil {
		return hostapi.LogRestarted{}, ofGateway(err, board.Conflict, "`moeca audit verify` says how the log is")
	}
	// From here on it is carried through, whoever hangs up.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*startLimit)
	defer cancel()
	k := keepLog(s.data.Path, kept)
	undo, err := s.witness.End()
	if err == nil {
		err = s.gateway.between(ctx, func() error { return s.audit.setAside(k) })
	}
	if err != nil {
		if undo != nil {
			err = errors.Join(err, undo())
		}
		return hostapi.LogRestarted{}, &board.Error{
			Kind: board.Unavailable, Code: "audit_restart", Message: "the broken log could not be set aside: " + err.Error(),
			Next: "remove the cause and decide again; the log is as it was",
		}
	}
	return hostapi.LogRestarted{Kept: k.Kept, Log: made.Log, Rows: made.Rows, Head: made.Head}, nil
}

// setAside puts the log that follows in the place of the broken one. The gateway
// does not run.
func (v *AuditView) setAside(k audit.Keep) error {
	v.indexed.mu.Lock()
	defer v.indexed.mu.Unlock()
	v.mu.Lock()
	defer v.mu.Unlock()
	pin, err := os.ReadFile(v.pinFile)
	if err == nil {
		err = writeFile(filepath.Join(k.Dir, witnessFile), pin, 0o600)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := v.letGo(); err != nil {
		return err
	}
	if err := k.SetAside(); err != nil {
		return err
	}
	v.pin = nil // of a log that is there no longer
	return v.dropPin()
}

// letGo closes what is open of the log, which is opened again when it is needed.
// Called with both locks held.
func (v *AuditView) letGo() (err error) {
	if v.indexed.end != nil {
		v.indexed.end()
		v.indexed.end = nil
	}
	err = v.closeIndex()
	if v.reader != nil {
		err = errors.Join(err, v.reader.Close())
		v.reader = nil
	}
	return err
}

// settle ends what a crash left of setAside: the head the host had seen of the
// broken log is not one of the log that follows.
func (v *AuditView) settle() error {
	pin, err := os.ReadFile(v.pinFile)
	if err != nil {
		return nil // there is none
	}
	f := v.follows()
	if f == nil {
		return nil
	}
	of, err := os.ReadFile(filepath.Join(filepath.Dir(v.dir), f.Kept, witnessFile))
	if err != nil || !bytes.Equal(pin, of) {
		return nil
	}
	if err := v.forget(); err != nil {
		return fmt.Errorf("forget the head of the log that was set aside: %w", err)
	}
	return nil
}

// lastTime is when the newest row was written that can be read, the zero time
// where there is none.
func (v *AuditView) lastTime() time.Time {
	r, err := v.source()
	if err != nil {
		return time.Time{}
	}
	last, _ := r.Refresh() // damage is told by the gateway
	row, _, err := r.At(last)
	if err != nil {
		return time.Time{}
	}
	return row.Time
}

// follows says which broken log this one follows, nil where it follows none.
func (v *AuditView) follows() *hostapi.LogFollows {
	r, err := v.source()
	if err != nil {
		return nil
	}
	first, _, err := r.At(1)
	if err != nil {
		return nil
	}
	p, ok := audit.PredecessorOf(first)
	if !ok {
		return nil
	}
	return &hostapi.LogFollows{At: p.At, Kept: filepath.Base(p.Kept), Rows: p.Rows, Row: p.Broken.Row}
}
