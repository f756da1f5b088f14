package gateway

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"moeca/internal/audit"
	"moeca/internal/gateway/budget"
	"moeca/internal/gateway/gate"
	"moeca/internal/gateway/gatewayapi"
	"moeca/internal/gateway/policy"
	"moeca/internal/gateway/price"
	"moeca/internal/gateway/upstream"
	"moeca/internal/netguard"
	"moeca/internal/session"
)

const theKey = "sk-ant-injected-0123456789"

// faultLog is the real log with two switches: rows that are never durable, and
// a log that cannot be written.
type faultLog struct {
	AuditLog
	mu     sync.Mutex
	held   chan struct{} // not nil: Wait blocks until it is closed
	queued func(audit.Record)
	down   error
	broken error // what Wait returns: the write failed

	hurried func()
}

func (l *faultLog) Hurry() {
	l.mu.Lock()
	hurried := l.hurried
	l.mu.Unlock()
	if hurried != nil {
		hurried()
	}
	l.AuditLog.Hurry()
}

type heldRow struct {
	Row
	held   chan struct{}
	broken error
}

func (r heldRow) Wait(ctx context.Context) error {
	if r.held != nil {
		select {
		case <-r.held:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	if r.broken != nil {
		return r.broken
	}
	return r.Row.Wait(ctx)
}

func (l *faultLog) Queue(r audit.Record, req, resp *audit.Body) (Row, error) {
	l.mu.Lock()
	down, held, queued, broken := l.down, l.held, l.queued, l.broken
	l.mu.Unlock()
	if down != nil {
		return nil, down
	}
	row, err := l.AuditLog.Queue(r, req, resp)
	if err != nil {
		return nil, err
	}
	if queued != nil {
		queued(r)
	}
	return heldRow{row, held, broken}, nil
}

func (l *faultLog) Err() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.down != nil {
		return l.down
	}
	return l.AuditLog.Err()
}

func (l *faultLog) set(edit func(*faultLog)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	edit(l)
}

// seen is what the stub upstream got.
type seen struct {
	Header http.Header
	URI    string
	Host   string
	Method string
	Body   []byte
}

// rig is a gateway with a real audit log, a stub upstream on loopback, and one
// session of each kind.
type rig struct {
	t               *testing.T
	dir             string
	log             *faultLog
	g               *Gateway
	set             *upstream.Set
	policies        *policy.Set
	stub            *httptest.Server
	answer          atomic.Pointer[http.HandlerFunc]
	mu              sync.Mutex
	got             []seen
	addr            string // loopback listener
	sock            string
	sandbox, client session.Session
	token           string
}

func newRig(t *testing.T, limits Limits, scope session.Scope) *rig {
	t.Helper()
	dir, err := os.MkdirTemp("", "gw")
	if err != nil {
		t.Fatal(err)
	}
	r := &rig{t: t, dir: dir}
	r.stub = httptest.NewServer(http.HandlerFunc(r.serveStub))
	rows, err := audit.Open(filepath.Join(dir, "audit"), audit.Options{})
	if err != nil {
		t.Fatal(err)
	}
	r.log = &faultLog{AuditLog: AuditLog{rows}}
	guard := netguard.New(netguard.Options{})
	r.set = upstream.NewSet(guard, nil)
	sessions := session.NewTable(nil)
	if limits.ModelPerSecond == 0 {
		limits.ModelPerSecond, limits.ModelBurst, limits.ToolPerSecond, limits.ToolBurst = 1e6, 1e6, 1e6, 1e6
	}
	prices, err := price.NewTable()
	if err != nil {
		t.Fatal(err)
	}
	r.policies = toolPolicy(t)
	r.g = New(Options{Policies: r.policies, Log: r.log, Prices: prices, Sessions: sessions, Upstreams: r.set, Guard: guard, Limits: limits, SocketGID: -1, Logger: slog.New(slog.DiscardHandler)})
	for name, kind := range map[string]string{"anthropic": upstream.KindAnthropic, "openai": upstream.KindOpenAI, "gemini": upstream.KindGemini, "tool": upstream.KindCustom} {
		base := r.stub.URL
		p := gatewayapi.ProviderPatch{Kind: &kind, BaseURL: &base}
		if name == "tool" {
			p.Auth = &gatewayapi.Auth{Header: "X-Tool-Key"}
		}
		r.define(name, p, theKey)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	r.addr = l.Addr().String()
	go func() { _ = r.g.ServeTokens(l) }()
	if scope.Upstreams == nil {
		scope.Upstreams = []string{"anthropic", "openai", "gemini", "tool"}
	}
	scope.Run, scope.Stage, scope.Task = "run-1", "stage-1", "task-1"
	r.sandbox, _, r.sock = r.mint(scope, true)
	r.client, r.token, _ = r.mint(scope, false)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
		defer cancel()
		r.g.Close(ctx)
		r.stub.CloseClientConnections()
		r.stub.Close()
		if err := rows.Close(); err != nil {
			t.Error(err)
		}
		report, err := audit.Verify(ctx, filepath.Join(dir, "audit"), audit.VerifyOptions{Bodies: true})
		if err != nil || !report.OK || len(report.OpenIntents) > 0 {
			t.Errorf("log after the test: %+v, %v", report, err)
		}
		_ = os.RemoveAll(dir)
	})
	return r
}

func (r *rig) define(name string, p gatewayapi.ProviderPatch, key string) {
	r.t.Helper()
	c, err := r.set.PlanPut(name, p)
	if err == nil {
		err = c.Apply()
	}
	if err == nil {
		if c, err = r.set.PlanKey(name, key); err == nil {
			err = c.Apply()
		}
	}
	if err != nil {
		r.t.Fatal(err)
	}
}

func (r *rig) mint(scope session.Scope, socket bool) (session.Session, string, string) {
	r.t.Helper()
	req := gatewayapi.MintRequest{Scope: scope, TTL: 3600, WithToken: !socket}
	if socket {
		d, err := os.MkdirTemp(r.dir, "s")
		if err != nil {
			r.t.Fatal(err)
		}
		req.SocketDir = d
	}
	m, err := r.g.Mint(req)
	if err != nil {
		r.t.Fatal(err)
	}
	if err := m.Serve(); err != nil {
		r.t.Fatal(err)
	}
	return m.Session, m.Token, filepath.Join(req.SocketDir, SocketName)
}

const messageAnswer = `{"id":"m","type":"message","role":"assistant","model":"claude-x","content":[{"type":"text","text":"hi"}],"stop_reason":"end_turn","usage":{"input_tokens":10,"output_tokens":20}}`

func (r *rig) serveStub(w http.ResponseWriter, req *http.Request) {
	body, _ := io.ReadAll(req.Body)
	r.mu.Lock()
	r.got = append(r.got, seen{req.Header.Clone(), req.RequestURI, req.Host, req.Method, body})
	r.mu.Unlock()
	if h := r.answer.Load(); h != nil {
		(*h)(w, req)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = io.WriteString(w, messageAnswer)
}

// left is what the session of the sandbox may still use of anthropic, in tokens.
func (r *rig) left() int64 {
	return r.g.ledger.Left(budget.Who{Session: r.sandbox.ID, Run: "run-1", Task: "task-1", Provider: "anthropic", At: time.Now()}).Tokens
}

func (r *rig) answers(h http.HandlerFunc) { r.answer.Store(&h) }

func (r *rig) calls() []seen {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]seen(nil), r.got...)
}

// overSocket is a client in the sandbox, overTCP one on the host.
func (r *rig) overSocket() *http.Client { return socketClient(r.sock) }

func socketClient(sock string) *http.Client {
	return &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }, Transport: &http.Transport{
		DisableCompression: true, DisableKeepAlives: true,
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, "unix", sock)
		},
	}}
}

const smallBody = `{"model":"claude-x","max_tokens":100,"messages":[{"role":"user","content":"hello"}]}`

func (r *rig) post(path, body string, header ...string) (*http.Response, string) {
	r.t.Helper()
	return r.do(r.overSocket(), "POST", "http://gateway"+path, body, header...)
}

func (r *rig) do(c *http.Client, method, url, body string, header ...string) (*http.Response, string) {
	r.t.Helper()
	req, err := http.NewRequest(method, url, strings.NewReader(body))
	if err != nil {
		r.t.Fatal(err)
	}
	for i := 0; i+1 < len(header); i += 2 {
		req.Header.Add(header[i], header[i+1])
	}
	resp, err := c.Do(req)
	if err != nil {
		r.t.Fatalf("%s %s: %v", method, url, err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		r.t.Fatalf("%s %s: read: %v", method, url, err)
	}
	return resp, string(b)
}

// raw sends bytes as they are and returns the status line and the rest.
func (r *rig) raw(network, addr, text string) string {
	r.t.Helper()
	c, err := net.Dial(network, addr)
	if err != nil {
		r.t.Fatal(err)
	}
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(20 * time.Second))
	if _, err := io.WriteString(c, text); err != nil {
		r.t.Fatal(err)
	}
	resp, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		return ""
	}
	b, _ := io.ReadAll(resp.Body)
	return resp.Status + "\n" + string(b)
}

// rows reads the log from the disk. It waits until every intent has its
// outcome, or want rows of a kind exist.
func (r *rig) rows(kind audit.Kind, want int) []audit.Record {
	r.t.Helper()
	deadline := time.Now().Add(20 * time.Second)
	for {
		var out []audit.Record
		for _, rec := range r.all() {
			if rec.Kind == kind {
				out = append(out, rec)
			}
		}
		if len(out) >= want || time.Now().After(deadline) {
			if len(out) != want {
				r.t.Fatalf("%d rows of kind %s, want %d: %+v", len(out), kind, want, out)
			}
			return out
		}
		time.Sleep(2 * time.Millisecond)
	}
}

func (r *rig) all() []audit.Record {
	r.t.Helper()
	reader, err := audit.OpenReader(filepath.Join(r.dir, "audit"))
	if err != nil {
		return nil
	}
	defer reader.Close()
	last, err := reader.Refresh()
	if err != nil {
		r.t.Fatal(err)
	}
	var out []audit.Record
	for rec, err := range reader.Range(1, last) {
		if err != nil {
			r.t.Fatal(err)
		}
		out = append(out, rec)
	}
	return out
}

// logBytes is every byte the log put on disk.
func (r *rig) logBytes() []byte {
	var out bytes.Buffer
	_ = filepath.WalkDir(filepath.Join(r.dir, "audit"), func(p string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			b, _ := os.ReadFile(p)
			out.Write(b)
		}
		return nil
	})
	return out.Bytes()
}

// newGateRequest is a request as serve would put it to the gates.
func newGateRequest(r *http.Request, socket string, body []byte) *gate.Request {
	return &gate.Request{HTTP: r, Socket: socket, Now: time.Now(), Load: func(int64) ([]byte, error) { return body, nil }}
}
