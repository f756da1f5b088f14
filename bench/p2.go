package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// firstByte measures streams: the time to the first streamed byte beyond the
// upstream's own, how long a frame is under way, and the processor time of one
// frame, beside a bare proxy that flushes every write.
func (b *bench) firstByte(ctx context.Context) ([]row, error) {
	r, err := b.startRig(ctx)
	if err != nil {
		return nil, err
	}
	defer r.stop()
	r.stub.service.Store(int64(50 * time.Millisecond))
	ways := r.ways[:wayForwarder]
	f := &framing{stub: r.stub}
	l := load{ways: ways, body: benchRequest(true), rate: 60, length: 3 * time.Second, reading: f.read}
	var first, frame [3][2]series
	var cpu [3]series
	for i := range b.windows + 1 {
		f.reset(len(ways))
		before, err := r.processorTimes()
		if err != nil {
			return nil, err
		}
		if _, err := l.run(ctx, uint64(i)); err != nil {
			return nil, err
		}
		after, err := r.processorTimes()
		if err != nil {
			return nil, err
		}
		if i == 0 {
			continue
		}
		for way := wayProxy; way < len(ways); way++ {
			for at, q := range []float64{50, 99} {
				first[way][at] = append(first[way][at], us(quantile(f.first[way], q)-quantile(f.first[wayDirect], q)))
				frame[way][at] = append(frame[way][at], us(quantile(f.frame[way], q)-quantile(f.frame[wayDirect], q)))
			}
			cpu[way] = append(cpu[way], us(after[way]-before[way])/float64(f.frame[way].TotalCount()+f.first[way].TotalCount()))
		}
	}
	var rows []row
	for at, q := range []string{"p50", "p99"} {
		rows = append(rows,
			figure("P2", "added_first_byte_"+q, "µs", first[wayGateway][at], bareProxy, first[wayProxy][at], "upstream 50 ms to its first frame"),
			figure("P2", "added_per_frame_"+q, "µs", frame[wayGateway][at], bareProxy, frame[wayProxy][at], "written by the upstream → read by the client, less the direct way"))
	}
	return append(rows, figure("P2", "cpu_per_frame", "µs", cpu[wayGateway], bareProxy, cpu[wayProxy], "processor time of the process ÷ frames, the request's own share included")), nil
}

// processorTimes are those of the processes on the ways.
func (r *rig) processorTimes() (t [3]time.Duration, err error) {
	if t[wayProxy], err = processorTime(r.proxy.pid()); err != nil {
		return t, err
	}
	t[wayGateway], err = processorTime(r.gateway.pid())
	return t, err
}

// framing takes the stamps out of streamed frames.
type framing struct {
	stub *stub

	mu    sync.Mutex
	first []*hdrhistogram.Histogram // per way: intended start → first frame, less service time
	frame []*hdrhistogram.Histogram // per way: written → read, later frames
}

func (f *framing) reset(ways int) {
	f.first, f.frame = nil, nil
	for range ways {
		f.first, f.frame = append(f.first, newHistogram()), append(f.frame, newHistogram())
	}
}

func (f *framing) read(way int, meant time.Time, resp *http.Response) error {
	took, err := strconv.ParseInt(resp.Header.Get(tookHeader), 10, 64)
	if err != nil {
		return fmt.Errorf("answer without %s: %w", tookHeader, err)
	}
	lines := bufio.NewReader(resp.Body)
	frames := 0
	for {
		line, err := lines.ReadSlice('\n')
		if err == io.EOF && frames == f.stub.frames {
			return nil
		}
		if err != nil {
			return fmt.Errorf("stream ended after %d frames: %w", frames, err)
		}
		i := bytes.Index(line, []byte(stampLead))
		if i < 0 {
			continue
		}
		now := time.Now()
		digits := line[i+len(stampLead):][:19]
		stamp, err := strconv.ParseInt(string(digits), 10, 64)
		if err != nil {
			return fmt.Errorf("frame without a stamp: %w", err)
		}
		f.mu.Lock()
		if frames == 0 {
			err = f.first[way].RecordValue(int64(now.Sub(meant)) - took)
		} else {
			err = f.frame[way].RecordValue(int64(now.Sub(f.stub.epoch)) - stamp)
		}
		f.mu.Unlock()
		if err != nil {
			return err
		}
		frames++
	}
}
