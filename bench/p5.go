package main

import (
	"context"
	"crypto/sha256"
	"fmt"
	"os"
	"strings"
	"sync/atomic"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
	"golang.org/x/sync/errgroup"

	"moeca/internal/audit"
)

const (
	p5Writers = 512
	p6Rows    = 100_000
	p6Size    = 512
)

// appendRows measures rows that 512 writers make durable, each waiting for its
// own before the next, beside the same disk syncing one row at a time.
func (b *bench) appendRows(ctx context.Context) ([]row, error) {
	var rate, floor, cpu, p50, p99, disk50, disk99 series
	curve := ""
	for i := range b.windows + 1 {
		dir := b.path("log")
		log, err := audit.Open(dir, audit.Options{})
		if err != nil {
			return nil, err
		}
		before, err := processorTime(os.Getpid())
		if err != nil {
			return nil, err
		}
		took, acks, err := appendFor(ctx, log, 1500*time.Millisecond)
		if err != nil {
			return nil, err
		}
		after, err := processorTime(os.Getpid())
		if err != nil {
			return nil, err
		}
		if err := log.Close(); err != nil {
			return nil, err
		}
		synced, err := syncTimes(b.dir, 4096, 100)
		if err != nil {
			return nil, err
		}
		if err := os.RemoveAll(dir); err != nil {
			return nil, err
		}
		if i == 0 {
			continue
		}
		rows := float64(acks.TotalCount())
		rate, cpu = append(rate, rows/took.Seconds()), append(cpu, us(after-before)/rows)
		floor = append(floor, 1/quantile(synced, 50).Seconds())
		p50, p99 = append(p50, ms(quantile(acks, 50))), append(p99, ms(quantile(acks, 99)))
		disk50, disk99 = append(disk50, ms(quantile(synced, 50))), append(disk99, ms(quantile(synced, 99)))
	}
	for _, size := range []int{4 << 10, 64 << 10, 256 << 10, 1 << 20} {
		h, err := syncTimes(b.dir, size, 40)
		if err != nil {
			return nil, err
		}
		curve += fmt.Sprintf("; %d kB %.2f/%.2f", size>>10, ms(quantile(h, 50)), ms(quantile(h, 99)))
	}
	note := "write+fdatasync p50/p99 in ms, same minute: " + strings.TrimPrefix(curve, "; ")
	return []row{
		figure("P5", "durable_rows_per_second", "1/s", rate, "one fdatasync per row", floor, note),
		figure("P5", "cpu_per_row", "µs", cpu, "", nil, "512 writers, their wake-ups included"),
		figure("P5", "ack_p50", "ms", p50, "fdatasync of 4 kB", disk50, "512 writers"),
		figure("P5", "ack_p99", "ms", p99, "fdatasync of 4 kB", disk99, "512 writers"),
	}, nil
}

// appendFor lets the writers append for d.
func appendFor(ctx context.Context, log *audit.Log, d time.Duration) (time.Duration, *hdrhistogram.Histogram, error) {
	var over atomic.Bool
	defer time.AfterFunc(d, func() { over.Store(true) }).Stop()
	each := make([]*hdrhistogram.Histogram, p5Writers)
	group, ctx := errgroup.WithContext(ctx)
	began := time.Now()
	for w := range p5Writers {
		each[w] = newHistogram()
		group.Go(func() error {
			for !over.Load() {
				asked := time.Now()
				p, err := log.Queue(benchRow(0), nil, nil)
				if err == nil {
					err = p.Wait(ctx)
				}
				if err != nil {
					return err
				}
				if err := each[w].RecordValue(int64(time.Since(asked))); err != nil {
					return err
				}
			}
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		return 0, nil, err
	}
	took := time.Since(began)
	all := newHistogram()
	for _, h := range each {
		all.Merge(h)
	}
	return took, all, nil
}

// benchRow is a row as the gateway writes them, its target made longer by pad.
func benchRow(pad int) audit.Record {
	return audit.Record{
		Kind: audit.KindRefusal, Actor: audit.ActorAgent, Upstream: modelUpstream, Method: "POST",
		Target: "https://api.anthropic.com/v1/messages" + strings.Repeat("x", pad), Gate: "budget", Reason: "exhausted", Status: 402,
		BytesIn: 2048, Model: "claude-x", Duration: 180 * time.Microsecond,
		Attribution: audit.Attribution{
			Session: "0123456789abcdef0123456789abcdef", Run: "run-0123456789abcdef", Stage: "stage-0123456789ab",
			Task: "task-0123456789abcdef", Template: "default", Agent: "claude",
		},
		Attrs: []audit.Attr{{Key: "class", Value: "inference"}, {Key: "reserved", Value: "4096"}},
	}
}

// verifyRows measures the check of a log of rows of 512 bytes whose bodies are
// apart, beside hashing as many bytes in the same pieces.
func (b *bench) verifyRows(ctx context.Context) ([]row, error) {
	dir := b.path("log")
	if err := fillLog(dir); err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	var perCore, wall, hashed series
	for i := range b.windows + 1 {
		var report audit.Report
		verified, took, err := onProcessor(func() (err error) {
			report, err = audit.Verify(ctx, dir, audit.VerifyOptions{})
			return err
		})
		if err != nil {
			return nil, err
		}
		if !report.OK || report.Records < p6Rows {
			return nil, fmt.Errorf("%d rows verified: %s", report.Records, report.Problem)
		}
		plain, _, err := onProcessor(func() error { hashRows(); return nil })
		if err != nil {
			return nil, err
		}
		if i == 0 {
			continue
		}
		n := float64(report.Records)
		perCore, wall = append(perCore, n/verified.Seconds()), append(wall, n/took.Seconds())
		hashed = append(hashed, p6Rows/plain.Seconds())
	}
	return []row{
		figure("P6", "verified_rows_per_second_per_core", "1/s", perCore, "SHA-256 of the same rows", hashed, "rows of 512 bytes, bodies apart, page cache warm"),
		figure("P6", "verified_rows_per_second", "1/s", wall, "", nil, "by the clock"),
	}, nil
}

// onProcessor returns the processor and the clock time of f.
func onProcessor(f func() error) (processor, clock time.Duration, err error) {
	before, err := processorTime(os.Getpid())
	if err != nil {
		return 0, 0, err
	}
	if clock, err = timed(f); err != nil {
		return 0, 0, err
	}
	after, err := processorTime(os.Getpid())
	return after - before, clock, err
}

// fillLog writes a log of rows that are 512 bytes long within the few that the
// width of their numbers makes.
func fillLog(dir string) error {
	log, err := audit.Open(dir, audit.Options{QueueBytes: 1 << 30})
	if err != nil {
		return err
	}
	c := audit.NewCapture(1 << 20)
	_, _ = c.Write([]byte("body"))
	pad := p6Size - 12 - rowSize(c.Body())
	for range p6Rows {
		if _, err := log.Queue(benchRow(pad), c.Body(), nil); err != nil {
			return err
		}
	}
	return log.Close()
}

// rowSize is the length of the encoding of an unpadded row.
func rowSize(body *audit.Body) int {
	r := benchRow(0)
	r.Version, r.Seq, r.Source, r.Time, r.Prev = audit.FormatVersion, p6Rows, audit.SourceGateway, time.Now(), audit.Hash{1}
	r.Request = &audit.BodyRef{Commitment: body.Commitment, Size: body.Size, Stored: body.Size, Pack: 1, Offset: 1 << 20}
	raw, err := audit.Encode(nil, &r)
	if err != nil {
		return 0
	}
	return len(raw)
}

// hashRows is the floor: nobody checks a hash chain with less.
func hashRows() {
	data := make([]byte, p6Size+1)
	for i := range p6Rows {
		data[1] = byte(i)
		sum := sha256.Sum256(data)
		data[2] = sum[0]
	}
}
