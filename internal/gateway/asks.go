package gateway

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"time"

	"moeca/internal/audit"
	"moeca/internal/gateway/gatewayapi"
)

// Bounds of what may wait for a person. A held request keeps its connection and
// its body; neither may use up what other requests need.
const (
	maxAsks         = 64
	maxSessionAsks  = 8
	maxAskBytes     = maxHeld // of bodies, of all sessions
	maxSessionBytes = maxHeld / 2
	keptAsks        = 256 // that ended, so that a late answer is told why
)

// Errors of an answer. The sentence behind each says what became of the ask.
var (
	ErrAskUnknown  = errors.New("gateway: no request waits under this id")
	ErrAskEnded    = errors.New("gateway: the request no longer waits")
	ErrAskAnswered = errors.New("gateway: the request has its answer")
)

// asks are the requests that wait for a person. An ask is in open until its
// request leaves, by its answer or by what ends the wait; it leaves once. Safe
// for concurrent use.
type asks struct {
	boot  string // makes a cursor of another process wrong
	share int    // of one session

	mu      sync.Mutex
	version int64
	changed chan struct{} // closed and replaced with each version
	over    bool          // the gateway ends
	open    []*ask        // oldest first
	ended   []endedAsk    // the latest
}

// ask is one of them.
type ask struct {
	gatewayapi.Ask
	by      audit.Attribution
	bytes   int64
	claimed bool      // an answer is being recorded: the clock no longer ends it
	answer  chan bool // of capacity one, filled when the row of the answer is durable
}

type endedAsk struct {
	id  string
	err error
}

// newAsks holds of one session what leaves half of its requests at once free.
func newAsks(sessionConns int) *asks {
	return &asks{boot: randomID(), share: min(maxSessionAsks, max(1, sessionConns/2)), version: 1, changed: make(chan struct{})}
}

func randomID() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails
	return hex.EncodeToString(b[:])
}

// add takes an ask in, or says that as many wait as may.
func (s *asks) add(what gatewayapi.Ask, by audit.Attribution, bytes int64) (*ask, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	count, held, all := 0, bytes, bytes
	for _, a := range s.open {
		all += a.bytes
		if a.Session == what.Session {
			count, held = count+1, held+a.bytes
		}
	}
	if s.over || count >= s.share || len(s.open) >= maxAsks || all > maxAskBytes || held > maxSessionBytes {
		return nil, false
	}
	a := &ask{Ask: what, by: by, bytes: bytes, answer: make(chan bool, 1)}
	a.ID = randomID()
	s.open = append(s.open, a)
	s.turn()
	return a, true
}

// leave takes an ask out for another reason than an answer. It does not while
// one is being recorded, unless the request cannot go on anyway.
func (s *asks) leave(a *ask, why string, force bool) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if a.claimed && !force {
		return false
	}
	s.end(a, fmt.Errorf("%w: %s", ErrAskEnded, why))
	return true
}

// claim reserves an ask for the one answer it gets.
func (s *asks) claim(id string) (*ask, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, a := range s.open {
		switch {
		case a.ID != id:
		case a.claimed:
			return nil, fmt.Errorf("%w: another one is being recorded", ErrAskAnswered)
		default:
			a.claimed = true
			return a, nil
		}
	}
	for _, e := range s.ended {
		if e.id == id {
			return nil, e.err
		}
	}
	return nil, fmt.Errorf("%w: it ended long ago, or never waited here; nothing was sent by this answer", ErrAskUnknown)
}

// unclaim puts an ask back whose answer could not be recorded.
func (s *asks) unclaim(a *ask) {
	s.mu.Lock()
	defer s.mu.Unlock()
	a.claimed = false
}

// settle gives a claimed ask its answer. It fails when the request left while
// the answer was recorded.
func (s *asks) settle(a *ask, allow bool) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !slices.Contains(s.open, a) {
		return fmt.Errorf("%w: it ended while the answer was recorded; nothing was sent", ErrAskEnded)
	}
	word := "refused"
	if allow {
		word = "allowed"
	}
	a.answer <- allow
	s.end(a, fmt.Errorf("%w: a person %s it", ErrAskAnswered, word))
	return nil
}

// end is called with the lock held.
func (s *asks) end(a *ask, err error) {
	i := slices.Index(s.open, a)
	if i < 0 {
		return
	}
	s.open = slices.Delete(s.open, i, i+1)
	s.ended = append(s.ended, endedAsk{a.ID, err})
	if len(s.ended) > keptAsks {
		s.ended = slices.Delete(s.ended, 0, 1)
	}
	s.turn()
}

// turn is called with the lock held.
func (s *asks) turn() {
	s.version++
	close(s.changed)
	s.changed = make(chan struct{})
}

// close lets nobody wait here any more; the requests end with their sessions.
func (s *asks) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.over = true
	s.turn()
}

// list returns what waits, and a channel that is closed when that changes; nil
// when nothing will.
func (s *asks) list() (gatewayapi.Asks, <-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := gatewayapi.Asks{Asks: make([]gatewayapi.Ask, 0, len(s.open)), Cursor: s.boot + "." + strconv.FormatInt(s.version, 10)}
	for _, a := range s.open {
		out.Asks = append(out.Asks, a.Ask)
	}
	if s.over {
		return out, nil
	}
	return out, s.changed
}

// Asks lists the requests that wait for a person. Where after is the cursor of
// this very list it waits until the list changes, for wait at most, until ctx is
// over or the gateway ends.
func (g *Gateway) Asks(ctx context.Context, after string, wait time.Duration) gatewayapi.Asks {
	timer := time.NewTimer(wait)
	defer timer.Stop()
	for {
		list, changed := g.asks.list()
		if list.Cursor != after || changed == nil {
			return list
		}
		select {
		case <-changed:
		case <-timer.C:
			return list
		case <-ctx.Done():
			return list
		}
	}
}
