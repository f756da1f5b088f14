package main

import (
	"fmt"
	"io"
	"net/url"
	"os"
	"strings"

	"moeca/internal/board"
	"moeca/internal/diff"
	"moeca/internal/hostapi"
)

type taskCmd struct {
	Create  taskCreate  `cmd:"" help:"Create a task."`
	List    taskList    `cmd:"" help:"List tasks, newest first."`
	Show    taskShow    `cmd:"" help:"Show a task and its review."`
	Run     taskRun     `cmd:"" help:"Run a task; a second run is a new attempt."`
	Diff    taskDiff    `cmd:"" help:"Print what the task changes, as a patch to read."`
	CI      taskCI      `cmd:"" name:"ci" help:"Run the CI gate on the result of merging."`
	Budget  taskBudget  `cmd:"" help:"Limit what a task, and each of its runs, may draw; show what it drew."`
	Approve taskApprove `cmd:"" help:"Approve what is shown; needs a terminal and a typed confirmation."`
	Merge   taskMerge   `cmd:"" help:"Land the approved result; needs a terminal and a typed confirmation."`
	Cancel  taskCancel  `cmd:"" help:"Cancel a task; what it did is kept."`
	Delete  taskDelete  `cmd:"" help:"Delete a task and its tree; it must not be running."`
}

// taskArg names a task: id, unique prefix, or number.
type taskArg struct {
	Task string `arg:"" help:"Id, unique prefix of an id, or number."`
}

func (t taskArg) path(suffix string) string { return "/api/tasks/" + url.PathEscape(t.Task) + suffix }

type taskCreate struct {
	Title    string `arg:"" help:"What is to be done, in a line."`
	Repo     string `required:"" help:"Name or id of the repository."`
	Detail   string `help:"What the agent is told besides the title; - reads standard input."`
	Base     string `help:"Branch or commit to start from; the target when empty."`
	Target   string `help:"Branch to land on; the repository's when empty."`
	Template string `help:"Template." default:"solo"`
	Provider string `help:"Provider; the scripted model when empty."`
	Model    string `help:"Model."`

	Reach []string `help:"A provider its agents may reach beside the model, such as github; repeat for more." placeholder:"NAME"`
	taskLimits
}

// Run creates a task.
func (t *taskCreate) Run(e *env) error {
	if t.Detail == "-" {
		raw, err := io.ReadAll(io.LimitReader(e.stdin, 1<<20))
		if err != nil {
			return err
		}
		t.Detail = string(raw)
	}
	c, done, err := e.connect()
	if err != nil {
		return err
	}
	defer done()
	var repo board.Repo
	if err := c.do(e.ctx, "GET", "/api/repos/"+url.PathEscape(t.Repo), nil, &repo); err != nil {
		return err
	}
	in := board.NewTask{
		RepoID: repo.ID, Title: t.Title, Detail: t.Detail, Base: t.Base, Target: t.Target,
		Template: t.Template, Provider: t.Provider, Model: t.Model, Reach: t.Reach,
	}
	if in.Budget, in.RunBudget, err = t.limits(board.Task{}); err != nil {
		return err
	}
	send := c.do
	if len(in.Reach) > 0 {
		send = c.asPerson
	}
	var task board.Task
	if err := send(e.ctx, "POST", "/api/tasks", in, &task); err != nil {
		return err
	}
	if e.cli.JSON {
		return e.print(task)
	}
	fmt.Fprintf(e.stdout, "created %s: %s\nrun it with `moeca task run %s`\n", task.ID, plain(task.Title), task.ID)
	return nil
}

type taskList struct {
	Repo   string `help:"Only this repository."`
	Column string `help:"Only this column: inbox, working, needs_you or done."`
}

// Run lists tasks.
func (t *taskList) Run(e *env, c *client) error {
	q := url.Values{"limit": {"500"}}
	if t.Repo != "" {
		q.Set("repo", t.Repo)
	}
	if t.Column != "" {
		q.Set("column", t.Column)
	}
	tasks := []board.Task{}
	for more := true; more; {
		var page hostapi.Page
		if err := c.do(e.ctx, "GET", "/api/tasks?"+q.Encode(), nil, &page); err != nil {
			return err
		}
		tasks = append(tasks, page.Items...)
		q.Set("cursor", page.Next)
		more = page.Next != ""
	}
	none := "no tasks; create one with `moeca task create TITLE --repo NAME`"
	return printTable(e, tasks, none, []string{"TASK", "STATUS", "CI", "LINES", "REPO", "TITLE"}, func(t board.Task) []string {
		return []string{t.ID, string(t.Status), string(t.CI), fmt.Sprintf("+%d −%d", t.Added, t.Deleted), t.RepoName, t.Title}
	})
}

type taskShow struct{ taskArg }

// taskView is what `task show --json` prints.
type taskView struct {
	Task   board.Task    `json:"task"`
	Review *board.Review `json:"review,omitempty"`
}

// Run shows a task; the review is there once there is something to review.
func (t *taskShow) Run(e *env, c *client) error {
	var v taskView
	if err := c.do(e.ctx, "GET", t.path(""), nil, &v.Task); err != nil {
		return err
	}
	var review board.Review
	if v.Task.Attempt != nil && v.Task.Attempt.HeadOID != "" && c.do(e.ctx, "GET", t.path("/review"), nil, &review) == nil {
		v.Review = &review
	}
	if e.cli.JSON {
		return e.print(v)
	}
	e.showTask(v.Task)
	if v.Review != nil {
		e.showReview(*v.Review)
	}
	return nil
}

func (e *env) showTask(t board.Task) {
	fmt.Fprintf(e.stdout, "%s  %s\n  %s", t.ID, plain(t.Title), t.Status)
	if t.Cause != "" {
		fmt.Fprintf(e.stdout, ": %s", plain(t.Cause))
	}
	fmt.Fprintf(e.stdout, "\n  %s, base %s, lands on %s, %s/%s", t.RepoName, t.Base, t.Target, t.Provider, t.Model)
	if t.Scripted {
		fmt.Fprint(e.stdout, " (scripted)")
	}
	fmt.Fprintf(e.stdout, "\n  %d files, +%d −%d, %d tokens (measured)\n", t.Files, t.Added, t.Deleted, t.Tokens)
	if len(t.Reach) > 0 {
		fmt.Fprintf(e.stdout, "  may also reach %s\n", strings.Join(t.Reach, ", "))
	}
	e.showBudgets(t)
	if t.Attempt != nil && t.Attempt.Run != nil {
		fmt.Fprintf(e.stdout, "  attempt %d, run %s, branch %s\n", t.Attempt.Number, t.Attempt.Run.ID, plain(t.Attempt.Branch))
	}
}

func (e *env) showReview(r board.Review) {
	p := r.Preview
	fmt.Fprintf(e.stdout, "  head %s, target %s at %s, result %s, %d behind\n",
		short(p.Head), p.Target, short(p.TargetOID), short(p.ResultTree), p.Behind)
	fmt.Fprintf(e.stdout, "  CI: %s\n", r.CI.State)
	for _, c := range p.Conflicts {
		fmt.Fprintf(e.stdout, "  conflict: %s (%s)\n", plain(c.Path), strings.Join(c.Kinds, ", "))
	}
	for _, b := range r.Blockers {
		fmt.Fprintf(e.stdout, "  approval is locked: %s\n", plain(b.Message))
	}
	if len(r.Acks) > 0 {
		fmt.Fprintf(e.stdout, "  approval must acknowledge: %s\n", strings.Join(r.Acks, ", "))
	}
}

type taskRun struct {
	taskArg
	Detach bool `help:"Do not wait for the run to end; needs a running moeca."`
}

// Run runs a task and, unless detached, follows it to its end.
func (t *taskRun) Run(e *env, c *client) error {
	if t.Detach && c.own {
		return fail(exitMissing, "not_running", "start one with `moeca serve`, or leave --detach away", "no moeca runs on this data directory, and a run ends with it")
	}
	var run board.Run
	if err := c.do(e.ctx, "POST", t.path("/run"), nil, &run); err != nil {
		return err
	}
	if !t.Detach {
		var err error
		if run, err = e.follow(c, run.ID); err != nil {
			return err
		}
	}
	if e.cli.JSON {
		if err := e.print(run); err != nil {
			return err
		}
	} else {
		fmt.Fprintf(e.stdout, "run %s %s\n", run.ID, run.Status)
	}
	if !t.Detach && run.Status != board.StatusDone {
		if e.cli.JSON {
			return notGood()
		}
		return fail(exitBad, "run_"+string(run.Status), "see `moeca run logs "+run.ID+"`; its work is kept, and `moeca task run` tries again",
			"the run ended %s: %s", run.Status, plain(run.Cause))
	}
	return nil
}

type taskDiff struct{ taskArg }

// Run prints the diff for reading. It is not a patch to apply: names and text
// are made safe for a terminal.
func (t *taskDiff) Run(e *env, c *client) error {
	var set diff.Set
	if err := c.do(e.ctx, "GET", t.path("/diff"), nil, &set); err != nil {
		return err
	}
	if e.cli.JSON {
		return e.print(set)
	}
	for _, f := range set.Files {
		e.showFile(f)
	}
	if set.Truncated {
		fmt.Fprintln(e.stdout, "(cut: some content is not shown)")
	}
	return nil
}

func (e *env) showFile(f diff.File) {
	name := plain(f.Path)
	if f.OldPath != "" && f.OldPath != f.Path {
		name = plain(f.OldPath) + " → " + name
	}
	fmt.Fprintf(e.stdout, "%s %s (%s, +%d −%d)\n", f.Status, name, f.Kind, f.Added, f.Deleted)
	if f.OldMode != f.NewMode && f.Status == "modified" {
		fmt.Fprintf(e.stdout, "  mode %s → %s\n", f.OldMode, f.NewMode)
	}
	for _, h := range f.Hunks {
		fmt.Fprintf(e.stdout, "@@ -%d,%d +%d,%d @@ %s\n", h.OldStart, h.OldLines, h.NewStart, h.NewLines, plain(h.Section))
		for _, l := range h.Lines {
			fmt.Fprintf(e.stdout, "%s%s\n", l.Op, plain(l.Text))
			if l.NoEOL {
				fmt.Fprintln(e.stdout, `\ no newline at end of file`)
			}
		}
	}
	if f.Truncated {
		fmt.Fprintln(e.stdout, "  (cut)")
	}
}

type taskCI struct{ taskArg }

// Run runs the gate and waits for its result.
func (t *taskCI) Run(e *env, c *client) error {
	var ci board.CI
	if err := c.do(e.ctx, "POST", t.path("/ci"), nil, &ci); err != nil {
		return err
	}
	for ci.State == board.CIRunning {
		var review board.Review
		if err := e.pause(); err != nil {
			return err
		}
		if err := c.do(e.ctx, "GET", t.path("/review"), nil, &review); err != nil {
			return err
		}
		ci = review.CI
	}
	if e.cli.JSON {
		if err := e.print(ci); err != nil {
			return err
		}
	} else {
		fmt.Fprintf(e.stdout, "%s\nCI: %s", plainLines(ci.Log), ci.State)
		if ci.Cause != "" {
			fmt.Fprintf(e.stdout, " (%s)", plain(ci.Cause))
		}
		fmt.Fprintln(e.stdout)
	}
	if ci.State != board.CIPassed && ci.State != board.CIPassedDrift {
		return notGood()
	}
	return nil
}

type taskApprove struct {
	taskArg
	Ack []string `help:"Acknowledge: no_ci, gate_changed, truncated_diff." placeholder:"WHAT"`
}

// Run shows what would be bound, asks, and approves exactly that.
func (t *taskApprove) Run(e *env, c *client) error {
	var review board.Review
	if err := c.do(e.ctx, "GET", t.path("/review"), nil, &review); err != nil {
		return err
	}
	if len(review.Blockers) > 0 {
		return fail(exitFailed, review.Blockers[0].Code, "see `moeca task show "+t.Task+"`", "approval is locked: %s", review.Blockers[0].Message)
	}
	e.showReviewTo(e.stderr, review)
	if err := e.confirm("approve " + short(review.Preview.ResultTree)); err != nil {
		return err
	}
	unviewed, err := t.paths(e, c)
	if err != nil {
		return err
	}
	var approval board.Approval
	err = c.asPerson(e.ctx, "POST", t.path("/approve"), board.ApproveRequest{
		Head: review.Preview.Head, TargetOID: review.Preview.TargetOID,
		ResultTree: review.Preview.ResultTree, Acks: t.Ack, Unviewed: unviewed,
	}, &approval)
	if err != nil {
		return err
	}
	if e.cli.JSON {
		return e.print(approval)
	}
	fmt.Fprintf(e.stdout, "approved; audit row %d. Land it with `moeca task merge %s`\n", approval.Seq, t.Task)
	return nil
}

// paths lists every changed file: this command shows none of them, and the
// statement says so.
func (t *taskApprove) paths(e *env, c *client) ([]string, error) {
	var set diff.Set
	if err := c.do(e.ctx, "GET", t.path("/diff?max_lines=1"), nil, &set); err != nil {
		return nil, err
	}
	names := make([]string, len(set.Files))
	for i, f := range set.Files {
		names[i] = f.Path
	}
	return names, nil
}

type taskMerge struct{ taskArg }

// Run lands what was approved.
func (t *taskMerge) Run(e *env, c *client) error {
	var review board.Review
	if err := c.do(e.ctx, "GET", t.path("/review"), nil, &review); err != nil {
		return err
	}
	if review.Approval == nil {
		return fail(exitFailed, "not_approved", "approve it with `moeca task approve "+t.Task+"`", "nothing is approved yet; nothing was changed")
	}
	e.showReviewTo(e.stderr, review)
	if err := e.confirm("merge into " + review.Preview.Target); err != nil {
		return err
	}
	var merged board.Merged
	if err := c.asPerson(e.ctx, "POST", t.path("/merge"), nil, &merged); err != nil {
		return err
	}
	if e.cli.JSON {
		return e.print(merged)
	}
	fmt.Fprintf(e.stdout, "%s moved from %s to %s; audit row %d\n", merged.Target, short(merged.TargetOID), short(merged.Commit), merged.Seq)
	if merged.Note != "" {
		fmt.Fprintln(e.stdout, merged.Note)
	}
	return nil
}

func (e *env) showReviewTo(w io.Writer, r board.Review) {
	(&env{ctx: e.ctx, cli: e.cli, stdout: w}).showReview(r)
}

type taskDelete struct{ taskArg }

// Run deletes a task; its commits stay reachable where they were merged.
func (t *taskDelete) Run(e *env, c *client) error {
	if err := c.do(e.ctx, "DELETE", t.path(""), nil, nil); err != nil {
		return err
	}
	if e.cli.JSON {
		return e.print(map[string]string{"deleted": t.Task})
	}
	fmt.Fprintf(e.stdout, "deleted %s\n", t.Task)
	return nil
}

type taskCancel struct{ taskArg }

// Run cancels a task.
func (t *taskCancel) Run(e *env, c *client) error {
	var task board.Task
	if err := c.do(e.ctx, "POST", t.path("/cancel"), nil, &task); err != nil {
		return err
	}
	if e.cli.JSON {
		return e.print(task)
	}
	e.showTask(task)
	return nil
}

// confirm asks the person to type a sentence on the terminal. A pipe is never
// asked, so that a program cannot answer by accident (I15).
func (e *env) confirm(sentence string) error {
	in, ok := e.stdin.(*os.File)
	if !ok || !isTerminal(in) {
		return fail(exitFailed, "needs_terminal", "run it in a terminal, or use the interface",
			"a person confirms this by typing, and standard input is not a terminal")
	}
	fmt.Fprintf(e.stderr, "type %q to go on: ", sentence)
	answer, err := readLine(in)
	if err != nil {
		return err
	}
	if strings.TrimSpace(answer) != sentence {
		return fail(exitFailed, "not_confirmed", "", "not confirmed; nothing was changed")
	}
	return nil
}
