package stack

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"moeca/internal/board"
	"moeca/internal/gateway/gatewayapi"
	"moeca/internal/git"
	"moeca/internal/hostapi"
	"moeca/internal/pubsub"
	"moeca/internal/sandbox"
	"moeca/internal/secret"
	"moeca/internal/sqlite"
	"moeca/internal/witness"
)

// Options say what a stack is made of. Nothing is read from the environment.
type Options struct {
	Data          string // data directory
	Runtime       string // base of the runtime directory, short
	Cache         string // images that data directories share
	Bin           string // directory of our binaries
	Driver        string // auto, docker or native
	DockerHost    string // engine address, empty = the usual socket
	Listen        string // host API, loopback; port 0 chooses
	GatewayListen string // token clients, loopback; port 0 chooses
	ReadyFile     string // Endpoints are also written here
	Version       string
	UI            fs.FS
	Logger        *slog.Logger
	NoKeychain    bool   // keep keys in the encrypted file
	Demo          bool   // a demo's data directory
	Path, Home    string // for looking up tools in Examine
}

// Stack is the running host.
type Stack struct {
	opts    Options
	data    *DataDir
	runtime *Runtime
	id      Identity
	log     *slog.Logger

	images    interface{ PolyReady() bool }
	drivers   drivers
	driver    sandbox.Driver
	note      string
	gateway   *Gateway
	scripted  *service
	sessions  *sessions
	providers *Providers
	audit     *AuditView
	witness   *witness.Keeper
	lastRow   time.Time // of the log as the last process left it
	retention *retention
	db        *sqlite.DB
	board     *board.Service
	bus       *pubsub.Bus
	tokens    *hostapi.Tokens
	person    string
	endpoints Endpoints
	server    *http.Server
	failed    chan error
	serving   chan struct{} // closed once person and endpoints are set

	closers []func(context.Context) // in order of start
}

// Open starts everything in the order of dependence and recovers what a crash
// left. On an error everything that was started is stopped again.
func Open(ctx context.Context, o Options) (_ *Stack, err error) {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	s := &Stack{
		opts: o, id: identity(), log: o.Logger, bus: &pubsub.Bus{},
		tokens: hostapi.NewTokens(time.Now), failed: make(chan error, 1), serving: make(chan struct{}),
	}
	defer func() {
		if err != nil {
			s.Close(context.WithoutCancel(ctx))
		}
	}()
	for _, step := range []func(context.Context) error{
		s.openData, s.openDrivers, s.openRuntime, s.startScripted, s.startGateway, s.openWitness, s.openBoard, s.tellWitnesses, s.followAudit, s.eraseOld, s.serve,
	} {
		if err := step(ctx); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// onClose registers what Close does, last first.
func (s *Stack) onClose(f func(context.Context)) { s.closers = append(s.closers, f) }

// Close stops everything, last started first. What runs keeps its work.
func (s *Stack) Close(ctx context.Context) {
	for i := len(s.closers) - 1; i >= 0; i-- {
		s.closers[i](ctx)
	}
	s.closers = nil
}

func (s *Stack) openData(context.Context) error {
	data, err := OpenDataDir(s.opts.Data)
	if err != nil {
		return err
	}
	s.data = data
	s.onClose(func(context.Context) { data.Close() })
	s.audit = newAuditView(data.Path)
	if err := s.audit.settle(); err != nil {
		return err
	}
	s.lastRow = s.audit.lastTime()
	store, err := secret.OpenStore(data.Join("secrets"), secret.StoreOptions{
		NoKeychain: s.opts.NoKeychain, Service: "moeca-" + data.ID,
	})
	if err != nil {
		return fmt.Errorf("key store: %w", err)
	}
	if s.providers, err = openProviders(data.Join("providers.json"), store, time.Now); err != nil {
		return err
	}
	s.providers.say = s.log
	return nil
}

func (s *Stack) openDrivers(ctx context.Context) error {
	for _, name := range []string{"moeca-agent", "moeca-gateway", "moeca-scripted"} {
		if _, err := os.Stat(filepath.Join(s.opts.Bin, name)); err != nil {
			return fmt.Errorf("%w: %s is not beside moeca in %s: %w", ErrMissing, name, s.opts.Bin, errNoBinary)
		}
	}
	store, err := openImages(s.opts, s.data.Join("images"))
	if err != nil {
		return err
	}
	s.images = store
	if s.drivers, err = newDrivers(s.opts, store, s.data.Join("run", "native")); err != nil {
		return err
	}
	s.driver, s.note, err = s.drivers.choose(ctx, s.opts.Driver)
	return err
}

func (s *Stack) openRuntime(context.Context) error {
	r, err := openRuntime(s.opts.Runtime, s.data.ID, s.id)
	if err != nil {
		return err
	}
	s.runtime = r
	s.onClose(func(context.Context) {
		if err := r.Close(); err != nil {
			s.log.Warn("runtime directory stays", "error", err)
		}
	})
	return nil
}

// openBoard opens the database, makes the board and recovers.
func (s *Stack) openBoard(ctx context.Context) error {
	db, err := sqlite.Open(ctx, s.data.Join("host.db"), board.Schema(), sqlite.Options{})
	if errors.Is(err, sqlite.ErrNewerSchema) {
		return fmt.Errorf("data directory %s: %w", s.data.Path, ErrNewer)
	}
	if err != nil {
		return fmt.Errorf("data directory %s: %w", s.data.Path, err)
	}
	s.db = db
	s.onClose(func(context.Context) { db.Close() })
	signer, err := OpenSigner(s.data.Join("host.key"))
	if err != nil {
		return err
	}
	who := git.Identity{Name: "moeca", Email: "moeca@localhost"}
	own := git.Owner{UID: -1, GID: -1}
	if s.id.Root {
		own = git.Owner{UID: s.id.SandboxUID, GID: s.id.SandboxGID}
	}
	s.board, err = board.New(board.Deps{
		DB: db, Bus: s.bus, Repos: board.NewRepositories(board.GitOptions{Data: s.data.Path, Owner: own, Identity: who}),
		Driver: sandbox.LimitDisk(s.driver, sandbox.DefaultDiskLimit), Others: s.drivers.others(ctx, s.driver), Gateway: s.sessions, Sockets: s.runtime,
		Providers: s.gateway.Admin, Ledger: ledger{s}, Log: s.audit, Signer: signer, Trust: s.trust,
		Data: s.data.Path, Owner: s.data.ID, UID: s.id.SandboxUID, GID: s.id.SandboxGID,
		Identity: who, Logger: s.log,
	})
	if err != nil {
		return err
	}
	s.onClose(func(context.Context) {
		if err := s.board.Close(); err != nil {
			s.log.Warn("board", "error", err)
		}
	})
	if err := s.board.Recover(ctx); err != nil {
		if s.gateway.Broken() == nil {
			return fmt.Errorf("recover what the last process left: %w", err)
		}
		s.log.Error("what the last process left is settled at the next start, with a log that is whole", "error", err)
	}
	s.background(func(ctx context.Context) {
		asks{s.gateway.Admin}.follow(ctx, func(open []gatewayapi.Ask) error {
			err := s.board.SetAsks(ctx, open)
			if err != nil && ctx.Err() == nil {
				s.log.Error("what waits for a person is not shown", "error", err)
			}
			return err
		})
	})
	return nil
}

// background runs f until it returns or the stack closes.
func (s *Stack) background(f func(context.Context)) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() { defer close(done); f(ctx) }()
	s.onClose(func(context.Context) { cancel(); <-done })
}

// listen opens a loopback port, with a message that says what to do when it is
// taken.
func listen(addr string) (net.Listener, error) {
	if _, _, err := net.SplitHostPort(addr); err != nil {
		return nil, fmt.Errorf("%w: %q is no listen address: %w; write it like 127.0.0.1:8788", ErrMissing, addr, err)
	}
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("%w: the address %s cannot be used: %w; another moeca may run there: use it, or choose a port with --listen 127.0.0.1:0", ErrMissing, addr, err)
	}
	return l, nil
}
