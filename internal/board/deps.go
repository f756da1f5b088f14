package board

import (
	"context"
	"crypto/ed25519"
	"log/slog"
	"time"

	"moeca/internal/audit"
	"moeca/internal/diff"
	"moeca/internal/gateway/gatewayapi"
	"moeca/internal/git"
	"moeca/internal/pubsub"
	"moeca/internal/run"
	"moeca/internal/sandbox"
	"moeca/internal/sqlite"
)

// Source is a user's repository: reads of refs, nothing else.
type Source interface {
	Info() git.Info
	// Resolve returns the commit a revision names.
	Resolve(ctx context.Context, rev string) (string, error)
	// CheckedOut returns the work tree that has branch checked out, or "".
	CheckedOut(ctx context.Context, branch string) (string, error)
	// Remotes are the URLs of its remotes, as they are written.
	Remotes(ctx context.Context) ([]string, error)
}

// Store is our clean git directory for one repository.
type Store interface {
	run.Trees
	Diff(ctx context.Context, from, to string, o DiffOptions) (diff.Set, error)
	// Preview merges without touching any ref.
	Preview(ctx context.Context, target, head string) (git.Preview, error)
	// Land makes exactly p.ResultTree a commit with the parents p.TargetOID and
	// p.Head and moves the target to it, or refuses with git.ErrMoved when the
	// target is not at p.TargetOID any more.
	Land(ctx context.Context, p git.Preview, message string, who git.Identity) (string, error)
	// Landed finds the commit Land made of p in the target's history, or "".
	Landed(ctx context.Context, p git.Preview) (string, error)
	List(ctx context.Context, treeish string) ([]git.Entry, error)
	Release(ctx context.Context, name string) error
}

// Repositories opens both. Its errors are Errors.
type Repositories interface {
	Open(ctx context.Context, path string) (Source, error)
	Store(ctx context.Context, repoID string, s Source) (Store, error)
	// Discard takes a tree directory away at once; Reap deletes what was.
	Discard(dir string) error
	Reap(ctx context.Context) error
}

// Ledger appends rows to the audit log. It returns after the row is durable.
type Ledger interface {
	Append(ctx context.Context, r gatewayapi.AppendRequest) (gatewayapi.AppendResponse, error)
}

// LedgerReader reads the audit log; *audit.Reader is one.
type LedgerReader interface {
	Refresh() (last int64, err error)
	At(seq int64) (audit.Record, audit.Hash, error)
}

// Signer holds the person's approval key. crypto/ed25519.PrivateKey wrapped in
// a struct with these two methods is one.
type Signer interface {
	Public() ed25519.PublicKey
	Sign(message []byte) ([]byte, error)
}

// Providers lists the upstreams that exist, and asks one of kind github for a
// repository.
type Providers interface {
	Providers(ctx context.Context) ([]gatewayapi.Provider, error)
	Repository(ctx context.Context, upstream, fullName string) (gatewayapi.Repository, error)
}

// Settings are the configurable numbers and defaults. Zero values take the
// defaults named here.
type Settings struct {
	MaxRuns         int           // runs at the same time, 2
	StageTimeout    time.Duration // 60 min
	TokensPerRun    int64         // budget of a session, 2 M
	DefaultProvider string        // "demo"
	DefaultModel    string        // the provider's first model
	DefaultTemplate string        // "solo"
	GateFiles       []string      // globs, ci.DefaultGateFiles()
	AutoCI          bool          // run the gate as soon as a run has succeeded
	EventsKept      int64         // 10,000
	RetryAfter      time.Duration // first wait before what could not be recorded is tried again, 1 s
}

// Deps are the parts a Service is made of. All but Logger, Now, NewID and Hook
// are required.
type Deps struct {
	DB        *sqlite.DB // opened with Schema
	Bus       *pubsub.Bus
	Repos     Repositories
	Driver    sandbox.Driver
	Others    []sandbox.Driver // further drivers that may have left sandboxes; swept by Recover
	Gateway   run.Gateway
	Sockets   run.SocketDirs
	Providers Providers
	Ledger    Ledger
	Log       LedgerReader
	Signer    Signer
	Trust     func(ctx context.Context) error // why the log is not to be relied on, or nil

	Data     string // data directory: trees/, logs/, cache/ are made below it
	Owner    string // id of the data directory, label of every sandbox
	UID, GID int    // of every sandbox, never 0
	Settings Settings
	Identity git.Identity // of commits the host makes

	Logger *slog.Logger
	Now    func() time.Time
	NewID  func() string
	Hook   func(step string) // called between the steps of a run and of a merge; tests stop there
}
