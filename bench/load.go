package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
	"golang.org/x/sync/errgroup"
	"golang.org/x/sys/unix"
)

// way is one way from a client to the stub.
type way struct {
	name   string
	url    string
	client *http.Client
}

// newWay goes through a Unix socket, or straight to url where socket is empty.
func newWay(name, socket, url string) *way {
	t := &http.Transport{MaxIdleConnsPerHost: 1024, DisableCompression: true}
	if socket != "" {
		t.DialContext = func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "unix", socket)
		}
	}
	return &way{name: name, url: url, client: &http.Client{Transport: t, Timeout: 30 * time.Second}}
}

func (w *way) close() { w.client.CloseIdleConnections() }

// load is an open loop: requests begin at times drawn before, each on the next
// way in turn, whether or not earlier ones were answered. Latency counts from
// the time a request was meant to begin, less what the stub says it took.
type load struct {
	ways    []*way
	body    []byte
	rate    float64 // requests per second, all ways together
	length  time.Duration
	reading func(way int, meant time.Time, resp *http.Response) error // instead of only draining
}

// maxInFlight bounds what a loop that is not keeping up can pile up.
const maxInFlight = 4000

// window is what one stretch of load showed.
type window struct {
	over []*hdrhistogram.Histogram // per way: latency less service time
}

// mayFail is the part of requests that may end without an answer: a server may
// close a connection that never carried a request just when one is sent on it.
const mayFail = 0.002

// run makes arrivals for l.length. The gaps are exponential and the same for
// the same seed.
func (l *load) run(ctx context.Context, seed uint64) (window, error) {
	runtime.LockOSThread() // for the precise sleep
	defer runtime.UnlockOSThread()
	_ = unix.Prctl(unix.PR_SET_TIMERSLACK, 1, 0, 0, 0)
	random := rand.New(rand.NewPCG(seed, 1))
	n := int(l.rate * l.length.Seconds())
	over, failed := make([]time.Duration, n), make([]error, n)
	slots := make(chan struct{}, maxInFlight)
	var wg sync.WaitGroup
	meant := time.Now()
	for i := range n {
		meant = meant.Add(time.Duration(random.ExpFloat64() / l.rate * float64(time.Second)))
		sleepUntil(meant)
		select {
		case slots <- struct{}{}:
		default:
			wg.Wait()
			return window{}, fmt.Errorf("%d requests open at %.0f/s: the way does not keep up", maxInFlight, l.rate)
		}
		at := meant
		wg.Go(func() {
			over[i], failed[i] = l.fire(ctx, i%len(l.ways), at)
			<-slots
		})
	}
	wg.Wait()
	var w window
	for range l.ways {
		w.over = append(w.over, newHistogram())
	}
	failures := 0
	for i := range n {
		if failed[i] != nil {
			if failures++; float64(failures) > max(1, mayFail*float64(n)) {
				return window{}, fmt.Errorf("%d requests failed, the last on %s: %w", failures, l.ways[i%len(l.ways)].name, failed[i])
			}
			continue
		}
		if err := w.over[i%len(l.ways)].RecordValue(int64(over[i])); err != nil {
			return window{}, err
		}
	}
	return w, nil
}

// saturate keeps callers busy on one way for l.length, each with its next
// request as soon as the last is answered, and returns how many were answered.
func (l *load) saturate(ctx context.Context, way, callers int) (int64, error) {
	var answered atomic.Int64
	group, ctx := errgroup.WithContext(ctx)
	end := time.Now().Add(l.length)
	for range callers {
		group.Go(func() error {
			for now := time.Now(); now.Before(end); now = time.Now() {
				if _, err := l.fire(ctx, way, now); err != nil {
					return fmt.Errorf("%s: %w", l.ways[way].name, err)
				}
				answered.Add(1)
			}
			return nil
		})
	}
	err := group.Wait()
	return answered.Load(), err
}

// sleepUntil is exact to some microseconds, where the runtime's timers are to a
// millisecond. Signals end the sleep early, so it is taken up again.
func sleepUntil(t time.Time) {
	for d := time.Until(t); d > 0; d = time.Until(t) {
		ts := unix.NsecToTimespec(int64(d))
		_ = unix.Nanosleep(&ts, nil)
	}
}

func (l *load) fire(ctx context.Context, way int, meant time.Time) (time.Duration, error) {
	w := l.ways[way]
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, w.url, bytes.NewReader(l.body))
	if err != nil {
		return 0, err
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := w.client.Do(req)
	if err != nil {
		return 0, err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		text, _ := io.ReadAll(io.LimitReader(resp.Body, 500))
		return 0, fmt.Errorf("status %d: %s", resp.StatusCode, text)
	}
	if l.reading != nil {
		if err := l.reading(way, meant, resp); err != nil {
			return 0, err
		}
	} else if _, err := io.Copy(io.Discard, resp.Body); err != nil {
		return 0, err
	}
	total := time.Since(meant)
	took, err := strconv.ParseInt(resp.Header.Get(tookHeader), 10, 64)
	if err != nil {
		return 0, fmt.Errorf("answer without %s: %w", tookHeader, err)
	}
	return total - time.Duration(took), nil
}
