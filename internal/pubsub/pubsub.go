// Package pubsub passes typed events between the parts of one process.
//
// Publish never blocks and never fails: each subscriber has a bounded queue,
// and one that is full loses the event. Loss is not silent: the next thing such
// a subscriber receives is one event of kind Resync, which tells it to read the
// present state again (or, where it keeps a sequence, to ask for what it
// missed). Events reach a subscriber in the order in which they were published.
//
// Bus is safe for concurrent use. Nothing is stored here; the owner of an event
// stores it first and publishes it afterwards.
package pubsub

import (
	"context"
	"slices"
	"sync"
)

// Resync is the kind of the event that stands for lost ones. Its Seq is that of
// the first lost event.
const Resync = "resync"

// DefaultQueue is the number of events a subscriber may lag behind.
const DefaultQueue = 256

// Event is something that happened.
type Event struct {
	Seq   int64  `json:"seq"`   // from the database; 0 = not stored, cannot be resumed from
	Topic string `json:"topic"` // what it is about: "tasks", "repos", "run:<id>" …
	Kind  string `json:"kind"`  // what happened
	ID    string `json:"id"`    // id of the object
	Data  any    `json:"data,omitempty"`
}

// Bus carries events. The zero value is ready to use.
type Bus struct {
	// Queue is the size of a subscriber's queue, 0: DefaultQueue. It is set
	// before the first Subscribe.
	Queue int

	mu   sync.Mutex
	subs map[*subscriber]struct{}
}

type subscriber struct {
	topics []string // nil: all
	ch     chan Event
	lost   bool // the queue was full and its marker may still be unread
}

// Subscribe returns a channel of the events of these topics, or of all when
// none is named. It is closed after ctx has ended.
func (b *Bus) Subscribe(ctx context.Context, topics ...string) <-chan Event {
	n := b.Queue
	if n == 0 {
		n = DefaultQueue
	}
	s := &subscriber{topics: topics, ch: make(chan Event, n+1)}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.subs == nil {
		b.subs = map[*subscriber]struct{}{}
	}
	b.subs[s] = struct{}{}
	context.AfterFunc(ctx, func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		delete(b.subs, s)
		close(s.ch)
	})
	return s.ch
}

// Publish hands e to every subscriber of its topic.
func (b *Bus) Publish(e Event) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for s := range b.subs {
		if s.topics == nil || slices.Contains(s.topics, e.Topic) {
			s.offer(e)
		}
	}
}

// offer queues e. The last slot of the queue is kept for the Resync marker, so a
// subscriber learns of a loss even when nothing is ever published again; while
// the marker waits unread, everything it stands for is dropped.
func (s *subscriber) offer(e Event) {
	if len(s.ch) < cap(s.ch)-1 {
		s.lost = false
		s.ch <- e
		return
	}
	if !s.lost {
		s.lost = true
		s.ch <- Event{Seq: e.Seq, Topic: e.Topic, Kind: Resync}
	}
}
