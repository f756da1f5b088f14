package stack

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	"moeca/internal/audit"
	"moeca/internal/auditindex"
	"moeca/internal/board"
	"moeca/internal/pubsub"
)

// followEvery is how often the host looks for new rows, and the least time
// between two events that tell of them.
const followEvery = 500 * time.Millisecond

// indexed is the index of the log, opened when it is first needed: by the host
// at its start, by a command where no host runs.
type indexed struct {
	mu    sync.Mutex
	index *auditindex.Index
	end   context.CancelFunc // of who follows with it
}

// openIndex returns the index, opened; where it was not, everything the log
// holds is indexed first if all is set.
func (v *AuditView) openIndex(ctx context.Context, all bool) (*auditindex.Index, error) {
	v.indexed.mu.Lock()
	defer v.indexed.mu.Unlock()
	if v.indexed.index != nil {
		return v.indexed.index, nil
	}
	log, err := v.source()
	if err != nil {
		return nil, err
	}
	dir := filepath.Join(filepath.Dir(v.dir), "cache")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, indexError(err)
	}
	x, err := auditindex.Open(ctx, filepath.Join(dir, "audit-index.db"), log)
	if err != nil {
		return nil, indexError(err)
	}
	if all {
		if err := x.Sync(ctx, v.Progress); err != nil {
			return nil, errors.Join(indexError(err), x.Close())
		}
	}
	v.indexed.index = x
	return x, nil
}

// source returns the reader of the log. Damage is no error here: the index tells
// of it and answers about the rows before it.
func (v *AuditView) source() (*audit.Reader, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.reader == nil {
		r, err := audit.OpenReader(v.dir)
		if err != nil {
			return nil, unreadable(err)
		}
		v.reader = r
	}
	return v.reader, nil
}

// ready returns the index with the newest rows, where they are few.
func (v *AuditView) ready(ctx context.Context) (*auditindex.Index, error) {
	x, err := v.openIndex(ctx, true)
	if err != nil {
		return nil, err
	}
	return x, indexError(x.Nudge(ctx))
}

// followAudit keeps the index at the end of the log and tells subscribers of the
// topic "audit" the new end. Another process's index, or a full disk, is tried
// again; the host works without.
func (s *Stack) followAudit(context.Context) error {
	s.audit.version = s.opts.Version
	if s.gateway != nil {
		s.audit.admin = s.gateway.Admin
	}
	s.onClose(func(context.Context) {
		if err := s.audit.Close(); err != nil {
			s.log.Warn("audit index", "error", err)
		}
	})
	s.background(func(ctx context.Context) {
		var said string
		failed := func(err error) {
			if err.Error() != said {
				said = err.Error()
				s.log.Warn("audit index", "error", err)
			}
		}
		retry := time.NewTicker(10 * followEvery)
		defer retry.Stop()
		for {
			x, err := s.audit.openIndex(ctx, false)
			if err == nil {
				life := s.audit.following(ctx, x)
				x.Follow(life, followEvery, func(state auditindex.State) {
					s.bus.Publish(pubsub.Event{Topic: "audit", Kind: "head", ID: strconv.FormatInt(state.Head, 10)})
				}, failed)
				if ctx.Err() != nil {
					return
				}
				continue // the log is another one
			}
			failed(err)
			select {
			case <-ctx.Done():
				return
			case <-retry.C:
			}
		}
	})
	return nil
}

// following is a context that ends with ctx, or when the log of the index gives
// way to another one.
func (v *AuditView) following(ctx context.Context, x *auditindex.Index) context.Context {
	v.indexed.mu.Lock()
	defer v.indexed.mu.Unlock()
	life, end := context.WithCancel(ctx)
	if v.indexed.index != x {
		end()
	}
	v.indexed.end = end
	return life
}

// Close closes the index. The view opens it again when it is asked.
func (v *AuditView) Close() error {
	v.indexed.mu.Lock()
	defer v.indexed.mu.Unlock()
	return v.closeIndex()
}

// closeIndex closes the index, if it is open, and drops what was made with it.
// Called with indexed.mu held.
func (v *AuditView) closeIndex() error {
	v.trees.forget()
	if v.indexed.index == nil {
		return nil
	}
	err := v.indexed.index.Close()
	v.indexed.index = nil
	return err
}

// State implements hostapi.AuditIndex.
func (v *AuditView) State(ctx context.Context) (auditindex.State, error) {
	x, err := v.ready(ctx)
	if err != nil {
		return auditindex.State{}, err
	}
	return x.State(), nil
}

// Reindex implements hostapi.AuditIndex: the index is empty when it returns, or
// already full where the log is small; whoever follows fills it.
func (v *AuditView) Reindex(ctx context.Context) (auditindex.State, error) {
	x, err := v.openIndex(ctx, false)
	if err != nil {
		return auditindex.State{}, err
	}
	v.trees.forget()
	if err := x.Reset(ctx); err != nil {
		return auditindex.State{}, indexError(err)
	}
	err = indexError(x.Nudge(ctx))
	return x.State(), err
}

// Rebuild makes the index again, for a process that does not follow.
func (v *AuditView) Rebuild(ctx context.Context, progress func(auditindex.State)) error {
	if _, err := v.Reindex(ctx); err != nil {
		return err
	}
	x, err := v.openIndex(ctx, false)
	if err != nil {
		return err
	}
	return indexError(x.Sync(ctx, progress))
}

// Calls implements hostapi.AuditIndex.
func (v *AuditView) Calls(ctx context.Context, q auditindex.Query) (auditindex.Page[auditindex.Call], error) {
	return ask(ctx, v, q, (*auditindex.Index).Calls)
}

// Call implements hostapi.AuditIndex.
func (v *AuditView) Call(ctx context.Context, seq int64) (auditindex.Call, error) {
	return ask(ctx, v, seq, (*auditindex.Index).Call)
}

// Facets implements hostapi.AuditIndex.
func (v *AuditView) Facets(ctx context.Context) (auditindex.Facets, error) {
	return ask(ctx, v, nil, func(x *auditindex.Index, ctx context.Context, _ any) (auditindex.Facets, error) { return x.Facets(ctx) })
}

// Contexts implements hostapi.AuditIndex.
func (v *AuditView) Contexts(ctx context.Context, q auditindex.Query) (auditindex.Page[auditindex.Context], error) {
	return ask(ctx, v, q, (*auditindex.Index).Contexts)
}

// Stages implements hostapi.AuditIndex.
func (v *AuditView) Stages(ctx context.Context, f auditindex.Filter) ([]auditindex.Stage, error) {
	return ask(ctx, v, f, (*auditindex.Index).Stages)
}

// Metrics implements hostapi.AuditIndex.
func (v *AuditView) Metrics(ctx context.Context, q auditindex.MetricsQuery) (auditindex.Metrics, error) {
	return ask(ctx, v, q, (*auditindex.Index).Metrics)
}

// Diff implements hostapi.AuditIndex.
func (v *AuditView) Diff(ctx context.Context, a, b string) (auditindex.RunDiff, error) {
	return ask(ctx, v, a, func(x *auditindex.Index, ctx context.Context, _ string) (auditindex.RunDiff, error) {
		return x.Diff(ctx, a, b)
	})
}

// ask puts one question to the index.
func ask[Q, A any](ctx context.Context, v *AuditView, q Q, method func(*auditindex.Index, context.Context, Q) (A, error)) (A, error) {
	var none A
	x, err := v.ready(ctx)
	if err != nil {
		return none, err
	}
	a, err := method(x, ctx, q)
	return a, indexError(err)
}

// indexError says to a person what an error of the index means.
func indexError(err error) error {
	var known *board.Error
	switch {
	case err == nil, errors.As(err, &known), errors.Is(err, context.Canceled):
		return err
	case errors.Is(err, auditindex.ErrInvalid):
		return &board.Error{Kind: board.Invalid, Code: "audit_query", Message: err.Error(), Next: "correct the filter, or start again from the first page"}
	case errors.Is(err, auditindex.ErrNoRun):
		return &board.Error{Kind: board.NotFound, Code: "audit_run", Message: err.Error(), Next: "`moeca audit metrics --by run` lists the runs the log knows"}
	case errors.Is(err, sql.ErrNoRows):
		return &board.Error{Kind: board.NotFound, Code: "audit_call", Message: "this row is not part of a call", Next: "look at the row itself"}
	case errors.Is(err, auditindex.ErrLocked):
		return &board.Error{Kind: board.Unavailable, Code: "audit_index_locked", Message: "another moeca has the index of the log open", Next: "use that one, or stop it"}
	}
	return &board.Error{
		Kind: board.Unavailable, Code: "audit_index", Err: err, Message: fmt.Sprintf("the index of the log cannot be used: %v; the log itself is not touched", err),
		Next: "free space on the disk if it is full, then run `moeca audit reindex`",
	}
}

// lastUse is the time of a provider's newest call that went out after a time; nil
// where there is none, or the index cannot tell.
func (v *AuditView) lastUse(ctx context.Context, provider string, since time.Time) *time.Time {
	q := auditindex.Query{Filter: auditindex.Filter{Kind: audit.KindIntent.String(), Upstream: provider, From: since}, Limit: 1, Uncounted: true}
	page, err := ask(ctx, v, q, (*auditindex.Index).Rows)
	if err != nil || len(page.Items) == 0 {
		return nil
	}
	r, _, err := v.At(page.Items[0].Seq)
	if err != nil {
		return nil
	}
	return &r.Time
}
