package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	"moeca/internal/gateway"
	"moeca/internal/gateway/gatewayapi"
	"moeca/internal/gateway/process"
	"moeca/internal/gateway/upstream"
	"moeca/internal/session"
)

const (
	modelUpstream = "anthropic"
	toolUpstream  = "tool"
	toolPath      = "/things"
	benchKey      = "sk-bench-0123456789abcdef0123456789abcdef"
	benchToken    = "bench-admin-token"
)

// governed is a moeca-gateway as the host starts it: own process, Landlock,
// durable log, keys pushed through the admin socket, one sandbox socket.
type governed struct {
	cmd    *exec.Cmd
	errors bytes.Buffer
	socket string
	audit  string
}

func (b *bench) startGateway(ctx context.Context, stub string) (*governed, error) {
	dir, err := os.MkdirTemp(b.dir, "g")
	if err != nil {
		return nil, err
	}
	sandbox := filepath.Join(dir, "s")
	if err := os.Mkdir(sandbox, 0o700); err != nil {
		return nil, err
	}
	hash := sha256.Sum256([]byte(benchToken))
	config := process.Config{
		Data: filepath.Join(dir, "data"), AdminSocket: filepath.Join(dir, "a.sock"), AppendSocket: filepath.Join(dir, "p.sock"),
		Listen: "127.0.0.1:0", EndpointsFile: filepath.Join(dir, "endpoints"), AdminTokenHash: hex.EncodeToString(hash[:]),
		SocketGID: -1, Limits: unhurried(), Landlock: true, ParentPID: os.Getpid(),
	}
	raw, err := json.Marshal(config)
	if err != nil {
		return nil, err
	}
	file := filepath.Join(dir, "config")
	if err := os.WriteFile(file, raw, 0o600); err != nil {
		return nil, err
	}
	g := &governed{
		cmd:    exec.CommandContext(ctx, filepath.Join(b.bin, "moeca-gateway"), "-config", file),
		socket: filepath.Join(sandbox, gateway.SocketName), audit: filepath.Join(config.Data, "audit"),
	}
	g.cmd.Stderr = &g.errors
	if err := g.cmd.Start(); err != nil {
		return nil, err
	}
	if err := g.prepare(ctx, config.AdminSocket, sandbox, stub); err != nil {
		g.stop()
		return nil, fmt.Errorf("gateway: %w; it said: %.300s", err, g.errors.String())
	}
	return g, nil
}

// prepare defines the upstreams, gives the keys, permits the one write and mints
// the session.
func (g *governed) prepare(ctx context.Context, socket, sandbox, stub string) error {
	admin := gatewayapi.NewClient(socket, benchToken)
	defer admin.Close()
	for began := time.Now(); ; time.Sleep(10 * time.Millisecond) {
		_, err := admin.Health(ctx)
		if err == nil {
			break
		}
		if time.Since(began) > 10*time.Second {
			return err
		}
	}
	for name, kind := range map[string]string{modelUpstream: upstream.KindAnthropic, toolUpstream: upstream.KindCustom} {
		patch := gatewayapi.ProviderPatch{Kind: &kind, BaseURL: &stub}
		if kind == upstream.KindCustom {
			patch.Auth = &gatewayapi.Auth{Header: "Authorization", Prefix: "Bearer "}
		}
		if _, err := admin.PutProvider(ctx, name, patch); err != nil {
			return err
		}
		if err := admin.SetSecret(ctx, name, benchKey); err != nil {
			return err
		}
	}
	writes := []gatewayapi.OperationRule{{Method: http.MethodPost, Path: toolPath}}
	if _, err := admin.PatchPolicy(ctx, toolUpstream, gatewayapi.PolicyPatch{Writes: &writes}); err != nil {
		return err
	}
	_, err := admin.Mint(ctx, gatewayapi.MintRequest{
		Scope: session.Scope{Run: "bench", Stage: "bench", Task: "bench", Agent: "bench", Upstreams: []string{modelUpstream, toolUpstream}},
		TTL:   3600, SocketDir: sandbox,
	})
	return err
}

func (g *governed) pid() int { return g.cmd.Process.Pid }

func (g *governed) stop() {
	_ = g.cmd.Process.Signal(syscall.SIGTERM)
	_ = g.cmd.Wait()
}
