package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// p3Callers keep one way busy at a time.
const p3Callers = 32

// perCore measures governed requests per second of one core, and what governing
// costs. A bare proxy, the gateway and a gateway whose log keeps nothing are
// kept busy in turn; the processor time of each process is divided by its
// requests.
func (b *bench) perCore(ctx context.Context) ([]row, error) {
	r, err := b.startRig(ctx)
	if err != nil {
		return nil, err
	}
	defer r.stop()
	dir := b.path("u")
	if err := os.Mkdir(dir, 0o700); err != nil {
		return nil, err
	}
	unlogged, err := b.startChild(asUnlogged, dir, r.stub.url)
	if err != nil {
		return nil, err
	}
	defer unlogged.stop()
	ways := []*way{r.ways[wayProxy], r.ways[wayGateway], newWay("unlogged", unlogged.address, r.ways[wayGateway].url)}
	defer closeWays(ways)
	r.stub.service.Store(int64(5 * time.Millisecond))
	c, err := b.costs(ctx, ways, []int{r.proxy.pid(), r.gateway.pid(), unlogged.pid()})
	if err != nil {
		return nil, err
	}
	note := fmt.Sprintf("%d callers on one way at a time, upstream 5 ms, plaintext, bodies stored and durable; the peer collects garbage as the gateway does", p3Callers)
	return []row{
		figure("P3", "requests_per_second_per_core", "1/s", c.perCore[1], bareProxy, c.perCore[0], note),
		figure("P3", "requests_per_second", "1/s", c.perSecond[1], bareProxy, c.perSecond[0], "by the clock; callers and stub share the cores"),
		figure("P4", "cpu_governed_over_bare", "×", c.governed, "", nil, "processor time of a request, everything on ÷ bare ReverseProxy: the product has no gateway without gates"),
		figure("P4", "cpu_unlogged_over_bare", "×", c.unlogged, "", nil, "the same with a log that keeps nothing, which only the bench can build"),
	}, nil
}

// breaks raises the rate of an open loop until each way breaks.
func (b *bench) breaks(ctx context.Context) ([]row, error) {
	r, err := b.startRig(ctx)
	if err != nil {
		return nil, err
	}
	defer r.stop()
	r.stub.service.Store(int64(5 * time.Millisecond))
	broke, err := b.whereItBreaks(ctx, r.ways[wayProxy:wayForwarder])
	if err != nil {
		return nil, err
	}
	return []row{figure("P3", "breaks_at", "1/s", series{broke[1]}, bareProxy, series{broke[0]},
		"open loop: first rate with p99 over 50 ms beyond the upstream's; callers and stub share the cores")}, nil
}

// costs of a bare proxy, the gateway and the gateway without a log.
type costs struct {
	perCore, perSecond [3]series
	governed, unlogged series // processor time of a request in units of the bare proxy's
}

func (b *bench) costs(ctx context.Context, ways []*way, pids []int) (c costs, err error) {
	l := load{ways: ways, body: benchRequest(false), length: time.Second}
	for i := range b.windows + 1 {
		var each [3]float64
		for way, pid := range pids {
			before, err := processorTime(pid)
			if err != nil {
				return c, err
			}
			n, err := l.saturate(ctx, way, p3Callers)
			if err != nil {
				return c, err
			}
			after, err := processorTime(pid)
			if err != nil {
				return c, err
			}
			each[way] = (after - before).Seconds() / float64(n)
			if i > 0 {
				c.perCore[way] = append(c.perCore[way], 1/each[way])
				c.perSecond[way] = append(c.perSecond[way], float64(n)/l.length.Seconds())
			}
		}
		if i > 0 {
			c.governed, c.unlogged = append(c.governed, each[1]/each[0]), append(c.unlogged, each[2]/each[0])
		}
	}
	return c, nil
}

// whereItBreaks raises the rate until p99 beyond the upstream's time passes
// 50 ms, for each way alone, in turn.
func (b *bench) whereItBreaks(ctx context.Context, ways []*way) ([]float64, error) {
	broke := make([]float64, len(ways))
	for rate := 250.0; rate <= 16_000; rate *= 1.4142 {
		for i, w := range ways {
			if broke[i] != 0 {
				continue
			}
			l := load{ways: []*way{w}, body: benchRequest(false), rate: rate, length: 1500 * time.Millisecond}
			held, err := l.run(ctx, 1)
			if ctx.Err() != nil {
				return nil, err
			}
			if err != nil || quantile(held.over[0], 99) > 50*time.Millisecond {
				broke[i] = rate
				fmt.Fprintf(os.Stderr, "  %s breaks at %.0f/s\n", w.name, rate)
			}
		}
	}
	for i := range broke {
		if broke[i] == 0 {
			broke[i] = 16_000
		}
	}
	return broke, nil
}

// path is a name in the bench's own directory.
func (b *bench) path(name string) string {
	b.names++
	return filepath.Join(b.dir, fmt.Sprintf("%s%d", name, b.names))
}
