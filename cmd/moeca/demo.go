package main

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"time"

	"moeca/internal/board"
	"moeca/internal/demo"
	"moeca/internal/hostapi"
	"moeca/internal/stack"
)

type demoCmd struct {
	Keep string `help:"Keep the data directory and the demo repository here." placeholder:"DIR"`
}

// demoResult is what `moeca demo --json` prints.
type demoResult struct {
	Driver   string        `json:"driver"`
	Scripted bool          `json:"scripted"`
	Task     string        `json:"task"`
	Run      string        `json:"run"`
	Files    int           `json:"files_changed"`
	CI       demoCI        `json:"ci"`
	Merged   bool          `json:"merged"`
	Commit   string        `json:"commit"`
	Requests int           `json:"requests"`
	Audit    demoAudit     `json:"audit"`
	Data     string        `json:"data"` // empty when it was thrown away
	Took     time.Duration `json:"took_ns"`
}

type demoCI struct {
	Status string `json:"status"`
	Label  string `json:"label"`
}

type demoAudit struct {
	OK      bool   `json:"ok"`
	Records int64  `json:"records"`
	Head    string `json:"head"`
}

// Run performs the whole job: repository, task, run, CI, approval, merge,
// verification. It acts as the person in its own throw-away directory and says
// so.
func (d *demoCmd) Run(e *env) error {
	dir, cleanup, err := d.directory()
	if err != nil {
		return err
	}
	defer cleanup()
	opts, err := e.options()
	if err != nil {
		return err
	}
	opts.Data, opts.Demo, opts.NoKeychain = filepath.Join(dir, "data"), true, true
	opts.Listen, opts.GatewayListen = "127.0.0.1:0", "127.0.0.1:0"
	repo := filepath.Join(dir, "units")
	if err := demo.CreateRepository(e.ctx, repo, filepath.Join(opts.Bin, "moeca-demo-check")); err != nil {
		return err
	}
	st, err := stack.Open(e.ctx, opts)
	if err != nil {
		return err
	}
	defer st.Close(context.WithoutCancel(e.ctx))
	e.say("This demo acts as the person, in %s only. The model is scripted: it plays a written part and understands nothing.", dir)
	result, err := e.playDemo(clientOf(st), repo)
	result.Driver = st.DriverName()
	if err != nil {
		return err
	}
	if result.Audit, err = verifyDemo(e.ctx, opts.Data); err != nil {
		return err
	}
	if d.Keep != "" {
		result.Data = opts.Data
	}
	return e.endDemo(result)
}

// directory is the kept one, or one that is removed at the end.
func (d *demoCmd) directory() (string, func(), error) {
	if d.Keep != "" {
		dir, err := filepath.Abs(d.Keep)
		if err != nil {
			return "", nil, err
		}
		if entries, err := os.ReadDir(dir); err == nil && len(entries) > 0 {
			return "", nil, fail(exitUsage, "not_empty", "name a new one", "%s is not empty; nothing was changed in it", dir)
		}
		return dir, func() {}, os.MkdirAll(dir, 0o700)
	}
	dir, err := os.MkdirTemp("", "moeca-demo-")
	return dir, func() { _ = os.RemoveAll(dir) }, err
}

// say prints a sentence of the story, unless one document was asked for.
func (e *env) say(format string, args ...any) {
	if !e.cli.JSON {
		fmt.Fprintf(e.stdout, format+"\n", args...)
	}
}

func (e *env) playDemo(c *client, repoPath string) (demoResult, error) {
	began := time.Now()
	result := demoResult{Scripted: true, CI: demoCI{Label: demo.GateLabel}}
	var repo board.Repo
	if err := c.asPerson(e.ctx, "POST", "/api/repos", map[string]any{"path": repoPath, "ci": demo.Gate()}, &repo); err != nil {
		return result, err
	}
	var task board.Task
	if err := c.do(e.ctx, "POST", "/api/tasks", demo.Task(repo.ID), &task); err != nil {
		return result, err
	}
	e.say("Task %s: %s", task.ID, plain(task.Title))
	path := "/api/tasks/" + url.PathEscape(task.ID)
	var run board.Run
	if err := c.do(e.ctx, "POST", path+"/run", nil, &run); err != nil {
		return result, err
	}
	run, err := e.follow(c, run.ID)
	if err != nil {
		return result, err
	}
	result.Task, result.Run = task.ID, run.ID
	if run.Status != board.StatusDone {
		return result, fail(exitFailed, "demo_run", "see the log above", "the run ended %s: %s", run.Status, run.Cause)
	}
	return result, errors.Join(e.reviewDemo(c, path, &result), e.countDemo(c, &result, began))
}

// reviewDemo checks, approves and merges.
func (e *env) reviewDemo(c *client, path string, result *demoResult) error {
	var ci board.CI
	if err := c.do(e.ctx, "POST", path+"/ci", nil, &ci); err != nil {
		return err
	}
	var review board.Review
	for {
		if err := c.do(e.ctx, "GET", path+"/review", nil, &review); err != nil {
			return err
		}
		if review.CI.State != board.CIRunning && review.CI.State != board.CIPending {
			break
		}
		if err := e.pause(); err != nil {
			return err
		}
	}
	result.CI.Status = string(review.CI.State)
	e.say("CI gate (%s): %s", demo.GateLabel, review.CI.State)
	if !review.CanApprove {
		return fail(exitFailed, "demo_review", "", "approval is locked: %v", review.Blockers)
	}
	var approval board.Approval
	err := c.asPerson(e.ctx, "POST", path+"/approve", board.ApproveRequest{
		Head: review.Preview.Head, TargetOID: review.Preview.TargetOID,
		ResultTree: review.Preview.ResultTree, Acks: review.Acks,
	}, &approval)
	if err != nil {
		return err
	}
	var merged board.Merged
	if err := c.asPerson(e.ctx, "POST", path+"/merge", nil, &merged); err != nil {
		return err
	}
	result.Merged, result.Commit = true, merged.Commit
	e.say("Approved (audit row %d) and merged: %s is now %s (audit row %d)", approval.Seq, merged.Target, short(merged.Commit), merged.Seq)
	return nil
}

// countDemo reads the measured figures.
func (e *env) countDemo(c *client, result *demoResult, began time.Time) error {
	var task board.Task
	if err := c.do(e.ctx, "GET", "/api/tasks/"+url.PathEscape(result.Task), nil, &task); err != nil {
		return err
	}
	result.Files, result.Took = task.Files, time.Since(began)
	var page hostapi.AuditPage
	if err := c.do(e.ctx, "GET", "/api/audit?limit=500&kind=intent&run="+url.QueryEscape(result.Run), nil, &page); err != nil {
		return err
	}
	result.Requests = len(page.Items)
	return nil
}

func verifyDemo(ctx context.Context, data string) (demoAudit, error) {
	report, err := stack.ReadAudit(data).Verify(ctx, nil)
	return demoAudit{OK: report.OK, Records: report.Records, Head: fmt.Sprintf("%x", report.Head[:])}, err
}

func (e *env) endDemo(r demoResult) error {
	if e.cli.JSON {
		if err := e.print(r); err != nil {
			return err
		}
	}
	e.say("%d files changed, %d requests through the gateway, %d audit rows, intact: %t", r.Files, r.Requests, r.Audit.Records, r.Audit.OK)
	if r.Data != "" {
		e.say("Kept in %s. Look at it with `moeca --data %s`", filepath.Dir(r.Data), r.Data)
	}
	if !r.Merged || !r.Audit.OK {
		return notGood()
	}
	return nil
}
