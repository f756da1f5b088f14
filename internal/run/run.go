// Package run executes a run: it prepares the tree, starts a sandbox for each
// stage, hands over the work order, records what comes back, and keeps the
// result as a commit.
//
// A run is a log of events; its State is the fold over them (Fold), and the
// Journal stores both. An event is appended after what it tells has happened,
// so the log never claims more than is true; what a crash leaves unsaid is
// found by Recover.
//
// Invariants:
//   - A session that was minted is revoked, whatever happens in between, before
//     the tree is read (I2, I4). The sandbox has ended by then.
//   - Whatever an agent left in a complete tree becomes a commit held by a ref
//     of ours before the run ends, also when the run failed or was stopped (I13).
//   - Nothing an agent says decides anything: a stage succeeded when its process
//     ended with 0 as the driver saw it and its last event did not tell of an
//     error. Tokens are the gateway's figures.
//
// Order within a stage: tree (while the image is made available) → socket
// directory → session → prepare → attach → start → ready → release → events →
// wait → revoke → remove → snapshot.
//
// Engine is safe for concurrent use; one run is executed by one goroutine. It
// knows no database, no HTTP and no git command: those are its interfaces.
package run

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"moeca/internal/gateway/gatewayapi"
	"moeca/internal/git"
	"moeca/internal/handoff"
	"moeca/internal/sandbox"
	"moeca/internal/session"
	"moeca/internal/workflow"
)

// Trees is what a run needs of our git directory of one repository.
type Trees interface {
	// Checkout writes a fresh plain directory.
	Checkout(ctx context.Context, treeish, dir string) error
	// Snapshot commits what is in dir. Nothing may be running in it.
	Snapshot(ctx context.Context, r SnapshotRequest) (git.SnapshotResult, error)
	// Hold keeps oid reachable under refs/moeca/<name>, replacing what was there.
	Hold(ctx context.Context, name, oid string) error
	// CreateBranch makes a new branch of the user's repository. A branch that
	// stands at oid already is success, one that stands elsewhere an error.
	CreateBranch(ctx context.Context, branch, oid string) error
	// Stat counts what changed between two commits or trees.
	Stat(ctx context.Context, from, to string) (files, added, deleted int, err error)
}

// SnapshotRequest says what to commit.
type SnapshotRequest struct {
	Dir     string // tree
	Parent  string // commit
	Base    string // commit whose ignore rules count
	Message string
	Cache   string // file the snapshot may use to avoid reading files again
	When    time.Time
}

// Gateway is the part of the gateway's admin interface a run needs.
type Gateway interface {
	Mint(ctx context.Context, r gatewayapi.MintRequest) (gatewayapi.MintResponse, error)
	Revoke(ctx context.Context, id string) (gatewayapi.Revoked, error)
	Sessions(ctx context.Context) ([]session.Session, error)
}

// SocketDirs makes the directory of a sandbox's sockets. Remove is idempotent
// and also removes what a crash left.
type SocketDirs interface {
	Make(id string) (hostDir, gatewayDir string, err error)
	Remove(id string) error
}

// Journal stores a run. Both methods are durable when they return.
type Journal interface {
	Append(ctx context.Context, run string, e Event) error
	Lines(ctx context.Context, run string, lines []Line) error
}

// Line is one line an agent wrote, as it was received.
type Line struct {
	Stage string
	At    time.Time
	Event handoff.Event
}

// Job is one run to execute.
type Job struct {
	Run, Task string
	Plan      workflow.Plan
	Trees     Trees
	Dir       string           // where the tree is made; must not exist
	Cache     string           // snapshot cache file
	Base      string           // commit the work starts from
	Branch    string           // branch the result gets
	Hold      string           // name below refs/moeca/ that holds the result
	Message   string           // of the commit
	Protect   []string         // branches no agent may write
	Repos     []string         // "owner/name" that its agents may use, where they reach a provider with repositories
	RepoIDs   map[string]int64 // of those whose id is known
	// RunBudget and TaskBudget bound what all sessions of the run, or of the
	// task, draw together; nil leaves what is set.
	RunBudget, TaskBudget *session.Budget
}

// Engine executes runs.
type Engine struct {
	Driver   sandbox.Driver
	Gateway  Gateway
	Sockets  SocketDirs
	Journal  Journal
	Owner    string
	UID, GID int
	Now      func() time.Time
	NewID    func() string
	Logger   *slog.Logger
	Hook     func(step string) // nil, or called before each step
	// Requests counts what a stage asked of the gateway since a time, as the
	// audit log has it; nil leaves the figure out.
	Requests func(ctx context.Context, stage string, since time.Time) (int, error)
	// Explain says by the audit log why a stage failed, or nothing; nil leaves the
	// cause as the sandbox tells it.
	Explain func(ctx context.Context, job Job, stage string, since time.Time) string
}

// ErrStopped is the cause of a context that ends a run because a person asked.
var ErrStopped = errors.New("stopped by a person")

// errOverdue is the cause of a context whose driver did not keep a limit.
var errOverdue = errors.New("the stage's time limit")

// ErrShutdown is the cause of a context that ends because the host shuts down.
var ErrShutdown = errors.New("the host was shut down")

const (
	readyTimeout    = time.Minute // from start to the ready line
	mintTimeout     = 30 * time.Second
	stopGrace       = 5 * time.Second // between TERM and KILL
	snapshotTimeout = 15 * time.Minute
	cleanTimeout    = 2 * time.Minute // for what must happen although the run was stopped
	sessionExtra    = 5 * time.Minute // session TTL beyond the stage's limit
	logLimit        = 64 << 20        // bytes of output of one stage
	batchLines      = 128             // log lines stored in one transaction
	queueLines      = 4 * batchLines  // lines read ahead of the store
	backstop        = time.Minute     // beyond a stage's limit, before the host ends it itself
	skippedBytes    = 16 << 10        // of paths left out of a snapshot that are named
	summaryRunes    = 8_000           // of the agent's report kept with the state; the log has all of it
	tailRunes       = 300             // of an error text shown as a cause
)
