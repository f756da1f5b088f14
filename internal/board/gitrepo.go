package board

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"moeca/internal/diff"
	"moeca/internal/git"
	"moeca/internal/run"
)

// GitOptions say where package git may write and as whom.
type GitOptions struct {
	Data     string    // data directory: git/ and trash/ are made below it
	Owner    git.Owner // of checked out files; -1,-1 leaves them with the host
	Identity git.Identity
}

// NewRepositories returns the Repositories of package git.
func NewRepositories(o GitOptions) Repositories { return gitRepos{o} }

type gitRepos struct{ o GitOptions }

func (g gitRepos) Open(ctx context.Context, path string) (Source, error) {
	s, err := git.Open(ctx, path)
	if err != nil {
		return nil, gitError(path, err)
	}
	return gitSource{s}, nil
}

func (g gitRepos) Store(ctx context.Context, repoID string, s Source) (Store, error) {
	src, ok := s.(gitSource)
	if !ok {
		return nil, fmt.Errorf("board: %T is no source of package git", s)
	}
	st, err := git.OpenStore(ctx, filepath.Join(g.o.Data, "git", repoID), src.Source)
	if err != nil {
		return nil, gitError(src.Info().Path, err)
	}
	return gitStore{st, g.o, src.Info().Path}, nil
}

func (g gitRepos) trash() string { return filepath.Join(g.o.Data, "trash") }

func (g gitRepos) Discard(dir string) error { return git.RemoveTree(dir, g.trash()) }

func (g gitRepos) Reap(ctx context.Context) error { return git.Reap(ctx, g.trash()) }

// gitError gives the errors of package git, which say what to do, a kind and a
// code.
func gitError(path string, err error) error {
	for _, k := range []struct {
		is   error
		kind Kind
		code string
		text string
		next string
	}{
		{git.ErrNotRepository, Invalid, "not_a_repository", "%s is not a git repository", "name the directory of a repository, or run git init there and commit"},
		{git.ErrUnborn, Invalid, "repository_unborn", "%s has no commit yet", "make a first commit there"},
		{git.ErrGone, Unavailable, "repository_gone", "%s is gone", "restore the directory, or remove the repository from moeca"},
		{git.ErrNoGit, Unavailable, "git_missing", "%s cannot be read without git", "install git 2.38 or newer"},
		{git.ErrTooOld, Unavailable, "git_too_old", "%s cannot be read with this git", "install git 2.38 or newer"},
	} {
		if errors.Is(err, k.is) {
			return &Error{Kind: k.kind, Code: k.code, Message: fmt.Sprintf(k.text, path), Next: k.next, Err: err}
		}
	}
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	if full := diskFull(err); full != nil {
		return full
	}
	// Whatever else git says is shown: only a person can repair a repository.
	return &Error{
		Kind: Unavailable, Code: "git_failed", Err: err, Message: fmt.Sprintf("git failed in %s: %v", path, err),
		Next: "repair the repository as git says, then try again",
	}
}

// gitSource is a git.Source whose errors are Errors.
type gitSource struct{ *git.Source }

func (s gitSource) CheckedOut(ctx context.Context, branch string) (string, error) {
	dir, err := s.Source.CheckedOut(ctx, branch)
	return dir, said(s.Info().Path, err)
}

func (s gitSource) Remotes(ctx context.Context) ([]string, error) {
	urls, err := s.Source.Remotes(ctx)
	return urls, said(s.Info().Path, err)
}

// said is gitError for a call that may have succeeded.
func said(path string, err error) error {
	if err == nil {
		return nil
	}
	return gitError(path, err)
}

// gitStore is a git.Store with our owner and identity. Errors of what a request
// waits for are Errors; those of a run or a gate become causes.
type gitStore struct {
	*git.Store
	o    GitOptions
	path string // of the user's repository, for errors
}

func (s gitStore) Checkout(ctx context.Context, treeish, dir string) error {
	return s.Store.Checkout(ctx, treeish, dir, s.o.Owner)
}

func (s gitStore) Snapshot(ctx context.Context, r run.SnapshotRequest) (git.SnapshotResult, error) {
	return s.Store.Snapshot(ctx, git.SnapshotRequest{
		Dir: r.Dir, Parent: r.Parent, Base: r.Base, Message: r.Message, Cache: r.Cache, When: r.When, Author: s.o.Identity,
	})
}

func (s gitStore) CreateBranch(ctx context.Context, branch, oid string) error {
	return s.SetBranch(ctx, branch, oid, "")
}

func (s gitStore) Diff(ctx context.Context, from, to string, o DiffOptions) (diff.Set, error) {
	set, err := s.Store.Diff(ctx, from, to, git.DiffOptions{MaxFileLines: o.MaxFileLines, MaxTotalBytes: o.MaxTotalBytes})
	return set, said(s.path, err)
}

func (s gitStore) Preview(ctx context.Context, target, head string) (git.Preview, error) {
	p, err := s.Store.Preview(ctx, target, head)
	return p, said(s.path, err)
}

func (s gitStore) Landed(ctx context.Context, p git.Preview) (string, error) {
	commit, err := s.Store.Landed(ctx, p)
	return commit, said(s.path, err)
}
