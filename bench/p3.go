package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// governed requests per second of one core, and what governing costs. Requests
// to the bare proxy, to the gateway and to a gateway whose log keeps nothing
// alternate; each process's own processor time is divided by its requests.
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
	pids := []int{r.proxy.pid(), r.gateway.pid(), unlogged.pid()}
	r.stub.service.Store(int64(20 * time.Millisecond))

	broke, err := b.whereItBreaks(ctx, ways[:2])
	if err != nil {
		return nil, err
	}
	l := load{ways: ways, body: benchRequest(false), rate: min(broke[1], broke[0]) * 0.6, length: 3 * time.Second}
	perSecond, cost, unloggedCost, err := b.perRequest(ctx, l, pids)
	if err != nil {
		return nil, err
	}
	note := fmt.Sprintf("open loop, %.0f/s over three processes, upstream 20 ms, bodies stored and durable", l.rate)
	return []row{
		figure("P3", "requests_per_second_per_core", "1/s", perSecond[1], bareProxy, perSecond[0], note),
		figure("P3", "breaks_at", "1/s", series{broke[1]}, bareProxy, series{broke[0]}, "first rate with p99 over 50 ms beyond the upstream's; client, stub and proxy share the machine"),
		figure("P4", "cpu_governed_over_bare", "×", cost, "", nil, "processor time of a request, everything on ÷ bare ReverseProxy: the product has no gateway without gates"),
		figure("P4", "cpu_unlogged_over_bare", "×", unloggedCost, "", nil, "the same with a log that keeps nothing, built by the bench"),
	}, nil
}

// perRequest returns requests per second of a core for each way, and the cost
// of the second and third way in units of the first.
func (b *bench) perRequest(ctx context.Context, l load, pids []int) (perSecond []series, cost, unlogged series, err error) {
	perSecond = make([]series, len(pids))
	for i := range b.windows + 1 {
		before := make([]time.Duration, len(pids))
		for p, pid := range pids {
			if before[p], err = processorTime(pid); err != nil {
				return nil, nil, nil, err
			}
		}
		w, err := l.run(ctx, uint64(i))
		if err != nil {
			return nil, nil, nil, err
		}
		each := make([]float64, len(pids))
		for p, pid := range pids {
			after, err := processorTime(pid)
			if err != nil {
				return nil, nil, nil, err
			}
			each[p] = (after - before[p]).Seconds() / float64(w.over[p].TotalCount())
		}
		if i == 0 {
			continue
		}
		for p := range pids {
			perSecond[p] = append(perSecond[p], 1/each[p])
		}
		cost, unlogged = append(cost, each[1]/each[0]), append(unlogged, each[2]/each[0])
	}
	return perSecond, cost, unlogged, nil
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
