// Command bench measures what BENCH rows claim, each beside a peer or a floor
// in the same run, and writes bench/results/<date>.json, latest.json and a
// table. It is no test: nothing here can fail a build.
//
// Method: ours and the peer are measured in turn, A B A B, several windows
// each; the figure is the median and the claim is the ratio of medians. All
// traffic stays on this machine. A row whose prerequisite is missing is left
// out, and the table says why.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"moeca/internal/sandbox/native"
)

// row is one figure.
type row struct {
	ID     string  `json:"id"`
	Metric string  `json:"metric"`
	Unit   string  `json:"unit"`
	Ours   float64 `json:"ours"`
	Peer   string  `json:"peer"`
	Value  float64 `json:"peer_value"`
	Ratio  float64 `json:"ratio"`
	Low    float64 `json:"ours_min"`
	High   float64 `json:"ours_max"`
	Note   string  `json:"note,omitempty"`
}

type results struct {
	Machine map[string]string `json:"machine"`
	Taken   string            `json:"taken"`
	Rows    []row             `json:"rows"`
	Left    []string          `json:"left_out,omitempty"`
}

func main() {
	native.Init()
	only := flag.String("only", "", "measure only these ids or parts of them: P1,P3-cost")
	windows := flag.Int("windows", 7, "interleaved windows of each measurement")
	bin := flag.String("bin", "bin", "directory of the programs")
	as := flag.String("as", "", "be one of the processes under measurement")
	flag.Parse()
	if *as != "" {
		if err := beChild(*as, flag.Args()); err != nil {
			fmt.Fprintf(os.Stderr, "bench %s: %v\n", *as, err)
			os.Exit(1)
		}
		return
	}
	if err := run(*only, *windows, *bin); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func run(only string, windows int, bin string) error {
	bin, err := filepath.Abs(bin)
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("/tmp", "mb")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	b := &bench{bin: bin, dir: dir, windows: windows}
	r := results{Machine: machine(), Taken: time.Now().UTC().Format(time.RFC3339)}
	for _, m := range []struct {
		id      string
		measure func(context.Context) ([]row, error)
	}{
		{"P1", b.addedLatency},
		{"P2", b.firstByte},
		{"P3-cost P4", b.perCore},
		{"P3-breaks", b.breaks},
		{"P5", b.appendRows},
		{"P6", b.verifyRows},
		{"P7-native", b.nativeStart},
		{"P7-docker", b.dockerStart},
		{"P8", b.firstRequest},
		{"P10", b.snapshotAndDiff},
		{"P10-list", b.listTasks},
		{"A6", b.auditScreen},
	} {
		if !chosen(m.id, only) {
			continue
		}
		fmt.Fprintf(os.Stderr, "measuring %s\n", m.id)
		rows, err := m.measure(context.Background())
		if err != nil {
			r.Left = append(r.Left, m.id+": "+err.Error())
			fmt.Fprintf(os.Stderr, "  left out: %v\n", err)
		}
		r.Rows = append(r.Rows, rows...)
	}
	print(r)
	return write(r, only == "")
}

// chosen says whether a measurement gives rows of an id in only, or is a part
// that is named there.
func chosen(ids, only string) bool {
	wanted := strings.Split(only, ",")
	for id := range strings.FieldsSeq(ids) {
		row, _, _ := strings.Cut(id, "-")
		if only == "" || slices.Contains(wanted, id) || slices.Contains(wanted, row) {
			return true
		}
	}
	return false
}

func machine() map[string]string {
	m := map[string]string{"os": runtime.GOOS, "arch": runtime.GOARCH, "cpus": fmt.Sprint(runtime.NumCPU()), "go": runtime.Version()}
	if raw, err := os.ReadFile("/proc/sys/kernel/osrelease"); err == nil {
		m["kernel"] = strings.TrimSpace(string(raw))
	}
	m["load"] = loadAverage()
	return m
}

// loadAverage of the last minute, before the measurements: what else the
// machine did.
func loadAverage() string {
	raw, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return ""
	}
	first, _, _ := strings.Cut(string(raw), " ")
	return first
}

func print(r results) {
	w := tabwriter.NewWriter(os.Stdout, 0, 4, 2, ' ', 0)
	fmt.Fprintln(w, "ID\tMETRIC\tOURS\t(RANGE)\tPEER\t\tRATIO\tNOTE")
	for _, x := range r.Rows {
		fmt.Fprintf(w, "%s\t%s\t%.2f %s\t(%.2f–%.2f)\t%.2f\t%s\t%.2f\t%s\n", x.ID, x.Metric, x.Ours, x.Unit, x.Low, x.High, x.Value, x.Peer, x.Ratio, x.Note)
	}
	w.Flush()
	for _, l := range r.Left {
		fmt.Println("left out:", l)
	}
}

// write keeps the figures; only a whole run becomes the latest.
func write(r results, whole bool) error {
	raw, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	dir := filepath.Join("bench", "results")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	names := []string{strings.ReplaceAll(r.Taken, ":", "") + ".json"}
	if whole {
		names = append(names, "latest.json")
	}
	for _, name := range names {
		if err := os.WriteFile(filepath.Join(dir, name), append(raw, '\n'), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// bench holds what measurements share.
type bench struct {
	bin, dir string
	windows  int
	names    int // of path
}

// sample is a series of durations.
type sample []time.Duration

func (s sample) median() time.Duration {
	c := slices.Sorted(slices.Values(s))
	return c[len(c)/2]
}

func ms(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// compare makes a row of two series.
func compare(id, metric string, ours sample, peer string, other sample, note string) row {
	r := row{
		ID: id, Metric: metric, Unit: "ms", Ours: ms(ours.median()), Peer: peer, Note: note,
		Low: ms(slices.Min(ours)), High: ms(slices.Max(ours)),
	}
	if len(other) > 0 {
		r.Value = ms(other.median())
		r.Ratio = r.Ours / r.Value
	}
	return r
}

// timed measures one call.
func timed(f func() error) (time.Duration, error) {
	began := time.Now()
	err := f()
	return time.Since(began), err
}

// interleave measures two calls in turn after one warm-up of each.
func interleave(n int, ours, peer func() error) (a, b sample, err error) {
	for i := range n + 1 {
		x, err := timed(ours)
		if err != nil {
			return nil, nil, err
		}
		y, err := timed(peer)
		if err != nil {
			return nil, nil, err
		}
		if i > 0 {
			a, b = append(a, x), append(b, y)
		}
	}
	return a, b, nil
}
