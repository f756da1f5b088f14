package pubsub_test

import (
	"context"
	"fmt"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"

	"moeca/internal/pubsub"
)

func TestEventsArriveInOrderOnTheirTopicOnly(t *testing.T) {
	var b pubsub.Bus
	ctx, cancel := context.WithCancel(t.Context())
	some, all := b.Subscribe(ctx, "tasks"), b.Subscribe(ctx)
	for i := range 3 {
		b.Publish(pubsub.Event{Seq: int64(2*i + 1), Topic: "tasks"})
		b.Publish(pubsub.Event{Seq: int64(2*i + 2), Topic: "repos"})
	}
	cancel()
	if got := drain(some); got != "1 3 5 " {
		t.Errorf("topic subscriber saw %q", got)
	}
	if got := drain(all); got != "1 2 3 4 5 6 " {
		t.Errorf("subscriber of everything saw %q", got)
	}
}

func TestSlowSubscriberLosesEventsButIsToldAndBlocksNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := pubsub.Bus{Queue: 2}
		ctx, cancel := context.WithCancel(t.Context())
		slow := b.Subscribe(ctx)
		for i := range 10 { // a blocking publisher would deadlock the bubble
			b.Publish(pubsub.Event{Seq: int64(i + 1)})
		}
		for _, want := range []int64{1, 2} {
			if e := <-slow; e.Seq != want {
				t.Fatalf("got %d, want %d", e.Seq, want)
			}
		}
		// Nothing more is published, and still the loss is reported.
		if e := <-slow; e.Kind != pubsub.Resync || e.Seq != 3 {
			t.Fatalf("after a loss the first event is %+v, want a resync from 3", e)
		}
		b.Publish(pubsub.Event{Seq: 12})
		if e := <-slow; e.Seq != 12 {
			t.Fatalf("after the marker came %+v, want 12", e)
		}
		cancel()
		synctest.Wait()
		if _, open := <-slow; open {
			t.Fatal("channel stayed open after its context ended")
		}
	})
}

func TestPublishAndSubscribeTogether(t *testing.T) {
	const others, events = 8, 50
	b := pubsub.Bus{Queue: others * events}
	var wg sync.WaitGroup
	for i := range others {
		wg.Go(func() {
			ctx, cancel := context.WithCancel(t.Context())
			ch := b.Subscribe(ctx, "a")
			for n := range events {
				b.Publish(pubsub.Event{Topic: "a", Kind: strconv.Itoa(i), Seq: int64(n)})
			}
			cancel()
			next := int64(0)
			for e := range ch { // which ends, as ctx did
				if e.Kind == strconv.Itoa(i) {
					if e.Seq != next {
						t.Errorf("event %d came where %d was due", e.Seq, next)
					}
					next++
				}
			}
			if next != events {
				t.Errorf("%d of its own %d events", next, events)
			}
		})
	}
	wg.Wait()
}

func drain(ch <-chan pubsub.Event) string {
	var s string
	for e := range ch {
		s += fmt.Sprintf("%d ", e.Seq)
	}
	return s
}
