package stack

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"sync"

	"moeca/internal/a2a"
	"moeca/internal/audit"
	"moeca/internal/auditindex"
	"moeca/internal/board"
	"moeca/internal/hostapi"
)

// keptTrees is how many stages are kept as they were made.
const keptTrees = 2

// trees are what was made of stages' contents, newest first: a person who turns
// pages or opens a message does not make the host read them again.
type trees struct {
	mu    sync.Mutex
	built []builtTree
}

// forget drops all of them.
func (t *trees) forget() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.built = nil
}

// builtTree is one stage.
type builtTree struct {
	filter auditindex.Filter
	head   int64 // last row of the stage it was made of
	purges int64 // erasures before it was made
	task   a2a.Task
	note   string
}

// clipText is how much of a text a list of messages shows, in bytes.
const clipText = 4 << 10

// Messages implements hostapi.AuditIndex.
func (v *AuditView) Messages(ctx context.Context, q hostapi.AuditMessageQuery) (hostapi.AuditMessages, error) {
	tree, err := v.tree(ctx, q.Filter)
	if err != nil {
		return hostapi.AuditMessages{}, err
	}
	page := hostapi.AuditMessages{Task: tree.task, Problem: tree.note, Complete: tree.note == "", Items: []a2a.Message{}, Cut: []string{}}
	page.Task.History = nil
	fit := slices.DeleteFunc(slices.Clone(tree.task.History), func(m a2a.Message) bool { return !fits(m, q) })
	page.Total = int64(len(fit))
	from := 0
	switch {
	case q.After != "":
		i := slices.IndexFunc(fit, func(m a2a.Message) bool { return m.MessageID == q.After })
		if i < 0 {
			return page, noMessage()
		}
		from = i + 1
	case q.Newest:
		from = max(len(fit)-q.Limit, 0)
	}
	for i := from; i < len(fit) && len(page.Items) < q.Limit; i++ {
		m, cut := clipped(fit[i])
		if cut {
			page.Cut = append(page.Cut, m.MessageID)
		}
		page.Items = append(page.Items, m)
		if i+1 < len(fit) && len(page.Items) == q.Limit {
			page.Next = m.MessageID
		}
	}
	return page, nil
}

// Message implements hostapi.AuditIndex.
func (v *AuditView) Message(ctx context.Context, f auditindex.Filter, id string) (a2a.Message, error) {
	tree, err := v.tree(ctx, f)
	if err != nil {
		return a2a.Message{}, err
	}
	for _, m := range tree.task.History {
		if m.MessageID == id {
			return m, nil
		}
	}
	return a2a.Message{}, noMessage()
}

func noMessage() error {
	return &board.Error{Kind: board.NotFound, Code: "audit_message", Message: "this stage has no such message", Next: "list its messages again: an erased content changes them"}
}

// tree returns the stage a filter names as an A2A task.
func (v *AuditView) tree(ctx context.Context, f auditindex.Filter) (builtTree, error) {
	x, err := v.ready(ctx)
	if err != nil {
		return builtTree{}, err
	}
	stages, err := x.Stages(ctx, f)
	if err != nil {
		return builtTree{}, indexError(err)
	}
	if len(stages) == 0 {
		return builtTree{}, &board.Error{Kind: board.NotFound, Code: "audit_stage", Message: "the log has no call of this stage", Next: "list the stages of the task"}
	}
	var head int64
	for _, s := range stages {
		head = max(head, s.Last)
	}
	purges := x.Purges()
	v.trees.mu.Lock()
	defer v.trees.mu.Unlock()
	for _, t := range v.trees.built {
		if t.filter == f && t.head == head && t.purges == purges {
			return t, nil
		}
	}
	exchanges, note, err := x.Exchanges(ctx, f)
	if err != nil {
		return builtTree{}, indexError(err)
	}
	t := builtTree{filter: f, head: head, purges: purges, note: note, task: joined(a2a.Build(exchanges))}
	v.trees.built = append([]builtTree{t}, v.trees.built...)
	v.trees.built = v.trees.built[:min(len(v.trees.built), keptTrees)]
	return t, nil
}

// joined is a tree as one task whose history has the messages of all: of
// sub-agents, of calls without a stage, of one stage under two tasks. Each
// message names the task it is of.
func joined(tree a2a.Tree) (task a2a.Task) {
	var history []a2a.Message
	var artifacts []a2a.Artifact
	var empty func(tasks []a2a.Task) []a2a.Task
	empty = func(tasks []a2a.Task) (out []a2a.Task) {
		for _, t := range tasks {
			history, artifacts = append(history, t.History...), append(artifacts, t.Artifacts...)
			t.History, t.Artifacts = nil, nil
			t.Metadata.Info.Tasks = empty(t.Metadata.Info.Tasks)
			out = append(out, t)
		}
		return out
	}
	for i, c := range tree.Contexts {
		tasks := empty(c.Tasks)
		if i == 0 && len(tasks) > 0 {
			task, tasks = tasks[0], tasks[1:]
		}
		task.Metadata.Info.Tasks = append(task.Metadata.Info.Tasks, tasks...)
	}
	task.History, task.Artifacts = history, artifacts
	return task
}

// fits says whether a list of messages has m.
func fits(m a2a.Message, q hostapi.AuditMessageQuery) bool {
	if q.Kind != "" && string(m.Metadata.Info.Kind) != q.Kind {
		return false
	}
	if q.Part == "" && q.Text == "" {
		return true
	}
	needle := strings.ToLower(q.Text)
	return slices.ContainsFunc(m.Parts, func(p a2a.Part) bool {
		return (q.Part == "" || string(p.Metadata.Info.Kind) == q.Part) && (needle == "" || strings.Contains(strings.ToLower(words(p)), needle))
	})
}

// words is what can be read of a part.
func words(p a2a.Part) string {
	s := p.Metadata.Info.Name + "\n" + p.Filename + "\n" + string(p.Data)
	if p.Text != nil {
		s += "\n" + *p.Text
	}
	return s
}

// clipped is a message for a list: without raw bytes and the parts of other
// attempts, its texts cut. The parts of m are shared and not changed.
func clipped(m a2a.Message) (a2a.Message, bool) {
	cut := false
	m.Parts = slices.Clone(m.Parts)
	for i := range m.Parts {
		p := &m.Parts[i]
		if p.Text != nil && len(*p.Text) > clipText {
			s := audit.Clip(*p.Text, clipText)
			p.Text, cut = &s, true
		}
		if len(p.Raw) > 0 {
			p.Raw, cut = nil, true
		}
		if len(p.Data) > clipText {
			p.Data, cut = json.RawMessage("null"), true
		}
	}
	attempts := slices.Clone(m.Metadata.Info.Attempts)
	for i := range attempts {
		cut = cut || len(attempts[i].Parts) > 0
		attempts[i].Parts = nil
	}
	m.Metadata.Info.Attempts = attempts
	return m, cut
}
