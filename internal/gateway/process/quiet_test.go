package process

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"moeca/internal/gateway"
	"moeca/internal/gateway/gatewayapi"
	"moeca/internal/session"
)

type lockedBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}

// echoesLate answers, and then says behind the answer what it got for a key.
func echoesLate(t *testing.T, said chan<- struct{}) (base string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		c, err := l.Accept()
		if err != nil {
			return
		}
		defer c.Close()
		req, err := http.ReadRequest(bufio.NewReader(c))
		if err != nil {
			return
		}
		_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}")
		time.Sleep(50 * time.Millisecond) // the connection is idle then
		_, _ = io.WriteString(c, req.Header.Get("X-Key")+" HTTP/1.1 200 OK\r\n\r\n")
		_, _ = io.Copy(io.Discard, c) // until the gateway hangs up
		close(said)
	}()
	return "http://" + l.Addr().String()
}

// I2: what an upstream says when nobody asked is printed by the standard
// library, on the standard error of the process, with what it begins with.
func TestNothingAnUpstreamSaysIsPrinted(t *testing.T) {
	printed := &lockedBuffer{}
	log.SetOutput(printed)
	t.Cleanup(func() { log.SetOutput(os.Stderr) })
	c := newConfig(t)
	client, _ := start(t, c)
	ctx, said := t.Context(), make(chan struct{})
	base := echoesLate(t, said)
	if _, err := client.PutProvider(ctx, "tool", gatewayapi.ProviderPatch{BaseURL: &base, Auth: &gatewayapi.Auth{Header: "X-Key"}}); err != nil {
		t.Fatal(err)
	}
	if err := client.SetSecret(ctx, "tool", key); err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(filepath.Dir(c.AdminSocket), "s1")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if _, err := client.Mint(ctx, gatewayapi.MintRequest{Scope: session.Scope{Run: "r", Upstreams: []string{"tool"}}, TTL: 60, SocketDir: dir}); err != nil {
		t.Fatal(err)
	}
	sandbox := &http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", filepath.Join(dir, gateway.SocketName))
	}}}
	resp, err := sandbox.Get("http://g/tool/x")
	if err != nil {
		t.Fatal(err)
	}
	_, _ = io.Copy(io.Discard, resp.Body)
	_ = resp.Body.Close()
	<-said
	if text := printed.String(); strings.Contains(text, key) || text != "" {
		t.Errorf("printed: %s", text)
	}
}
