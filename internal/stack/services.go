package stack

import (
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"time"

	"moeca/internal/sandbox"
	"moeca/internal/sandbox/docker"
)

// startScripted starts the scripted model as a process of its own. Its key is
// a canary made anew at every start: it is injected by the gateway like any
// other, and must never be seen anywhere else.
func (s *Stack) startScripted(ctx context.Context) error {
	socket, keyFile := s.runtime.Join("m", "scripted.sock"), s.runtime.Join("m", "canary.key")
	if err := writeFile(keyFile, []byte(randomToken()), 0o600); err != nil {
		return fmt.Errorf("scripted model: %w", err)
	}
	group := -1
	if s.id.Root {
		group = s.id.GatewayGID
	}
	logTo := s.data.Join("logs", "scripted.log")
	s.scripted = &service{
		name: "moeca-scripted",
		launch: program(logTo, filepath.Join(s.opts.Bin, "moeca-scripted"), "-socket", socket, "-key-file", keyFile,
			"-parent-pid", fmt.Sprint(os.Getpid()), "-socket-gid", fmt.Sprint(group)),
		logTo:  logTo,
		logger: s.log,
		ready: func(ctx context.Context) error {
			conn, err := (&net.Dialer{}).DialContext(ctx, "unix", socket)
			if err != nil {
				return err
			}
			return conn.Close()
		},
	}
	if err := s.scripted.start(ctx); err != nil {
		return err
	}
	s.onClose(func(context.Context) { s.scripted.stop() })
	return nil
}

// share lets the gateway's container use a socket of the host.
func (s *Stack) share(socket string) error {
	if !s.id.Root {
		return nil
	}
	if err := os.Chown(socket, -1, s.id.GatewayGID); err != nil {
		return err
	}
	return os.Chmod(socket, 0o660)
}

func (s *Stack) canary() (string, error) {
	raw, err := os.ReadFile(s.runtime.Join("m", "canary.key"))
	return strings.TrimSpace(string(raw)), err
}

// startGateway starts the gateway the way the driver asks for and gives it the
// providers' definitions and keys, again at every restart of it.
func (s *Stack) startGateway(ctx context.Context) error {
	p := gatewayParams{
		data: s.data, runtime: s.runtime, id: s.id, logger: s.log,
		binary: filepath.Join(s.opts.Bin, "moeca-gateway"), listen: s.opts.GatewayListen,
		onBoot: s.gatewayBooted,
	}
	if d, ok := s.driver.(*docker.Driver); ok {
		p.docker = d
		s.providers.relays = &relays{runtime: s.runtime, share: s.share}
		s.onClose(func(context.Context) { s.providers.relays.closeAll() })
	}
	g, err := startGateway(ctx, p)
	if g != nil {
		s.onClose(g.Close)
		s.onClose(func(ctx context.Context) {
			if h, err := g.Admin.Health(ctx); err == nil {
				s.heard(h)
			}
		})
	}
	if err != nil {
		return err
	}
	s.gateway = g
	s.providers.attach(g.Admin)
	s.providers.lastUse = s.audit.lastUse
	s.background(func(ctx context.Context) {
		g.renew(ctx, s.heard)
	})
	return nil
}

// gatewayBooted runs after every start of the gateway, before anyone uses it.
// After a restart, living sessions are minted again at their sockets.
func (s *Stack) gatewayBooted(ctx context.Context, g *Gateway, again bool) error {
	if s.sessions == nil {
		s.sessions = &sessions{admin: g.Admin, log: s.audit, trust: s.trust, now: time.Now, say: s.log, live: map[string]*liveSession{}}
	}
	if broken := g.Broken(); broken != nil { // it takes nothing until a person has decided
		s.log.Error("the log is broken: nothing is forwarded until a person has decided, see `moeca audit restart --help`", "row", broken.Row, "file", broken.File, "cause", broken.Cause)
		s.sessions.forget()
		return s.writeEndpoints()
	}
	key, err := s.canary()
	if err != nil {
		return fmt.Errorf("scripted model's key: %w", err)
	}
	if err := s.providers.push(ctx, g.Admin, key); err != nil || !again {
		return err
	}
	s.log.Warn("the gateway was started again; living sessions are minted again")
	s.sessions.again(ctx)
	return s.writeEndpoints()
}

// containerPort is where the gateway's container listens for token clients; the
// engine publishes it on the host's loopback address only.
const (
	containerPort   = 8787
	containerListen = "0.0.0.0:8787"
)

// container launches the gateway in a container that sees its log, the
// sockets, and nothing else of the host.
func (g *Gateway) container(p gatewayParams, file string) func(context.Context) (unit, error) {
	return func(ctx context.Context) (unit, error) {
		if err := p.prepareForContainer(file); err != nil {
			return unit{}, err
		}
		running, err := p.docker.StartService(ctx, docker.Service{
			Name: "gateway", Owner: p.data.ID, Binary: p.binary, Args: []string{"-config", file},
			UID: p.id.GatewayUID, GID: p.id.GatewayGID,
			Mounts: []sandbox.Mount{
				{Source: p.data.Join("audit"), Target: p.data.Join("audit")},
				{Source: p.runtime.Join("g"), Target: p.runtime.Join("g")},
				{Source: p.runtime.Join("s"), Target: p.runtime.Join("s")},
				{Source: p.runtime.Join("m"), Target: p.runtime.Join("m"), ReadOnly: true},
			},
			Ports: []uint16{containerPort},
		})
		if err != nil {
			return unit{}, err
		}
		g.publish(running.Address(containerPort).String())
		return p.follow(running), nil
	}
}

// follow turns a running container into a unit. Its log is kept when it ends.
func (p gatewayParams) follow(running *docker.RunningService) unit {
	life, cancel := context.WithCancel(context.Background())
	u := unit{exited: make(chan error, 1)}
	go func() {
		code, err := running.Wait(life)
		if err == nil {
			err = fmt.Errorf("exit code %d", code)
		}
		u.exited <- err
	}()
	u.end = func() {
		ctx, done := context.WithTimeout(context.Background(), 4*termGrace)
		defer done()
		p.keepLog(ctx, running)
		if err := running.Stop(ctx, termGrace); err != nil {
			p.logger.Warn("gateway container", "error", err)
		}
		cancel()
		<-u.exited
	}
	return u
}

// prepareForContainer gives the container's user what it must own.
func (p gatewayParams) prepareForContainer(file string) error {
	if !p.id.Root {
		return nil
	}
	for _, path := range []string{file, p.data.Join("audit")} {
		if err := chownAll(path, p.id.GatewayUID, p.id.GatewayGID); err != nil {
			return fmt.Errorf("give the gateway its files: %w", err)
		}
	}
	return nil
}

// chownAll changes the owner of path and what is below it. Only our own
// directories are named here; no agent can write in them.
func chownAll(path string, uid, gid int) error {
	return filepath.WalkDir(path, func(name string, _ os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		return os.Lchown(name, uid, gid)
	})
}

// keepLog saves what a container that failed has said.
func (p gatewayParams) keepLog(ctx context.Context, service *docker.RunningService) {
	logs, err := service.Logs(ctx, 64<<10)
	if err != nil {
		return
	}
	f, err := os.OpenFile(p.data.Join("logs", "gateway.log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return
	}
	defer f.Close()
	_, _ = io.WriteString(f, logs)
}
