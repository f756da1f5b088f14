package board

import (
	"context"
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"moeca/internal/ci"
	"moeca/internal/diff"
	"moeca/internal/git"
)

// AddRepo adds the repository at path. An empty name takes the directory's, an
// empty target the detected one.
func (s *Service) AddRepo(ctx context.Context, path, name, target string, gate *Gate) (Repo, error) {
	src, real, err := s.openPath(ctx, path)
	if err != nil {
		return Repo{}, err
	}
	info := src.Info()
	if name == "" {
		name = nameOf(real)
	}
	if err := checkName(name); err != nil {
		return Repo{}, err
	}
	if target == "" {
		target = info.DefaultBranch
	}
	if err := checkTarget(info, target); err != nil {
		return Repo{}, err
	}
	doc, err := gateDocument(gate)
	if err != nil {
		return Repo{}, err
	}
	branches, err := toJSON(nonNil(info.Branches))
	if err != nil {
		return Repo{}, fmt.Errorf("board: encode branches: %w", err)
	}
	id := s.NewID()
	err = s.change(ctx, func(c *change) error {
		if err := freeName(ctx, c, name, real); err != nil {
			return err
		}
		if err := c.exec(ctx, `INSERT INTO repos (id, name, path, target, gate, branches, created_at) VALUES (?, ?, ?, ?, ?, ?, ?)`,
			id, name, real, target, doc, branches, s.Now().UnixMilli()); err != nil {
			return err
		}
		return c.repoChanged(ctx, id)
	})
	if err != nil {
		return Repo{}, wrap("add repository "+name, err)
	}
	return s.Repo(ctx, id)
}

// nameOf is what people call the repository at a path: its directory, also when
// the git directory inside it was named.
func nameOf(path string) string {
	base := filepath.Base(path)
	if base == ".git" {
		base = filepath.Base(filepath.Dir(path))
	}
	return strings.TrimSuffix(base, ".git")
}

// openPath opens the repository at a path a person typed.
func (s *Service) openPath(ctx context.Context, path string) (Source, string, error) {
	if !filepath.IsAbs(path) {
		return nil, "", refuse(Invalid, "path_not_absolute", "give the whole path, starting with /", "the path %q is not absolute", path)
	}
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return nil, "", &Error{
			Kind: Invalid, Code: "path_gone", Message: fmt.Sprintf("there is nothing at %s", path),
			Next: "check the path", Err: err,
		}
	}
	src, err := s.Repos.Open(ctx, real)
	return src, real, err
}

func checkName(name string) error {
	if name == "" || len(name) > 100 || !utf8.ValidString(name) || strings.TrimSpace(name) != name {
		return refuse(Invalid, "repository_name", "choose a name of 1 to 100 characters", "the name %q cannot be used", name)
	}
	return plainText("name", name)
}

// plainText refuses characters that are not seen as what they are: a title and
// a name stand in commits, logs and terminals.
func plainText(what, text string) error {
	// The joiners inside emoji and Persian words are ordinary.
	bare := strings.NewReplacer("\u200c", "", "\u200d", "").Replace(text)
	if shown := diff.Printable(bare); shown != bare {
		return refuse(Invalid, "invalid_text", "remove control characters and those that change the direction of reading",
			"the %s holds characters that are not shown as what they are: %s", what, shown)
	}
	return nil
}

func checkTarget(info git.Info, target string) error {
	if slices.Contains(info.Branches, target) {
		return nil
	}
	return refuse(Invalid, "target_not_found", "choose one of: "+strings.Join(info.Branches, ", "),
		"%s has no branch %q to merge into", info.Path, target)
}

func freeName(ctx context.Context, q querier, name, path string) error {
	var n, p int
	if err := q.QueryRowContext(ctx, `SELECT coalesce(sum(name = ?), 0), coalesce(sum(path = ?), 0) FROM repos`, name, path).Scan(&n, &p); err != nil {
		return err
	}
	switch {
	case p > 0:
		return refuse(Conflict, "repository_exists", "use the one that is there", "%s was added already", path)
	case n > 0:
		return refuse(Conflict, "repository_name_taken", "choose another name", "another repository is named %q", name)
	}
	return nil
}

// gateDocument is the stored form of a gate, nil for none.
func gateDocument(g *Gate) (any, error) {
	if g == nil {
		return nil, nil
	}
	n, err := ci.Gate(*g).Normal()
	if err != nil {
		return nil, &Error{Kind: Invalid, Code: "gate_invalid", Message: err.Error(), Next: "correct the gate"}
	}
	doc, err := toJSON(Gate(n))
	if err != nil {
		return nil, fmt.Errorf("board: encode gate: %w", err)
	}
	return doc, nil
}

func (c *change) repoChanged(ctx context.Context, id string) error {
	r, err := readRepo(ctx, c, id)
	if err != nil {
		return err
	}
	return c.event(ctx, TopicRepos, EventRepoChanged, id, r)
}

// ListRepos lists the repositories by name, as last seen, but whether each can
// be used is found out now.
func (s *Service) ListRepos(ctx context.Context) ([]Repo, error) {
	all, err := s.storedRepos(ctx)
	if err != nil {
		return nil, err
	}
	for i := range all {
		if err := s.refreshProblem(ctx, &all[i]); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// refreshProblem brings Problem up to date. That costs one look at the
// directory; git is asked only of a repository that had a problem.
func (s *Service) refreshProblem(ctx context.Context, r *Repo) error {
	now := ""
	if r.Problem != "" || !looksThere(r.Path) {
		if _, err := s.Repos.Open(ctx, r.Path); err != nil {
			now = err.Error()
		}
	}
	if now == r.Problem || ctx.Err() != nil {
		return nil
	}
	r.Problem = now
	return wrap("read repository", s.change(ctx, func(c *change) error {
		if err := c.exec(ctx, `UPDATE repos SET problem = ? WHERE id = ?`, now, r.ID); err != nil {
			return err
		}
		return c.repoChanged(ctx, r.ID)
	}))
}

// looksThere says that a work tree or a git directory is at path, by its names.
func looksThere(path string) bool {
	_, dot := os.Stat(filepath.Join(path, ".git"))
	_, head := os.Stat(filepath.Join(path, "HEAD"))
	return dot == nil || head == nil
}

func (s *Service) storedRepos(ctx context.Context) ([]Repo, error) {
	all := []Repo{}
	err := s.DB.Read(ctx, func(tx *sql.Tx) error {
		rows, err := tx.QueryContext(ctx, `SELECT `+repoColumns+` FROM repos ORDER BY name`)
		if err != nil {
			return err
		}
		return each(rows, func() error {
			r, err := scanRepo(rows)
			all = append(all, r)
			return err
		})
	})
	return all, wrap("list repositories", err)
}

// Repo returns a repository by id or name, as last seen.
func (s *Service) Repo(ctx context.Context, key string) (r Repo, err error) {
	err = s.DB.Read(ctx, func(tx *sql.Tx) error {
		r, err = readRepo(ctx, tx, key)
		return err
	})
	return r, wrap("read repository", err)
}

// UpdateRepo changes target or gate, and looks at the repository again. A gate
// that changes makes every result of the old one stale.
func (s *Service) UpdateRepo(ctx context.Context, key string, p RepoPatch) (Repo, error) {
	r, err := s.Repo(ctx, key)
	if err != nil {
		return Repo{}, err
	}
	src, openErr := s.Repos.Open(ctx, r.Path)
	problem := ""
	if openErr != nil {
		problem = openErr.Error()
	} else {
		r.Branches = nonNil(src.Info().Branches)
	}
	if p.Target != nil {
		if openErr != nil {
			return Repo{}, openErr
		}
		if err := checkTarget(src.Info(), *p.Target); err != nil {
			return Repo{}, err
		}
		r.Target = *p.Target
	}
	switch {
	case p.RemoveCI:
		r.CI = nil
	case p.CI != nil:
		r.CI = p.CI
	}
	gate, err := gateDocument(r.CI)
	if err != nil {
		return Repo{}, err
	}
	branches, err := toJSON(r.Branches)
	if err != nil {
		return Repo{}, fmt.Errorf("board: encode branches: %w", err)
	}
	err = s.change(ctx, func(c *change) error {
		if err := c.exec(ctx, `UPDATE repos SET target = ?, gate = ?, branches = ?, problem = ? WHERE id = ?`,
			r.Target, gate, branches, problem, r.ID); err != nil {
			return err
		}
		if p.RemoveCI || p.CI != nil {
			if err := c.gateChanged(ctx, r.ID, r.CI); err != nil {
				return err
			}
		}
		return c.repoChanged(ctx, r.ID)
	})
	if err != nil {
		return Repo{}, wrap("update repository "+r.Name, err)
	}
	return s.Repo(ctx, r.ID)
}

// RemoveRepo forgets a repository whose tasks are all closed. Nothing in it is
// touched: branches that hold work stay.
func (s *Service) RemoveRepo(ctx context.Context, key string) error {
	r, err := s.Repo(ctx, key)
	if err != nil {
		return err
	}
	return wrap("remove repository "+r.Name, s.change(ctx, func(c *change) error {
		var open int
		if err := c.QueryRowContext(ctx, `SELECT count(*) FROM tasks WHERE repo_id = ? AND status NOT IN ('done', 'cancelled')`, r.ID).Scan(&open); err != nil {
			return err
		}
		if open > 0 {
			return refuse(Conflict, "repository_in_use", "finish, cancel or delete its tasks first", "%s has %s", r.Name, counted(open, "open task"))
		}
		for _, q := range []string{
			`DELETE FROM merges WHERE task_id IN (SELECT id FROM tasks WHERE repo_id = ?)`,
			`DELETE FROM tasks WHERE repo_id = ?`,
			`DELETE FROM repos WHERE id = ?`,
		} {
			if err := c.exec(ctx, q, r.ID); err != nil {
				return err
			}
		}
		return c.event(ctx, TopicRepos, EventRepoRemoved, r.ID, nil)
	}))
}

func counted(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// open opens a repository and our git directory for it.
func (s *Service) open(ctx context.Context, r Repo) (Source, Store, error) {
	src, err := s.Repos.Open(ctx, r.Path)
	if err != nil {
		return nil, nil, err
	}
	st, err := s.Repos.Store(ctx, r.ID, src)
	return src, st, err
}

func nonNil[T any](v []T) []T {
	if v == nil {
		return []T{}
	}
	return v
}

// wrap adds what was being done to an error that is not for people already.
func wrap(doing string, err error) error {
	if err == nil || KindOf(err) != Internal || CodeOf(err) != "internal" {
		return err
	}
	if full := diskFull(err); full != nil {
		return full
	}
	return fmt.Errorf("board: %s: %w", doing, err)
}
