package process

import (
	"context"
	"net/http"
	"sync/atomic"
	"time"
)

// lease is the host's sign of life: every request on the admin socket renews
// it. It is safe for concurrent use.
type lease struct {
	term time.Duration
	last atomic.Int64 // Unix nanoseconds
}

func newLease(seconds int) *lease {
	l := &lease{term: time.Duration(seconds) * time.Second}
	l.renew()
	return l
}

func (l *lease) renew() { l.last.Store(time.Now().UnixNano()) }

// renewedBy renews the lease at each request that next lets pass; a stranger
// without the token does not keep a gateway alive.
func (l *lease) renewedBy(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		seen := &statusWriter{ResponseWriter: w, status: http.StatusOK}
		next.ServeHTTP(seen, r)
		if seen.status != http.StatusUnauthorized {
			l.renew()
		}
	})
}

// expired returns when the lease has run out, or ctx has ended.
func (l *lease) expired(ctx context.Context) {
	for {
		left := l.term - time.Since(time.Unix(0, l.last.Load()))
		if left <= 0 {
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(left):
		}
	}
}

type statusWriter struct {
	http.ResponseWriter
	status int
}

// Unwrap lets a handler move the deadlines of its connection.
func (w *statusWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

func (w *statusWriter) WriteHeader(status int) {
	w.status = status
	w.ResponseWriter.WriteHeader(status)
}
