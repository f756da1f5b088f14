package board

import (
	"context"
	"database/sql"
	"encoding/base64"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"moeca/internal/gateway/gatewayapi"
	"moeca/internal/workflow"
)

// Bounds of what a person writes.
const (
	maxTitle  = 300
	maxDetail = 256 << 10
)

// CreateTask stores a draft.
func (s *Service) CreateTask(ctx context.Context, n NewTask) (Task, error) {
	repo, err := s.Repo(ctx, n.RepoID)
	if err != nil {
		return Task{}, err
	}
	n.Title = strings.TrimSpace(n.Title)
	if err := checkWords(n.Title, n.Detail); err != nil {
		return Task{}, err
	}
	defaults(&n.Target, repo.Target)
	defaults(&n.Base, n.Target)
	defaults(&n.Template, s.Settings.DefaultTemplate)
	defaults(&n.Provider, s.Settings.DefaultProvider)
	if !slices.ContainsFunc(workflow.Templates(), func(t workflow.Template) bool { return t.Name == n.Template }) {
		return Task{}, refuse(Invalid, "template_not_found", "choose a template from the list", "there is no template %q", n.Template)
	}
	provider, err := s.provider(ctx, n.Provider)
	if err != nil {
		return Task{}, err
	}
	if n.Model, err = s.model(n.Model, provider); err != nil {
		return Task{}, err
	}
	if err := errors.Join(checkBudget("budget", n.Budget), checkBudget("budget of a run", n.RunBudget)); err != nil {
		return Task{}, err
	}
	if n.Reach, err = s.checkReach(ctx, n.Reach); err != nil {
		return Task{}, err
	}
	src, err := s.Repos.Open(ctx, repo.Path)
	if err != nil {
		return Task{}, err
	}
	if err := checkTarget(src.Info(), n.Target); err != nil {
		return Task{}, err
	}
	if _, err := src.Resolve(ctx, n.Base); err != nil {
		return Task{}, baseNotFound(n.Base, repo, err)
	}
	return s.insertTask(ctx, n, repo, provider.Scripted)
}

func baseNotFound(base string, repo Repo, err error) error {
	return &Error{
		Kind: Invalid, Code: "base_not_found", Err: err, Next: "name a branch or a commit that exists",
		Message: fmt.Sprintf("%s has no branch or commit %q to start from", repo.Name, base),
	}
}

func (s *Service) insertTask(ctx context.Context, n NewTask, repo Repo, scripted bool) (Task, error) {
	id := s.NewID()
	state := CINone
	if repo.CI != nil {
		state = CIPending
	}
	now := s.Now().UnixMilli()
	m, err := meansOf(n.Reach, n.Budget, n.RunBudget)
	if err != nil {
		return Task{}, wrap("create task", err)
	}
	err = s.change(ctx, func(c *change) error {
		var number int64
		if err := c.QueryRowContext(ctx, `UPDATE counters SET value = value + 1 WHERE name = 'task' RETURNING value`).Scan(&number); err != nil {
			return err
		}
		c.taskChanged(id)
		return c.exec(ctx, `INSERT INTO tasks (id, number, repo_id, title, detail, base, target, template, provider, model, scripted,
			reach, budget, run_budget, status, next_step, ci, created_at, updated_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
			id, number, repo.ID, n.Title, n.Detail, n.Base, n.Target, n.Template, n.Provider, n.Model, scripted,
			m.reach, m.budget, m.runBudget, StatusDraft, NextRun, state, now, now)
	})
	if err != nil {
		return Task{}, wrap("create task", err)
	}
	return s.Task(ctx, id)
}

func checkWords(title, detail string) error {
	switch {
	case title == "":
		return refuse(Invalid, "title_missing", "say in one line what is to be done", "a task needs a title")
	case utf8.RuneCountInString(title) > maxTitle || strings.ContainsAny(title, "\n\r\x00"):
		return refuse(Invalid, "title_too_long", "keep the title to one line and put the rest into the detail", "the title is longer than one line of %d characters", maxTitle)
	case len(detail) > maxDetail || strings.ContainsRune(detail, 0):
		return refuse(Invalid, "detail_too_long", "shorten it, or put it into a file of the repository", "the detail is longer than %d KiB", maxDetail>>10)
	case !utf8.ValidString(title) || !utf8.ValidString(detail):
		return refuse(Invalid, "text_not_utf8", "save it as UTF-8", "the text is not valid UTF-8")
	}
	return plainText("title", title)
}

// provider finds an upstream that a run can use.
func (s *Service) provider(ctx context.Context, name string) (gatewayapi.Provider, error) {
	all, err := s.providers(ctx)
	if err != nil {
		return gatewayapi.Provider{}, err
	}
	i := slices.IndexFunc(all, func(p gatewayapi.Provider) bool { return p.Name == name })
	if i < 0 {
		return gatewayapi.Provider{}, refuse(Invalid, "provider_not_found", "add it, or choose one that is there", "there is no provider %q", name)
	}
	if p := all[i]; p.Kind != "anthropic" { // what is no model's kind has no tokens to count, and so no budget
		return gatewayapi.Provider{}, refuse(Invalid, "dialect_unsupported", "choose a provider that speaks the Anthropic dialect", "provider %s speaks %s, which agents do not speak yet", p.Name, p.Kind)
	}
	return all[i], nil
}

func (s *Service) providers(ctx context.Context) ([]gatewayapi.Provider, error) {
	all, err := s.Providers.Providers(ctx)
	if err != nil {
		return nil, &Error{
			Kind: Unavailable, Code: "gateway_unavailable", Err: err,
			Message: "the gateway does not answer, so providers are unknown", Next: "see moeca doctor; nothing was changed",
		}
	}
	return all, nil
}

func (s *Service) model(asked string, p gatewayapi.Provider) (string, error) {
	switch {
	case asked != "":
		return asked, nil
	case p.Name == s.Settings.DefaultProvider && s.Settings.DefaultModel != "":
		return s.Settings.DefaultModel, nil
	case len(p.Models) > 0:
		return p.Models[0], nil
	}
	return "", refuse(Invalid, "model_missing", "name a model", "provider %s lists no models", p.Name)
}

// Tasks lists tasks, newest first. It asks nobody: every figure is stored.
func (s *Service) Tasks(ctx context.Context, f TaskFilter) (TaskPage, error) {
	where, args, err := f.where()
	if err != nil {
		return TaskPage{}, err
	}
	limit := bound(f.Limit, 100, 500)
	page := TaskPage{Tasks: []Task{}}
	err = s.DB.Read(ctx, func(tx *sql.Tx) error {
		rows, err := tx.QueryContext(ctx, `SELECT `+taskColumns+taskTables+where+` ORDER BY t.number DESC LIMIT ?`, append(args, limit+1)...)
		if err != nil {
			return err
		}
		return each(rows, func() error {
			t, err := scanTask(rows)
			page.Tasks = append(page.Tasks, t)
			return err
		})
	})
	if err != nil {
		return TaskPage{}, wrap("list tasks", err)
	}
	if len(page.Tasks) > limit {
		page.Tasks = page.Tasks[:limit]
		page.Next = base64.RawURLEncoding.EncodeToString(fmt.Appendf(nil, "t%d", page.Tasks[limit-1].Number))
	}
	return page, nil
}

func (f TaskFilter) where() (string, []any, error) {
	conds, args := []string{"1"}, []any{}
	if f.Repo != "" {
		conds, args = append(conds, "(r.id = ? OR r.name = ?)"), append(args, f.Repo, f.Repo)
	}
	if f.Status != "" {
		conds, args = append(conds, "t.status = ?"), append(args, f.Status)
	}
	if f.Column != "" {
		in := statusesOf(f.Column)
		if in == nil {
			return "", nil, refuse(Invalid, "column_unknown", "use inbox, working, needs_you or done", "there is no column %q", f.Column)
		}
		conds = append(conds, "t.status IN (?"+strings.Repeat(", ?", len(in)-1)+")")
		for _, st := range in {
			args = append(args, st)
		}
	}
	if f.Cursor != "" {
		raw, err := base64.RawURLEncoding.DecodeString(f.Cursor)
		text, ok := strings.CutPrefix(string(raw), "t")
		before, errN := strconv.ParseInt(text, 10, 64)
		if err != nil || !ok || errN != nil {
			return "", nil, refuse(Invalid, "cursor_invalid", "use the cursor of the page before", "the cursor cannot be read")
		}
		conds, args = append(conds, "t.number < ?"), append(args, before)
	}
	return "WHERE " + strings.Join(conds, " AND "), args, nil
}

// Task returns a task by id, by a prefix of it that no other has (four
// characters at least), or by number.
func (s *Service) Task(ctx context.Context, key string) (t Task, err error) {
	err = s.DB.Read(ctx, func(tx *sql.Tx) error {
		t, err = findTask(ctx, tx, key)
		return err
	})
	return t, wrap("read task", err)
}

// UpdateTask changes a task's words while no run uses them, and its means until
// it is closed; a stage that follows takes the new ones.
func (s *Service) UpdateTask(ctx context.Context, key string, p TaskPatch) (Task, error) {
	t, unlock, err := s.lockTask(ctx, key)
	if err != nil {
		return Task{}, err
	}
	defer unlock()
	if p.words() && t.Status != StatusDraft && t.Status != StatusFailed || t.Status.closed() {
		return Task{}, refuse(Conflict, "task_not_editable", "stop it, or create another task", "task %d is %s; its words are fixed", t.Number, t.Status)
	}
	if p.Version != t.Version {
		return Task{}, refuse(Conflict, "version_conflict", "read it again and repeat the change", "task %d was changed since you read it (version %d, yours %d)", t.Number, t.Version, p.Version)
	}
	set(&t.Title, p.Title)
	set(&t.Detail, p.Detail)
	set(&t.Base, p.Base)
	set(&t.Model, p.Model)
	t.Title = strings.TrimSpace(t.Title)
	if err := checkWords(t.Title, t.Detail); err != nil {
		return Task{}, err
	}
	if p.Provider != nil {
		pr, err := s.provider(ctx, *p.Provider)
		if err != nil {
			return Task{}, err
		}
		t.Provider, t.Scripted = pr.Name, pr.Scripted
		if p.Model == nil {
			if t.Model, err = s.model("", pr); err != nil {
				return Task{}, err
			}
		}
	}
	if p.Base != nil {
		if err := s.checkBase(ctx, t); err != nil {
			return Task{}, err
		}
	}
	m, err := s.newMeans(ctx, t, p)
	if err != nil {
		return Task{}, err
	}
	err = s.change(ctx, func(c *change) error {
		c.taskChanged(t.ID)
		return c.exec(ctx, `UPDATE tasks SET title = ?, detail = ?, base = ?, provider = ?, model = ?, scripted = ?, reach = ?, budget = ?, run_budget = ?,
			version = version + 1, updated_at = ? WHERE id = ?`,
			t.Title, t.Detail, t.Base, t.Provider, t.Model, t.Scripted, m.reach, m.budget, m.runBudget, s.Now().UnixMilli(), t.ID)
	})
	if err != nil {
		return Task{}, wrap("update task", err)
	}
	return s.Task(ctx, t.ID)
}

func set[T any](v *T, to *T) {
	if to != nil {
		*v = *to
	}
}

func (s *Service) checkBase(ctx context.Context, t Task) error {
	repo, err := s.Repo(ctx, t.RepoID)
	if err != nil {
		return err
	}
	src, err := s.Repos.Open(ctx, repo.Path)
	if err != nil {
		return err
	}
	if _, err := src.Resolve(ctx, t.Base); err != nil {
		return baseNotFound(t.Base, repo, err)
	}
	return nil
}

// lockTask finds a task, takes its lock and reads it again under it.
func (s *Service) lockTask(ctx context.Context, key string) (Task, func(), error) {
	t, err := s.Task(ctx, key)
	if err != nil {
		return Task{}, nil, err
	}
	unlock, err := s.taskLocks.lock(ctx, t.ID)
	if err != nil {
		return Task{}, nil, err
	}
	if t, err = s.Task(ctx, t.ID); err != nil {
		unlock()
		return Task{}, nil, err
	}
	return t, unlock, nil
}

// setStatus moves a task along transitions.
func (c *change) setStatus(ctx context.Context, id string, to Status, cause, next string) error {
	var from Status
	if err := c.QueryRowContext(ctx, `SELECT status FROM tasks WHERE id = ?`, id).Scan(&from); err != nil {
		return err
	}
	if !canMove(from, to) {
		return refuse(Conflict, "task_status", "look at the task again", "the task is %s and cannot become %s", from, to)
	}
	c.taskChanged(id)
	return c.exec(ctx, `UPDATE tasks SET status = ?, cause = ?, next_step = ?, version = version + 1, updated_at = ? WHERE id = ?`,
		to, cause, next, c.s.Now().UnixMilli(), id)
}

// CancelTask ends a task for good. A run of it is stopped first and its work
// kept on its branch.
func (s *Service) CancelTask(ctx context.Context, key string) (Task, error) {
	t, unlock, err := s.lockTask(ctx, key)
	if err != nil {
		return Task{}, err
	}
	defer unlock()
	if t.Status.closed() || t.Status == StatusMerging {
		return Task{}, refuse(Conflict, "task_closed", "nothing is to be done", "task %d is %s", t.Number, t.Status)
	}
	if err := s.halt(ctx, t); err != nil {
		return Task{}, err
	}
	ctx = context.WithoutCancel(ctx) // half a cancellation helps nobody
	if err := s.change(ctx, func(c *change) error {
		return c.setStatus(ctx, t.ID, StatusCancelled, "cancelled by you", "")
	}); err != nil {
		return Task{}, wrap("cancel task", err)
	}
	s.discardTrees(ctx, t.ID)
	return s.Task(ctx, t.ID)
}

// DeleteTask forgets a task that is not running. The branches of its attempts
// stay in the repository, and so do its rows in the audit log.
func (s *Service) DeleteTask(ctx context.Context, key string) error {
	t, unlock, err := s.lockTask(ctx, key)
	if err != nil {
		return err
	}
	defer unlock()
	if t.Status.running() || t.Status == StatusMerging {
		return refuse(Conflict, "task_running", "stop or cancel it first", "task %d is %s", t.Number, t.Status)
	}
	if err := s.halt(ctx, t); err != nil {
		return err
	}
	ctx = context.WithoutCancel(ctx)
	s.discardTrees(ctx, t.ID)
	s.releaseHolds(ctx, t)
	return wrap("delete task", s.change(ctx, func(c *change) error {
		if err := c.exec(ctx, `DELETE FROM merges WHERE task_id = ?`, t.ID); err != nil {
			return err
		}
		if err := c.exec(ctx, `DELETE FROM tasks WHERE id = ?`, t.ID); err != nil {
			return err
		}
		return c.event(ctx, TopicTasks, EventTaskRemoved, t.ID, nil)
	}))
}

func (s *Service) treeDir(attempt string) string { return filepath.Join(s.Data, "trees", attempt) }

func (s *Service) cacheFile(attempt string) string { return filepath.Join(s.Data, "cache", attempt) }
