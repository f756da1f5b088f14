package process

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"time"

	"moeca/internal/audit"
	"moeca/internal/gateway"
	"moeca/internal/gateway/admin"
	"moeca/internal/gateway/gatewayapi"
)

// rowLog is the log as the parts of a gateway use it.
type rowLog interface {
	gateway.Log
	admin.Audit
	Head() (int64, audit.Hash)
	Full() error
	Close() error
}

// openLog opens the log. Damage that no crash explains does not keep the gateway
// from starting: it then takes no row, so that nothing is forwarded and nothing
// changed, and tells the host what is broken, so that a person can decide.
func openLog(dir string, logger *slog.Logger) (rowLog, *brokenLog, error) {
	l, err := audit.Open(dir, audit.Options{Logger: logger})
	var broken *audit.BrokenError
	switch {
	case err == nil:
		return gateway.AuditLog{Log: l}, nil, nil
	case !errors.As(err, &broken):
		return nil, nil, err
	}
	intact, err := audit.Intact(dir, broken)
	if err != nil {
		return nil, nil, err
	}
	logger.Error("the audit log is broken: nothing is forwarded until a person has decided", "row", broken.Seq, "file", broken.File, "offset", broken.Offset, "error", broken.Cause)
	b := &brokenLog{dir: dir, err: broken, intact: intact, logger: logger}
	return b, b, nil
}

// brokenLog stands in for a log that is broken. It takes nothing, and its files
// stay as they are. It is safe for concurrent use.
type brokenLog struct {
	dir     string
	err     *audit.BrokenError
	intact  audit.Predecessor
	logger  *slog.Logger
	carried func() ([]audit.Record, error)

	prepare sync.Mutex
}

// Queue implements gateway.Log: it takes no row.
func (b *brokenLog) Queue(audit.Record, *audit.Body, *audit.Body) (gateway.Row, error) {
	return nil, b.err
}

// Hurry implements gateway.Log.
func (b *brokenLog) Hurry() {}

// Err implements gateway.Log.
func (b *brokenLog) Err() error { return b.err }

// Full implements rowLog.
func (b *brokenLog) Full() error { return nil }

// Close implements rowLog.
func (b *brokenLog) Close() error { return nil }

// Head is the last intact row.
func (b *brokenLog) Head() (int64, audit.Hash) { return b.intact.Rows, b.intact.Head }

// Checkpoint implements admin.Audit: nothing is signed any more.
func (b *brokenLog) Checkpoint(context.Context) (audit.Checkpoint, error) {
	return audit.Checkpoint{}, b.err
}

// Vkey implements admin.Audit.
func (b *brokenLog) Vkey() string { return "" }

// Erase implements admin.Audit: what is evidence is not erased.
func (b *brokenLog) Erase(context.Context, audit.Erasure) (audit.Erased, error) {
	return audit.Erased{}, b.err
}

// State implements admin.Broken.
func (b *brokenLog) State() gatewayapi.BrokenLog {
	at := b.intact.Broken
	return gatewayapi.BrokenLog{Row: at.Row, File: at.File, Offset: at.Offset, Cause: at.Cause, Rows: b.intact.Rows}
}

// Prepare implements admin.Broken. What an earlier try left is made anew.
func (b *brokenLog) Prepare(kept string) (gatewayapi.RestartPrepared, error) {
	b.prepare.Lock()
	defer b.prepare.Unlock()
	next := filepath.Join(b.dir, audit.NextDir)
	p := b.intact
	p.Kept, p.At, p.Actor = kept, time.Now().UTC(), audit.ActorPerson
	err := os.RemoveAll(next)
	if err == nil {
		err = b.begin(next, p)
	}
	if err != nil {
		return gatewayapi.RestartPrepared{}, errors.Join(fmt.Errorf("gateway: begin the log that follows: %w; the broken log is as it was", err), os.RemoveAll(next))
	}
	return gatewayapi.RestartPrepared{Log: p.Log, Rows: p.Rows, Head: p.Head.String(), Kept: kept}, nil
}

// begin makes the log that follows, with what must outlive the broken one:
// policies, budgets, prices.
func (b *brokenLog) begin(next string, p audit.Predecessor) error {
	carried, err := b.carried()
	if err != nil {
		return err
	}
	l, err := audit.Open(next, audit.Options{Logger: b.logger, Follows: &p})
	if err != nil {
		return err
	}
	for _, r := range carried {
		if _, err = l.Queue(r, nil, nil); err != nil {
			break
		}
	}
	if err = errors.Join(err, l.Close()); err != nil { // it writes what is queued
		return err
	}
	return copyFile(filepath.Join(b.dir, policiesFile), filepath.Join(next, policiesFile))
}

// copyFile makes a copy that is durable. A file that is not there has none.
func copyFile(from, to string) error {
	data, err := os.ReadFile(from)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	f, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	return syncDir(filepath.Dir(to))
}

// decision is what a person can decide about; nil where the log is whole.
func (p *parts) decision() admin.Broken {
	if p.broken == nil {
		return nil
	}
	p.broken.carried = p.carry
	return p.broken
}

// carry reads the intact rows once more.
func (p *parts) carry() ([]audit.Record, error) {
	r, err := audit.OpenReader(p.config.auditDir())
	if err != nil {
		return nil, err
	}
	defer r.Close()
	return p.gateway.Carried(p.broken.rows(r))
}

// rows are the intact ones.
func (b *brokenLog) rows(r *audit.Reader) iter.Seq2[audit.Record, error] {
	if b.intact.Rows == 0 {
		return func(func(audit.Record, error) bool) {}
	}
	return r.Range(1, b.intact.Rows)
}
