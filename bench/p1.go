package main

import (
	"context"
	"fmt"
	"time"
)

// addedLatency measures what the gateway adds to a request, keep-alive, 2 kB
// in, 1.4 kB out, everything on, beside a bare proxy on the same kind of
// socket. With a slow upstream the commit of the intent overlaps the upstream's
// work; with a fast one the caller waits for the disk; a write waits before it
// leaves.
func (b *bench) addedLatency(ctx context.Context) ([]row, error) {
	r, err := b.startRig(ctx)
	if err != nil {
		return nil, err
	}
	defer r.stop()
	writes := r.to(toolUpstream, toolPath)
	defer closeWays(writes)
	var rows []row
	for _, m := range []struct {
		name    string
		service time.Duration
		ways    []*way
	}{
		{"200ms", 200 * time.Millisecond, r.ways},
		{"1ms", time.Millisecond, r.ways},
		{"write_1ms", time.Millisecond, writes},
	} {
		r.stub.service.Store(int64(m.service))
		found, err := b.added(ctx, m.name, m.ways)
		if err != nil {
			return rows, fmt.Errorf("%s: %w", m.name, err)
		}
		rows = append(rows, found...)
	}
	return rows, nil
}

// p1Rate is low enough that nothing queues on two busy cores.
const p1Rate = 300

func (b *bench) added(ctx context.Context, name string, ways []*way) ([]row, error) {
	l := load{ways: ways, body: benchRequest(false), rate: p1Rate, length: 4 * time.Second}
	var direct, disk [2]series
	var added [4][2]series
	for i := range b.windows + 1 {
		synced, err := syncTimes(b.dir, 4096, 50)
		if err != nil {
			return nil, err
		}
		w, err := l.run(ctx, uint64(i))
		if err != nil {
			return nil, err
		}
		if i == 0 {
			continue // warm
		}
		for at, q := range []float64{50, 99} {
			base := quantile(w.over[wayDirect], q)
			direct[at] = append(direct[at], us(base))
			disk[at] = append(disk[at], us(quantile(synced, q)))
			for way, h := range w.over {
				added[way][at] = append(added[way][at], us(quantile(h, q)-base))
			}
		}
	}
	var rows []row
	for at, q := range []string{"p50", "p99"} {
		note := fmt.Sprintf("direct %.0f µs; disk write+fdatasync of 4 kB %s %.0f µs", direct[at].median(), q, disk[at].median())
		rows = append(rows,
			figure("P1", "added_"+q+"_"+name, "µs", added[wayGateway][at], bareProxy, added[wayProxy][at], note),
			figure("P1", "added_"+q+"_"+name+"_forwarder", "µs", added[wayForwarder][at], bareProxy, added[wayProxy][at], "through the sandbox's loopback port"))
	}
	return rows, nil
}
