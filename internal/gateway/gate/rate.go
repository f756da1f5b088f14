package gate

import (
	"context"
	"net/http"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// Rate is a token bucket for each session and upstream.
type Rate struct {
	Model, Tool Bucket

	mu      sync.Mutex
	buckets map[bucketKey]*rate.Limiter
}

// Bucket is a rate and a burst.
type Bucket struct {
	PerSecond float64
	Burst     int
}

type bucketKey struct{ session, upstream string }

// ReasonRate: too many requests at once.
const ReasonRate = "rate"

// Name of the gate.
func (*Rate) Name() string { return "rate" }

// Decide takes one token or says when there will be one.
func (g *Rate) Decide(_ context.Context, r *Request) Decision {
	res := g.bucket(r).ReserveN(r.Now, 1)
	if !res.OK() {
		return Deny(http.StatusTooManyRequests, ReasonRate, "this session may send nothing to %s", r.Upstream.Name)
	}
	wait := res.DelayFrom(r.Now)
	if wait == 0 {
		return Allow()
	}
	res.CancelAt(r.Now)
	d := Deny(http.StatusTooManyRequests, ReasonRate, "too many requests of this session to %s; wait as Retry-After says", r.Upstream.Name)
	d.RetryAfter = wait
	return d
}

func (g *Rate) bucket(r *Request) *rate.Limiter {
	key := bucketKey{r.Session.ID, r.Upstream.Name}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.buckets == nil {
		g.buckets = map[bucketKey]*rate.Limiter{}
	}
	l, ok := g.buckets[key]
	if !ok {
		b := g.limit(r)
		l = rate.NewLimiter(rate.Limit(b.PerSecond), b.Burst)
		g.buckets[key] = l
	}
	return l
}

func (g *Rate) limit(r *Request) Bucket {
	for _, own := range r.Session.Scope.RateLimits {
		if own.Upstream == r.Upstream.Name {
			return Bucket{own.PerSecond, own.Burst}
		}
	}
	if r.Upstream.Model() {
		return g.Model
	}
	return g.Tool
}

// Forget drops the buckets of a session that is over.
func (g *Rate) Forget(session string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for key := range g.buckets {
		if key.session == session {
			delete(g.buckets, key)
		}
	}
}

// RetrySeconds is the value of a Retry-After header: whole seconds, rounded up.
func RetrySeconds(d time.Duration) int64 { return max(1, int64((d+time.Second-1)/time.Second)) }
