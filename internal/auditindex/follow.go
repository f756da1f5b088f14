package auditindex

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"moeca/internal/audit"
)

// Bounds of one batch: what is in memory and what a crash makes again.
const (
	batchRows = 1000
	batchText = 4 << 20
)

// Sync indexes everything the log holds by now. progress, which may be nil, is
// called after each batch. Damage of the log is no error: State tells it.
func (x *Index) Sync(ctx context.Context, progress func(State)) error {
	for more := true; more; {
		x.apply.Lock()
		n, err := x.behind(ctx)
		if err == nil {
			more, err = x.step(ctx, n)
		}
		x.apply.Unlock()
		if err != nil {
			return err
		}
		if progress != nil {
			progress(x.State())
		}
	}
	return nil
}

// Nudge indexes the last rows, so that what was just done is found. It does
// nothing while there is more to do than fits a batch: whoever follows does it.
func (x *Index) Nudge(ctx context.Context) error {
	if state := x.State(); state.Last-state.Head > batchRows && !x.damaged.Load() {
		return nil
	}
	x.apply.Lock()
	defer x.apply.Unlock()
	n, err := x.behind(ctx)
	if err != nil || n > batchRows {
		return err
	}
	_, err = x.step(ctx, n)
	return err
}

// behind mends the index where it must, and says how many rows it lacks. The
// caller holds apply.
func (x *Index) behind(ctx context.Context) (int64, error) {
	if err := x.mend(ctx); err != nil {
		return 0, err
	}
	return x.look(), nil
}

// look finds the end of the log and returns how many rows are not indexed.
func (x *Index) look() int64 {
	last, broken := x.log.Refresh()
	x.mu.Lock()
	defer x.mu.Unlock()
	x.state.Last, x.state.Problem = last, ""
	if broken != nil {
		x.state.Problem = broken.Error()
	}
	return last - x.state.Head
}

// step indexes one batch of the rows that are lacking and says whether there is
// more. The caller holds apply.
func (x *Index) step(ctx context.Context, lacking int64) (more bool, err error) {
	if lacking <= 0 {
		return false, nil
	}
	state := x.State()
	b, err := x.gather(ctx, state.Head+1, state.Last)
	if err == nil {
		for _, r := range b.rows {
			err = errors.Join(err, x.purgeErased(ctx, r))
		}
	}
	if err == nil {
		err = x.write(ctx, b)
	}
	if err != nil {
		return false, fmt.Errorf("audit index: rows from %d: %w", state.Head+1, err)
	}
	return b.head < state.Last, nil
}

// Follow keeps the index at the end of the log until ctx ends. moved is called
// when new rows were indexed, at most once per interval; failed when that did
// not work, which is tried again.
func (x *Index) Follow(ctx context.Context, every time.Duration, moved func(State), failed func(error)) {
	tick := time.NewTicker(every)
	defer tick.Stop()
	told := x.State()
	for {
		if err := x.Sync(ctx, nil); err != nil && ctx.Err() == nil {
			failed(err)
		}
		if now := x.State(); now.Head != told.Head || now.Problem != told.Problem {
			told = now
			moved(now)
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// gather reads rows and what of their contents can be searched.
func (x *Index) gather(ctx context.Context, from, last int64) (*batch, error) {
	b := &batch{}
	for seq := from; seq <= last && len(b.rows) < batchRows && b.text < batchText; seq++ {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		r, hash, err := x.log.At(seq)
		if err != nil {
			return nil, err
		}
		b.add(r, hash, textsOf(x.log, r))
	}
	return b, nil
}

// write applies a batch in one transaction.
func (x *Index) write(ctx context.Context, b *batch) error {
	if err := x.change(ctx, func(tx *sql.Tx) error { return b.store(ctx, tx) }); err != nil {
		return err
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	x.state.Head = b.head
	return nil
}

// batch is a run of rows on its way into the index.
type batch struct {
	rows  []audit.Record
	texts []texts // of each row
	text  int     // bytes of them
	first audit.Hash
	head  int64
	hash  audit.Hash
}

func (b *batch) add(r audit.Record, hash audit.Hash, t texts) {
	if r.Seq == 1 {
		b.first = hash
	}
	b.rows, b.texts = append(b.rows, r), append(b.texts, t)
	b.text += len(t.text)
	b.head, b.hash = r.Seq, hash
}
