package workflow_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"moeca/internal/handoff"
	"moeca/internal/sandbox"
	"moeca/internal/workflow"
)

var input = workflow.Input{Title: " Fix it ", Detail: "Like this.\n", Provider: "demo", Model: "m", Dialect: "anthropic", Budget: 9}

func TestSoloIsOneAgentStageThatCanBeOrdered(t *testing.T) {
	p, err := workflow.Compile(workflow.Solo, input)
	if err != nil {
		t.Fatal(err)
	}
	if len(p.Stages) != 1 || p.Version == 0 || p.Stages[0].Policy != sandbox.Base || p.Stages[0].Timeout != time.Hour {
		t.Fatalf("plan %+v", p)
	}
	a := p.Stages[0].Agent
	if a.Prompt != "Fix it\n\nLike this." || a.Upstream != "demo" || a.Budget != 9 || !strings.Contains(a.System, "list_files, read_file, write_file, edit_file") {
		t.Fatalf("agent %+v", a)
	}
	var sink strings.Builder
	err = handoff.EncodeOrder(&sink, handoff.WorkOrder{
		Version: handoff.Version, Kind: handoff.KindAgent, Tree: sandbox.TreePath, Gateway: true, SocketDir: sandbox.SocketPath,
		Agent: &handoff.Agent{
			Dialect: a.Dialect, Model: a.Model, System: a.System, Prompt: a.Prompt, BasePath: "/" + a.Upstream,
			Tools: a.Tools, DenyGlobs: a.DenyGlobs, MaxTurns: a.MaxTurns, MaxTokens: a.MaxTokens,
		},
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestPlansShareNothing(t *testing.T) {
	one, err := workflow.Compile(workflow.Solo, input)
	if err != nil {
		t.Fatal(err)
	}
	one.Stages[0].Agent.Tools[0] = "shell"
	one.Stages[0].Agent.Prompt = "changed"
	two, err := workflow.Compile(workflow.Solo, input)
	if err != nil {
		t.Fatal(err)
	}
	if slices.Contains(two.Stages[0].Agent.Tools, "shell") || two.Stages[0].Agent.Prompt == "changed" {
		t.Fatal("a plan changed another")
	}
}

func TestCompileRefuses(t *testing.T) {
	if _, err := workflow.Compile("swarm", input); !errors.Is(err, workflow.ErrUnknownTemplate) {
		t.Errorf("unknown template: %v", err)
	}
	for name, spoil := range map[string]func(*workflow.Input){
		"no title":    func(in *workflow.Input) { in.Title = " " },
		"no provider": func(in *workflow.Input) { in.Provider = "" },
		"no model":    func(in *workflow.Input) { in.Model = "" },
		"no dialect":  func(in *workflow.Input) { in.Dialect = "" },
	} {
		in := input
		spoil(&in)
		if _, err := workflow.Compile(workflow.Solo, in); err == nil {
			t.Errorf("compiled with %s", name)
		}
	}
}

// What a person writes is never read as a template.
func TestWordsAreNotATemplate(t *testing.T) {
	in := input
	in.Detail = "{{.Tools}} {{template \"x\"}}"
	p, err := workflow.Compile(workflow.Solo, in)
	if err != nil || !strings.Contains(p.Stages[0].Agent.Prompt, in.Detail) {
		t.Fatalf("%v %+v", err, p)
	}
}
