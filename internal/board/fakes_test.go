package board_test

import (
	"context"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	"moeca/internal/audit"
	"moeca/internal/gateway/gatewayapi"
	"moeca/internal/handoff"
	"moeca/internal/sandbox"
	"moeca/internal/session"
)

// program is what runs in a fake sandbox: it sees the tree and the order, says
// things, and ends with an exit.
type program func(ctx context.Context, tree string, o handoff.WorkOrder, say func(handoff.Event)) sandbox.Exit

// fakeDriver runs programs as goroutines. It stands for an engine: it survives
// the host, and only Sweep or Remove takes a sandbox away.
type fakeDriver struct {
	mu      sync.Mutex
	agent   program
	command program
	digest  string
	fail    map[string]error // method → error
	live    map[string]*fakeSandbox
	most    int // most sandboxes alive at once
	ensured int
}

func newDriver() *fakeDriver {
	return &fakeDriver{digest: "sha256:" + strings.Repeat("a", 64), fail: map[string]error{}, live: map[string]*fakeSandbox{}}
}

func (d *fakeDriver) failing(method string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.fail[method]
}

func (d *fakeDriver) set(method string, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.fail[method] = err
}

func (d *fakeDriver) Name() string                 { return "fake" }
func (d *fakeDriver) Usable(context.Context) error { return nil }

func (d *fakeDriver) Ensure(_ context.Context, p sandbox.Policy) (sandbox.Image, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.ensured++
	return sandbox.Image{Policy: p.Name, Digest: d.digest, Ref: "ref"}, d.fail["ensure"]
}

func (d *fakeDriver) Prepare(_ context.Context, spec sandbox.Spec) (sandbox.Sandbox, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.fail["prepare"]; err != nil {
		return nil, err
	}
	ctx, stop := context.WithCancel(context.Background())
	r, w := io.Pipe()
	sb := &fakeSandbox{d: d, spec: spec, ctx: ctx, stop: stop, out: w, stdout: r, ended: make(chan struct{})}
	d.live[spec.ID] = sb
	d.most = max(d.most, len(d.live))
	return sb, nil
}

func (d *fakeDriver) Sweep(_ context.Context, owner string, keep []string) (int, error) {
	d.mu.Lock()
	all := d.live
	d.live = map[string]*fakeSandbox{}
	d.mu.Unlock()
	for _, sb := range all {
		sb.kill()
	}
	return len(all), nil
}

func (d *fakeDriver) alive() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return len(d.live)
}

type fakeSandbox struct {
	d       *fakeDriver
	spec    sandbox.Spec
	ctx     context.Context
	stop    context.CancelFunc
	out     *io.PipeWriter
	stdout  *io.PipeReader
	started bool
	once    sync.Once
	exit    sandbox.Exit
	ended   chan struct{}
}

func (s *fakeSandbox) ID() string { return s.spec.ID }

func (s *fakeSandbox) Attach(context.Context) (sandbox.Channel, error) {
	return sandbox.Channel{Stdout: s.stdout}, s.d.failing("attach")
}

func (s *fakeSandbox) Start(context.Context) error {
	if err := s.d.failing("start"); err != nil {
		return err
	}
	s.started = true
	go s.say(handoff.Event{Type: handoff.EventReady})
	return nil
}

func (s *fakeSandbox) say(e handoff.Event) {
	line, err := json.Marshal(e)
	if err != nil {
		panic(err)
	}
	_, _ = s.out.Write(append(line, '\n')) // the reader may be gone
}

func (s *fakeSandbox) Release(_ context.Context, order []byte) error {
	if err := s.d.failing("release"); err != nil {
		return err
	}
	o, err := handoff.ReadOrder(strings.NewReader(string(order)))
	if err != nil {
		return err
	}
	run := s.d.agent
	if o.Kind == handoff.KindCommand {
		run = s.d.command
	}
	go func() { s.finish(run(s.ctx, s.spec.TreeDir, o, s.say)) }()
	return nil
}

func (s *fakeSandbox) finish(e sandbox.Exit) {
	s.once.Do(func() {
		s.exit = e
		_ = s.out.Close()
		close(s.ended)
	})
}

// kill ends the sandbox and waits until nothing of it writes any more.
func (s *fakeSandbox) kill() {
	s.stop()
	s.finish(sandbox.Exit{Code: 137, Cause: sandbox.CauseStopped})
}

func (s *fakeSandbox) Wait(ctx context.Context) (sandbox.Exit, error) {
	select {
	case <-s.ended:
		return s.exit, s.d.failing("wait")
	case <-ctx.Done():
		return sandbox.Exit{}, ctx.Err()
	}
}

func (s *fakeSandbox) Stop(context.Context, time.Duration) error { s.kill(); return nil }

func (s *fakeSandbox) Remove(context.Context) error {
	s.kill()
	s.d.mu.Lock()
	defer s.d.mu.Unlock()
	delete(s.d.live, s.spec.ID)
	return nil
}

// fakeGateway mints and revokes in memory; it survives the host.
type fakeGateway struct {
	mu       sync.Mutex
	n        int
	sessions map[string]session.Session
	scopes   []session.Scope // every scope ever minted
	fail     error
	gone     string // a provider that was removed
}

func (g *fakeGateway) Mint(_ context.Context, r gatewayapi.MintRequest) (gatewayapi.MintResponse, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.fail != nil {
		return gatewayapi.MintResponse{}, g.fail
	}
	g.n++
	id := fmt.Sprintf("session-%d", g.n)
	if g.sessions == nil {
		g.sessions = map[string]session.Session{}
	}
	g.sessions[id] = session.Session{ID: id, Scope: r.Scope}
	g.scopes = append(g.scopes, r.Scope)
	return gatewayapi.MintResponse{ID: id}, nil
}

func (g *fakeGateway) Revoke(_ context.Context, id string) (gatewayapi.Revoked, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if _, ok := g.sessions[id]; !ok {
		return gatewayapi.Revoked{}, errors.New("no such session")
	}
	delete(g.sessions, id)
	return gatewayapi.Revoked{ID: id, Tokens: 1234, Cost: 77}, nil
}

func (g *fakeGateway) Sessions(context.Context) ([]session.Session, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	var all []session.Session
	for _, s := range g.sessions {
		all = append(all, s)
	}
	return all, nil
}

func (g *fakeGateway) alive() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return len(g.sessions)
}

func (g *fakeGateway) Providers(context.Context) ([]gatewayapi.Provider, error) {
	all := []gatewayapi.Provider{
		{Name: "demo", Kind: "anthropic", Scripted: true, Models: []string{"scripted-1"}},
		{Name: "gemini", Kind: "gemini", Models: []string{"g"}},
		{Name: "hub", Kind: "github", BaseURL: "https://api.github.com", GitURL: "https://github.com", Secret: gatewayapi.SecretInfo{HasSecret: true}},
		{Name: "own", Kind: "custom", BaseURL: "https://own.example.org"},
		{Name: "board", Kind: "jira", BaseURL: "https://jira.example.org"},
	}
	return slices.DeleteFunc(all, func(p gatewayapi.Provider) bool { return p.Name == g.gone }), nil
}

// Repository knows the repositories of one owner, and spells that name its own
// way.
func (g *fakeGateway) Repository(_ context.Context, upstream, name string) (gatewayapi.Repository, error) {
	if rest, ok := strings.CutPrefix(name, "owner/"); ok && upstream == "hub" {
		return gatewayapi.Repository{FullName: "Owner/" + rest, ID: 42}, nil
	}
	return gatewayapi.Repository{}, errors.New("unknown repository")
}

// fakeSockets keeps no directories, only their names.
type fakeSockets struct {
	mu   sync.Mutex
	made map[string]bool
	fail error
}

func (s *fakeSockets) Make(id string) (string, string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.made == nil {
		s.made = map[string]bool{}
	}
	s.made[id] = true
	return "/run/moeca-test/" + id, "/gateway/" + id, s.fail
}

func (s *fakeSockets) Remove(id string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.made, id)
	return nil
}

func (s *fakeSockets) alive() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.made)
}

// fakeLedger is the audit log in memory, for writing and reading.
type fakeLedger struct {
	mu   sync.Mutex
	rows []audit.Record
	fail error
}

func (l *fakeLedger) Append(_ context.Context, r gatewayapi.AppendRequest) (gatewayapi.AppendResponse, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.fail != nil {
		return gatewayapi.AppendResponse{}, l.fail
	}
	row := audit.Record{Time: time.Now()}
	row.Kind = map[string]audit.Kind{"approval": audit.KindApproval, "merge": audit.KindMerge, "ci": audit.KindCI}[r.Kind]
	row.Ref, row.Subject, row.Result, row.Detail, row.Attribution.Task = r.Ref, r.Subject, r.Result, r.Detail, r.Task
	l.rows = append(l.rows, row)
	return gatewayapi.AppendResponse{Seq: int64(len(l.rows))}, nil
}

func (l *fakeLedger) set(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.fail = err
}

// asked adds rows as the gateway would for a stage's requests.
func (l *fakeLedger) asked(stage string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, k := range []audit.Kind{audit.KindIntent, audit.KindOutcome, audit.KindRefusal} {
		l.rows = append(l.rows, audit.Record{Kind: k, Time: time.Now(), Attribution: audit.Attribution{Stage: stage}})
	}
}

func (l *fakeLedger) add(r audit.Record) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.rows = append(l.rows, r)
}

func (l *fakeLedger) Refresh() (int64, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return int64(len(l.rows)), nil
}

func (l *fakeLedger) At(seq int64) (audit.Record, audit.Hash, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if seq < 1 || seq > int64(len(l.rows)) {
		return audit.Record{}, audit.Hash{}, errors.New("no such row")
	}
	return l.rows[seq-1], sha256.Sum256(fmt.Append(nil, seq)), nil
}

func (l *fakeLedger) kinds() (kinds []audit.Kind) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, r := range l.rows {
		kinds = append(kinds, r.Kind)
	}
	return kinds
}

// signer signs with a key made from a seed.
type signer struct{ key ed25519.PrivateKey }

func newSigner(seed byte) signer {
	return signer{ed25519.NewKeyFromSeed([]byte(strings.Repeat(string(rune(seed)), ed25519.SeedSize)))}
}

func (s signer) Public() ed25519.PublicKey           { return s.key.Public().(ed25519.PublicKey) }
func (s signer) Sign(message []byte) ([]byte, error) { return ed25519.Sign(s.key, message), nil }
