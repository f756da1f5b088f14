// Package workflow compiles a template and a task's words into a plan: the
// stages of a run, complete enough to be executed and stored. It holds data and
// pure functions only.
//
// A template has a version, which is part of every plan, so that a stored plan
// says what it was made from; changing a template's text or numbers raises it.
// The text an agent reads is a file beside this one.
//
// Grants are what a stage lists and nothing else: a tool that is not in Tools
// does not exist for the agent, an upstream that is not in Upstreams cannot be
// reached, and a provider does on its side only what Grants names.
package workflow

import (
	"bytes"
	_ "embed" // the text the model reads
	"errors"
	"fmt"
	"slices"
	"strings"
	"text/template"
	"time"
)

// Kinds of stage.
const (
	KindAgent   = "agent"
	KindCommand = "command"
)

// Solo is the template with one agent.
const Solo = "solo"

// Template is a named recipe for a run.
type Template struct {
	Name          string  `json:"name"`
	Version       int     `json:"version"`
	Title         string  `json:"title"`
	MaxParallel   int     `json:"max_parallel"`
	StopOnFailure bool    `json:"stop_on_failure"`
	Stages        []Stage `json:"stages"`
}

// Stage is one sandbox of a plan.
type Stage struct {
	Name    string        `json:"name"`
	Kind    string        `json:"kind"`
	Policy  string        `json:"policy"` // image policy
	Timeout time.Duration `json:"timeout_ns"`
	Agent   *Agent        `json:"agent,omitempty"`
}

// Agent is an agent stage's part of a plan.
type Agent struct {
	Name      string   `json:"name"`
	Upstream  string   `json:"upstream"`            // of the model
	Upstreams []string `json:"upstreams,omitempty"` // that the session may reach beside it
	Grants    []string `json:"grants,omitempty"`    // what the model's provider may do on its side
	Dialect   string   `json:"dialect"`
	Model     string   `json:"model"`
	System    string   `json:"system"`
	Prompt    string   `json:"prompt"`
	MaxTurns  int      `json:"max_turns"`
	MaxTokens int      `json:"max_tokens"`    // of one answer
	Budget    int64    `json:"budget_tokens"` // of a session
	CostNano  int64    `json:"budget_cost_nano,omitempty"`
	Tools     []string `json:"tools"`
	DenyGlobs []string `json:"deny_globs"`
}

// Plan is a compiled template.
type Plan struct {
	Template string  `json:"template"`
	Version  int     `json:"version"`
	Stages   []Stage `json:"stages"`
}

// Input is what a task adds to a template.
type Input struct {
	Title, Detail   string
	Provider, Model string
	Dialect         string
	Timeout         time.Duration // 0: the template's
	Budget          int64         // tokens of each agent stage whose template names none
	Reach           []string      // upstreams that every agent may reach beside its model
}

// ErrUnknownTemplate is returned for a name no template has.
var ErrUnknownTemplate = errors.New("unknown template")

//go:embed solo.md
var soloText string

// Templates returns every template.
func Templates() []Template {
	return []Template{{
		Name: Solo, Version: 1, Title: "Solo", MaxParallel: 1, StopOnFailure: true,
		Stages: []Stage{{
			Name: "work", Kind: KindAgent, Policy: "base", Timeout: time.Hour,
			Agent: &Agent{
				Name: "solo", MaxTurns: 40, MaxTokens: 16_000,
				Tools:     []string{"list_files", "read_file", "write_file", "edit_file"},
				DenyGlobs: []string{"*.pem", "*.key", "id_*", "*.p12", "*.pfx", ".env", ".env.*", ".npmrc", ".netrc"},
			},
		}},
	}}
}

// Compile makes the plan of a run.
func Compile(name string, in Input) (Plan, error) {
	all := Templates()
	i := slices.IndexFunc(all, func(t Template) bool { return t.Name == name })
	if i < 0 {
		return Plan{}, fmt.Errorf("workflow: compile %q: %w", name, ErrUnknownTemplate)
	}
	if strings.TrimSpace(in.Title) == "" || in.Provider == "" || in.Model == "" || in.Dialect == "" {
		return Plan{}, fmt.Errorf("workflow: compile %q: title, provider, model and dialect are needed", name)
	}
	t := all[i]
	p := Plan{Template: t.Name, Version: t.Version, Stages: t.Stages}
	for i := range p.Stages {
		st := &p.Stages[i]
		if in.Timeout > 0 {
			st.Timeout = in.Timeout
		}
		if st.Agent == nil {
			continue
		}
		system, err := system(*st.Agent)
		if err != nil {
			return Plan{}, fmt.Errorf("workflow: compile %q: %w", name, err)
		}
		a := st.Agent
		a.Upstream, a.Dialect, a.Model = in.Provider, in.Dialect, in.Model
		if a.Budget == 0 {
			a.Budget = in.Budget
		}
		a.Upstreams = slices.Compact(slices.Sorted(slices.Values(slices.Concat(a.Upstreams, in.Reach))))
		a.System, a.Prompt = system, prompt(in)
	}
	return p, nil
}

func system(a Agent) (string, error) {
	t, err := template.New("system").Parse(soloText)
	if err != nil {
		return "", err
	}
	var b bytes.Buffer
	if err := t.Execute(&b, a); err != nil {
		return "", err
	}
	return strings.TrimSpace(b.String()), nil
}

// prompt is the first user message: the task in the person's own words.
func prompt(in Input) string {
	if strings.TrimSpace(in.Detail) == "" {
		return strings.TrimSpace(in.Title)
	}
	return strings.TrimSpace(in.Title) + "\n\n" + strings.TrimSpace(in.Detail)
}
