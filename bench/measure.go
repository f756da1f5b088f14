package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
	"golang.org/x/sys/unix"
)

// histogram of durations up to a minute, three digits.
func newHistogram() *hdrhistogram.Histogram {
	return hdrhistogram.New(int64(100*time.Nanosecond), int64(time.Minute), 3)
}

func quantile(h *hdrhistogram.Histogram, q float64) time.Duration {
	return time.Duration(h.ValueAtQuantile(q))
}

// series is one figure per window.
type series []float64

func (s series) median() float64 {
	if len(s) == 0 {
		return 0
	}
	c := slices.Sorted(slices.Values(s))
	return c[len(c)/2]
}

// figure makes a row of two series; the second may be empty.
func figure(id, metric, unit string, ours series, peer string, other series, note string) row {
	r := row{ID: id, Metric: metric, Unit: unit, Ours: ours.median(), Peer: peer, Value: other.median(), Note: note}
	if len(ours) > 0 {
		r.Low, r.High = slices.Min(ours), slices.Max(ours)
	}
	if r.Value != 0 {
		r.Ratio = r.Ours / r.Value
	}
	return r
}

func us(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1000 }

// processorTime is the user and system time of a process since it began, all
// its threads, also those that ended. The programs measured start no children.
func processorTime(pid int) (time.Duration, error) {
	var ts unix.Timespec
	const scheduled = 2 // CPUCLOCK_SCHED
	if err := unix.ClockGettime(int32(^pid<<3|scheduled), &ts); err != nil {
		return 0, fmt.Errorf("processor time of %d: %w", pid, err)
	}
	return time.Duration(ts.Nano()), nil
}

// syncTimes measures what the disk below dir needs to make size more bytes of a
// file durable, as the log appends: into space that was allocated before.
func syncTimes(dir string, size, times int) (*hdrhistogram.Histogram, error) {
	f, err := os.Create(filepath.Join(dir, "sync"))
	if err != nil {
		return nil, err
	}
	defer os.Remove(f.Name())
	defer f.Close()
	if err := unix.Fallocate(int(f.Fd()), unix.FALLOC_FL_KEEP_SIZE, 0, int64(size*times)); err != nil {
		return nil, err
	}
	h, data := newHistogram(), make([]byte, size)
	for i := range times {
		data[0] = byte(i)
		d, err := timed(func() error {
			if _, err := f.Write(data); err != nil {
				return err
			}
			return unix.Fdatasync(int(f.Fd()))
		})
		if err != nil {
			return nil, err
		}
		if err := h.RecordValue(int64(d)); err != nil {
			return nil, err
		}
	}
	return h, nil
}
