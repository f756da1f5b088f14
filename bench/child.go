package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"strings"

	"moeca/internal/agent"
	"moeca/internal/audit"
	"moeca/internal/gateway"
	"moeca/internal/gateway/gatewayapi"
	"moeca/internal/gateway/upstream"
	"moeca/internal/netguard"
	"moeca/internal/session"
)

// The bench starts its own program again for what must have a process of its
// own, because its processor time is measured or because it has one in the
// product. A child says where it listens, and ends when its input does.
const (
	asProxy     = "proxy"     // SOCKET URL: bare ReverseProxy
	asForwarder = "forwarder" // SOCKET: the loopback port of a sandbox
	asUnlogged  = "unlogged"  // DIRECTORY URL: the gateway with a log that keeps nothing
)

// child is one of the processes under measurement.
type child struct {
	cmd     *exec.Cmd
	input   io.Closer
	address string
}

func (b *bench) startChild(as string, args ...string) (*child, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	c := &child{cmd: exec.Command(self, append([]string{"-as", as}, args...)...)}
	c.cmd.Stderr = os.Stderr
	if c.input, err = c.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := c.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := c.cmd.Start(); err != nil {
		return nil, err
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		c.stop()
		return nil, fmt.Errorf("%s did not start: %w", as, err)
	}
	c.address = strings.TrimSpace(line)
	return c, nil
}

func (c *child) pid() int { return c.cmd.Process.Pid }

func (c *child) stop() {
	_ = c.input.Close()
	_ = c.cmd.Wait()
}

// beChild is the main of a child.
func beChild(as string, args []string) error {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	var address string
	var err error
	switch {
	case as == asProxy && len(args) == 2:
		address, err = serveProxy(args[0], args[1])
	case as == asForwarder && len(args) == 1:
		var f *agent.Forwarder
		if f, err = agent.Forward(ctx, "127.0.0.1:0", args[0]); err == nil {
			defer f.Close()
			address = f.Addr().String()
		}
	case as == asUnlogged && len(args) == 2:
		address, err = serveUnlogged(args[0], args[1])
	default:
		err = fmt.Errorf("no child %q with %d arguments", as, len(args))
	}
	if err != nil {
		return err
	}
	fmt.Println(address)
	_, err = io.Copy(io.Discard, os.Stdin)
	return err
}

// garbagePercent is that of cmd/moeca-gateway. The peers have it too: it is no
// cost of governing.
const garbagePercent = 400

// serveProxy is the peer: the standard library's proxy as it comes, which
// flushes streams only, with a larger pool of upstream connections.
func serveProxy(socket, target string) (string, error) {
	debug.SetGCPercent(garbagePercent)
	base, err := url.Parse(target)
	if err != nil {
		return "", err
	}
	l, err := net.Listen("unix", socket)
	if err != nil {
		return "", err
	}
	proxy := &httputil.ReverseProxy{
		Rewrite:   func(r *httputil.ProxyRequest) { r.SetURL(base) },
		Transport: &http.Transport{MaxIdleConnsPerHost: 256, DisableCompression: true},
	}
	go func() { _ = http.Serve(l, proxy) }()
	return socket, nil
}

// serveUnlogged is the gateway of the product with every gate, injection, scrub
// and usage, and with a log that forgets. Only the bench can build it.
func serveUnlogged(dir, target string) (string, error) {
	debug.SetGCPercent(garbagePercent)
	guard := netguard.New(netguard.Options{})
	set := upstream.NewSet(guard, nil)
	g := gateway.New(gateway.Options{
		Log: &forgetful{}, Sessions: session.NewTable(nil), Upstreams: set, Guard: guard, SocketGID: -1, Limits: unhurried(),
	})
	kind := upstream.KindAnthropic
	put, err := set.PlanPut(modelUpstream, gatewayapi.ProviderPatch{Kind: &kind, BaseURL: &target})
	if err != nil {
		return "", err
	}
	if err := put.Apply(); err != nil {
		return "", err
	}
	key, err := set.PlanKey(modelUpstream, benchKey)
	if err != nil {
		return "", err
	}
	if err := key.Apply(); err != nil {
		return "", err
	}
	m, err := g.Mint(gatewayapi.MintRequest{Scope: session.Scope{Upstreams: []string{modelUpstream}}, TTL: 3600, SocketDir: dir})
	if err != nil {
		return "", err
	}
	return filepath.Join(dir, gateway.SocketName), m.Serve()
}

// forgetful is a log whose rows are durable at once, nowhere.
type forgetful struct{}

func (*forgetful) Queue(audit.Record, *audit.Body, *audit.Body) (gateway.Row, error) {
	return nowhere{}, nil
}
func (*forgetful) Hurry()     {}
func (*forgetful) Err() error { return nil }

type nowhere struct{}

func (nowhere) Wait(context.Context) error { return nil }
func (nowhere) Seq() int64                 { return 1 }
func (nowhere) Hash() audit.Hash           { return audit.Hash{} }

// unhurried are limits that no measurement reaches. The gates stay on.
func unhurried() gateway.Limits {
	return gateway.Limits{
		ModelPerSecond: 1e9, ModelBurst: 1e9, ToolPerSecond: 1e9, ToolBurst: 1e9,
		SessionTokens: 1 << 50, SessionRecords: -1, SessionKept: 1 << 50, SessionConns: 1 << 16,
	}
}
