package process

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sync/errgroup"

	"moeca/internal/audit"
	"moeca/internal/gateway"
	"moeca/internal/gateway/admin"
	"moeca/internal/gateway/gate"
	"moeca/internal/gateway/gatewayapi"
	"moeca/internal/gateway/policy"
	"moeca/internal/gateway/price"
	"moeca/internal/gateway/upstream"
	"moeca/internal/gateway/witness"
	"moeca/internal/netguard"
	"moeca/internal/session"
)

// policiesFile keeps the policies, beside the rows.
const policiesFile = "policies.json"

// closeTime bounds how long an end may take.
const closeTime = 15 * time.Second

// Run is the gateway from start to end. It returns nil when ctx ended or the
// parent is gone, and an error that says what to do when it cannot start.
func Run(ctx context.Context, c Config, logger *slog.Logger) error {
	// The standard library's clients print what they do not expect, among it
	// bytes of an upstream, which can hold a key: all that is said here goes
	// through logger, in constant messages.
	log.SetOutput(io.Discard)
	if err := c.Check(); err != nil {
		return fmt.Errorf("gateway: configuration: %w", err)
	}
	if err := makeLogDir(c); err != nil {
		return fmt.Errorf("gateway: make log directory: %w", err)
	}
	landlock := "off"
	if c.Landlock {
		if c.SocketTop == "" {
			c.SocketTop = filepath.Dir(c.AdminSocket)
		}
		var err error
		if landlock, err = restrict(c); err != nil {
			return fmt.Errorf("gateway: restrict process: %w", err)
		}
	}
	rows, broken, err := openLog(c.auditDir(), logger)
	if err != nil {
		return fmt.Errorf("gateway: %w", err)
	}
	p := &parts{config: c, landlock: landlock, boot: randomHex(), log: rows, broken: broken, logger: logger}
	err = p.run(ctx)
	return errors.Join(err, rows.Close())
}

// makeLogDir makes the log's directory and its name durable, while the parent
// may still be opened.
func makeLogDir(c Config) error {
	if err := os.MkdirAll(c.auditDir(), 0o700); err != nil {
		return err
	}
	return syncDir(c.Data)
}

// syncDir makes the names in a directory durable.
func syncDir(path string) error {
	dir, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}

// parts are what a running gateway consists of.
type parts struct {
	config   Config
	landlock string
	boot     string
	log      rowLog
	broken   *brokenLog // also log, where that is broken
	logger   *slog.Logger

	sessions  *session.Table
	upstreams *upstream.Set
	policies  *policy.Set
	gateway   *gateway.Gateway
	tokens    net.Listener
	witness   *witness.Client
}

func (p *parts) run(ctx context.Context) error {
	c := p.config
	denied, err := gate.ParseNetworks(c.DenyNetworks)
	if err != nil {
		return err
	}
	if p.policies, err = policy.Open(filepath.Join(c.auditDir(), policiesFile)); err != nil {
		return fmt.Errorf("gateway: %w", err)
	}
	guard := netguard.New(netguard.Options{
		Connect: time.Duration(c.Limits.WithDefaults().ConnectSeconds) * time.Second, Denied: denied.Prefixes(),
	})
	p.witness = &witness.Client{Dir: c.auditDir(), Log: p.log, Denied: denied}
	p.sessions, p.upstreams = session.NewTable(nil), upstream.NewSet(guard, nil)
	if err := p.firstUpstreams(); err != nil {
		return err
	}
	prices, err := price.NewTable()
	if err != nil {
		return err
	}
	p.gateway = gateway.New(gateway.Options{
		Prices: prices,
		Log:    p.log, Sessions: p.sessions, Upstreams: p.upstreams, Guard: guard, Policies: p.policies, Denied: denied,
		Limits: c.Limits, SocketGID: c.SocketGID, SocketTop: c.SocketTop, Published: c.Published, Logger: p.logger,
	})
	if err := p.restore(); err != nil {
		return err
	}
	adminListener, err := bindOwn(c.AdminSocket)
	if err != nil {
		return err
	}
	defer adminListener.Close()
	appendListener, err := bindOwn(c.AppendSocket)
	if err != nil {
		return err
	}
	defer appendListener.Close()
	if p.tokens, err = net.Listen("tcp", c.Listen); err != nil {
		return fmt.Errorf("gateway: listen for token clients: %w; choose another port or 0", err)
	}
	defer p.tokens.Close()
	if p.broken == nil {
		if err := p.recordStart(ctx); err != nil {
			return err
		}
	}
	if err := writeEndpoints(c.EndpointsFile, Endpoints{Address: p.tokens.Addr().String(), PID: os.Getpid()}); err != nil {
		return err
	}
	return p.serve(ctx, adminListener, appendListener)
}

// restore reads the log once from its beginning: budgets, limits and prices live
// in it and nowhere else.
func (p *parts) restore() error {
	r, err := audit.OpenReader(p.config.auditDir())
	if err != nil {
		return fmt.Errorf("gateway: restore budgets: %w", err)
	}
	defer r.Close()
	if p.broken != nil {
		return p.gateway.RestoreBroken(p.broken.rows(r), audit.Behind(p.config.auditDir(), p.broken.intact))
	}
	last, err := r.Refresh()
	if err != nil {
		return fmt.Errorf("gateway: restore budgets: %w", err)
	}
	if last == 0 {
		return nil
	}
	return p.gateway.Restore(r.Range(1, last))
}

// serve runs all listeners until ctx ends, the parent is gone or one fails.
func (p *parts) serve(ctx context.Context, adminListener, appendListener net.Listener) error {
	hash, err := parseHash(p.config.AdminTokenHash)
	if err != nil {
		return err
	}
	credentials, err := p.config.credentials()
	if err != nil {
		return err
	}
	appender, err := admin.NewAppend(p.log, credentials, p.logger)
	if err != nil {
		return err
	}
	host := newLease(p.config.LeaseSeconds)
	adminServer := quiet(host.renewedBy(admin.New(admin.Options{
		Gateway: p.gateway, Log: p.log, Sessions: p.sessions, Upstreams: p.upstreams, Policies: p.policies, Audit: p.log, Witness: p.witness, Broken: p.decision(),
		TokenHash: hash, Health: p.health, Logger: p.logger,
	})))
	appendServer := quiet(appender)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return serving(adminServer.Serve(adminListener)) })
	group.Go(func() error { return serving(appendServer.Serve(appendListener)) })
	group.Go(func() error { return serving(p.gateway.ServeTokens(p.tokens)) })
	if p.config.ParentPID > 0 {
		group.Go(func() error { watchParent(ctx, p.config.ParentPID); cancel(); return nil })
	}
	if p.config.LeaseSeconds > 0 {
		group.Go(func() error { host.expired(ctx); cancel(); return nil })
	}
	group.Go(func() error {
		<-ctx.Done()
		end, done := context.WithTimeout(context.WithoutCancel(ctx), closeTime)
		defer done()
		p.gateway.Close(end)
		return errors.Join(appendServer.Shutdown(end), adminServer.Shutdown(end))
	})
	return group.Wait()
}

func serving(err error) error {
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return err
}

// quiet is the server of the admin and append sockets.
func quiet(h http.Handler) *http.Server {
	var protocols http.Protocols
	protocols.SetHTTP1(true)
	return &http.Server{
		Handler: h, Protocols: &protocols, ErrorLog: log.New(io.Discard, "", 0),
		ReadHeaderTimeout: 10 * time.Second, ReadTimeout: 30 * time.Second, WriteTimeout: time.Minute, IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 16 << 10,
	}
}

// firstUpstreams defines the model providers, without keys, and demo.
func (p *parts) firstUpstreams() error {
	define := func(name string, patch gatewayapi.ProviderPatch) error {
		change, err := p.upstreams.PlanPut(name, patch)
		if err != nil {
			return err
		}
		return change.Apply()
	}
	for _, kind := range [...]string{upstream.KindAnthropic, upstream.KindOpenAI, upstream.KindGemini} {
		if err := define(kind, gatewayapi.ProviderPatch{Kind: &kind}); err != nil {
			return err
		}
	}
	if p.config.ScriptedSocket == "" {
		return nil
	}
	kind, base, scripted, models := upstream.KindAnthropic, "unix:"+p.config.ScriptedSocket, true, []string{"scripted-1"}
	return define("demo", gatewayapi.ProviderPatch{Kind: &kind, BaseURL: &base, Scripted: &scripted, Models: &models})
}

// recordStart puts the start and its circumstances into the log.
func (p *parts) recordStart(ctx context.Context) error {
	detail, err := json.Marshal(map[string]any{"boot": p.boot, "landlock": p.landlock, "providers": p.upstreams.List(), "policies": p.policies.All()})
	if err != nil {
		return err
	}
	row, err := p.log.Queue(audit.Record{
		Kind: audit.KindAdmin, Source: audit.SourceGateway, Actor: audit.ActorHost, Subject: "gateway", Detail: detail,
		Attrs: []audit.Attr{{Key: "action", Value: "gateway.start"}},
	}, nil, nil)
	if err == nil {
		err = row.Wait(ctx)
	}
	if err != nil {
		return fmt.Errorf("gateway: record the start: %w", err)
	}
	return nil
}

func (p *parts) health() gatewayapi.Health {
	seq, head := p.log.Head()
	h := gatewayapi.Health{
		OK: true, PID: os.Getpid(), Boot: p.boot, Records: seq, Head: head.String(), Writable: true,
		Address: p.tokens.Addr().String(), Landlock: p.landlock,
	}
	if err := cmp.Or(p.log.Err(), p.log.Full()); err != nil {
		h.OK, h.Writable, h.Cause = false, false, err.Error()
	}
	if p.broken != nil {
		state := p.broken.State()
		h.Broken = &state
	}
	return h
}

// bindOwn binds a socket only this user may connect to. What lies there is a
// leftover of a gateway that was killed: the log's lock is ours.
func bindOwn(path string) (net.Listener, error) {
	if info, err := os.Lstat(path); err == nil {
		if info.Mode().Type() != fs.ModeSocket {
			return nil, fmt.Errorf("gateway: %s exists and is no socket; remove it", path)
		}
		if err := os.Remove(path); err != nil {
			return nil, fmt.Errorf("gateway: remove stale socket: %w", err)
		}
	}
	return gateway.ListenUnix(path, 0o600, -1)
}

// writeEndpoints replaces the file as a whole, so that a reader never sees half.
func writeEndpoints(path string, e Endpoints) error {
	b, err := json.Marshal(e)
	if err != nil {
		return err
	}
	next := path + ".new"
	if err := os.WriteFile(next, append(b, '\n'), 0o600); err != nil {
		return fmt.Errorf("gateway: write endpoints: %w", err)
	}
	if err := os.Rename(next, path); err != nil {
		return fmt.Errorf("gateway: write endpoints: %w", err)
	}
	return nil
}

func randomHex() string {
	b := make([]byte, 16)
	_, _ = rand.Read(b) // never fails
	return hex.EncodeToString(b)
}
