package run

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"moeca/internal/git"
)

// Status of a run or a stage. The words are those of board.Status.
type Status string

// Statuses of a run.
const (
	Queued    Status = "queued"
	Preparing Status = "preparing"
	Running   Status = "running"
	Waiting   Status = "waiting" // running, and a request of it waits for a person
	Done      Status = "done"
	Failed    Status = "failed"
	Stopped   Status = "stopped"
)

// Over says that nothing follows this status.
func (s Status) Over() bool { return s == Done || s == Failed || s == Stopped }

// Kind is what an event of a run tells.
type Kind string

// Kinds, in the order in which a run that succeeds appends them. EvWaiting and
// EvResumed are not the engine's: whoever knows what waits for a person appends
// them beside it. The state the engine holds is without them and needs them not.
const (
	EvQueued    Kind = "queued"
	EvPreparing Kind = "preparing"
	EvTree      Kind = "tree-prepared"
	EvMinted    Kind = "session-minted"
	EvPrepared  Kind = "sandbox-prepared"
	EvStarted   Kind = "started"
	EvReleased  Kind = "released"
	EvWaiting   Kind = "waiting" // for a person; any number of times while the agent works
	EvResumed   Kind = "resumed"
	EvExited    Kind = "exited"
	EvRevoked   Kind = "session-revoked"
	EvSnapshot  Kind = "snapshot-taken"
	EvEnded     Kind = "ended"
)

// Event is one row of a run's log. Which fields are set depends on Kind.
type Event struct {
	Kind  Kind      `json:"-"`
	At    time.Time `json:"-"`
	Stage string    `json:"stage,omitempty"`

	Name    string `json:"name,omitempty"`    // preparing: of the stage
	Work    string `json:"work,omitempty"`    // preparing: agent | command
	Policy  string `json:"policy,omitempty"`  // preparing
	Driver  string `json:"driver,omitempty"`  // preparing
	Digest  string `json:"digest,omitempty"`  // tree-prepared
	Session string `json:"session,omitempty"` // session-minted

	ExitCode int    `json:"exit_code,omitempty"` // exited
	Exit     string `json:"exit,omitempty"`      // exited: sandbox.Cause…
	Tokens   int64  `json:"tokens,omitempty"`    // session-revoked: measured
	CostNano int64  `json:"cost_nano,omitempty"` // session-revoked: measured
	Requests int    `json:"requests,omitempty"`  // session-revoked: measured

	Snapshot *Snapshot `json:"snapshot,omitempty"` // snapshot-taken

	Status  Status `json:"status,omitempty"`  // ended
	Cause   string `json:"cause,omitempty"`   // ended, waiting
	Summary string `json:"summary,omitempty"` // ended: claimed by the agent
}

// Snapshot is what a run left behind.
type Snapshot struct {
	Head    string        `json:"head"`
	Tree    string        `json:"tree"`
	Branch  string        `json:"branch,omitempty"` // empty when nothing changed
	Changed bool          `json:"changed"`
	Files   int           `json:"files"`
	Added   int           `json:"added"`
	Deleted int           `json:"deleted"`
	Skipped []git.Skipped `json:"skipped,omitempty"`
}

// State is the fold over the events of a run.
type State struct {
	Status   Status     `json:"status"`
	Cause    string     `json:"cause,omitempty"`
	Summary  string     `json:"summary,omitempty"`
	Driver   string     `json:"driver,omitempty"`
	Step     Kind       `json:"step"` // last event
	Tree     bool       `json:"tree"` // the tree directory is complete
	Stages   []Stage    `json:"stages,omitempty"`
	Snapshot *Snapshot  `json:"snapshot,omitempty"`
	Started  *time.Time `json:"started,omitempty"`
	Ended    *time.Time `json:"ended,omitempty"`
}

// Stage is one sandbox of the run.
type Stage struct {
	ID       string     `json:"id"`
	Name     string     `json:"name"`
	Kind     string     `json:"kind"`
	Policy   string     `json:"policy"`
	Digest   string     `json:"digest,omitempty"`
	Session  string     `json:"session,omitempty"`
	Revoked  bool       `json:"revoked,omitempty"`
	Status   Status     `json:"status"`
	Cause    string     `json:"cause,omitempty"`
	Exit     string     `json:"exit,omitempty"`
	ExitCode int        `json:"exit_code"`
	Tokens   int64      `json:"tokens"`
	CostNano int64      `json:"cost_nano,omitempty"`
	Requests int        `json:"requests"`
	Started  *time.Time `json:"started,omitempty"`
	Ended    *time.Time `json:"ended,omitempty"`
}

// Fold applies e to s and returns the new state; s is not changed. Events after
// the end change nothing, except that a session may still be found revoked.
func Fold(s State, e Event) State {
	if s.Status.Over() && e.Kind != EvRevoked {
		return s
	}
	s.Stages = slices.Clone(s.Stages)
	at := e.At
	switch e.Kind {
	case EvQueued:
		s.Status = Queued
	case EvPreparing:
		s.Status, s.Driver = Preparing, e.Driver
		if s.Started == nil {
			s.Started = &at
		}
		s.Stages = append(s.Stages, Stage{ID: e.Stage, Name: e.Name, Kind: e.Work, Policy: e.Policy, Status: Preparing, Started: &at})
	case EvTree:
		s.Tree = true
	case EvReleased:
		s.Status = Running
	case EvWaiting:
		s.Status, s.Cause = Waiting, e.Cause
	case EvResumed, EvExited:
		if s.Status == Waiting {
			s.Status, s.Cause = Running, ""
		}
	case EvSnapshot:
		s.Snapshot = e.Snapshot
	case EvEnded:
		s.Status, s.Cause, s.Summary, s.Ended = e.Status, e.Cause, e.Summary, &at
	}
	if i := slices.IndexFunc(s.Stages, func(st Stage) bool { return st.ID == e.Stage }); i >= 0 {
		s.Stages[i] = foldStage(s.Stages[i], e)
	}
	if e.Kind != EvRevoked || !s.Status.Over() {
		s.Step = e.Kind
	}
	return s
}

func foldStage(st Stage, e Event) Stage {
	at := e.At
	switch e.Kind {
	case EvTree:
		st.Digest = e.Digest
	case EvMinted:
		st.Session = e.Session
	case EvReleased:
		st.Status = Running
	case EvWaiting:
		st.Status, st.Cause = Waiting, e.Cause
	case EvResumed:
		st.Status, st.Cause = Running, ""
	case EvExited:
		if st.Status == Waiting {
			st.Status, st.Cause = Running, ""
		}
		st.Exit, st.ExitCode, st.Ended = e.Exit, e.ExitCode, &at
	case EvRevoked:
		st.Revoked, st.Tokens, st.CostNano, st.Requests = true, e.Tokens, e.CostNano, e.Requests
	case EvEnded:
		st.Status, st.Cause = e.Status, e.Cause
		if st.Ended == nil {
			st.Ended = &at
		}
	}
	return st
}

// Tokens is what all stages together spent, as the gateway measured it.
func (s State) Tokens() int64 {
	var n int64
	for _, st := range s.Stages {
		n += st.Tokens
	}
	return n
}

// Doing says in words what a run was doing after its last event.
func (s State) Doing() string {
	switch s.Step {
	case EvQueued, EvPreparing:
		return "the tree was being prepared"
	case EvTree, EvMinted, EvPrepared, EvStarted:
		return "the sandbox was being started"
	case EvReleased, EvResumed:
		return "the agent was working"
	case EvWaiting:
		return "a request of the agent waited for you"
	case EvExited, EvRevoked, EvSnapshot:
		return "the result was being recorded"
	}
	return "the run was waiting"
}

// Decode reads a stored event.
func Decode(kind Kind, unixNano int64, data []byte) (Event, error) {
	var e Event
	if err := json.Unmarshal(data, &e); err != nil {
		return Event{}, fmt.Errorf("run: decode event %s: %w", kind, err)
	}
	e.Kind, e.At = kind, time.Unix(0, unixNano).UTC()
	return e, nil
}
