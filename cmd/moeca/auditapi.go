package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"time"

	"moeca/internal/auditindex"
	"moeca/internal/board"
	"moeca/internal/hostapi"
	"moeca/internal/stack"
)

// auditAPI answers the operations of the API that are about the log: through
// the process that runs on the data directory, or, where none runs, in this
// one, which needs nothing but the log's files.
type auditAPI struct {
	remote *client
	view   *stack.AuditView
	local  http.Handler
	token  string
}

// audit returns the API and what closes it, which also says what is wrong with
// the log: an answer about the rows before some damage looks like any other.
func (e *env) audit() (api *auditAPI, done func()) {
	api, end := e.openAudit()
	return api, func() {
		var state auditindex.State
		if err := api.get(e.ctx, "/api/audit/index", nil, &state); err == nil {
			e.auditProblem(state.Problem)
		}
		end()
	}
}

func (e *env) openAudit() (api *auditAPI, done func()) {
	if c := e.running(); c != nil {
		return &auditAPI{remote: c}, func() {}
	}
	view := stack.ReadAudit(e.cli.Data)
	view.Progress = e.indexing()
	tokens := hostapi.NewTokens(time.Now)
	api = &auditAPI{
		view: view, token: tokens.Mint("program", hostapi.ProgramScopes()),
		local: hostapi.New(hostapi.Deps{Audit: view, Tokens: tokens, Version: version, Now: time.Now, Logger: slog.New(slog.NewTextHandler(e.stderr, nil))}),
	}
	return api, func() { _ = view.Close() }
}

// patience is how long a command is silent while it indexes or verifies.
const patience = 2 * time.Second

// nowAndThen says how far something is that takes long, and drops what is told
// in between.
func (e *env) nowAndThen() func(format string, args ...any) {
	said := time.Now()
	return func(format string, args ...any) {
		if now := time.Now(); now.Sub(said) > patience {
			said = now
			fmt.Fprintf(e.stderr, "moeca: "+format+"\n", args...)
		}
	}
}

// indexing says how far an index is.
func (e *env) indexing() func(auditindex.State) {
	say := e.nowAndThen()
	return func(s auditindex.State) { say("indexing the log: row %d of %d", s.Head, s.Last) }
}

// verifying says how far a verification is.
func (e *env) verifying() func(seq int64) {
	say := e.nowAndThen()
	return func(seq int64) { say("verifying the log: row %d", seq) }
}

// get asks for an object.
func (a *auditAPI) get(ctx context.Context, path string, q url.Values, out any) error {
	if len(q) > 0 {
		path += "?" + q.Encode()
	}
	if a.remote != nil {
		return a.remote.do(ctx, http.MethodGet, path, nil, out)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, path, nil)
	if err != nil {
		return err
	}
	req.Header.Set("Authorization", "Bearer "+a.token)
	res := answerBuffer{header: http.Header{}, status: http.StatusOK}
	a.local.ServeHTTP(&res, req)
	if res.status >= 300 {
		return problem(&http.Response{StatusCode: res.status, Status: strconv.Itoa(res.status), Body: &res})
	}
	return json.Unmarshal(res.Bytes(), out)
}

// answerBuffer is an answer in memory.
type answerBuffer struct {
	bytes.Buffer
	header http.Header
	status int
}

// Header implements http.ResponseWriter.
func (b *answerBuffer) Header() http.Header { return b.header }

// WriteHeader implements http.ResponseWriter.
func (b *answerBuffer) WriteHeader(status int) { b.status = status }

// Close implements io.Closer.
func (b *answerBuffer) Close() error { return nil }

// pages reads pages of a list until there are limit items.
func pages[T any](e *env, api *auditAPI, path string, q url.Values, limit int) ([]T, error) {
	items := []T{}
	for len(items) < limit {
		q.Set("limit", strconv.Itoa(min(limit-len(items), 500)))
		var page hostapi.AuditList[T]
		if err := api.get(e.ctx, path, q, &page); err != nil {
			return nil, err
		}
		items = append(items, page.Items...)
		if page.Next == "" {
			break
		}
		q.Set("cursor", string(page.Next))
	}
	return items, nil
}

// auditFilter are the filters of commands about the log.
type auditFilter struct {
	Kind     string `help:"Only rows of this kind: intent, outcome, refusal, admin, approval, merge, fetch, ci, system."`
	Task     string `help:"Only this task, by id, prefix or number; - is what belongs to none, here and below."`
	RunID    string `name:"run" help:"Only this run, by id, or the newest run of a task."`
	Stage    string `help:"Only this stage."`
	Session  string `help:"Only this session."`
	Agent    string `help:"Only this agent."`
	Model    string `help:"Only this model."`
	Upstream string `help:"Only this upstream."`
	State    string `help:"Only calls that are open, ok, failed, refused or bad (failed or refused)." enum:",open,ok,failed,refused,bad" default:""`
	Status   string `help:"Only this status, like 404 or 4xx."`
	From     string `help:"Only from this time on: 2026-03-01, 2026-03-01T12:00:00Z, or 24h, 7d ago."`
	To       string `help:"Only before this time."`
	Text     string `help:"Only what contains this text, also where contents begin: the first 4 KiB of each text, 8 of a content. An export looks at rows alone."`
}

// values are the filters as a query.
func (f *auditFilter) values(e *env) (url.Values, error) {
	q := url.Values{}
	filter, err := f.filter(e)
	if err != nil {
		return nil, err
	}
	for name, value := range map[string]string{
		"kind": filter.Kind, "task": filter.Task, "run": filter.Run, "stage": filter.Stage, "session": filter.Session, "agent": filter.Agent,
		"model": filter.Model, "upstream": filter.Upstream, "state": filter.State, "status": filter.Status, "q": filter.Text,
	} {
		if value != "" {
			q.Set(name, value)
		}
	}
	for name, at := range map[string]time.Time{"from": filter.From, "to": filter.To} {
		if !at.IsZero() {
			q.Set(name, at.UTC().Format(time.RFC3339Nano))
		}
	}
	return q, nil
}

func (f *auditFilter) filter(e *env) (out auditindex.Filter, err error) {
	out = auditindex.Filter{
		Kind: f.Kind, Stage: f.Stage, Session: f.Session, Agent: f.Agent, Model: f.Model, Upstream: f.Upstream,
		State: f.State, Status: f.Status, Text: f.Text,
	}
	if out.Task, err = e.auditTask(f.Task); err != nil {
		return out, err
	}
	if out.Run, err = e.auditRun(f.RunID); err != nil {
		return out, err
	}
	if out.From, err = timeOf(f.From, time.Now()); err != nil {
		return out, err
	}
	out.To, err = timeOf(f.To, time.Now())
	return out, err
}

// timeOf reads a time, or how long ago it is.
func timeOf(s string, now time.Time) (time.Time, error) {
	if s == "" {
		return time.Time{}, nil
	}
	for _, layout := range []string{time.RFC3339Nano, time.DateOnly, "2006-01-02T15:04", "2006-01-02 15:04"} {
		if at, err := time.ParseInLocation(layout, s, time.Local); err == nil {
			return at, nil
		}
	}
	if m := ago.FindStringSubmatch(s); m != nil {
		n, err := strconv.Atoi(m[1])
		if unit := map[string]time.Duration{"m": time.Minute, "h": time.Hour, "d": 24 * time.Hour}[m[2]]; err == nil {
			return now.Add(-time.Duration(n) * unit), nil
		}
	}
	return time.Time{}, fail(exitUsage, "time", "write it like 2026-03-01, 2026-03-01T12:00:00Z, 24h or 7d", "%q is not a time", s)
}

var (
	ago = regexp.MustCompile(`^(\d{1,5})([mhd])$`)

	// wholeID is the id of a task or a run as the log holds it.
	wholeID = regexp.MustCompile(`^([0-9a-f]{16}|-?)$`)
)

// auditTask finds the id of a task. Numbers and prefixes are the board's.
func (e *env) auditTask(ref string) (string, error) {
	return e.auditID(ref, func(c *client) (string, error) {
		var task board.Task
		err := c.do(e.ctx, http.MethodGet, taskArg{Task: ref}.path(""), nil, &task)
		return task.ID, err
	})
}

// auditRun finds the id of a run.
func (e *env) auditRun(ref string) (string, error) {
	return e.auditID(ref, func(c *client) (string, error) { return runArg{Run: ref}.resolve(e, c) })
}

// auditID asks the board only for what is no id yet: the log is read without it.
func (e *env) auditID(ref string, find func(*client) (string, error)) (string, error) {
	if wholeID.MatchString(ref) {
		return ref, nil
	}
	c, done, err := e.connect()
	if err != nil {
		return "", err
	}
	defer done()
	return find(c)
}

type auditReindex struct{}

// Run makes the index again.
func (auditReindex) Run(e *env) error {
	api, done := e.audit()
	defer done()
	var state auditindex.State
	var err error
	if api.remote != nil {
		state, err = api.reindex(e)
	} else {
		tell := e.indexing()
		err = api.view.Rebuild(e.ctx, func(s auditindex.State) { state = s; tell(s) })
	}
	if err != nil {
		return err
	}
	if e.cli.JSON {
		return e.print(state)
	}
	e.auditProblem(state.Problem)
	fmt.Fprintf(e.stdout, "indexed %d rows\n", state.Head)
	return nil
}

// reindex asks the running process, and waits until it has caught up.
func (a *auditAPI) reindex(e *env) (state auditindex.State, err error) {
	err = a.remote.do(e.ctx, http.MethodPost, "/api/audit/reindex", nil, &state)
	for err == nil && state.Head < state.Last {
		if err = e.pause(); err == nil {
			err = a.get(e.ctx, "/api/audit/index", nil, &state)
		}
	}
	return state, err
}
