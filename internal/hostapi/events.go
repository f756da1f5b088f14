package hostapi

import (
	"context"
	"net/http"
	"strconv"
	"time"

	"github.com/danielgtaylor/huma/v2/sse"

	"moeca/internal/pubsub"
)

type eventsIn struct {
	LastEventID string `header:"Last-Event-ID" doc:"sequence of the last event held; what came after is sent first"`
}

// Ping keeps a quiet stream alive, so that a dead connection is noticed.
type Ping struct {
	Time time.Time `json:"time"`
}

// Resync tells a client that events were lost: read the present state again.
type Resync struct {
	Last int64 `json:"last"`
}

// pingEvery is shorter than the idle limits of common proxies.
const pingEvery = 15 * time.Second

func (s *Server) registerEvents() {
	operation := op(ScopeRead, "events", http.MethodGet, "/api/events", "Every change, as it happens")
	sse.Register(s.api, operation, map[string]any{
		"change": Change{}, "resync": Resync{}, "ping": Ping{},
	}, s.stream)
}

// stream sends what was missed, then what happens. It subscribes before it
// reads the past, so that nothing falls between, and drops what it has sent.
func (s *Server) stream(ctx context.Context, in *eventsIn, send sse.Sender) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	live := s.deps.Bus.Subscribe(ctx)
	sent, ok := s.replay(ctx, in.LastEventID, send)
	if !ok {
		return
	}
	ping := time.NewTicker(pingEvery)
	defer ping.Stop()
	for {
		var err error
		select {
		case <-ctx.Done():
			return
		case now := <-ping.C:
			err = send.Data(Ping{Time: now})
		case e, open := <-live:
			switch {
			case !open:
				return
			case e.Kind == pubsub.Resync:
				err = send.Data(Resync{Last: e.Seq})
			case e.Seq == 0 || e.Seq > sent:
				err = send(message(e))
			}
		}
		if err != nil {
			return
		}
	}
}

// replay sends stored events after the client's last one. A client without one
// starts at the present; its first event is the ping that says so.
func (s *Server) replay(ctx context.Context, last string, send sse.Sender) (sent int64, ok bool) {
	after, err := strconv.ParseInt(last, 10, 64)
	if err != nil || after < 0 {
		return 0, send.Data(Ping{Time: s.deps.Now()}) == nil
	}
	for {
		page, err := s.deps.Board.EventsAfter(ctx, after, 500)
		if err != nil {
			s.deps.Logger.Error("event stream", "error", err)
			return after, false
		}
		if page.Resync {
			return page.Last, send(sse.Message{ID: int(page.Last), Data: Resync{Last: page.Last}}) == nil
		}
		for _, e := range page.Events {
			if send(message(e)) != nil {
				return after, false
			}
			after = e.Seq
		}
		if len(page.Events) == 0 {
			return after, true
		}
	}
}

// message names what changed. An event that is not stored has no id, so that a
// client never resumes from it.
func message(e pubsub.Event) sse.Message {
	return sse.Message{ID: int(e.Seq), Data: Change{Seq: e.Seq, Topic: e.Topic, Kind: e.Kind, ID: e.ID}}
}
