package git

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Errors of a user's repository. Each is wrapped with the path and says what
// to do next.
var (
	ErrNotRepository = errors.New("not a git repository")
	ErrGone          = errors.New("path is gone")
	ErrUnborn        = errors.New("repository has no commit yet")
	ErrNoRevision    = errors.New("no such branch, tag or commit")
	ErrBadName       = errors.New("not a usable branch name")
)

// Source is a user's repository. It is only ever asked about refs, and its
// refs are only changed by update-ref; its index, work tree, hooks and
// attributes are never used. Safe for concurrent use.
type Source struct {
	info    Info
	git     runner // per-worktree git directory: what HEAD means here
	common  runner // common git directory: all other refs
	objects string // object store, shared by linked worktrees
}

// Open looks at the repository whose work tree or git directory is path.
// A directory below a repository is refused, with the repository's name.
func Open(ctx context.Context, path string) (*Source, error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return nil, fmt.Errorf("git: open %s: %w", path, err)
	}
	fi, err := os.Stat(abs)
	if errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("git: open %s: %w: restore the directory or remove the repository from moeca", abs, ErrGone)
	}
	if err != nil {
		return nil, fmt.Errorf("git: open %s: %w", abs, err)
	}
	if !fi.IsDir() {
		return nil, fmt.Errorf("git: open %s: %w: it is a file, name the repository's directory", abs, ErrNotRepository)
	}
	base, err := newRunner(ctx)
	if err != nil {
		return nil, err
	}
	s := &Source{info: Info{Path: abs}}
	if err := s.locate(ctx, base); err != nil {
		return nil, err
	}
	return s, s.inspect(ctx)
}

// locate finds the git directories without looking above the path.
func (s *Source) locate(ctx context.Context, base runner) error {
	real, err := filepath.EvalSymlinks(s.info.Path)
	if err != nil {
		return fmt.Errorf("git: open %s: %w", s.info.Path, err)
	}
	probe := base
	probe.dir = real
	probe.env = append(append([]string{}, base.env...), "GIT_CEILING_DIRECTORIES="+filepath.Dir(real))
	gitDir, err := probe.line(ctx, "rev-parse", "--absolute-git-dir")
	if err != nil {
		return s.notRepository(ctx, base, err)
	}
	common, err := probe.line(ctx, "rev-parse", "--path-format=absolute", "--git-common-dir")
	if err != nil {
		return fmt.Errorf("git: open %s: %w", s.info.Path, err)
	}
	s.info.GitDir = common
	s.git = base.with(common, gitDir)
	s.common = base.with(common, common)
	if s.objects, err = filepath.EvalSymlinks(filepath.Join(common, "objects")); err != nil {
		return fmt.Errorf("git: open %s: object store: %w", s.info.Path, err)
	}
	if s.info.ObjectFormat, err = s.common.line(ctx, "rev-parse", "--show-object-format"); err != nil {
		return fmt.Errorf("git: open %s: %w", s.info.Path, err)
	}
	bare, err := probe.line(ctx, "rev-parse", "--is-bare-repository")
	if err != nil {
		return fmt.Errorf("git: open %s: %w", s.info.Path, err)
	}
	s.info.Bare = bare == "true"
	_, err = os.Stat(filepath.Join(common, "shallow"))
	s.info.Shallow = err == nil
	return nil
}

// notRepository turns rev-parse's refusal into a sentence that helps.
func (s *Source) notRepository(ctx context.Context, base runner, cause error) error {
	if ctx.Err() != nil {
		return fmt.Errorf("git: open %s: %w", s.info.Path, cause)
	}
	var exit *ExitError
	if errors.As(cause, &exit) && !strings.Contains(exit.Stderr, "(or any of the parent directories)") {
		return fmt.Errorf("git: open %s: %w: git said: %s", s.info.Path, ErrNotRepository, exit.Stderr)
	}
	base.dir = s.info.Path
	if top, err := base.line(ctx, "rev-parse", "--show-toplevel"); err == nil && top != "" {
		return fmt.Errorf("git: open %s: %w: it lies inside %s, add that directory", s.info.Path, ErrNotRepository, top)
	}
	return fmt.Errorf("git: open %s: %w: run git init there and make a first commit, or name another directory",
		s.info.Path, ErrNotRepository)
}

// inspect fills in what refs and the default branch's tree say.
func (s *Source) inspect(ctx context.Context) error {
	if err := s.readBranches(ctx); err != nil {
		return err
	}
	if head, err := s.git.line(ctx, "symbolic-ref", "-q", "HEAD"); err == nil {
		s.info.Head = strings.TrimPrefix(head, "refs/heads/")
	}
	if oid, err := s.git.line(ctx, "rev-parse", "--verify", "-q", "--end-of-options", "HEAD^{commit}"); err == nil {
		s.info.HeadOID = oid
	}
	if s.info.HeadOID == "" && len(s.info.Branches) == 0 {
		return fmt.Errorf("git: open %s: %w: make a first commit there, then add it again", s.info.Path, ErrUnborn)
	}
	s.info.DefaultBranch = s.defaultBranch(ctx)
	return s.inspectTree(ctx)
}

func (s *Source) readBranches(ctx context.Context) error {
	out, err := s.common.output(ctx, nil, "for-each-ref", "--format=%(refname)", "refs/heads/")
	if err != nil {
		return fmt.Errorf("git: open %s: branches: %w", s.info.Path, err)
	}
	s.info.Branches = nil
	for ref := range strings.Lines(string(out)) {
		s.info.Branches = append(s.info.Branches, strings.TrimPrefix(strings.TrimSuffix(ref, "\n"), "refs/heads/"))
	}
	return nil
}

// defaultBranch is the first of the usual places that names a local branch.
func (s *Source) defaultBranch(ctx context.Context) string {
	var names []string
	if ref, err := s.common.line(ctx, "symbolic-ref", "-q", "refs/remotes/origin/HEAD"); err == nil {
		names = append(names, strings.TrimPrefix(ref, "refs/remotes/origin/"))
	}
	if name, err := s.common.line(ctx, "config", "--get", "init.defaultBranch"); err == nil {
		names = append(names, name)
	}
	names = append(names, s.info.Head, "main", "master")
	for _, n := range names {
		if n != "" && slices.Contains(s.info.Branches, n) {
			return n
		}
	}
	if len(s.info.Branches) > 0 {
		return s.info.Branches[0]
	}
	return ""
}

func (s *Source) inspectTree(ctx context.Context) error {
	rev := s.info.HeadOID
	if s.info.DefaultBranch != "" {
		rev = "refs/heads/" + s.info.DefaultBranch
	}
	err := s.common.stream(ctx, nil, func(r io.Reader) error {
		entries := bufio.NewReader(r)
		for {
			e, err := entries.ReadBytes(0)
			if err == io.EOF {
				return nil
			}
			if err != nil {
				return err
			}
			s.info.Submodules = s.info.Submodules || bytes.HasPrefix(e, []byte("160000 "))
		}
	}, "ls-tree", "-r", "-z", "--full-tree", "--end-of-options", rev)
	if err != nil {
		return fmt.Errorf("git: open %s: tree of %s: %w", s.info.Path, rev, err)
	}
	if attrs, err := s.common.output(ctx, nil, "cat-file", "blob", rev+":.gitattributes"); err == nil {
		s.info.LFS = bytes.Contains(attrs, []byte("filter=lfs"))
	}
	return nil
}

// Info is what Open found.
func (s *Source) Info() Info {
	i := s.info
	i.Branches = slices.Clone(i.Branches)
	return i
}

// Resolve turns a branch, tag or revision expression into a commit id.
func (s *Source) Resolve(ctx context.Context, rev string) (string, error) {
	if rev == "" || strings.HasPrefix(rev, "-") || strings.ContainsRune(rev, 0) {
		return "", fmt.Errorf("git: resolve %q: %w: a name must not be empty or start with a dash", rev, ErrBadName)
	}
	tries := []string{rev}
	if !strings.HasPrefix(rev, "refs/") {
		tries = []string{"refs/heads/" + rev, rev} // a branch wins over a tag of the same name
	}
	for _, t := range tries {
		oid, err := s.git.line(ctx, "rev-parse", "--verify", "-q", "--end-of-options", t+"^{commit}")
		if err == nil {
			return oid, nil
		}
		if exitCode(err) < 0 {
			return "", fmt.Errorf("git: resolve %q: %w", rev, err)
		}
	}
	return "", fmt.Errorf("git: resolve %q in %s: %w: choose one of the repository's branches, or fetch it first",
		rev, s.info.Path, ErrNoRevision)
}

// refOID reads a ref; "" when it does not exist.
func (s *Source) refOID(ctx context.Context, ref string) (string, error) {
	oid, err := s.common.line(ctx, "rev-parse", "--verify", "-q", "--end-of-options", ref)
	if exitCode(err) == 1 {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("git: read %s: %w", ref, err)
	}
	return oid, nil
}

// CheckedOut returns the work tree that has branch checked out, or "".
func (s *Source) CheckedOut(ctx context.Context, branch string) (string, error) {
	ref, err := branchRef(branch)
	if err != nil {
		return "", err
	}
	out, err := s.common.output(ctx, nil, "worktree", "list", "--porcelain", "-z")
	if err != nil {
		return "", fmt.Errorf("git: work trees of %s: %w", s.info.Path, err)
	}
	var tree string
	for field := range strings.SplitSeq(string(out), "\x00") {
		if name, ok := strings.CutPrefix(field, "worktree "); ok {
			tree = name
		}
		if field == "branch "+ref {
			return tree, nil
		}
	}
	return "", nil
}
