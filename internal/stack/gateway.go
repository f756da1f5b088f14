package stack

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"time"

	"moeca/internal/gateway/gatewayapi"
	"moeca/internal/sandbox/docker"
)

// Gateway is the running gateway as the host sees it: its admin client, its
// append client, and where its loopback listener is.
type Gateway struct {
	Admin  *gatewayapi.Client
	Append *gatewayapi.AppendClient

	stop    func()
	between func(ctx context.Context, do func() error) error

	mu        sync.Mutex
	broken    *gatewayapi.BrokenLog // of its log, at the last start
	boot      string
	address   string
	published string // where the engine publishes a container's port
}

// endpoint is what the gateway writes when it is ready.
type endpoint struct {
	Address string `json:"address"`
	PID     int    `json:"pid"`
}

// gatewayConfig is the file the gateway reads; cmd/moeca-gateway documents it.
type gatewayConfig struct {
	Data           string       `json:"data"`
	AdminSocket    string       `json:"admin_socket"`
	AppendSocket   string       `json:"append_socket"`
	Listen         string       `json:"listen,omitempty"`
	EndpointsFile  string       `json:"endpoints_file"`
	AdminTokenHash string       `json:"admin_token_hash"`
	Credentials    []credential `json:"append_credentials"`
	SocketGID      int          `json:"socket_gid"`
	SocketTop      string       `json:"socket_top"`
	Published      bool         `json:"published,omitempty"`
	ScriptedSocket string       `json:"scripted_socket,omitempty"`
	Landlock       bool         `json:"landlock"`
	ParentPID      int          `json:"parent_pid"`
	LeaseSeconds   int          `json:"lease_seconds,omitempty"`
}

type credential struct {
	Name   string   `json:"name"`
	Source string   `json:"source"`
	Hash   string   `json:"hash"`
	Kinds  []string `json:"kinds"`
}

// gatewayParams is what a start needs to know.
type gatewayParams struct {
	data    *DataDir
	runtime *Runtime
	id      Identity
	binary  string
	listen  string // loopback address for token clients
	docker  *docker.Driver
	logger  *slog.Logger
	onBoot  func(ctx context.Context, g *Gateway, again bool) error
}

// startGateway starts the gateway as a container where the Docker driver is
// used, else as a process of its own under Landlock. onBoot runs
// at every start of it, before anyone uses it: keys are pushed there.
func startGateway(ctx context.Context, p gatewayParams) (*Gateway, error) {
	adminToken, appendToken := randomToken(), randomToken()
	config := gatewayConfig{
		Data:           p.data.Path,
		AdminSocket:    p.runtime.Join("g", "admin.sock"),
		AppendSocket:   p.runtime.Join("g", "append.sock"),
		Listen:         p.listen,
		EndpointsFile:  p.runtime.Join("g", "endpoints.json"),
		AdminTokenHash: hashHex(adminToken),
		Credentials: []credential{{
			Name: "host", Source: "host", Hash: hashHex(appendToken),
			Kinds: []string{"approval", "merge", "ci", "admin"},
		}},
		SocketGID:      -1,
		SocketTop:      p.runtime.Join("s"),
		ScriptedSocket: p.runtime.Join("m", "scripted.sock"),
		Landlock:       p.docker == nil,
		ParentPID:      os.Getpid(),
	}
	if p.id.Root {
		config.SocketGID = p.id.GatewayGID
	}
	if p.docker != nil {
		// A container cannot see this process; it lives as long as we ask for
		// its health, so that keys do not outlive a host that was killed.
		config.ParentPID, config.LeaseSeconds = 0, int(leaseTerm.Seconds())
		config.Listen, config.Published = containerListen, true
	}
	file := p.runtime.Join("g", "config.json")
	if err := writeJSON(file, config); err != nil {
		return nil, fmt.Errorf("gateway configuration: %w", err)
	}
	g := &Gateway{
		Admin:  gatewayapi.NewClient(config.AdminSocket, adminToken),
		Append: gatewayapi.NewAppendClient(config.AppendSocket, appendToken),
	}
	logTo := p.data.Join("logs", "gateway.log")
	svc := &service{
		name: "moeca-gateway", logTo: logTo, logger: p.logger,
		launch: program(logTo, p.binary, "-config", file),
		ready:  g.check,
		onUp:   func(ctx context.Context) error { return g.booted(ctx, p, config) },
	}
	if p.docker != nil {
		svc.launch = g.container(p, file)
	}
	g.stop, g.between = svc.stop, svc.between
	return g, svc.start(ctx)
}

// check asks the gateway for its health; an answer means it is up, even where
// its log cannot be written, which Health says and the UI shows.
func (g *Gateway) check(ctx context.Context) error {
	_, err := g.Admin.Health(ctx)
	return err
}

// booted runs after every start of the gateway.
func (g *Gateway) booted(ctx context.Context, p gatewayParams, config gatewayConfig) error {
	health, err := g.Admin.Health(ctx)
	if err != nil {
		return err
	}
	var e endpoint
	if raw, err := os.ReadFile(config.EndpointsFile); err == nil {
		if err := json.Unmarshal(raw, &e); err != nil {
			return fmt.Errorf("gateway endpoints: %w", err)
		}
	}
	g.mu.Lock()
	again := g.boot != "" && g.boot != health.Boot
	g.boot, g.address, g.broken = health.Boot, e.Address, health.Broken
	if g.published != "" {
		g.address = g.published
	}
	g.mu.Unlock()
	return p.onBoot(ctx, g, again)
}

// Broken says where the log is broken, nil where it is whole.
func (g *Gateway) Broken() *gatewayapi.BrokenLog {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.broken
}

// Address is the loopback address for clients with a session token.
func (g *Gateway) Address() string {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.address
}

// Close stops the gateway.
func (g *Gateway) Close(context.Context) { g.stop() }

func randomToken() string {
	var b [32]byte
	rand.Read(b[:])
	return hex.EncodeToString(b[:])
}

func hashHex(token string) string {
	sum := sha256.Sum256([]byte(token))
	return hex.EncodeToString(sum[:])
}

// leaseTerm is how long the gateway's container outlives its host; leaseRenewal
// is how often the host asks.
const (
	leaseTerm    = time.Minute
	leaseRenewal = 10 * time.Second
)

// renew keeps the gateway's lease until ctx ends, and tells what it hears.
func (g *Gateway) renew(ctx context.Context, heard func(gatewayapi.Health)) {
	tick := time.NewTicker(leaseRenewal)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			if health, err := g.Admin.Health(ctx); err == nil {
				heard(health)
			}
		}
	}
}

var errNoBinary = errors.New("build it with `make build`")

// publish remembers where the engine publishes the container's port.
func (g *Gateway) publish(addr string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.published = addr
}
