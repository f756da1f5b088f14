package e2e

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"moeca/internal/audit"
	"moeca/internal/gateway"
	"moeca/internal/gateway/gatewayapi"
	"moeca/internal/gateway/process"
	"moeca/internal/session"
)

var kills = flag.Int("kills", 200, "times that TestKilledGatewaysLoseNoRow kills a gateway")

// killsOfALog is how often a gateway is killed on the same log.
const killsOfALog = 20

// TestKilledGatewaysLoseNoRow kills a real gateway under load, at any moment, a
// few hundred times: each time the next one opens the log, it verifies, whatever
// was answered is in it, and so is every write the upstream saw.
func TestKilledGatewaysLoseNoRow(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	var answered, written int64
	for done := 0; done < *kills && !t.Failed(); {
		k := newKilled(t)
		for range min(killsOfALog, *kills-done) {
			k.run(time.Duration(rng.IntN(60)) * time.Millisecond)
			done++
		}
		k.start() // what the last kill left
		k.check()
		k.kill()
		answered, written = answered+int64(len(k.answered)), written+int64(len(k.written))
	}
	t.Logf("%d kills, %d requests answered, %d writes seen", *kills, answered, written)
	if answered < int64(*kills) || written < int64(*kills)/2 {
		t.Errorf("%d kills came between %d answers and %d writes: that proves little", *kills, answered, written)
	}
}

// killed is a gateway that is started and killed again and again on one log.
type killed struct {
	t      *testing.T
	config process.Config
	file   string
	admin  *gatewayapi.Client
	up     *httptest.Server
	cmd    *exec.Cmd
	ended  chan struct{} // closed when it has ended
	token  string
	addr   string
	next   atomic.Int64

	mu       sync.Mutex
	answered map[string]bool // requests of which a byte of the answer arrived
	written  map[string]bool // writes that the upstream saw
}

const killToken = "admin-token-of-the-kills"

func newKilled(t *testing.T) *killed {
	dir := shortDir(t)
	sum := sha256.Sum256([]byte(killToken))
	k := &killed{t: t, file: filepath.Join(dir, "c.json"), answered: map[string]bool{}, written: map[string]bool{}}
	k.config = process.Config{
		Data: filepath.Join(dir, "d"), AdminSocket: filepath.Join(dir, "a"), AppendSocket: filepath.Join(dir, "p"), Listen: "127.0.0.1:0",
		EndpointsFile: filepath.Join(dir, "e.json"), AdminTokenHash: hex.EncodeToString(sum[:]), SocketGID: -1, Landlock: true, ParentPID: os.Getpid(),
		Limits: gateway.Limits{ToolPerSecond: 1e6, ToolBurst: 1e6},
	}
	raw, err := json.Marshal(k.config)
	if err == nil {
		err = os.WriteFile(k.file, raw, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	k.admin = gatewayapi.NewClient(k.config.AdminSocket, killToken)
	t.Cleanup(k.admin.Close)
	k.up = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost {
			k.mu.Lock()
			k.written[filepath.Base(r.URL.Path)] = true
			k.mu.Unlock()
		}
		_, _ = io.Copy(io.Discard, r.Body)
		_, _ = io.WriteString(w, "done")
	}))
	t.Cleanup(k.up.Close)
	return k
}

// start starts a gateway on what the one before left, and waits for it.
func (k *killed) start() {
	t := k.t
	t.Helper()
	k.cmd = exec.Command(filepath.Join(bin(t), "moeca-gateway"), "-config", k.file)
	var said strings.Builder
	k.cmd.Stderr = &said
	if err := k.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	cmd, ended := k.cmd, make(chan struct{})
	k.ended = ended
	go func() { _ = cmd.Wait(); close(ended) }()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	for {
		h, err := k.admin.Health(ctx)
		if err == nil && h.PID == k.cmd.Process.Pid {
			if k.addr = h.Address; !h.OK {
				t.Fatalf("the gateway after a kill: %+v", h)
			}
			return
		}
		select {
		case <-ended:
			t.Fatalf("the gateway did not start after a kill: %s", said.String())
		case <-ctx.Done():
			t.Fatalf("the gateway did not start after a kill: %v", err)
		case <-time.After(time.Millisecond):
		}
	}
}

func (k *killed) kill() {
	_ = k.cmd.Process.Kill()
	<-k.ended
}

// run lets a gateway serve for a while, checks what it found, and kills it.
func (k *killed) run(life time.Duration) {
	t := k.t
	t.Helper()
	k.start()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	_, err := k.admin.PutProvider(ctx, "tool", gatewayapi.ProviderPatch{BaseURL: &k.up.URL})
	if err == nil {
		_, err = k.admin.PatchPolicy(ctx, "tool", gatewayapi.PolicyPatch{Writes: &[]gatewayapi.OperationRule{{Method: "POST", Path: "/**"}}})
	}
	if err != nil {
		t.Fatal(err)
	}
	m, err := k.admin.Mint(ctx, gatewayapi.MintRequest{Scope: session.Scope{Run: "r", Upstreams: []string{"tool"}}, TTL: 600, WithToken: true})
	if err != nil {
		t.Fatal(err)
	}
	k.token = m.Token
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			client := &http.Client{Transport: &http.Transport{}}
			defer client.CloseIdleConnections()
			for k.request(client) {
			}
		})
	}
	time.Sleep(life)
	k.kill()
	wg.Wait()
	k.check()
}

// request makes one request; false when the gateway is gone.
func (k *killed) request(client *http.Client) bool {
	n := k.next.Add(1)
	id, method, body := fmt.Sprintf("id-%d", n), http.MethodGet, io.Reader(nil)
	if n%2 == 0 {
		method, body = http.MethodPost, strings.NewReader("{}")
	}
	req, err := http.NewRequest(method, "http://"+k.addr+"/tool/items/"+id, body)
	if err != nil {
		k.t.Error(err)
		return false
	}
	req.Header.Set("X-Moeca-Session", k.token)
	resp, err := client.Do(req)
	if err != nil {
		return false
	}
	defer resp.Body.Close()
	if resp.StatusCode == http.StatusOK {
		k.mu.Lock()
		k.answered[id] = true
		k.mu.Unlock()
	} else {
		body, _ := io.ReadAll(resp.Body)
		k.t.Errorf("%s %s is answered %d: %s", method, id, resp.StatusCode, body)
		return false
	}
	_, err = io.Copy(io.Discard, resp.Body)
	return err == nil
}

// check reads the log as it is on the disk.
func (k *killed) check() {
	t := k.t
	t.Helper()
	dir := filepath.Join(k.config.Data, "audit")
	report, err := audit.Verify(context.Background(), dir, audit.VerifyOptions{Bodies: true})
	if err != nil {
		t.Fatal(err)
	}
	if !report.OK && !strings.Contains(report.Problem, "middle of a row") { // a torn end, which the next start cuts
		t.Fatalf("the log after a kill: %+v", report)
	}
	r, err := audit.OpenReader(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	intents, ended := map[string]bool{}, map[int64]int{}
	for rec, err := range r.Range(1, report.Records) {
		switch {
		case err != nil:
			t.Fatal(err)
		case rec.Kind == audit.KindIntent:
			intents[rec.Target[strings.LastIndexByte(rec.Target, '/')+1:]] = true
		case rec.Kind == audit.KindOutcome:
			ended[rec.Ref]++
		}
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	for what, ids := range map[string]map[string]bool{"was answered": k.answered, "reached the upstream as a write": k.written} {
		for id := range ids {
			if !intents[id] {
				t.Errorf("%s %s and is not in the log", id, what)
			}
		}
	}
	for ref, n := range ended {
		if n != 1 {
			t.Errorf("intent %d has %d outcomes", ref, n)
		}
	}
}
