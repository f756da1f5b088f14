package board

import (
	"time"

	"moeca/internal/handoff"
	"moeca/internal/pubsub"
	"moeca/internal/session"
)

// Actor is who asks. The zero value is not a person, and may neither approve
// nor merge (I15). The caller decides Person from the scopes of the token.
type Actor struct {
	Person bool
	Name   string // shown in the statement
}

// RepoPatch changes a repository; nil fields keep their value.
type RepoPatch struct {
	Target   *string `json:"target,omitempty"`
	CI       *Gate   `json:"ci,omitempty"`
	RemoveCI bool    `json:"remove_ci,omitempty"`
}

// TaskPatch changes a task; nil fields keep their value. Version must be the
// version the caller saw. Words change while the task is neither running nor
// reviewed; reach and budgets until it is closed, and hold from the next stage
// on. They are a person's to change.
type TaskPatch struct {
	Version  int64   `json:"version"`
	Title    *string `json:"title,omitempty"`
	Detail   *string `json:"detail,omitempty"`
	Base     *string `json:"base,omitempty"`
	Provider *string `json:"provider,omitempty"`
	Model    *string `json:"model,omitempty"`

	Reach     *[]string       `json:"reach,omitempty"`
	Budget    *session.Budget `json:"budget,omitempty"`
	RunBudget *session.Budget `json:"run_budget,omitempty"`
}

func (p TaskPatch) words() bool {
	return p.Title != nil || p.Detail != nil || p.Base != nil || p.Provider != nil || p.Model != nil
}

// Means says whether the patch changes what only a person may: where agents
// reach and what they may draw.
func (p TaskPatch) Means() bool { return p.Reach != nil || p.Budget != nil || p.RunBudget != nil }

// TaskFilter selects tasks; empty fields select everything.
type TaskFilter struct {
	Repo   string
	Status Status
	Column Column
	Cursor string // Next of the page before
	Limit  int    // 0: 100, at most 500
}

// TaskPage is one page of tasks, newest first.
type TaskPage struct {
	Tasks []Task `json:"tasks"`
	Next  string `json:"next,omitempty"` // empty on the last page
}

// LogLine is one line of a run's log. Event is claimed by the agent; Seq, Stage
// and At are ours.
type LogLine struct {
	Seq   int64         `json:"seq"`
	Stage string        `json:"stage"`
	At    time.Time     `json:"at"` // when the host received it
	Event handoff.Event `json:"event"`
}

// LogPage is part of a run's log. Next is the seq to ask after; Ended says that
// the run has ended and no line will follow once Lines is empty.
type LogPage struct {
	Lines []LogLine `json:"lines"`
	Next  int64     `json:"next"`
	Ended bool      `json:"ended"`
}

// DiffLines is how many lines of one file a diff shows unless more are asked
// for. What it leaves out is what an approval has to acknowledge: the person is
// taken to have seen this much of a file and no more.
const DiffLines = 20_000

// DiffOptions bound a diff. Zero lines are DiffLines, zero bytes the default of
// package git.
type DiffOptions struct {
	MaxFileLines  int
	MaxTotalBytes int64
}

// EventPage is what happened after a sequence. Resync is set when events in
// between are no longer kept: read the present state instead.
type EventPage struct {
	Events []pubsub.Event `json:"events"`
	Resync bool           `json:"resync"`
	Last   int64          `json:"last"` // newest stored sequence
}

// Topics of events. A run's own events have the topic "run:" + its id.
const (
	TopicRepos = "repos"
	TopicTasks = "tasks"
	TopicAsks  = "asks"
)

// Kinds of events. Data of the changed kinds is the object as a read returns
// it; of EventLog a LogLine, which is not stored as an event (Seq 0): resume it
// with Logs.
const (
	EventRepoChanged = "repo.changed"
	EventRepoRemoved = "repo.removed"
	EventTaskChanged = "task.changed"
	EventTaskRemoved = "task.removed"
	EventRunChanged  = "run.changed"
	EventLog         = "run.log"
	EventAskOpened   = "ask.opened" // data is the ask; ended has none
	EventAskEnded    = "ask.ended"
)

// RunTopic is the topic of a run's events.
func RunTopic(run string) string { return "run:" + run }
