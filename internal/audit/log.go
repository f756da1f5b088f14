package audit

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"sync"
	"time"
)

// Options of a Log. The zero value is what the gateway uses.
type Options struct {
	SegmentBytes int64 // size at which a new segment begins; 0 = 64 MiB
	PackBytes    int64 // size at which a new body pack begins; 0 = 256 MiB
	BodyCap      int64 // bytes kept of a body; 0 = 8 MiB
	Reserve      int64 // space only outcomes may use, see space.go; 0 = 2 MiB
	QueueBytes   int64 // bytes waiting for the disk at which Queue gives ErrBacklog; 0 = 256 MiB
	Now          func() time.Time
	FS           FS
	Logger       *slog.Logger
	Follows      *Predecessor // the broken log in whose place this one begins
}

func (o Options) withDefaults() Options {
	size := func(v *int64, def int64) {
		if *v <= 0 {
			*v = def
		}
	}
	size(&o.SegmentBytes, 64<<20)
	size(&o.PackBytes, 256<<20)
	size(&o.BodyCap, 8<<20)
	size(&o.Reserve, 2<<20)
	size(&o.QueueBytes, 256<<20)
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.FS == nil {
		o.FS = osFS{}
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return o
}

// Log is the writer of a log directory. See the package comment for what it
// promises. It is safe for concurrent use.
type Log struct {
	dir  string
	o    Options
	lock io.Closer
	id   logID
	wake chan struct{} // tells the committer that a batch is wanted sooner
	done chan struct{} // closed when the committer has ended

	closing  chan struct{} // closed by Close
	notary   notary        // follows the durable rows
	erasing  sync.Mutex    // held by the one that erases
	unerased bool          // contents may be marked erased and not destroyed; belongs to erasing
	timer    *time.Timer   // calls Hurry

	commits sync.Mutex // held by who writes; before mu

	mu       sync.Mutex
	chain    chain              // the last queued row
	segment  *tail              // where the next row goes; nil before the first
	pack     *tail              // where the next body goes; nil until one is needed
	packs    int64              // number of the last pack
	open     map[int64]struct{} // intents without outcome
	filling  *batch             // rows for the next commit; nil when there are none
	queued   int64              // bytes handed to batches and not yet durable
	spare    buffers            // for the next batch
	scratch  []byte             // holds the frame of the row being queued
	linger   time.Duration      // lingerTime
	pace     time.Duration      // turnTime
	turn     time.Time          // before it only what is waited for is committed
	durable  chain              // the last durable row
	err      error              // first failed write or sync
	full     error              // last refusal for want of space, until a row found some
	fullBody bool               // that row had a body
	closed   bool
}

// Pending is a row that was given its place. It is immutable.
type Pending struct {
	seq   int64
	hash  Hash
	batch *batch
	log   *Log
}

// Seq is the number of the row.
func (p *Pending) Seq() int64 { return p.seq }

// Hash is the hash of the row, known before the row is durable.
func (p *Pending) Hash() Hash { return p.hash }

// Wait returns nil once the row, its bodies and every row before it are on the
// disk. After any other answer the row may or may not be there later; an error
// that is not ctx's own means that the log has ended. The caller may be the one
// who writes: it is not called off in the middle of a sync.
func (p *Pending) Wait(ctx context.Context) error {
	select {
	case <-p.batch.done:
		return p.batch.err
	default:
	}
	if ctx.Err() == nil {
		p.log.writeNow(p.batch)
	}
	select {
	case <-p.batch.done:
		return p.batch.err
	case <-ctx.Done():
		return fmt.Errorf("audit: wait for row %d: %w", p.seq, context.Cause(ctx))
	}
}

// Queue is the one way to add rows. It gives r its place in the order of the log
// and returns at once without waiting for the disk; bodies may be nil. After an
// error nothing was queued, and no request may be forwarded (I3). Rows become
// durable in order: when row n is durable, so is every row before it.
//
// It sets Version, Seq, Time, Prev, Request and Response of r. ErrFull and
// ErrBacklog refuse this row only; an outcome must name an intent that has none
// yet.
func (l *Log) Queue(r Record, request, response *Body) (*Pending, error) {
	p, err := l.queue(r, request, response)
	if err != nil {
		return nil, fmt.Errorf("audit: queue %s: %w", r.Kind, err)
	}
	return p, nil
}

func (l *Log) queue(r Record, request, response *Body) (*Pending, error) {
	if err := checkQueued(&r); err != nil {
		return nil, err
	}
	req, err := prepareBody(l.id, request, l.o.BodyCap)
	if err != nil {
		return nil, fmt.Errorf("request: %w", err)
	}
	resp, err := prepareBody(l.id, response, l.o.BodyCap)
	if err != nil {
		return nil, fmt.Errorf("response: %w", err)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.admit(&r); err != nil {
		return nil, err
	}
	p, err := l.append(r, req, resp)
	switch {
	case errors.Is(err, ErrFull):
		l.full, l.fullBody = err, req != nil || resp != nil
	case err == nil && !usesReserve(r.Kind) && (!l.fullBody || req != nil || resp != nil):
		l.full = nil // a small row proves nothing about the space for bodies
	}
	return p, err
}

// checkQueued refuses what a writer of this version must not produce.
func checkQueued(r *Record) error {
	if r.Source == 0 {
		r.Source = SourceGateway
	}
	switch {
	case !r.Kind.known():
		return fmt.Errorf("kind %d is unknown", r.Kind)
	case !r.Source.known():
		return fmt.Errorf("source %d is unknown", r.Source)
	case r.Actor != 0 && !r.Actor.known():
		return fmt.Errorf("actor %d is unknown", r.Actor)
	case len(r.Detail) > 0 && !json.Valid(r.Detail):
		return errors.New("detail is not a JSON document")
	}
	return nil
}

// admit says whether the log takes r now. Called with mu held.
func (l *Log) admit(r *Record) error {
	switch {
	case l.err != nil:
		return l.err
	case l.closed:
		return ErrClosed
	case l.queued > l.o.QueueBytes && !usesReserve(r.Kind):
		return ErrBacklog
	}
	if _, open := l.open[r.Ref]; r.Kind == KindOutcome && !open {
		return fmt.Errorf("row %d is not an intent without outcome", r.Ref)
	}
	return nil
}

// append gives r its place. Everything that can fail comes before the first
// change of state. Called with mu held.
func (l *Log) append(r Record, req, resp *keptBody) (*Pending, error) {
	bodies, err := l.placeBodies(r.Kind, req, resp)
	if err != nil {
		return nil, err
	}
	r.Version, r.Seq, r.Prev = FormatVersion, l.chain.seq+1, l.chain.hash
	r.Request, r.Response = bodies[0].ref, bodies[1].ref
	r.Time = l.o.Now().UTC().Round(0)
	if last := time.Unix(0, l.chain.time); r.Time.Before(last) {
		r.Time = last.UTC()
	}
	first := r.Seq
	if l.filling != nil {
		first = l.filling.first
	}
	row, err := Encode(openFrame(l.scratch[:0], first), &r)
	if err != nil {
		return nil, err
	}
	f, raw := closeFrame(row, l.id)
	l.scratch = raw[:0]
	t, err := l.placeRow(r.Kind, int64(len(f.row)))
	if err != nil {
		return nil, err
	}

	b := l.batch()
	for _, p := range bodies {
		p.write(b, &l.spare)
	}
	if l.segment != t {
		b.retire(l.segment)
		l.segment = t
		b.rows.add(t, &l.spare, header{id: l.id, num: t.num, first: r.Seq, prev: r.Prev}.encode())
	}
	b.rows.add(t, &l.spare, raw)
	l.chain = chain{seq: r.Seq, hash: f.hash(), time: r.Time.UnixNano()}
	b.last = l.chain
	switch r.Kind {
	case KindIntent:
		l.open[r.Seq] = struct{}{}
	case KindOutcome:
		delete(l.open, r.Ref)
	}
	l.queued += b.bytes() - b.counted
	lone := b.counted == 0
	b.counted = b.bytes()
	switch {
	case r.Kind != KindIntent && r.Kind != KindOutcome:
		l.want(b, wantedSoon)
	case lone:
		l.timer.Reset(l.linger)
	}
	return &Pending{seq: r.Seq, hash: l.chain.hash, batch: b, log: l}, nil
}

// batch returns the batch being filled. Called with mu held.
func (l *Log) batch() *batch {
	if l.filling == nil {
		l.filling = newBatch(l.chain)
	}
	return l.filling
}

// Head is the last durable row; 0 before the first.
func (l *Log) Head() (seq int64, h Hash) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.durable.seq, l.durable.hash
}

// Full is the last refusal for want of space, or nil once a row that may not
// use the reserve has found some again. Unlike Err it passes.
func (l *Log) Full() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.full != nil {
		return fmt.Errorf("audit: %w", l.full)
	}
	return nil
}

// Err is nil as long as rows can be written. Once it is not, it stays: no
// request may be forwarded until the log was opened again.
func (l *Log) Err() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.err != nil {
		return fmt.Errorf("audit: %w", l.err)
	}
	if l.closed {
		return fmt.Errorf("audit: %w", ErrClosed)
	}
	return nil
}

// Close adds a last row, waits until everything queued is durable and releases
// the log. It returns the error that ended the log, if one did.
func (l *Log) Close() error {
	l.mu.Lock()
	if l.closed {
		l.mu.Unlock()
		return nil
	}
	if l.err == nil {
		// Refused only when even the reserve is used up: then the log ends
		// without the row, as after a crash.
		r := Record{Kind: KindSystem, Source: SourceGateway, Subject: "closed"}
		if _, err := l.append(r, nil, nil); err != nil {
			l.o.Logger.Warn("audit log closed without its last row", "err", err)
		}
	}
	l.closed = true
	if l.filling != nil {
		l.filling.wanted.Store(wantedNow)
	}
	close(l.closing)
	l.mu.Unlock()
	l.timer.Stop()
	<-l.done
	err := l.notary.close()
	return errors.Join(l.release(), err)
}

// release closes the files and the lock. The committer has ended.
func (l *Log) release() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	err := l.err
	for _, t := range []*tail{l.segment, l.pack} {
		if t == nil {
			continue
		}
		if e := t.close(err == nil); err == nil {
			err = e
		}
	}
	if e := l.lock.Close(); err == nil {
		err = e
	}
	if err != nil {
		return fmt.Errorf("audit: close: %w", err)
	}
	return nil
}
