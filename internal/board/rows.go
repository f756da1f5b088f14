package board

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"moeca/internal/run"
)

// querier is a transaction.
type querier interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

// each calls fn for every row and closes rows.
func each(rows *sql.Rows, fn func() error) (err error) {
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		if err := fn(); err != nil {
			return err
		}
	}
	return rows.Err()
}

func at(ms int64) time.Time { return time.UnixMilli(ms).UTC() }

func toJSON(v any) (string, error) {
	b, err := json.Marshal(v)
	return string(b), err
}

const repoColumns = `id, name, path, target, gate, branches, problem, created_at`

func scanRepo(row interface{ Scan(...any) error }) (Repo, error) {
	var r Repo
	var gate sql.NullString
	var branches string
	var created int64
	if err := row.Scan(&r.ID, &r.Name, &r.Path, &r.Target, &gate, &branches, &r.Problem, &created); err != nil {
		return Repo{}, err
	}
	r.CreatedAt = at(created)
	if gate.Valid {
		if err := json.Unmarshal([]byte(gate.String), &r.CI); err != nil {
			return Repo{}, fmt.Errorf("gate of repository %s: %w", r.ID, err)
		}
	}
	return r, json.Unmarshal([]byte(branches), &r.Branches)
}

// readRepo finds a repository by id or name.
func readRepo(ctx context.Context, q querier, key string) (Repo, error) {
	r, err := scanRepo(q.QueryRowContext(ctx, `SELECT `+repoColumns+` FROM repos WHERE id = ? OR name = ? ORDER BY id = ? DESC LIMIT 1`, key, key, key))
	if errors.Is(err, sql.ErrNoRows) {
		return Repo{}, notFound("repository", key)
	}
	return r, err
}

const taskColumns = `t.id, t.number, t.repo_id, r.name, t.title, t.detail, t.base, t.target, t.template, t.provider, t.model,
	t.scripted, t.status, t.cause, t.next_step, t.files, t.added, t.deleted, t.ci, t.tokens, t.version, t.created_at, t.updated_at,
	t.cost, t.reach, t.budget, t.run_budget,
	a.id, a.number, a.branch, a.base_oid, a.target_oid, a.head_oid, a.summary, a.skipped, u.id, u.state`

const taskTables = ` FROM tasks t JOIN repos r ON r.id = t.repo_id
	LEFT JOIN attempts a ON a.id = t.attempt_id LEFT JOIN runs u ON u.id = a.run_id `

func scanTask(row interface{ Scan(...any) error }) (Task, error) {
	var t Task
	var created, updated int64
	var aID, branch, base, target, head, summary, skipped, runID, state sql.NullString
	var number sql.NullInt64
	var reach string
	var budget, runBudget sql.NullString
	err := row.Scan(&t.ID, &t.Number, &t.RepoID, &t.RepoName, &t.Title, &t.Detail, &t.Base, &t.Target, &t.Template, &t.Provider, &t.Model,
		&t.Scripted, &t.Status, &t.Cause, &t.NextStep, &t.Files, &t.Added, &t.Deleted, &t.CI, &t.Tokens, &t.Version, &created, &updated,
		&t.CostNano, &reach, &budget, &runBudget,
		&aID, &number, &branch, &base, &target, &head, &summary, &skipped, &runID, &state)
	if err != nil {
		return Task{}, err
	}
	t.CreatedAt, t.UpdatedAt, t.Column = at(created), at(updated), columnOf(t.Status)
	var errs [3]error
	errs[0] = json.Unmarshal([]byte(reach), &t.Reach)
	t.Budget, errs[1] = budgetOf(budget)
	t.RunBudget, errs[2] = budgetOf(runBudget)
	if err := errors.Join(errs[:]...); err != nil {
		return Task{}, fmt.Errorf("task %s: %w", t.ID, err)
	}
	if !aID.Valid {
		return t, nil
	}
	t.Attempt = &Attempt{
		ID: aID.String, TaskID: t.ID, Number: int(number.Int64), Branch: branch.String, BaseOID: base.String,
		Target: target.String, HeadOID: head.String, Summary: summary.String,
	}
	if err := json.Unmarshal([]byte(skipped.String), &t.Attempt.Skipped); err != nil {
		return Task{}, fmt.Errorf("attempt %s: %w", aID.String, err)
	}
	if runID.Valid {
		var st run.State
		if err := json.Unmarshal([]byte(state.String), &st); err != nil {
			return Task{}, fmt.Errorf("run %s: %w", runID.String, err)
		}
		r := runOf(runID.String, t.ID, aID.String, st)
		t.Attempt.Run = &r
	}
	return t, nil
}

func readTask(ctx context.Context, q querier, id string) (Task, error) {
	t, err := scanTask(q.QueryRowContext(ctx, `SELECT `+taskColumns+taskTables+`WHERE t.id = ?`, id))
	if errors.Is(err, sql.ErrNoRows) {
		return Task{}, notFound("task", id)
	}
	return t, err
}

// findTask finds a task by id, number, or a prefix of the id that only it has.
func findTask(ctx context.Context, q querier, key string) (Task, error) {
	key = strings.TrimPrefix(key, "#")
	rows, err := q.QueryContext(ctx, `SELECT id, id = ?1 OR CAST(number AS TEXT) = ?1 FROM tasks
		WHERE id = ?1 OR CAST(number AS TEXT) = ?1 OR (length(?1) >= 4 AND substr(id, 1, length(?1)) = ?1)
		ORDER BY id = ?1 DESC, CAST(number AS TEXT) = ?1 DESC LIMIT 2`, key)
	if err != nil {
		return Task{}, err
	}
	var ids []string
	var exact bool
	if err := each(rows, func() error {
		var id string
		var whole bool
		if err := rows.Scan(&id, &whole); err != nil {
			return err
		}
		ids, exact = append(ids, id), exact || whole
		return nil
	}); err != nil {
		return Task{}, err
	}
	switch {
	case len(ids) == 0:
		return Task{}, notFound("task", key)
	case len(ids) > 1 && !exact:
		return Task{}, refuse(Invalid, "task_ambiguous", "give more of the id, or the number", "more than one task's id starts with %q", key)
	}
	return readTask(ctx, q, ids[0])
}

// runOf is the wire form of a run's state.
func runOf(id, task, attempt string, st run.State) Run {
	r := Run{
		ID: id, TaskID: task, Attempt: attempt, Status: Status(st.Status), Cause: st.Cause, Driver: st.Driver,
		Stages: []Stage{}, Started: st.Started, Ended: st.Ended,
	}
	for _, g := range st.Stages {
		r.Stages = append(r.Stages, Stage{
			ID: g.ID, Name: g.Name, Kind: g.Kind, Policy: g.Policy, Digest: g.Digest, Session: g.Session,
			Status: Status(g.Status), Cause: g.Cause, ExitCode: g.ExitCode, Requests: g.Requests, Tokens: g.Tokens, CostNano: g.CostNano,
			Started: g.Started, Ended: g.Ended,
		})
	}
	return r
}

func readRun(ctx context.Context, q querier, id string) (Run, error) {
	task, attempt, st, err := readState(ctx, q, id)
	if err != nil {
		return Run{}, err
	}
	return runOf(id, task, attempt, st), nil
}

func readState(ctx context.Context, q querier, id string) (task, attempt string, st run.State, err error) {
	var state string
	err = q.QueryRowContext(ctx, `SELECT task_id, attempt_id, state FROM runs WHERE id = ?`, id).Scan(&task, &attempt, &state)
	if errors.Is(err, sql.ErrNoRows) {
		return "", "", st, notFound("run", id)
	}
	if err != nil {
		return "", "", st, err
	}
	return task, attempt, st, json.Unmarshal([]byte(state), &st)
}

const checkColumns = `id, state, result_tree, target_oid, head, gate_hash, digest, exit_code, cause, changed, log, log_cut, started, ended`

// readCheck returns the newest gate result of a task, or nil.
func readCheck(ctx context.Context, q querier, task string) (*CI, error) {
	var c CI
	var changed string
	var started int64
	var ended sql.NullInt64
	err := q.QueryRowContext(ctx, `SELECT `+checkColumns+` FROM checks WHERE task_id = ? ORDER BY started DESC, rowid DESC LIMIT 1`, task).
		Scan(&c.ID, &c.State, &c.ResultTree, &c.TargetOID, &c.Head, &c.GateHash, &c.Digest, &c.ExitCode, &c.Cause, &changed, &c.Log, &c.LogCut, &started, &ended)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	t := at(started)
	c.Started = &t
	if ended.Valid {
		t := at(ended.Int64)
		c.Ended = &t
	}
	return &c, json.Unmarshal([]byte(changed), &c.Changed)
}
