package a2a

import (
	"cmp"
	"slices"
	"time"
)

// Builder makes a Tree of exchanges as they come.
type Builder struct {
	contexts []*context
	byID     map[string]*context
	sessions map[string]*session
	started  map[int64]finisher // by row; nil once finished
	outcomes map[int64]*Exchange
}

// finisher is an exchange whose outcome is not known yet.
type finisher interface{ finish(x *Exchange) }

type context struct {
	id    string
	tasks []*task
	byID  map[string]*task
}

// task is a Task while it grows.
type task struct {
	id, context string
	info        TaskInfo
	history     []*message
	threads     []*thread
	artifacts   []Artifact
	open        int // exchanges without an outcome
	last        time.Time
}

// NewBuilder returns a builder that has seen nothing.
func NewBuilder() *Builder {
	return &Builder{byID: map[string]*context{}, sessions: map[string]*session{}, started: map[int64]finisher{}, outcomes: map[int64]*Exchange{}}
}

// Build makes a Tree of exchanges in any order.
func Build(exchanges []Exchange) Tree {
	type row struct {
		seq  int64
		x    *Exchange
		half bool // only the intent
	}
	var rows []row
	for i := range exchanges {
		x := &exchanges[i]
		if x.OutcomeSeq > x.Seq {
			rows = append(rows, row{x.Seq, x, true}, row{x.OutcomeSeq, x, false})
		} else {
			rows = append(rows, row{x.Seq, x, false})
		}
	}
	slices.SortStableFunc(rows, func(a, b row) int { return cmp.Compare(a.seq, b.seq) })
	b := NewBuilder()
	for _, r := range rows {
		if r.half {
			b.outcomes[r.seq] = r.x
		}
	}
	for _, r := range rows {
		if r.half {
			b.Add(r.x.intent())
		} else {
			b.Add(*r.x)
		}
	}
	return b.Tree()
}

// Add takes an exchange. One that was open is given again with its outcome;
// what else is given again is ignored: content that was erased since needs a
// new Builder.
func (b *Builder) Add(x Exchange) {
	x.Time, x.End = x.Time.UTC(), x.End.UTC()
	f, known := b.started[x.Seq]
	if !known {
		whole := x
		if x.OutcomeSeq != 0 {
			x = x.intent()
		}
		f = b.start(&x)
		b.started[x.Seq] = f
		x = whole
	}
	if f != nil && x.OutcomeSeq != 0 {
		f.finish(&x)
		b.started[x.Seq] = nil
	}
}

// outcome is an exchange with its outcome, if that is known.
func (b *Builder) outcome(seq int64) *Exchange {
	known := b.outcomes[seq]
	if known == nil {
		return nil
	}
	x := *known
	x.Time, x.End = x.Time.UTC(), x.End.UTC()
	return &x
}

func (b *Builder) start(x *Exchange) finisher {
	t := b.task(x)
	if !x.conversation() {
		return t.request(x)
	}
	key := t.context + "\x00" + t.id + "\x00" + x.Session
	s := b.sessions[key]
	if s == nil {
		s = newSession(x.Session, t, b.outcome)
		b.sessions[key] = s
	}
	return s.ask(x)
}

// task finds the task of an exchange.
func (b *Builder) task(x *Exchange) *task {
	c := b.context(x)
	id := taskID(x)
	t := c.byID[id]
	if t == nil {
		t = &task{id: id, context: c.id, info: TaskInfo{Run: x.Run, Stage: x.Stage, Agent: x.Agent, Template: x.Template, Parent: x.Parent}}
		c.byID[id] = t
		c.tasks = append(c.tasks, t)
	}
	if x.Session != "" && !slices.Contains(t.info.Sessions, x.Session) {
		t.info.Sessions = append(t.info.Sessions, x.Session)
	}
	return t
}

func (b *Builder) context(x *Exchange) *context {
	id := contextID(x)
	c := b.byID[id]
	if c == nil {
		c = &context{id: id, byID: map[string]*task{}}
		b.byID[id] = c
		b.contexts = append(b.contexts, c)
	}
	return c
}

func contextID(x *Exchange) string {
	switch {
	case x.Task != "":
		return x.Task
	case x.Run != "":
		return "run:" + x.Run
	case x.Session != "":
		return "session:" + x.Session
	}
	return "unattributed"
}

func taskID(x *Exchange) string {
	switch {
	case x.Parent != "":
		return x.Run + "/" + x.Stage + "/" + x.Session
	case x.Run != "" || x.Stage != "":
		return x.Run + "/" + x.Stage
	case x.Session != "":
		return "session:" + x.Session
	}
	return "unattributed"
}

// until notes that something was known of the task at a time.
func (t *task) until(at time.Time) {
	if at.After(t.last) {
		t.last = at
	}
}

// Tree returns what was built so far. It is not changed by later Adds.
func (b *Builder) Tree() Tree {
	tree := Tree{Contexts: []Context{}}
	for _, c := range b.contexts {
		tree.Contexts = append(tree.Contexts, Context{ContextID: c.id, Tasks: c.nest()})
	}
	return tree
}

// nest puts tasks of sub-agents into the task of their parent. A task whose
// parent is not there, or is inside it, stays at the top.
func (c *context) nest() []Task {
	owner := map[string]*task{} // by session
	for _, t := range c.tasks {
		for _, s := range t.info.Sessions {
			if owner[s] == nil {
				owner[s] = t
			}
		}
	}
	children, top := map[*task][]*task{}, []*task(nil)
	for _, t := range c.tasks {
		if p := owner[t.info.Parent]; p != nil && !inside(p, t, owner) {
			children[p] = append(children[p], t)
		} else {
			top = append(top, t)
		}
	}
	return snapshots(top, children)
}

// maxNesting bounds how deep tasks of sub-agents lie in each other.
const maxNesting = 16

// inside says that t is p or lies above it, or that p lies too deep.
func inside(p, t *task, owner map[string]*task) bool {
	for range maxNesting {
		if p == t {
			return true
		}
		if p = owner[p.info.Parent]; p == nil {
			return false
		}
	}
	return true
}

func snapshots(list []*task, children map[*task][]*task) (out []Task) {
	for _, t := range list {
		s := t.snapshot()
		s.Metadata.Info.Tasks = snapshots(children[t], children)
		out = append(out, s)
	}
	return out
}

func (t *task) snapshot() Task {
	out := Task{
		ID: t.id, ContextID: t.context, Status: TaskStatus{State: StateUnspecified, Timestamp: t.last},
		Artifacts: slices.Clone(t.artifacts), Metadata: TaskMetadata{t.info},
	}
	if t.open > 0 {
		out.Status.State = StateWorking
	}
	out.Metadata.Info.Sessions = slices.Clone(t.info.Sessions)
	for _, th := range t.threads {
		out.Metadata.Info.Threads = append(out.Metadata.Info.Threads, th.Thread)
	}
	for _, m := range t.history {
		out.History = append(out.History, m.snapshot())
	}
	return out
}
