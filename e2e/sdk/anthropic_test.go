package sdk

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/option"

	"moeca/internal/audit"
	"moeca/internal/gateway/gatewayapi"
	"moeca/internal/gateway/process"
	"moeca/internal/session"
	"moeca/internal/testreq"
)

const (
	injected   = "sk-ant-injected-by-the-gateway"
	adminToken = "admin-token"
	said       = "Hello through the gateway, größer als ASCII"
)

// upstream is the stub: what it saw, and both shapes of an answer.
type upstream struct {
	mu   sync.Mutex
	seen []string // every request as text
	keys []string
}

func (u *upstream) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	u.mu.Lock()
	u.seen = append(u.seen, fmt.Sprintf("%s %s %v %s", r.Method, r.RequestURI, r.Header, body))
	u.keys = append(u.keys, strings.Join(r.Header.Values("X-Api-Key"), ","))
	u.mu.Unlock()
	if r.URL.Path != "/v1/messages" || r.Header.Get("X-Api-Key") != injected || r.Header.Get("Anthropic-Version") == "" {
		http.Error(w, `{"type":"error","error":{"type":"authentication_error","message":"wrong key"}}`, http.StatusUnauthorized)
		return
	}
	var req struct {
		Stream bool `json:"stream"`
	}
	_ = json.Unmarshal(body, &req)
	if !req.Stream {
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"id":"msg_1","type":"message","role":"assistant","model":"claude-x","content":[{"type":"text","text":%q}],"stop_reason":"end_turn","stop_sequence":null,"usage":{"input_tokens":11,"output_tokens":7}}`, said)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	event := func(name, data string) {
		fmt.Fprintf(w, "event: %s\ndata: %s\n\n", name, data)
		_ = http.NewResponseController(w).Flush()
	}
	event("message_start", `{"type":"message_start","message":{"id":"msg_1","type":"message","role":"assistant","model":"claude-x","content":[],"stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":11,"output_tokens":1}}}`)
	event("content_block_start", `{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}`)
	for _, word := range strings.SplitAfter(said, " ") {
		text, _ := json.Marshal(word)
		event("content_block_delta", fmt.Sprintf(`{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":%s}}`, text))
	}
	event("content_block_stop", `{"type":"content_block_stop","index":0}`)
	event("message_delta", `{"type":"message_delta","delta":{"stop_reason":"end_turn","stop_sequence":null},"usage":{"output_tokens":7}}`)
	event("message_stop", `{"type":"message_stop"}`)
}

// world is a running gateway with one session.
type world struct {
	t       *testing.T
	stub    *upstream
	client  *gatewayapi.Client
	session gatewayapi.MintResponse
	base    string
	dir     string
	stop    func()
}

func newWorld(t *testing.T, budget int64) *world {
	t.Helper()
	w := &world{t: t, stub: &upstream{}}
	srv := httptest.NewServer(w.stub)
	t.Cleanup(srv.Close)
	dir, err := os.MkdirTemp("", "sdk")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	w.dir = dir
	sum := sha256.Sum256([]byte(adminToken))
	c := process.Config{
		Data: dir + "/data", AdminSocket: dir + "/admin.sock", AppendSocket: dir + "/append.sock", Listen: "127.0.0.1:0",
		EndpointsFile: dir + "/endpoints.json", AdminTokenHash: hex.EncodeToString(sum[:]), SocketGID: -1,
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- process.Run(ctx, c, slog.New(slog.DiscardHandler)) }()
	w.stop = sync.OnceFunc(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(w.stop)
	w.client = gatewayapi.NewClient(c.AdminSocket, adminToken)
	health := w.await(ended)
	w.base = "http://" + health.Address + "/anthropic"
	if _, err := w.client.PatchProvider(ctx, "anthropic", gatewayapi.ProviderPatch{BaseURL: &srv.URL}); err != nil {
		t.Fatal(err)
	}
	if err := w.client.SetSecret(ctx, "anthropic", injected); err != nil {
		t.Fatal(err)
	}
	scope := session.Scope{Run: "run-sdk", Upstreams: []string{"anthropic"}, Budget: session.Budget{Tokens: budget}}
	if w.session, err = w.client.Mint(ctx, gatewayapi.MintRequest{Scope: scope, TTL: 600, WithToken: true}); err != nil {
		t.Fatal(err)
	}
	return w
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

// check ends the gateway and looks at both sides of it: the stub saw the key
// and nothing of the session, the log holds every call and neither secret.
func (w *world) check(calls int) {
	w.t.Helper()
	w.stop()
	if len(w.stub.seen) != calls {
		w.t.Fatalf("the stub saw %d calls, want %d", len(w.stub.seen), calls)
	}
	for i, text := range w.stub.seen {
		if w.stub.keys[i] != injected {
			w.t.Errorf("the stub saw the key %q", w.stub.keys[i])
		}
		for _, leak := range []string{w.session.Token, w.session.ID, session.TokenPrefix, "X-Moeca", "Authorization", "run-sdk"} {
			if strings.Contains(text, leak) {
				w.t.Errorf("the stub saw %q in %s", leak, text)
			}
		}
	}
	report, err := audit.Verify(context.Background(), filepath.Join(w.dir, "data", "audit"), audit.VerifyOptions{Bodies: true})
	if err != nil || !report.OK || len(report.OpenIntents) > 0 {
		w.t.Errorf("%+v, %v", report, err)
	}
	_ = filepath.WalkDir(w.dir, func(p string, d os.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return nil
		}
		b, _ := os.ReadFile(p)
		if bytes.Contains(b, []byte(injected)) || bytes.Contains(b, []byte(w.session.Token)) {
			w.t.Errorf("%s holds a secret", p)
		}
		return nil
	})
}

func (w *world) goClient() anthropic.Client {
	return anthropic.NewClient(option.WithBaseURL(w.base), option.WithAPIKey(w.session.Token), option.WithMaxRetries(0))
}

func params() anthropic.MessageNewParams {
	return anthropic.MessageNewParams{
		Model: "claude-x", MaxTokens: 64,
		Messages: []anthropic.MessageParam{anthropic.NewUserMessage(anthropic.NewTextBlock("hello"))},
	}
}

func TestGoSDK(t *testing.T) {
	w := newWorld(t, 0)
	client := w.goClient()
	m, err := client.Messages.New(t.Context(), params())
	if err != nil || m.Content[0].Text != said || m.Usage.OutputTokens != 7 {
		t.Fatalf("%+v, %v", m, err)
	}
	stream := client.Messages.NewStreaming(t.Context(), params())
	whole := anthropic.Message{}
	events := 0
	for stream.Next() {
		events++
		if err := whole.Accumulate(stream.Current()); err != nil {
			t.Fatal(err)
		}
	}
	if err := stream.Err(); err != nil || whole.Content[0].Text != said || events < 8 {
		t.Fatalf("%d events, %+v, %v", events, whole, err)
	}
	got, err := w.client.Revoke(t.Context(), w.session.ID)
	if err != nil || got.Tokens != 2*(11+7) {
		t.Errorf("settled %+v, %v", got, err)
	}
	w.check(2)
}

func TestGoSDKUnderstandsRefusals(t *testing.T) {
	w := newWorld(t, 100)
	client := w.goClient()
	_, err := client.Messages.New(t.Context(), params())
	var api *anthropic.Error
	if !errors.As(err, &api) || api.StatusCode != http.StatusPaymentRequired || !strings.Contains(err.Error(), "budget/exhausted") {
		t.Fatalf("%v", err)
	}
	w.check(0)
}

// node returns a runner of message.mjs, after making sure that node and the
// SDK are there.
func node(t *testing.T, w *world) func(mode string) map[string]any {
	t.Helper()
	_, err := exec.LookPath("node")
	testreq.Need(t, "node", err)
	if _, err := os.Stat("node_modules/@anthropic-ai/sdk"); err != nil {
		out, err := exec.CommandContext(t.Context(), "npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund").CombinedOutput()
		if err != nil {
			err = fmt.Errorf("npm ci: %w: %s", err, out)
		}
		testreq.Need(t, "node", err)
	}
	return func(mode string) map[string]any {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), "node", "message.mjs", mode)
		cmd.Env = append(os.Environ(), "ANTHROPIC_BASE_URL="+w.base, "ANTHROPIC_API_KEY="+w.session.Token)
		var stderr bytes.Buffer
		cmd.Stderr = &stderr
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("node message.mjs %s: %v: %s", mode, err, stderr.Bytes())
		}
		var result map[string]any
		if err := json.Unmarshal(out, &result); err != nil {
			t.Fatalf("%s: %v", out, err)
		}
		return result
	}
}

func TestNpmSDK(t *testing.T) {
	w := newWorld(t, 0)
	run := node(t, w)
	if m := run("create"); m["text"] != said {
		t.Fatalf("%v", m)
	}
	if m := run("stream"); m["text"] != said || m["events"].(float64) < 8 {
		t.Fatalf("%v", m)
	}
	if _, err := w.client.Revoke(t.Context(), w.session.ID); err != nil {
		t.Fatal(err)
	}
	m := run("refused")
	if m["status"].(float64) != 401 || m["gate"] != "session" || m["reason"] != "unknown-session" {
		t.Fatalf("%v", m)
	}
	w.check(2)
}
