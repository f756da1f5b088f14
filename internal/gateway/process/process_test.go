package process

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"moeca/internal/audit"
	"moeca/internal/gateway"
	"moeca/internal/gateway/gatewayapi"
	"moeca/internal/session"
)

const (
	adminToken = "admin-token-of-the-test"
	hostCred   = "host-credential-of-the-test"
	regCred    = "registry-credential-of-the-test"
	key        = "sk-test-0123456789abcdef"
)

func hash(s string) string {
	h := sha256.Sum256([]byte(s))
	return hex.EncodeToString(h[:])
}

func newConfig(t *testing.T) Config {
	t.Helper()
	dir, err := os.MkdirTemp("", "gwp")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return Config{
		Data: filepath.Join(dir, "data"), AdminSocket: filepath.Join(dir, "admin.sock"), AppendSocket: filepath.Join(dir, "append.sock"),
		Listen: "127.0.0.1:0", EndpointsFile: filepath.Join(dir, "endpoints.json"), AdminTokenHash: hash(adminToken), SocketGID: -1,
		AppendCredentials: []AppendCredential{
			{Name: "host", Source: "host", Hash: hash(hostCred), Kinds: []string{"approval", "merge", "ci", "admin"}},
			{Name: "registry", Source: "registry", Hash: hash(regCred), Kinds: []string{"fetch"}},
		},
	}
}

// start runs a gateway until the returned function, or the test, ends it.
func start(t *testing.T, c Config) (*gatewayapi.Client, func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- Run(ctx, c, slog.New(slog.DiscardHandler)) }()
	stopped := false
	stop := func() {
		if stopped {
			return
		}
		stopped = true
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("gateway ended with %v", err)
		}
	}
	t.Cleanup(stop)
	client := gatewayapi.NewClient(c.AdminSocket, adminToken)
	t.Cleanup(client.Close)
	for {
		if _, err := client.Health(ctx); err == nil {
			return client, stop
		}
		select {
		case err := <-ended:
			stopped = true // there is nothing left to wait for
			t.Fatalf("gateway did not start: %v", err)
		case <-time.After(5 * time.Millisecond):
		}
	}
}

func rows(t *testing.T, c Config) []audit.Record {
	t.Helper()
	r, err := audit.OpenReader(filepath.Join(c.Data, "audit"))
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	last, err := r.Refresh()
	if err != nil {
		t.Fatal(err)
	}
	var out []audit.Record
	for rec, err := range r.Range(1, last) {
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, rec)
	}
	return out
}

func stub(t *testing.T) (*httptest.Server, *http.Header) {
	var got http.Header
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got = r.Header.Clone()
		_, _ = io.WriteString(w, "answer")
	}))
	t.Cleanup(s.Close)
	return s, &got
}

func ptr[T any](v T) *T { return &v }

func TestWholeLife(t *testing.T) {
	c := newConfig(t)
	client, stop := start(t, c)
	ctx := t.Context()
	up, got := stub(t)
	p, err := client.PutProvider(ctx, "tool", gatewayapi.ProviderPatch{BaseURL: &up.URL, Auth: &gatewayapi.Auth{Header: "X-Key", Prefix: "Token "}, Models: &[]string{"a"}})
	if err != nil || p.Secret.HasSecret || p.Kind != "custom" {
		t.Fatalf("%+v, %v", p, err)
	}
	if err := client.SetSecret(ctx, "tool", key); err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(filepath.Dir(c.AdminSocket), "s1")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	m, err := client.Mint(ctx, gatewayapi.MintRequest{Scope: session.Scope{Run: "r", Upstreams: []string{"tool"}}, TTL: 60, SocketDir: dir})
	if err != nil || m.Token != "" {
		t.Fatalf("%+v, %v", m, err)
	}
	sandbox := &http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", filepath.Join(dir, gateway.SocketName))
	}}}
	resp, err := sandbox.Get("http://g/tool/x")
	if err != nil {
		t.Fatal(err)
	}
	body, _ := io.ReadAll(resp.Body)
	_ = resp.Body.Close()
	if string(body) != "answer" || got.Get("X-Key") != "Token "+key {
		t.Fatalf("%s, upstream saw %v", body, *got)
	}
	if info, err := os.Stat(filepath.Join(dir, gateway.SocketName)); err != nil || info.Mode().Perm() != 0o660 {
		t.Errorf("socket: %v, %v", info, err)
	}
	if live, err := client.Sessions(ctx); err != nil || len(live) != 1 || live[0].ID != m.ID || live[0].Scope.Budget.Tokens != gatewayapi.DefaultSessionTokens {
		t.Errorf("%+v, %v", live, err)
	}
	if _, err := client.Revoke(ctx, m.ID); err != nil {
		t.Fatal(err)
	}
	if _, err := client.Revoke(ctx, m.ID); !gatewayapi.IsNotFound(err) {
		t.Errorf("revoked twice: %v", err)
	}
	h, err := client.Health(ctx)
	if err != nil || !h.OK || !h.Writable || h.Records == 0 || h.Boot == "" {
		t.Errorf("%+v, %v", h, err)
	}
	stop()
	checkLog(t, c)
	// After a restart the host mints again at the same path, also over a leftover.
	if l, err := net.Listen("unix", filepath.Join(dir, gateway.SocketName)); err == nil {
		l.(*net.UnixListener).SetUnlinkOnClose(false)
		_ = l.Close()
	}
	again, _ := start(t, c)
	if _, err := again.Mint(ctx, gatewayapi.MintRequest{Scope: session.Scope{}, TTL: 60, SocketDir: dir}); err != nil {
		t.Errorf("mint after a restart: %v", err)
	}
	if h2, _ := again.Health(ctx); h2.Boot == h.Boot {
		t.Error("a restart cannot be told from the answer")
	}
}

func checkLog(t *testing.T, c Config) {
	t.Helper()
	var actions []string
	for _, r := range rows(t, c) {
		if r.Kind == audit.KindAdmin {
			actions = append(actions, r.Attrs[0].Value)
		}
	}
	if got := strings.Join(actions, " "); got != "gateway.start provider.put provider.set-secret session.mint session.revoke" {
		t.Errorf("admin rows: %s", got)
	}
	report, err := audit.Verify(t.Context(), filepath.Join(c.Data, "audit"), audit.VerifyOptions{Bodies: true})
	if err != nil || !report.OK || len(report.OpenIntents) > 0 {
		t.Errorf("%+v, %v", report, err)
	}
	var all bytes.Buffer
	_ = filepath.WalkDir(filepath.Dir(c.AdminSocket), func(p string, d os.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			b, _ := os.ReadFile(p)
			all.Write(b)
		}
		return nil
	})
	for _, secret := range []string{key, adminToken, hostCred} {
		if bytes.Contains(all.Bytes(), []byte(secret)) {
			t.Errorf("a file of the gateway holds %q", secret)
		}
	}
}

func TestAdminRefuses(t *testing.T) {
	c := newConfig(t)
	client, _ := start(t, c)
	ctx := t.Context()
	before := len(rows(t, c))
	dir := filepath.Dir(c.AdminSocket)
	_ = os.Symlink(dir, filepath.Join(dir, "link"))
	status := func(err error) int {
		var se *gatewayapi.StatusError
		if errors.As(err, &se) {
			return se.Status
		}
		return 0
	}
	call := func(_ any, err error) int { return status(err) }
	cases := map[string]struct{ got, want int }{
		"a wrong token":           {call(gatewayapi.NewClient(c.AdminSocket, "x").Health(ctx)), 401},
		"no token":                {call(gatewayapi.NewClient(c.AdminSocket, "").Sessions(ctx)), 401},
		"an append credential":    {call(gatewayapi.NewClient(c.AdminSocket, hostCred).Health(ctx)), 401},
		"a patch of nothing":      {call(client.PatchProvider(ctx, "nope", gatewayapi.ProviderPatch{})), 404},
		"a secret of nothing":     {status(client.SetSecret(ctx, "nope", key)), 404},
		"a deletion of nothing":   {status(client.DeleteProvider(ctx, "nope")), 404},
		"a bad name":              {call(client.PutProvider(ctx, "Bad_Name", gatewayapi.ProviderPatch{BaseURL: ptr("https://a.example")})), 400},
		"plain http":              {call(client.PutProvider(ctx, "x", gatewayapi.ProviderPatch{BaseURL: ptr("http://a.example")})), 400},
		"a private plain host":    {call(client.PutProvider(ctx, "x", gatewayapi.ProviderPatch{BaseURL: ptr("http://10.0.0.1:80")})), 400},
		"another's socket host":   {call(client.PutProvider(ctx, "x", gatewayapi.ProviderPatch{BaseURL: ptr("https://demo.unix")})), 400},
		"user in the base":        {call(client.PutProvider(ctx, "x", gatewayapi.ProviderPatch{BaseURL: ptr("https://u:p@a.example")})), 400},
		"a hop-by-hop key header": {call(client.PutProvider(ctx, "x", gatewayapi.ProviderPatch{BaseURL: ptr("https://a.example"), Auth: &gatewayapi.Auth{Header: "Connection"}})), 400},
		"a short key":             {status(client.SetSecret(ctx, "anthropic", "short")), 400},
		"a key with a line end":   {status(client.SetSecret(ctx, "anthropic", "sk-0123456789\r\nX: y")), 400},
		"a mint without a door":   {call(client.Mint(ctx, gatewayapi.MintRequest{TTL: 60})), 400},
		"a mint with two doors":   {call(client.Mint(ctx, gatewayapi.MintRequest{TTL: 60, SocketDir: dir, WithToken: true})), 400},
		"a mint without an end":   {call(client.Mint(ctx, gatewayapi.MintRequest{WithToken: true})), 400},
		"a relative directory":    {call(client.Mint(ctx, gatewayapi.MintRequest{TTL: 60, SocketDir: "s1"})), 400},
		"a directory that is not": {call(client.Mint(ctx, gatewayapi.MintRequest{TTL: 60, SocketDir: dir + "/none"})), 400},
		"a linked directory":      {call(client.Mint(ctx, gatewayapi.MintRequest{TTL: 60, SocketDir: dir + "/link"})), 400},
		"a dirty directory":       {call(client.Mint(ctx, gatewayapi.MintRequest{TTL: 60, SocketDir: dir + "/../" + filepath.Base(dir)})), 400},
		"an unknown parent":       {call(client.Mint(ctx, gatewayapi.MintRequest{TTL: 60, WithToken: true, Scope: session.Scope{Parent: "x"}})), 400},
	}
	for name, c := range cases {
		if c.got != c.want {
			t.Errorf("%s: %d, want %d", name, c.got, c.want)
		}
	}
	refusals := 0
	for _, r := range rows(t, c)[before:] {
		if r.Kind != audit.KindRefusal || r.Gate != "admin" {
			t.Errorf("a refused change left %+v", r)
			continue
		}
		refusals++
	}
	if refusals != len(cases) {
		t.Errorf("%d rows for %d refusals", refusals, len(cases))
	}
}

func TestPatchDropsNothing(t *testing.T) {
	client, _ := start(t, newConfig(t))
	ctx := t.Context()
	if _, err := client.PutProvider(ctx, "x", gatewayapi.ProviderPatch{Kind: ptr("openai"), Models: &[]string{"m1", "m2"}, BaseURL: ptr("https://a.example/v1")}); err != nil {
		t.Fatal(err)
	}
	if err := client.SetSecret(ctx, "x", key); err != nil {
		t.Fatal(err)
	}
	p, err := client.PatchProvider(ctx, "x", gatewayapi.ProviderPatch{BaseURL: ptr("https://b.example/v1")})
	if err != nil || p.Kind != "openai" || len(p.Models) != 2 || p.Auth.Header != "Authorization" || !p.Secret.HasSecret || p.BaseURL != "https://b.example/v1" {
		t.Fatalf("%+v, %v", p, err)
	}
	all, err := client.Providers(ctx)
	if err != nil || len(all) != 4 {
		t.Fatalf("%+v, %v", all, err)
	}
	if b, _ := json.Marshal(all); strings.Contains(string(b), key) {
		t.Fatal("a read carries the key")
	}
	if err := client.SetSecret(ctx, "x", ""); err != nil {
		t.Fatal(err)
	}
	if err := client.DeleteProvider(ctx, "x"); err != nil {
		t.Fatal(err)
	}
	if all, _ = client.Providers(ctx); len(all) != 3 {
		t.Fatalf("%+v", all)
	}
}

func TestAppendCredentialsAreClosedLists(t *testing.T) {
	c := newConfig(t)
	start(t, c)
	ctx := t.Context()
	host, reg := gatewayapi.NewAppendClient(c.AppendSocket, hostCred), gatewayapi.NewAppendClient(c.AppendSocket, regCred)
	defer host.Close()
	defer reg.Close()
	req := gatewayapi.AppendRequest{Kind: "approval", Actor: "person", Task: "t1", Subject: "abc", Detail: json.RawMessage(`{"head":"abc"}`)}
	a, err := host.Append(ctx, req)
	if err != nil {
		t.Fatal(err)
	}
	all := rows(t, c)
	row := all[a.Seq-1]
	if row.Kind != audit.KindApproval || row.Source != audit.SourceHost || row.Actor != audit.ActorPerson || row.Attribution.Task != "t1" || string(row.Detail) != `{"head":"abc"}` {
		t.Fatalf("%+v", row)
	}
	if f, err := reg.Append(ctx, gatewayapi.AppendRequest{Kind: "fetch", Actor: "agent", Subject: "npm:left-pad"}); err != nil || rows(t, c)[f.Seq-1].Source != audit.SourceRegistry {
		t.Fatalf("%+v, %v", f, err)
	}
	for name, try := range map[string]func() error{
		"a registry approving": func() error { _, err := reg.Append(ctx, req); return err },
		"a host fetching": func() error {
			_, err := host.Append(ctx, gatewayapi.AppendRequest{Kind: "fetch", Actor: "host"})
			return err
		},
		"a host writing intents": func() error {
			_, err := host.Append(ctx, gatewayapi.AppendRequest{Kind: "intent", Actor: "agent"})
			return err
		},
		"an unknown kind": func() error {
			_, err := host.Append(ctx, gatewayapi.AppendRequest{Kind: "x", Actor: "host"})
			return err
		},
		"an unknown actor": func() error { _, err := host.Append(ctx, gatewayapi.AppendRequest{Kind: "ci", Actor: "x"}); return err },
		"the admin token": func() error {
			_, err := gatewayapi.NewAppendClient(c.AppendSocket, adminToken).Append(ctx, req)
			return err
		},
		"an over-long subject": func() error {
			_, err := host.Append(ctx, gatewayapi.AppendRequest{Kind: "ci", Actor: "host", Subject: strings.Repeat("x", 5000)})
			return err
		},
	} {
		if err := try(); err == nil {
			t.Errorf("%s was accepted", name)
		}
	}
	if _, err := host.Append(ctx, gatewayapi.AppendRequest{Kind: "merge", Actor: "host", Ref: a.Seq}); err != nil {
		t.Errorf("a bad row made the log unusable: %v", err)
	}
}

func TestOneGatewayPerDirectory(t *testing.T) {
	c := newConfig(t)
	client, _ := start(t, c)
	if err := Run(t.Context(), c, slog.New(slog.DiscardHandler)); !errors.Is(err, audit.ErrLocked) {
		t.Fatalf("a second gateway: %v", err)
	}
	if _, err := client.Health(t.Context()); err != nil {
		t.Fatalf("the second gateway broke the first: %v", err)
	}
}

func TestBadConfigurations(t *testing.T) {
	good := newConfig(t)
	b, _ := json.Marshal(good)
	for name, edit := range map[string]func(string) string{
		"an unknown key":        func(s string) string { return strings.Replace(s, `"data"`, `"dta":1,"data"`, 1) },
		"data behind it":        func(s string) string { return s + "{}" },
		"a public listener":     func(s string) string { return strings.Replace(s, "127.0.0.1:0", "0.0.0.0:0", 1) },
		"a named listener":      func(s string) string { return strings.Replace(s, "127.0.0.1:0", "localhost:0", 1) },
		"a relative path":       func(s string) string { return strings.Replace(s, good.Data, "data", 1) },
		"a short hash":          func(s string) string { return strings.Replace(s, hash(adminToken), "abcd", 1) },
		"a kind of the gateway": func(s string) string { return strings.Replace(s, `"approval"`, `"outcome"`, 1) },
		"a foreign kind":        func(s string) string { return strings.Replace(s, `"approval"`, `"fetch"`, 1) },
		"a gateway's source":    func(s string) string { return strings.Replace(s, `"source":"host"`, `"source":"gateway"`, 1) },
		"nothing":               func(string) string { return "" },
	} {
		path := filepath.Join(t.TempDir(), "c.json")
		if err := os.WriteFile(path, []byte(edit(string(b))), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := Load(path); err == nil {
			t.Errorf("%s was accepted", name)
		}
	}
	path := filepath.Join(t.TempDir(), "c.json")
	_ = os.WriteFile(path, b, 0o600)
	if got, err := Load(path); err != nil || got.Data != good.Data {
		t.Errorf("a good one was refused: %v", err)
	}
}

func TestEndsWithItsParent(t *testing.T) {
	c := newConfig(t)
	c.ParentPID = 1 << 22 // beyond the largest process number
	done := make(chan error, 1)
	go func() { done <- Run(context.Background(), c, slog.New(slog.DiscardHandler)) }()
	select {
	case err := <-done:
		if err != nil {
			t.Fatal(err)
		}
	case <-time.After(20 * time.Second):
		t.Fatal("still running without its parent")
	}
}

func TestEndsWithItsLease(t *testing.T) {
	c := newConfig(t)
	c.LeaseSeconds = 2
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	ended := make(chan error, 1)
	go func() { ended <- Run(ctx, c, slog.New(slog.DiscardHandler)) }()
	host := gatewayapi.NewClient(c.AdminSocket, adminToken)
	stranger := gatewayapi.NewClient(c.AdminSocket, "not the token")
	defer host.Close()
	defer stranger.Close()
	asked := time.Now()
	for time.Since(asked) < 4*time.Second { // twice the lease: the host keeps it
		_, _ = host.Health(ctx)
		select {
		case err := <-ended:
			t.Fatalf("ended although its host asks: %v", err)
		case <-time.After(100 * time.Millisecond):
		}
	}
	for deadline := time.Now().Add(20 * time.Second); time.Now().Before(deadline); {
		_, _ = stranger.Health(ctx) // a stranger must not
		select {
		case err := <-ended:
			if err != nil {
				t.Fatal(err)
			}
			return
		case <-time.After(100 * time.Millisecond):
		}
	}
	t.Fatal("still running long after its host fell silent")
}
