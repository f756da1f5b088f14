package gateway

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"moeca/internal/audit"
	"moeca/internal/gateway/gate"
	"moeca/internal/gateway/gatewayapi"
	"moeca/internal/gateway/upstream"
	"moeca/internal/session"
)

func TestUnixUpstreamIsMarkedScripted(t *testing.T) {
	r := newRig(t, Limits{}, session.Scope{Upstreams: []string{"demo"}})
	sock := filepath.Join(r.dir, "model.sock")
	l, err := net.Listen("unix", sock)
	if err != nil {
		t.Fatal(err)
	}
	srv := &http.Server{Handler: http.HandlerFunc(r.serveStub)}
	go func() { _ = srv.Serve(l) }()
	defer srv.Close()
	kind, base, scripted := upstream.KindAnthropic, "unix:"+sock, true
	r.define("demo", gatewayapi.ProviderPatch{Kind: &kind, BaseURL: &base, Scripted: &scripted}, "canary-0123456789")
	resp, body := r.post("/demo/v1/messages", smallBody)
	if resp.StatusCode != 200 || body != messageAnswer {
		t.Fatalf("%d %s", resp.StatusCode, body)
	}
	if got := r.calls()[0]; got.Header.Get("X-Api-Key") != "canary-0123456789" || got.URI != "/v1/messages" {
		t.Fatalf("%+v", got)
	}
	in, out := r.rows(audit.KindIntent, 1)[0], r.rows(audit.KindOutcome, 1)[0]
	if !in.Scripted || !out.Scripted || in.Target != "http://demo.unix/v1/messages" {
		t.Fatalf("%+v %+v", in, out)
	}
}

// A write or sync of the log fails after the upstream was asked: the answer
// stays here.
func TestAnswerIsWithheldWhenItsRecordFails(t *testing.T) {
	r := newRig(t, Limits{}, session.Scope{})
	r.log.set(func(l *faultLog) { l.broken = errors.New("input/output error") })
	resp, body := r.post("/anthropic/v1/messages", smallBody)
	if resp.StatusCode != 503 || !strings.Contains(body, ReasonLogDown) || strings.Contains(body, "end_turn") {
		t.Fatalf("%d %s", resp.StatusCode, body)
	}
	before := len(r.calls())
	if resp, _ := r.post("/tool/x", "{}"); resp.StatusCode != 503 || len(r.calls()) != before {
		t.Fatalf("a write went out although its record failed: %d", resp.StatusCode)
	}
	if resp, body := r.post("/nowhere", ""); resp.StatusCode != 503 || strings.Contains(body, "no-route") {
		t.Fatalf("an unrecorded refusal was answered: %d %s", resp.StatusCode, body)
	}
	r.log.set(func(l *faultLog) { l.broken = nil })
}

func TestRefusalIsDurableBeforeItsAnswer(t *testing.T) {
	r := newRig(t, Limits{}, session.Scope{})
	held, queued := make(chan struct{}), make(chan struct{}, 1)
	r.log.set(func(l *faultLog) { l.held, l.queued = held, func(audit.Record) { queued <- struct{}{} } })
	answered := make(chan int, 1)
	go func() {
		resp, _ := r.post("/nowhere", "")
		answered <- resp.StatusCode
	}()
	<-queued
	select {
	case s := <-answered:
		t.Fatalf("answered %d before the refusal was durable", s)
	case <-time.After(100 * time.Millisecond):
	}
	close(held)
	if s := <-answered; s != 404 {
		t.Fatal(s)
	}
}

func TestSessionEndsByItself(t *testing.T) {
	r := newRig(t, Limits{}, session.Scope{})
	dir := filepath.Join(r.dir, "short")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	m, err := r.g.Mint(gatewayapi.MintRequest{Scope: session.Scope{Upstreams: []string{"tool"}}, TTL: 1, SocketDir: dir})
	if err != nil {
		t.Fatal(err)
	}
	if err := m.Serve(); err != nil {
		t.Fatal(err)
	}
	sock := filepath.Join(dir, SocketName)
	deadline := time.Now().Add(20 * time.Second)
	for {
		if _, err := os.Lstat(sock); os.IsNotExist(err) {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("the socket outlived its session")
		}
		time.Sleep(10 * time.Millisecond)
	}
	if _, ok := r.g.enter(m.Session.ID); ok {
		t.Fatal("an expired session is live")
	}
}

func TestOneSessionPerSocket(t *testing.T) {
	r := newRig(t, Limits{}, session.Scope{})
	req := gatewayapi.MintRequest{TTL: 60, SocketDir: filepath.Dir(r.sock)}
	if _, err := r.g.Mint(req); !errors.Is(err, ErrSocketDir) {
		t.Fatalf("a second session on one socket: %v", err)
	}
	if resp, body := r.post("/anthropic/v1/messages", smallBody); resp.StatusCode != 200 {
		t.Fatalf("the first session is damaged: %s", body)
	}
	r.g.Revoke(t.Context(), r.sandbox.ID)
	m, err := r.g.Mint(req)
	if err != nil {
		t.Fatalf("the path is not free after the session ended: %v", err)
	}
	m.Drop()
	if err := os.WriteFile(r.sock, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := r.g.Mint(req); !errors.Is(err, ErrSocketDir) {
		t.Fatalf("a file in the way was replaced: %v", err)
	}
	if _, err := os.Stat(r.sock); err != nil {
		t.Fatalf("the file is gone: %v", err)
	}
}

// Eight announced bodies of 8 MiB are all one session may have in memory.
func TestOneSessionCannotFillTheMemory(t *testing.T) {
	r := newRig(t, Limits{}, session.Scope{})
	l, ok := r.g.enter(r.sandbox.ID)
	if !ok {
		t.Fatal("no session")
	}
	l.leave()
	head := fmt.Sprintf("POST /tool/x HTTP/1.1\r\nHost: g\r\nContent-Length: %d\r\n\r\n", 8<<20)
	var open []net.Conn
	for range 8 {
		c := dial(t, "unix", r.sock)
		if _, err := io.WriteString(c, head); err != nil {
			t.Fatal(err)
		}
		open = append(open, c)
	}
	wait := func(what string, until func() bool) {
		t.Helper()
		for deadline := time.Now().Add(20 * time.Second); !until(); time.Sleep(2 * time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatal(what)
			}
		}
	}
	wait("the bodies are not counted", func() bool { return l.held.Load() == 64<<20 })
	if answer := r.raw("unix", r.sock, head); !strings.HasPrefix(answer, "429") || !strings.Contains(answer, gate.ReasonBusy) {
		t.Fatalf("%q", answer)
	}
	for _, c := range open {
		_ = c.Close()
	}
	wait("memory was not given back", func() bool { return l.held.Load() == 0 })
	if resp, text := r.post("/tool/x", "{}"); resp.StatusCode != 200 {
		t.Fatalf("%d %s", resp.StatusCode, text)
	}
}

func TestBodilessAnswersKeepTheirShape(t *testing.T) {
	r := newRig(t, Limits{}, session.Scope{})
	for name, c := range map[string]struct {
		method string
		status int
	}{"204": {"POST", 204}, "304": {"GET", 304}, "HEAD": {"HEAD", 200}} {
		r.answers(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("ETag", "x")
			if c.method == "HEAD" {
				w.Header().Set("Content-Length", "5")
			}
			w.WriteHeader(c.status)
		})
		resp, body := r.do(r.overSocket(), c.method, "http://g/tool/x", "")
		if resp.StatusCode != c.status || body != "" || len(resp.TransferEncoding) > 0 || resp.Header.Get("Etag") != "x" {
			t.Errorf("%s: %d %q %v", name, resp.StatusCode, body, resp.TransferEncoding)
		}
	}
	for _, out := range r.rows(audit.KindOutcome, 3) {
		if out.Result != audit.ResultOK {
			t.Errorf("%+v", out)
		}
	}
}

func TestCloseEndsEverything(t *testing.T) {
	r := newRig(t, Limits{}, session.Scope{})
	next := make(chan struct{}, 1)
	r.answers(stream(next))
	next <- struct{}{}
	br, body := r.openStream(t.Context())
	defer body.Close()
	if _, err := br.ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	r.g.Close(t.Context())
	if _, err := io.ReadAll(br); err == nil {
		t.Error("a stream went on")
	}
	if out := r.rows(audit.KindOutcome, 1)[0]; out.Result != audit.ResultCut {
		t.Errorf("%+v", out)
	}
	m, err := r.g.Mint(gatewayapi.MintRequest{TTL: 60, WithToken: true})
	if err != nil {
		t.Fatal(err)
	}
	if err := m.Serve(); err == nil {
		t.Error("a closed gateway serves a new session")
	}
	m.Drop()
	if _, err := (&net.Dialer{}).DialContext(context.Background(), "tcp", r.addr); err == nil {
		t.Error("the loopback listener is still there")
	}
}

func TestSessionsTellTheirScopeAndWhatTheyDrew(t *testing.T) {
	r := newRig(t, Limits{SessionTokens: 5_000_000}, session.Scope{Repos: []string{"o/n"}})
	began, finish := make(chan struct{}), make(chan struct{})
	r.answers(func(w http.ResponseWriter, _ *http.Request) {
		close(began)
		<-finish
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, messageAnswer)
	})
	done := make(chan struct{})
	go func() { r.post("/anthropic/v1/messages", smallBody); close(done) }()
	<-began
	of := func() gatewayapi.SessionState {
		for _, s := range r.g.SessionStates() {
			if s.ID == r.sandbox.ID {
				return s
			}
		}
		t.Fatal("the session is not listed")
		return gatewayapi.SessionState{}
	}
	if s := of(); s.Reserved.Tokens < 100 || s.Spent.Tokens != 0 || s.Scope.Run != "run-1" || s.Scope.Repos[0] != "o/n" || s.Scope.Budget.Tokens != 5_000_000 {
		t.Errorf("during a call: %+v", s)
	}
	close(finish)
	<-done
	r.rows(audit.KindOutcome, 1)
	if s := of(); s.Reserved != (session.Budget{}) || s.Spent.Tokens != 30 {
		t.Errorf("after it: %+v", s)
	}
}

func TestChildrenAreHeldToTheDefaultBudget(t *testing.T) {
	r := newRig(t, Limits{SessionTokens: 1000}, session.Scope{})
	child := session.Scope{Parent: r.client.ID, Run: "run-1", Task: "task-1"}
	for tokens, ok := range map[int64]bool{0: true, 1000: true, 1001: false} {
		child.Budget.Tokens = tokens
		m, err := r.g.Mint(gatewayapi.MintRequest{Scope: child, TTL: 60, WithToken: true})
		if (err == nil) != ok || !ok && !errors.Is(err, session.ErrScope) {
			t.Errorf("%d tokens: %v", tokens, err)
		}
		if m != nil {
			m.Drop()
		}
	}
}

func TestRepositoryIDsAreOfOneHost(t *testing.T) {
	r := newRig(t, Limits{}, session.Scope{})
	kind, base := upstream.KindGitHub, r.stub.URL
	for _, name := range []string{"hub", "hub2"} {
		r.define(name, gatewayapi.ProviderPatch{Kind: &kind, BaseURL: &base, GitURL: &base}, theKey)
	}
	scope := session.Scope{Upstreams: []string{"hub", "hub2"}, Repos: []string{"o/n"}, RepoIDs: map[string]int64{"o/n": 1296269}}
	if _, err := r.g.Mint(gatewayapi.MintRequest{Scope: scope, TTL: 60, WithToken: true}); !errors.Is(err, session.ErrScope) {
		t.Errorf("%v", err)
	}
	scope.Upstreams = []string{"hub", "tool"}
	_, token, _ := r.mint(scope, false)
	const mutation = `{"query":"mutation{createRef(input:{repositoryId:\"R_kgDOABPHjQ\",name:\"refs/heads/moeca/x\",oid:\"x\"}){clientMutationId}}"}`
	if resp, body := r.do(http.DefaultClient, "POST", "http://"+r.addr+"/hub/graphql", mutation, "Content-Type", "application/json", gate.HeaderSession, token); resp.StatusCode != 200 {
		t.Errorf("%d %s", resp.StatusCode, body)
	}
	if resp, body := r.do(http.DefaultClient, "POST", "http://"+r.addr+"/hub/graphql", strings.Replace(mutation, "kgDOABPHjQ", "kgDOABPHjg", 1), "Content-Type", "application/json", gate.HeaderSession, token); resp.StatusCode != 403 {
		t.Errorf("the id of another: %d %s", resp.StatusCode, body)
	}
}
