package main

import (
	"fmt"
	"net/url"
	"path/filepath"
	"strings"

	"github.com/google/shlex"

	"moeca/internal/board"
)

type repoCmd struct {
	Add    repoAdd    `cmd:"" help:"Add a git repository of this machine."`
	List   repoList   `cmd:"" help:"List repositories."`
	Remove repoRemove `cmd:"" help:"Remove a repository from moeca; its files stay."`
	CI     repoCI     `cmd:"" name:"ci" help:"Set or clear the CI gate of a repository."`
}

type gateFlags struct {
	CI       string `name:"ci" help:"CI gate: a command and its arguments, run without a shell." placeholder:"COMMAND"`
	CIPolicy string `name:"ci-policy" help:"Image the gate runs in." enum:"base,poly" default:"poly"`
	CILimit  int    `name:"ci-timeout" help:"Seconds the gate may take." default:"1800"`
}

// gate splits the command as a shell splits words; nothing is expanded.
func (g gateFlags) gate() (*board.Gate, error) {
	if g.CI == "" {
		return nil, nil
	}
	argv, err := shlex.Split(g.CI)
	if err != nil || len(argv) == 0 {
		return nil, fail(exitUsage, "ci_command", "quote the command so that its words can be told apart",
			"the CI command %q cannot be split into words: %v", g.CI, err)
	}
	return &board.Gate{Policy: g.CIPolicy, Argv: argv, Timeout: g.CILimit}, nil
}

type repoAdd struct {
	Path   string `arg:"" help:"Path of the repository."`
	Name   string `help:"Name; the directory's name when empty."`
	Target string `help:"Branch that work lands on; detected when empty."`
	gateFlags
}

// Run adds a repository.
func (a *repoAdd) Run(e *env) error {
	path, err := filepath.Abs(a.Path)
	if err != nil {
		return err
	}
	gate, err := a.gate()
	if err != nil {
		return err
	}
	c, done, err := e.connect()
	if err != nil {
		return err
	}
	defer done()
	var repo board.Repo
	in := map[string]any{"path": path, "name": a.Name, "target": a.Target}
	if gate != nil {
		in["ci"] = gate
	}
	if err := c.asPerson(e.ctx, "POST", "/api/repos", in, &repo); err != nil {
		return err
	}
	if e.cli.JSON {
		return e.print(repo)
	}
	fmt.Fprintf(e.stdout, "added %s (%s), work lands on %s, %s\n", repo.Name, repo.Path, repo.Target, gateWords(repo.CI))
	return nil
}

type repoList struct{}

// Run lists repositories.
func (repoList) Run(e *env, c *client) error {
	var repos []board.Repo
	if err := c.do(e.ctx, "GET", "/api/repos", nil, &repos); err != nil {
		return err
	}
	return printTable(e, repos, "no repositories; add one with `moeca repo add PATH`", []string{"NAME", "TARGET", "CI", "PATH"}, func(r board.Repo) []string {
		line := []string{r.Name, r.Target, gateWords(r.CI), r.Path}
		if r.Problem != "" {
			line = append(line, "! "+r.Problem)
		}
		return line
	})
}

type repoRemove struct {
	Repo string `arg:"" help:"Name or id."`
}

// Run removes a repository.
func (r *repoRemove) Run(e *env, c *client) error {
	return c.asPerson(e.ctx, "DELETE", "/api/repos/"+url.PathEscape(r.Repo), nil, nil)
}

type repoCI struct {
	Repo  string `arg:"" help:"Name or id."`
	Clear bool   `help:"Remove the gate; approvals then need an acknowledgement."`
	gateFlags
}

// Run sets or clears a gate.
func (r *repoCI) Run(e *env) error {
	gate, err := r.gate()
	if err != nil {
		return err
	}
	if gate == nil && !r.Clear {
		return fail(exitUsage, "ci_command", "give --ci COMMAND or --clear", "nothing to change")
	}
	c, done, err := e.connect()
	if err != nil {
		return err
	}
	defer done()
	in := map[string]any{"remove_ci": r.Clear}
	if gate != nil {
		in["ci"] = gate
	}
	var repo board.Repo
	if err := c.asPerson(e.ctx, "PATCH", "/api/repos/"+url.PathEscape(r.Repo), in, &repo); err != nil {
		return err
	}
	if e.cli.JSON {
		return e.print(repo)
	}
	fmt.Fprintf(e.stdout, "%s: %s\n", repo.Name, gateWords(repo.CI))
	return nil
}

func gateWords(g *board.Gate) string {
	if g == nil {
		return "no CI configured"
	}
	return fmt.Sprintf("CI `%s` in %s", strings.Join(g.Argv, " "), g.Policy)
}
