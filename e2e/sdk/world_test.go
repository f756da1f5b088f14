package sdk

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"moeca/internal/audit"
	"moeca/internal/gateway/gatewayapi"
	"moeca/internal/gateway/process"
	"moeca/internal/session"
	"moeca/internal/testreq"
)

const (
	adminToken = "admin-token"
	said       = "Hello through the gateway, größer als ASCII"
)

// dialect is an upstream as its stub plays it.
type dialect struct {
	name       string // of the upstream
	define     gatewayapi.ProviderPatch
	key        string // as the person enters it
	header     string // that must carry it at the stub
	credential string // and what the header must hold
	answer     http.Handler
}

// stub passes on to the dialect what carries the credential and notes all it
// sees.
type stub struct {
	dialect
	mu    sync.Mutex
	seen  []string // every request as text
	creds [][]string
}

func (s *stub) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	s.mu.Lock()
	s.seen = append(s.seen, fmt.Sprintf("%s %s %v %s", r.Method, r.RequestURI, r.Header, body))
	var creds []string
	for _, name := range []string{"Authorization", "X-Api-Key", "X-Goog-Api-Key", "Cookie"} {
		for _, value := range r.Header.Values(name) {
			creds = append(creds, name+": "+value)
		}
	}
	s.creds = append(s.creds, creds)
	s.mu.Unlock()
	if r.Header.Get(s.header) != s.credential {
		http.Error(w, `{"error":{"message":"wrong key"}}`, http.StatusUnauthorized)
		return
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	s.answer.ServeHTTP(w, r)
}

// calls is how many requests reached the stub.
func (s *stub) calls() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.seen)
}

// world is a running gateway with one upstream and one session.
type world struct {
	t       *testing.T
	stub    *stub
	client  *gatewayapi.Client
	session gatewayapi.MintResponse
	gateway string // address of the loopback listener
	base    string // of the upstream, as the client sees it
	dir     string
	stop    func()
}

func newWorld(t *testing.T, d dialect, scope session.Scope) *world {
	t.Helper()
	w := &world{t: t, stub: &stub{dialect: d}}
	srv := httptest.NewServer(w.stub)
	t.Cleanup(srv.Close)
	dir, err := os.MkdirTemp("", "sdk")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	w.dir = dir
	w.start()
	d.define.BaseURL = &srv.URL
	if _, err := w.client.PutProvider(t.Context(), d.name, d.define); err != nil {
		t.Fatal(err)
	}
	if err := w.client.SetSecret(t.Context(), d.name, d.key); err != nil {
		t.Fatal(err)
	}
	scope.Run, scope.Upstreams = "run-sdk", []string{d.name}
	if w.session, err = w.client.Mint(t.Context(), gatewayapi.MintRequest{Scope: scope, TTL: 600, WithToken: true}); err != nil {
		t.Fatal(err)
	}
	return w
}

// start runs the gateway as its binary does.
func (w *world) start() {
	sum := sha256.Sum256([]byte(adminToken))
	c := process.Config{
		Data: w.dir + "/data", AdminSocket: w.dir + "/admin.sock", AppendSocket: w.dir + "/append.sock", Listen: "127.0.0.1:0",
		EndpointsFile: w.dir + "/endpoints.json", AdminTokenHash: hex.EncodeToString(sum[:]), SocketGID: -1,
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- process.Run(ctx, c, slog.New(slog.DiscardHandler)) }()
	w.stop = sync.OnceFunc(func() {
		cancel()
		if err := <-ended; err != nil {
			w.t.Error(err)
		}
	})
	w.t.Cleanup(w.stop)
	w.client = gatewayapi.NewClient(c.AdminSocket, adminToken)
	w.gateway = "http://" + w.await(ended).Address
	w.base = w.gateway + "/" + w.stub.name
}

func (w *world) await(ended <-chan error) gatewayapi.Health {
	for {
		if h, err := w.client.Health(w.t.Context()); err == nil {
			return h
		}
		select {
		case err := <-ended:
			w.t.Fatalf("gateway did not start: %v", err)
		case <-time.After(5 * time.Millisecond):
		}
	}
}

// revoke ends the session and returns the tokens it was billed.
func (w *world) revoke() int64 {
	w.t.Helper()
	got, err := w.client.Revoke(w.t.Context(), w.session.ID)
	if err != nil {
		w.t.Fatal(err)
	}
	return got.Tokens
}

// check ends the gateway and looks at both sides of it: the stub saw the key
// and nothing of the session, the log holds every call and neither secret.
func (w *world) check(calls int) {
	w.t.Helper()
	w.stop()
	s := w.stub
	if len(s.seen) != calls {
		w.t.Errorf("the stub saw %d calls, want %d", len(s.seen), calls)
	}
	for i, text := range s.seen {
		if want := []string{s.header + ": " + s.credential}; !slices.Equal(s.creds[i], want) {
			w.t.Errorf("the stub saw the credentials %q", s.creds[i])
		}
		for _, leak := range []string{w.session.Token, w.session.ID, session.TokenPrefix, "X-Moeca", "run-sdk"} {
			if strings.Contains(text, leak) {
				w.t.Errorf("the stub saw %q in %s", leak, text)
			}
		}
	}
	report, err := audit.Verify(context.Background(), filepath.Join(w.dir, "data", "audit"), audit.VerifyOptions{Bodies: true})
	if err != nil || !report.OK || len(report.OpenIntents) > 0 {
		w.t.Errorf("%+v, %v", report, err)
	}
	w.noFileHolds(s.key, s.credential, w.session.Token)
}

// noFileHolds looks into everything the gateway left on disk.
func (w *world) noFileHolds(secrets ...string) {
	_ = filepath.WalkDir(w.dir, func(p string, d os.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return nil
		}
		b, _ := os.ReadFile(p)
		for _, s := range secrets {
			if bytes.Contains(b, []byte(s)) {
				w.t.Errorf("%s holds a secret", p)
			}
		}
		return nil
	})
}

// npm returns a runner of a script, after making sure that node and the SDKs
// are there. env is what the SDK reads its base URL and its key from.
func (w *world) npm(script string, env ...string) func(mode string) map[string]any {
	t := w.t
	t.Helper()
	_, err := exec.LookPath("node")
	testreq.Need(t, "node", err)
	for _, sdk := range []string{"@anthropic-ai/sdk", "openai", "@google/genai"} {
		if _, err := os.Stat("node_modules/" + sdk); err == nil {
			continue
		}
		out, err := exec.CommandContext(t.Context(), "npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund").CombinedOutput()
		if err != nil {
			err = fmt.Errorf("npm ci: %w: %s", err, out)
		}
		testreq.Need(t, "node", err)
		break
	}
	return func(mode string) map[string]any {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), "node", script, mode)
		cmd.Env = append(os.Environ(), env...)
		var stderr bytes.Buffer
		cmd.Stderr = &stderr
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("node %s %s: %v: %s", script, mode, err, stderr.Bytes())
		}
		var result map[string]any
		if err := json.Unmarshal(out, &result); err != nil {
			t.Fatalf("%s: %v", out, err)
		}
		return result
	}
}

// streams says whether the body of a call asks for a stream.
func streams(r *http.Request) bool {
	var req struct {
		Stream bool `json:"stream"`
	}
	_ = json.NewDecoder(r.Body).Decode(&req)
	return req.Stream
}

// event writes one server-sent event, and its name if it has one.
func event(w http.ResponseWriter, name, format string, args ...any) {
	w.Header().Set("Content-Type", "text/event-stream")
	if name != "" {
		fmt.Fprintf(w, "event: %s\n", name)
	}
	fmt.Fprintf(w, "data: "+format+"\n\n", args...)
	_ = http.NewResponseController(w).Flush()
}

// quoted is a JSON string.
func quoted(text string) string {
	b, _ := json.Marshal(text)
	return string(b)
}

// words are what was said, as JSON strings of one word each.
func words() []string {
	out := strings.SplitAfter(said, " ")
	for i, word := range out {
		out[i] = quoted(word)
	}
	return out
}

// answerJSON writes a whole answer.
func answerJSON(w http.ResponseWriter, format string, args ...any) {
	w.Header().Set("Content-Type", "application/json")
	fmt.Fprintf(w, format, args...)
}

func ptr[T any](v T) *T { return &v }
