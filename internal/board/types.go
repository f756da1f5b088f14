package board

import (
	"encoding/json"
	"time"

	"moeca/internal/git"
	"moeca/internal/session"
)

// Status is the one vocabulary for tasks, runs and stages.
type Status string

// Statuses. Stages also know skipped, reused and stopped.
const (
	StatusDraft     Status = "draft"
	StatusQueued    Status = "queued"
	StatusPreparing Status = "preparing"
	StatusRunning   Status = "running"
	StatusWaiting   Status = "waiting" // for the person
	StatusReviewing Status = "reviewing"
	StatusMerging   Status = "merging"
	StatusDone      Status = "done"
	StatusFailed    Status = "failed"
	StatusCancelled Status = "cancelled"
	StatusStopped   Status = "stopped"
)

// Column is where a card stands on the Delivery board.
type Column string

// Columns, in order.
const (
	ColumnInbox   Column = "inbox"
	ColumnWorking Column = "working"
	ColumnNeeds   Column = "needs_you"
	ColumnDone    Column = "done"
)

// Repo is a repository the person added. The host reads its objects and refs
// and moves only the target branch, and that only at a merge.
type Repo struct {
	ID        string    `json:"id"`
	Name      string    `json:"name"` // unique
	Path      string    `json:"path"`
	Target    string    `json:"target"` // target branch
	CI        *Gate     `json:"ci,omitempty"`
	Branches  []string  `json:"branches"`
	Problem   string    `json:"problem,omitempty"` // why it cannot be used now
	CreatedAt time.Time `json:"created_at"`
}

// Gate is the definition of a CI gate: an argument vector, never a shell string.
type Gate struct {
	Policy  string   `json:"policy"` // image policy, "poly" by default
	Argv    []string `json:"argv"`
	Timeout int      `json:"timeout_seconds"`
}

// Task is one piece of work.
type Task struct {
	ID       string   `json:"id"`
	Number   int64    `json:"number"` // short name for people, unique in the data directory
	RepoID   string   `json:"repo_id"`
	RepoName string   `json:"repo_name"`
	Title    string   `json:"title"`
	Detail   string   `json:"detail"`
	Base     string   `json:"base"`     // branch or commit the work starts from
	Target   string   `json:"target"`   // branch it lands on
	Template string   `json:"template"` // solo
	Provider string   `json:"provider"` // upstream name
	Model    string   `json:"model"`
	Scripted bool     `json:"scripted"` // answered by the scripted model
	Status   Status   `json:"status"`
	Column   Column   `json:"column"`
	Cause    string   `json:"cause,omitempty"`       // one line: why it is so
	NextStep string   `json:"next_action,omitempty"` // code: run, review, ci, approve, merge, resolve, retry
	Attempt  *Attempt `json:"attempt,omitempty"`     // newest
	Added    int      `json:"added"`
	Deleted  int      `json:"deleted"`
	Files    int      `json:"files"`
	CI       CIState  `json:"ci"`
	Tokens   int64    `json:"tokens"`    // measured
	CostNano int64    `json:"cost_nano"` // measured, 1e-9 USD; what has no price counts nothing
	// Reach names the upstreams beside the model that the task's agents may reach.
	Reach []string `json:"reach"`
	// Budget bounds all runs of the task together, RunBudget each of them. Absent
	// while none was ever set; zero in a field is no limit of that kind.
	Budget    *session.Budget `json:"budget,omitempty"`
	RunBudget *session.Budget `json:"run_budget,omitempty"`
	Version   int64           `json:"version"`
	CreatedAt time.Time       `json:"created_at"`
	UpdatedAt time.Time       `json:"updated_at"`
}

// NewTask is what a person fills in. Empty fields take the repository's defaults.
type NewTask struct {
	RepoID    string          `json:"repo_id"`
	Title     string          `json:"title"`
	Detail    string          `json:"detail,omitempty"`
	Base      string          `json:"base,omitempty"`
	Target    string          `json:"target,omitempty"`
	Template  string          `json:"template,omitempty"`
	Provider  string          `json:"provider,omitempty"`
	Model     string          `json:"model,omitempty"`
	Reach     []string        `json:"reach,omitempty"` // a person's to give
	Budget    *session.Budget `json:"budget,omitempty"`
	RunBudget *session.Budget `json:"run_budget,omitempty"`
}

// Attempt is one try at a task: one plain tree and one branch.
type Attempt struct {
	ID      string        `json:"id"`
	TaskID  string        `json:"task_id"`
	Number  int           `json:"number"`
	Branch  string        `json:"branch"` // refs/heads/moeca/<task>-<n>
	BaseOID string        `json:"base_oid"`
	Target  string        `json:"target_oid"` // where the target stood when the attempt began
	HeadOID string        `json:"head_oid"`
	Run     *Run          `json:"run,omitempty"` // newest
	Summary string        `json:"summary,omitempty"`
	Skipped []git.Skipped `json:"skipped,omitempty"`
}

// Run is one execution of a template on an attempt's tree.
type Run struct {
	ID      string     `json:"id"`
	TaskID  string     `json:"task_id"`
	Attempt string     `json:"attempt_id"`
	Status  Status     `json:"status"`
	Cause   string     `json:"cause,omitempty"`
	Driver  string     `json:"driver"`
	Stages  []Stage    `json:"stages"`
	Started *time.Time `json:"started_at,omitempty"`
	Ended   *time.Time `json:"ended_at,omitempty"`
}

// Stage is one sandbox of a run.
type Stage struct {
	ID       string     `json:"id"`
	Name     string     `json:"name"`
	Kind     string     `json:"kind"` // agent | command
	Policy   string     `json:"policy"`
	Digest   string     `json:"image_digest"`
	Session  string     `json:"session"`
	Status   Status     `json:"status"`
	Cause    string     `json:"cause,omitempty"`
	ExitCode int        `json:"exit_code"`
	Requests int        `json:"requests"`  // measured
	Tokens   int64      `json:"tokens"`    // measured
	CostNano int64      `json:"cost_nano"` // measured
	Started  *time.Time `json:"started_at,omitempty"`
	Ended    *time.Time `json:"ended_at,omitempty"`
}

// CIState is the state of the CI gate for the current result tree.
type CIState string

// States of the gate. None means no CI is configured: its own state, never green.
const (
	CINone        CIState = "none"
	CIPending     CIState = "pending" // configured, not run on this result tree
	CIRunning     CIState = "running"
	CIPassed      CIState = "passed"
	CIPassedDrift CIState = "passed_gate_changed" // passed, but gate files differ from the base
	CIFailed      CIState = "failed"
	CIStale       CIState = "stale" // result tree, target or gate moved since
	CIError       CIState = "error" // the gate could not be run
)

// CI is the newest gate result of a task and what it is bound to.
type CI struct {
	State      CIState    `json:"state"`
	ID         string     `json:"id,omitempty"`
	ResultTree string     `json:"result_tree,omitempty"`
	TargetOID  string     `json:"target_oid,omitempty"`
	Head       string     `json:"head,omitempty"`
	GateHash   string     `json:"gate_hash,omitempty"`
	Digest     string     `json:"image_digest,omitempty"`
	ExitCode   int        `json:"exit_code"`
	Cause      string     `json:"cause,omitempty"`
	Changed    []string   `json:"changed_gate_files,omitempty"`
	Log        string     `json:"log,omitempty"` // last 64 KiB
	LogCut     bool       `json:"log_truncated,omitempty"`
	Started    *time.Time `json:"started_at,omitempty"`
	Ended      *time.Time `json:"ended_at,omitempty"`
}

// Review is everything an approval is about.
type Review struct {
	TaskID   string      `json:"task_id"`
	Preview  git.Preview `json:"preview"`
	CI       CI          `json:"ci"`
	Approval *Approval   `json:"approval,omitempty"` // newest, while it holds
	// ApprovalStale says that there was an approval and it does not hold any
	// more, by what a merge itself would ask; the reason is for people.
	ApprovalStale       bool      `json:"approval_stale,omitempty"`
	ApprovalStaleReason string    `json:"approval_stale_reason,omitempty"`
	CanApprove          bool      `json:"can_approve"`
	Blockers            []Blocker `json:"blockers"`       // why not, spelled out
	Acks                []string  `json:"needs_acks"`     // acknowledgements an approval must carry: no_ci, gate_changed, truncated_diff
	BaseMoved           bool      `json:"base_moved"`     // target moved since the attempt began
	CheckedOut          bool      `json:"checked_out"`    // target is checked out in the user's work tree
	Note                string    `json:"note,omitempty"` // what a merge leaves alone: the checkout of the target
	LogHead             string    `json:"log_head"`       // hex
	Truncated           []string  `json:"truncated"`      // files the diff does not show whole
}

// Blocker is one reason why approval is locked. Code is stable, Message is for people.
type Blocker struct {
	Code    string `json:"code"`
	Message string `json:"message"`
}

// ApproveRequest names what the person saw; any difference refuses.
type ApproveRequest struct {
	Head       string   `json:"head"`
	TargetOID  string   `json:"target_oid"`
	ResultTree string   `json:"result_tree"`
	Acks       []string `json:"acks,omitempty"`
	Unviewed   []string `json:"unviewed,omitempty"`
}

// Statement is what is signed. Its JSON encoding, as stored, is what the
// signature covers.
type Statement struct {
	Version    int       `json:"version"`
	Task       string    `json:"task"`
	Repo       string    `json:"repo"`
	Target     string    `json:"target"`
	TargetOID  string    `json:"target_oid"`
	Head       string    `json:"head"`
	ResultTree string    `json:"result_tree"`
	GateHash   string    `json:"gate_hash"`
	CIID       string    `json:"ci_id"`
	CIState    CIState   `json:"ci_state"`
	Digest     string    `json:"image_digest"`
	Acks       []string  `json:"acks"`
	Unviewed   []string  `json:"unviewed"`
	Truncated  []string  `json:"truncated"`
	LogHead    string    `json:"log_head"`
	Actor      string    `json:"actor"` // person
	At         time.Time `json:"at"`
}

// Approval is a signed statement.
type Approval struct {
	ID        string          `json:"id"`
	Statement json.RawMessage `json:"statement"`
	Signature []byte          `json:"signature"` // Ed25519
	PublicKey []byte          `json:"public_key"`
	Seq       int64           `json:"audit_seq"`
	At        time.Time       `json:"at"`
}

// Merged is what a merge did.
type Merged struct {
	Commit    string `json:"commit"`
	Tree      string `json:"tree"`
	Target    string `json:"target"`
	TargetOID string `json:"target_oid"` // where it stood before
	Seq       int64  `json:"audit_seq"`
	Note      string `json:"note,omitempty"` // e.g. the checkout was left as it was
}
