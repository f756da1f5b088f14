package stack

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"moeca/internal/audit"
	"moeca/internal/board"
	"moeca/internal/gateway/gatewayapi"
	"moeca/internal/git"
	"moeca/internal/hostapi"
	"moeca/internal/witness"
)

// openWitness opens what the host and others saw of the log.
func (s *Stack) openWitness(context.Context) (err error) {
	s.witness, err = witness.Open(witness.Options{
		Data: s.data.Path, Log: s.data.Join("audit"), Gateway: s.gateway.Admin, Open: openHistory(s.data.Path),
		Repos: s.witnessRepos, Now: time.Now, Logger: s.log,
	})
	return err
}

// tellWitnesses tells them from now on.
func (s *Stack) tellWitnesses(context.Context) error {
	s.background(s.witness.Run)
	return nil
}

func (s *Stack) witnessRepos(ctx context.Context) ([]witness.Repo, error) {
	repos, err := s.board.ListRepos(ctx)
	out := make([]witness.Repo, len(repos))
	for i, r := range repos {
		out[i] = witness.Repo{ID: r.ID, Path: r.Path}
	}
	return out, err
}

// openHistory opens where repositories keep checkpoints.
func openHistory(data string) func(context.Context, witness.Repo) (witness.History, error) {
	return func(ctx context.Context, r witness.Repo) (witness.History, error) {
		src, err := git.Open(ctx, r.Path)
		if err != nil {
			return nil, err
		}
		return git.OpenStore(ctx, filepath.Join(data, "git", r.ID), src)
	}
}

// trust says why the log is not to be relied on. No run begins and nothing is
// approved or merged then.
func (s *Stack) trust(ctx context.Context) error {
	if gone := s.audit.missing(); gone != "" {
		return errors.New(gone)
	}
	if s.witness == nil {
		return nil
	}
	return s.witness.Trust(ctx)
}

// ledger is the board's: a merge is told to the witnesses.
type ledger struct{ s *Stack }

// Append implements board.Ledger.
func (l ledger) Append(ctx context.Context, r gatewayapi.AppendRequest) (gatewayapi.AppendResponse, error) {
	row, err := l.s.gateway.Append.Append(ctx, r)
	if err == nil && r.Kind == audit.KindMerge.String() {
		if task, err := l.s.board.Task(ctx, r.Task); err == nil {
			l.s.witness.Merged(task.RepoID)
		}
	}
	return row, err
}

// witnessStatus is for the status strip.
func (s *Stack) witnessStatus() hostapi.WitnessStatus {
	last, ok := s.witness.Last()
	if !ok {
		return hostapi.WitnessStatus{}
	}
	return hostapi.WitnessStatus{
		Kind: last.Setting.Kind, Name: last.State.Name, At: &last.State.At, Rows: last.State.Size,
		Stale: time.Since(last.State.At) > witness.StaleAfter,
	}
}

// witnesses implements hostapi.Witnesses.
type witnesses struct{ s *Stack }

// List implements hostapi.Witnesses.
func (w witnesses) List(ctx context.Context) ([]hostapi.Witness, error) {
	out := []hostapi.Witness{}
	for _, v := range w.s.witness.All(ctx) {
		out = append(out, witnessOf(v))
	}
	return out, nil
}

func witnessOf(v witness.View) hostapi.Witness {
	return hostapi.Witness{
		ID: v.ID, Kind: v.Setting.Kind, Name: v.State.Name, Key: v.Setting.Key, Local: v.Setting.Local, Off: v.Setting.Off,
		At: since(v.State.At), Rows: v.State.Size, Problem: v.State.Problem, Diverged: v.State.Diverged, Note: v.State.Note,
	}
}

// since is nil for a time that never was.
func since(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}

// Put implements hostapi.Witnesses. The witness is told at once.
func (w witnesses) Put(ctx context.Context, in hostapi.WitnessInput) (hostapi.Witness, error) {
	set := witness.Setting{Kind: in.Kind, Path: in.Path, URL: in.URL, Key: in.Key, Local: in.Local, Off: in.Off}
	if in.Kind == witness.KindRepo {
		repo, err := w.s.board.Repo(ctx, in.Repo)
		if err != nil {
			return hostapi.Witness{}, err
		}
		set.Repo = repo.ID
	}
	if err := w.s.witness.Put(set); err != nil {
		return hostapi.Witness{}, witnessError(err)
	}
	w.s.witness.Round(ctx, set.Repo)
	for _, v := range w.s.witness.All(ctx) {
		if v.ID == set.ID() {
			return witnessOf(v), nil
		}
	}
	return hostapi.Witness{}, witnessError(witness.ErrUnknown)
}

// Delete implements hostapi.Witnesses.
func (w witnesses) Delete(_ context.Context, id string) error {
	if err := w.s.witness.Remove(id); err != nil {
		return witnessError(err)
	}
	if id == witness.HostID {
		return w.s.audit.forget()
	}
	return nil
}

// Check implements hostapi.Witnesses.
func (w witnesses) Check(ctx context.Context) ([]hostapi.WitnessFinding, error) {
	return w.s.audit.Witnesses(ctx, nil)
}

func witnessError(err error) error {
	switch {
	case errors.Is(err, witness.ErrSetting):
		return &board.Error{Kind: board.Invalid, Code: "witness", Message: err.Error(), Next: "correct it, and add the witness again"}
	case errors.Is(err, witness.ErrUnknown):
		return &board.Error{Kind: board.NotFound, Code: "witness_unknown", Message: err.Error(), Next: "`moeca audit witness list` names them"}
	}
	return &board.Error{Kind: board.Unavailable, Code: "witness_failed", Err: err, Message: err.Error(), Next: "remove the cause, then try again; nothing was changed"}
}

// Witnesses compares the log with what every witness holds that the data directory
// knows of, and with further files that a person brings. It needs no host.
func (v *AuditView) Witnesses(ctx context.Context, further []string) ([]hostapi.WitnessFinding, error) {
	data := filepath.Dir(v.dir)
	found, err := witness.Look(ctx, data, v.dir, openHistory(data), further)
	if err != nil {
		return nil, err
	}
	out := []hostapi.WitnessFinding{}
	for _, f := range found {
		out = append(out, hostapi.WitnessFinding{
			ID: f.ID, Kind: f.Kind, Name: f.Name, OK: f.OK, Found: f.Found, Rows: f.Size, At: since(f.At),
			Compared: f.Entries, Cosigner: f.Cosigner, Problem: f.Problem, Note: f.Note,
		})
	}
	return out, nil
}

// forget takes the log as it is: what this host saw before counts no longer.
func (v *AuditView) forget() error {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.dropPin()
}

// dropPin removes the head that is held. Called with mu held.
func (v *AuditView) dropPin() error {
	if err := os.Remove(v.pinFile); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	v.pin = nil
	return nil
}

// cosigned is the checkpoint that bundles of a run or task are proven against: one
// that a witness has cosigned, where no row of it lies behind that; nil for the
// log's own.
func (v *AuditView) cosigned(vkey string, of func(audit.Record) bool) (*audit.Checkpoint, error) {
	c, ok := witness.Cosigned(filepath.Dir(v.dir))
	if !ok || c.Verify(vkey) != nil {
		return nil, nil
	}
	r, last, err := v.open()
	if err != nil || last < c.Size {
		return nil, err
	}
	for rec, err := range r.Range(c.Size+1, last) {
		if err != nil || of(rec) {
			return nil, err
		}
	}
	return &c, nil
}
