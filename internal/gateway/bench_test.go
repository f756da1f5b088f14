package gateway

import (
	"bytes"
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"moeca/internal/audit"
	"moeca/internal/gateway/gatewayapi"
	"moeca/internal/gateway/upstream"
	"moeca/internal/netguard"
	"moeca/internal/session"
)

// BenchmarkRequest puts three paths to one stub side by side, keep-alive, 2 kB
// in, 1.4 kB out: the stub itself, a bare ReverseProxy on a Unix socket, and the
// gateway with all gates, injection, scrub and the durable audit log. The
// upstream takes as long as the name says; from some ms on the commit overlaps.
func BenchmarkRequest(b *testing.B) {
	body := `{"model":"claude-x","max_tokens":100,"messages":[{"role":"user","content":"` + strings.Repeat("x", 2000) + `"}]}`
	for _, delay := range []time.Duration{0, 20 * time.Millisecond, 200 * time.Millisecond} {
		name := "upstream-" + delay.String()
		stub := benchStub(b, delay)
		b.Run(name+"/direct", func(b *testing.B) {
			benchCalls(b, http.DefaultClient, stub.URL+"/v1/messages", body)
		})
		b.Run(name+"/reverseproxy", func(b *testing.B) {
			benchCalls(b, keepAlive(benchProxy(b, stub.URL)), "http://g/v1/messages", body)
		})
		b.Run(name+"/gateway", func(b *testing.B) {
			benchCalls(b, keepAlive(benchGateway(b, stub.URL)), "http://g/anthropic/v1/messages", body)
		})
	}
}

func benchStub(b *testing.B, delay time.Duration) *httptest.Server {
	answer := `{"model":"claude-x","content":[{"type":"text","text":"` + strings.Repeat("y", 1300) + `"}],"usage":{"input_tokens":10,"output_tokens":20}}`
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		if delay > 0 {
			<-time.After(delay)
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, answer)
	}))
	b.Cleanup(s.Close)
	return s
}

func benchCalls(b *testing.B, c *http.Client, target, body string) {
	for b.Loop() {
		resp, err := c.Post(target, "application/json", strings.NewReader(body))
		if err != nil {
			b.Fatal(err)
		}
		if _, err := io.Copy(io.Discard, resp.Body); err != nil || resp.StatusCode != 200 {
			b.Fatal(resp.StatusCode, err)
		}
		_ = resp.Body.Close()
	}
}

func keepAlive(sock string) *http.Client {
	return &http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", sock)
	}}}
}

func benchProxy(b *testing.B, target string) string {
	base, _ := url.Parse(target)
	sock := filepath.Join(b.TempDir(), "p")
	l, err := net.Listen("unix", sock)
	if err != nil {
		b.Fatal(err)
	}
	srv := &http.Server{Handler: &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(base) }}}
	go func() { _ = srv.Serve(l) }()
	b.Cleanup(func() { _ = srv.Close() })
	return sock
}

func benchGateway(b *testing.B, target string) string {
	dir := b.TempDir()
	rows, err := audit.Open(filepath.Join(dir, "audit"), audit.Options{})
	if err != nil {
		b.Fatal(err)
	}
	guard := netguard.New(netguard.Options{})
	set := upstream.NewSet(guard, nil)
	g := New(Options{
		Log: AuditLog{rows}, Sessions: session.NewTable(nil), Upstreams: set, Guard: guard, SocketGID: -1,
		Limits: Limits{ModelPerSecond: 1e9, ModelBurst: 1e9, SessionTokens: 1 << 40},
	})
	kind := upstream.KindAnthropic
	put, err := set.PlanPut("anthropic", gatewayapi.ProviderPatch{Kind: &kind, BaseURL: &target})
	if err != nil {
		b.Fatal(err)
	}
	_ = put.Apply()
	key, err := set.PlanKey("anthropic", theKey)
	if err != nil {
		b.Fatal(err)
	}
	_ = key.Apply()
	m, err := g.Mint(gatewayapi.MintRequest{Scope: session.Scope{Upstreams: []string{"anthropic"}}, TTL: 3600, SocketDir: dir})
	if err != nil {
		b.Fatal(err)
	}
	if err := m.Serve(); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		g.Close(context.Background())
		_ = rows.Close()
	})
	return filepath.Join(dir, SocketName)
}

// BenchmarkGates is the chain alone, without a connection or a log.
func BenchmarkGates(b *testing.B) {
	body := []byte(smallBody)
	set := upstream.NewSet(netguard.New(netguard.Options{}), nil)
	g := New(Options{Sessions: session.NewTable(nil), Upstreams: set, Guard: netguard.New(netguard.Options{}), Limits: Limits{ModelPerSecond: 1e9, ModelBurst: 1e9}})
	kind := upstream.KindAnthropic
	put, _ := set.PlanPut("anthropic", gatewayapi.ProviderPatch{Kind: &kind})
	_ = put.Apply()
	key, _ := set.PlanKey("anthropic", theKey)
	_ = key.Apply()
	m, _ := g.Mint(gatewayapi.MintRequest{Scope: session.Scope{Upstreams: []string{"anthropic"}}, TTL: 3600, WithToken: true})
	_ = m.Serve()
	b.Cleanup(func() { g.Close(context.Background()) })
	r := httptest.NewRequest("POST", "/anthropic/v1/messages", bytes.NewReader(body))
	b.ResetTimer()
	for b.Loop() {
		req := newGateRequest(r, m.Session.ID, body)
		if d := g.chain.Run(context.Background(), req); !d.Allowed {
			b.Fatal(d)
		}
	}
}
