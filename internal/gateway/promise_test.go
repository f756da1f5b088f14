package gateway

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net"
	"path/filepath"
	"regexp"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"moeca/internal/audit"
	"moeca/internal/audit/audittest"
	"moeca/internal/gateway/gate"
	"moeca/internal/gateway/gatewayapi"
	"moeca/internal/gateway/upstream"
	"moeca/internal/netguard"
	"moeca/internal/session"
)

var (
	promiseRequests = flag.Int("promise", 4000, "requests of TestThePromise")
	promiseSeed     = flag.Uint64("promise.seed", 1, "seed of TestThePromise")
)

// An age of the promise's world: this many requests, then the gateway and its log
// end in one way or another. A log lives through some ages.
const (
	promiseAge     = 250
	promiseWorkers = 8
	promiseAges    = 6
)

// TestThePromise holds a gateway and its log to I3 through random trouble on
// every side at once: callers that hang up, connections that are reset, panics in
// a gate, in the proxy and in an answer's body, upstreams that break off, disks
// that are slow, full, that fail a write or a sync, and that lose power; clocks
// that jump. The model is told of every intent when it is queued, of every request
// when the upstream sees it, and of every first byte a caller gets:
//
//   - what the upstream sees has an intent in the log's order, and a durable one
//     where it writes; it sees each request once;
//   - what a caller gets of an answer comes after its intent is durable;
//   - every intent has exactly one outcome, and one that a crash left open is
//     named unknown by the next start;
//   - nothing whose intent the log did not take reaches the upstream;
//   - what was durable once is in the log after every crash, and the log verifies.
func TestThePromise(t *testing.T) {
	t.Logf("%d requests, -promise.seed=%d", *promiseRequests, *promiseSeed)
	rng := rand.New(rand.NewPCG(*promiseSeed, 0))
	var done int
	w := &world{t: t, rng: rng}
	told := time.Now()
	for done < *promiseRequests && !t.Failed() {
		if w.aged%promiseAges == 0 {
			w.newLog()
		}
		done += w.age(min(promiseAge, *promiseRequests-done))
		if time.Since(told) > 10*time.Second {
			told = time.Now()
			t.Logf("%d requests, %d ages: %s", done, w.aged, w.counts())
		}
	}
	t.Logf("%d requests, %d ages: %s", done, w.aged, w.counts())
	w.mustHaveSeenEverything()
}

// world is the model, and what it is a model of.
type world struct {
	t   *testing.T
	rng *rand.Rand // of the one goroutine that makes ages
	dir string

	aged    int
	next    atomic.Int64 // id of a request
	clock   atomic.Int64 // how far the clock is off, in nanoseconds
	disk    *audittest.Disk
	log     *audit.Log
	g       *Gateway
	session session.Session
	token   string
	addr    string // of the listener for real connections

	mu      sync.Mutex
	intents map[string]promised  // of this age, by the id of their request
	ended   map[int64]int        // outcomes that were queued for an intent
	sent    map[string]int       // requests that the upstream saw
	must    map[int64]audit.Hash // rows that were durable
	events  map[string]int64     // how often what happened; a connection may end after its age
	counted int64                // row up to which outcomes are among the events
}

// promised is an intent that the log took.
type promised struct {
	seq  int64
	hash audit.Hash
}

func (w *world) event(what string) {
	w.mu.Lock()
	w.events[what]++
	w.mu.Unlock()
}

func (w *world) counts() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return fmt.Sprint(w.events)
}

// mustHaveSeenEverything: a test in which nothing goes wrong proves nothing.
func (w *world) mustHaveSeenEverything() {
	if *promiseRequests < 2000 {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, what := range []string{
		"answered", "refused", "caller gone", "caller reset", "gate panics", "proxy panics", "body panics", "upstream unreachable",
		"upstream cut", "log down", "disk full", "end: close", "end: power", "end: failed", "outcome: ok", "outcome: panic", "outcome: client-gone",
		"outcome: upstream-error", "outcome: unknown", "connection reset", "request broken off", "answer broken off",
	} {
		if w.events[what] == 0 {
			w.t.Errorf("it never happened: %s; %v", what, w.events)
		}
	}
}

func (w *world) newLog() {
	w.dir = w.t.TempDir()
	w.must, w.counted = map[int64]audit.Hash{}, 0
	if w.events == nil {
		w.events = map[string]int64{}
	}
}

// now is a clock that jumps.
func (w *world) now() time.Time { return time.Now().Add(time.Duration(w.clock.Load())) }

// start opens the log, as the next process would, and makes a gateway.
func (w *world) start() {
	t := w.t
	w.intents, w.ended, w.sent = map[string]promised{}, map[int64]int{}, map[string]int{}
	slow := w.rng.IntN(3) == 0
	var err error
	w.disk, err = audittest.New(w.dir, func() {
		if slow {
			time.Sleep(time.Duration(rand.IntN(2000)) * time.Microsecond)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	w.log, err = audit.Open(filepath.Join(w.dir, "audit"), audit.Options{FS: w.disk, SegmentBytes: 64 << 10, PackBytes: 64 << 10, Reserve: 64 << 10, Now: w.now})
	if err != nil {
		t.Fatalf("open after a crash: %v", err)
	}
	w.checkRows()
	guard := netguard.New(netguard.Options{})
	set := upstream.NewSet(guard, nil)
	w.g = New(Options{
		Log: watchedLog{AuditLog{w.log}, w}, Sessions: session.NewTable(nil), Upstreams: set, Policies: toolPolicy(t), Guard: guard, SocketGID: -1,
		Logger: slog.New(slog.DiscardHandler),
		Limits: Limits{
			SessionTokens: 1 << 50, SessionRecords: -1, SessionDenials: -1, SessionConns: 64,
			ModelPerSecond: 1e6, ModelBurst: 1e6, ToolPerSecond: 1e6, ToolBurst: 1e6,
		},
	})
	for name, kind := range map[string]string{"anthropic": upstream.KindAnthropic, "tool": upstream.KindCustom} {
		base := "https://upstream.example"
		p := gatewayapi.ProviderPatch{Kind: &kind, BaseURL: &base}
		if name == "tool" {
			p.Auth = &gatewayapi.Auth{Header: "X-Tool-Key"}
		}
		(&rig{t: t, set: set}).define(name, p, theKey)
	}
	w.g.transport = upstreamOf{w}
	w.g.chain = withoutNetwork(w.g.chain)
	w.g.second = secondLook(w.g.chain)
	m, err := w.g.Mint(gatewayapi.MintRequest{Scope: session.Scope{Run: "r", Upstreams: []string{"anthropic", "tool"}}, TTL: 3600, WithToken: true})
	if err == nil {
		err = m.Serve()
	}
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	w.session, w.token, w.addr = m.Session, m.Token, l.Addr().String()
	g := w.g
	go func() { _ = g.ServeTokens(l) }()
}

// withoutNetwork takes out the gates that resolve names, and puts in one that
// panics when it is told to.
func withoutNetwork(c gate.Chain) (out gate.Chain) {
	for _, g := range c {
		switch g.(type) {
		case gate.Address, gate.Network:
		case gate.Write:
			out = append(out, g, gateInTrouble{})
		default:
			out = append(out, g)
		}
	}
	return out
}

// gateInTrouble is a gate that fails on some requests.
type gateInTrouble struct{}

func (gateInTrouble) Name() string { return "gateInTrouble" }

func (gateInTrouble) Decide(_ context.Context, r *gate.Request) gate.Decision {
	if r.HTTP.Header.Get("X-Trouble") == "gate panics" {
		panic("a gate")
	}
	return gate.Allow()
}

// age lets the gateway serve n requests and then ends it.
func (w *world) age(n int) int {
	w.start()
	end := []string{"close", "power", "failed", "full", "power", "close"}[w.aged%6]
	w.aged++
	switch end {
	case "power":
		w.disk.FailAfter(1+w.rng.IntN(2*n), true)
	case "failed":
		w.disk.FailAfter(1+w.rng.IntN(2*n), w.rng.IntN(2) == 0)
	}
	var wg sync.WaitGroup
	var left atomic.Int64
	left.Store(int64(n))
	for range promiseWorkers {
		rng := rand.New(rand.NewPCG(w.rng.Uint64(), w.rng.Uint64()))
		wg.Go(func() {
			for left.Add(-1) >= 0 {
				if rng.IntN(40) == 0 {
					w.clock.Store(rng.Int64N(int64(20*24*time.Hour)) - int64(10*24*time.Hour))
				}
				if end == "full" && rng.IntN(20) == 0 {
					w.disk.Fill(rng.IntN(2) == 0)
				}
				w.request(rng)
			}
		})
	}
	wg.Wait()
	w.end(end)
	return n
}

// end ends gateway and log, and holds what is left against the model.
func (w *world) end(how string) {
	w.disk.Fill(false)
	if how == "power" {
		w.disk.Die()
	}
	w.event("end: " + how)
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	w.g.Close(ctx)
	failed := w.log.Err() != nil
	err := w.log.Close()
	if (how == "close" || how == "full") && (failed || err != nil) {
		w.t.Errorf("the log ended by itself: %v", err)
	}
	if how == "power" {
		if err := w.disk.Lose(w.rng); err != nil {
			w.t.Fatal(err)
		}
	}
	if !failed && err == nil { // nothing was left open
		w.checkOutcomes()
	}
	for id, n := range w.sent {
		if n != 1 {
			w.t.Errorf("the upstream saw %s %d times", id, n)
		}
	}
}

// checkOutcomes: in an age without trouble of the disk each intent was ended
// once, and the rows say so.
func (w *world) checkOutcomes() {
	for id, p := range w.intents {
		if n := w.ended[p.seq]; n != 1 {
			w.t.Errorf("%s has %d outcomes", id, n)
		}
	}
	report, err := audit.Verify(context.Background(), filepath.Join(w.dir, "audit"), audit.VerifyOptions{Bodies: true})
	if err != nil || !report.OK || len(report.OpenIntents) > 0 {
		w.t.Errorf("after a close: %+v, %v", report, err)
	}
}

// checkRows: the log as the next process opens it is whole, holds every row that
// was durable, and one outcome for each intent.
func (w *world) checkRows() {
	dir := filepath.Join(w.dir, "audit")
	report, err := audit.Verify(context.Background(), dir, audit.VerifyOptions{Bodies: true})
	if err != nil || !report.OK || len(report.OpenIntents) > 0 {
		w.t.Fatalf("the log as it was opened: %+v, %v", report, err)
	}
	r, err := audit.OpenReader(dir)
	if err != nil {
		w.t.Fatal(err)
	}
	defer r.Close()
	for seq, hash := range w.must {
		if _, got, err := r.At(seq); err != nil || got != hash {
			w.t.Errorf("row %d was durable and is gone: %v, %v", seq, got, err)
		}
	}
	open := map[int64]int{}
	for rec, err := range r.Range(1, report.Records) {
		switch {
		case err != nil:
			w.t.Fatal(err)
		case rec.Kind == audit.KindIntent:
			open[rec.Seq] = 0
		case rec.Kind == audit.KindOutcome:
			if n, known := open[rec.Ref]; !known || n > 0 {
				w.t.Errorf("outcome %d of row %d: %v, %d before it", rec.Seq, rec.Ref, known, n)
			}
			open[rec.Ref]++
			if rec.Seq > w.counted {
				w.event("outcome: " + rec.Result)
			}
		}
	}
	w.counted = report.Records
	for seq, n := range open {
		if n != 1 {
			w.t.Errorf("intent %d has %d outcomes", seq, n)
		}
	}
}

// watchedLog tells the model what is queued.
type watchedLog struct {
	AuditLog
	w *world
}

var promiseID = regexp.MustCompile(`id-\d+t(\d+)`)

// Queue implements Log.
func (l watchedLog) Queue(r audit.Record, request, response *audit.Body) (Row, error) {
	row, err := l.AuditLog.Queue(r, request, response)
	w := l.w
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case errors.Is(err, audit.ErrFull):
		w.events["disk full"]++
	case err != nil:
		w.events["not queued: "+r.Kind.String()]++
	case r.Kind == audit.KindIntent:
		id := promiseID.FindString(r.Target)
		if id == "" && request != nil {
			id = promiseID.FindString(string(request.Content))
		}
		if _, twice := w.intents[id]; twice || id == "" {
			w.t.Errorf("a second intent of %q, or one of nothing", id)
		}
		w.intents[id] = promised{row.Seq(), row.Hash()}
	case r.Kind == audit.KindOutcome:
		w.ended[r.Ref]++
	}
	return row, err
}

// durable says whether the intent of a request is on the disk; if so it must be
// there for ever.
func (w *world) durable(id string) (known, durable bool) {
	head, _ := w.log.Head()
	w.mu.Lock()
	defer w.mu.Unlock()
	p, known := w.intents[id]
	if durable = known && p.seq <= head; durable {
		w.must[p.seq] = p.hash
	}
	return known, durable
}
