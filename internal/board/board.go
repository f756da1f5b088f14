// Package board is the state of the work: repositories, tasks, attempts, runs,
// gate results, approvals and merges, and the one Service that changes them.
//
// # Data
//
// host.db holds it (schema/): Task 1:N Attempt 1:N Run. A run's truth is its
// events; runs.state is the fold, written in the same transaction. Figures a
// list shows (files, lines, tokens, CI state) are stored when they change, so
// that listing never asks git, the gateway or an engine. Every change of state
// and the event that tells of it commit together; events are published in the
// order of their sequence, after the commit.
//
// # Invariants
//
//   - What is shown, checked, approved and merged is one result tree (I9). An
//     approval names head, target and result tree as the person saw them, and
//     any difference to a fresh preview refuses; so does a merge later.
//   - A result of the gate counts only for the result tree, target, head, gate
//     and image it was made with. No gate is its own state, never green.
//   - Approve and Merge need an Actor who is a person (I15).
//   - An approval is stored after its row in the audit log is durable; a merge's
//     row follows the moved target, and Recover appends what a crash left owed.
//   - A task's status moves only along transitions (status.go).
//   - An agent's words decide nothing; they are stored as claimed. Which budget
//     ended a run is read from the log.
//   - Where a task's agents reach and what they may draw is a person's to say, goes
//     to the gateway with each session, and is held there.
//   - While the audit log is not the one that its witnesses saw, no run begins and
//     nothing is approved or merged (trust.go).
//   - An ask changes what is shown and nothing else: the answer passes the board by.
//
// # Concurrency
//
// Service is safe for concurrent use. One lock per task orders what changes its
// result (run, gate, approve, merge, cancel); one lock per repository orders
// merges. Runs and gates work in goroutines that end with Close.
//
// It knows no HTTP, no git command, no engine: those are Deps.
package board

import (
	"context"
	"crypto/rand"
	"embed"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"time"

	"moeca/internal/ci"
	"moeca/internal/run"
	"moeca/internal/workflow"
)

//go:embed schema/*.sql
var schemaFiles embed.FS

// Schema is the migrations of host.db.
func Schema() fs.FS {
	sub, err := fs.Sub(schemaFiles, "schema")
	if err != nil {
		return schemaFiles
	}
	return sub
}

// Service is the board.
type Service struct {
	Deps
	engine run.Engine
	checks ci.Runner

	life    context.Context // of every background goroutine
	end     context.CancelCauseFunc
	bg      sync.WaitGroup
	publish sync.Mutex // held over commit and publication

	taskLocks, repoLocks, runLocks keyLocks

	mu     sync.Mutex
	closed bool
	runs   map[string]*active // run id → executing
	gates  map[string]*active // task id → gate running
	owed   map[string]owedEnd // run id → end that is not stored yet

	cuts truncations

	asksMu sync.Mutex // held over a SetAsks
	asks   []string   // ids it told of last

	waitMu  sync.Mutex
	waiting map[string]string // run → why it waits for a person, whatever its state
}

// active is something that runs in the background.
type active struct {
	ctx    context.Context // ends when it is to stop
	cancel context.CancelCauseFunc
	done   chan struct{}
}

// New makes a Service. Recover must be called before it serves anybody.
func New(d Deps) (*Service, error) {
	if err := d.fill(); err != nil {
		return nil, err
	}
	for _, dir := range []string{"trees", "logs", "cache"} {
		if err := os.MkdirAll(filepath.Join(d.Data, dir), 0o700); err != nil {
			return nil, fmt.Errorf("board: data directory: %w", err)
		}
	}
	s := &Service{Deps: d, runs: map[string]*active{}, gates: map[string]*active{}, owed: map[string]owedEnd{}}
	s.life, s.end = context.WithCancelCause(context.Background())
	s.engine = run.Engine{
		Driver: d.Driver, Gateway: d.Gateway, Sockets: d.Sockets, Journal: journal{s},
		Owner: d.Owner, UID: d.UID, GID: d.GID, Now: d.Now, NewID: d.NewID, Logger: d.Logger, Hook: d.Hook,
		Requests: s.countRequests, Explain: s.explainFailure,
	}
	s.checks = ci.Runner{
		Driver: d.Driver, Owner: d.Owner, UID: d.UID, GID: d.GID, GateFiles: d.Settings.GateFiles,
		Discard: d.Repos.Discard, Logger: d.Logger, Hook: d.Hook,
	}
	return s, nil
}

func (d *Deps) fill() error {
	if d.DB == nil || d.Bus == nil || d.Repos == nil || d.Driver == nil || d.Gateway == nil || d.Sockets == nil ||
		d.Providers == nil || d.Ledger == nil || d.Log == nil || d.Trust == nil || d.Signer == nil {
		return errors.New("board: a dependency is missing")
	}
	if !filepath.IsAbs(d.Data) || d.Owner == "" || d.UID <= 0 || d.GID <= 0 {
		return errors.New("board: data directory, owner, uid and gid are needed")
	}
	s := &d.Settings
	defaults(&s.MaxRuns, 2)
	defaults(&s.StageTimeout, time.Hour)
	defaults(&s.TokensPerRun, 2_000_000)
	defaults(&s.DefaultProvider, "demo")
	defaults(&s.DefaultTemplate, workflow.Solo)
	defaults(&s.EventsKept, 10_000)
	defaults(&s.RetryAfter, time.Second)
	if s.GateFiles == nil {
		s.GateFiles = ci.DefaultGateFiles()
	}
	defaults(&d.Identity.Name, "moeca")
	defaults(&d.Identity.Email, "moeca@localhost")
	if d.Logger == nil {
		d.Logger = slog.New(slog.DiscardHandler)
	}
	if d.Now == nil {
		d.Now = time.Now
	}
	if d.NewID == nil {
		d.NewID = newID
	}
	return nil
}

func defaults[T comparable](v *T, to T) {
	var zero T
	if *v == zero {
		*v = to
	}
}

func newID() string {
	var b [8]byte
	rand.Read(b[:]) // never fails: crypto/rand ends the program instead
	return hex.EncodeToString(b[:])
}

// Close stops what runs, keeps its work, and waits for it.
func (s *Service) Close() error {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	s.end(run.ErrShutdown)
	s.bg.Wait()
	return nil
}

func (s *Service) step(name string) {
	if s.Hook != nil {
		s.Hook(name)
	}
}

// keyLocks is a lock per key. The zero value is ready to use.
type keyLocks struct {
	mu   sync.Mutex
	held map[string]*keyLock
}

type keyLock struct {
	ch    chan struct{} // full while held
	users int
}

// lock waits for key, or for the end of ctx. The caller calls unlock once.
func (k *keyLocks) lock(ctx context.Context, key string) (unlock func(), err error) {
	k.mu.Lock()
	if k.held == nil {
		k.held = map[string]*keyLock{}
	}
	l := k.held[key]
	if l == nil {
		l = &keyLock{ch: make(chan struct{}, 1)}
		k.held[key] = l
	}
	l.users++
	k.mu.Unlock()
	leave := func() {
		k.mu.Lock()
		defer k.mu.Unlock()
		if l.users--; l.users == 0 {
			delete(k.held, key)
		}
	}
	select {
	case l.ch <- struct{}{}:
		return func() { <-l.ch; leave() }, nil
	case <-ctx.Done():
		leave()
		return nil, fmt.Errorf("board: wait for %s: %w", key, context.Cause(ctx))
	}
}
