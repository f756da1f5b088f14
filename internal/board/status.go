package board

import "slices"

// transitions of a task's status. What is not listed does not happen.
var transitions = map[Status][]Status{
	StatusDraft:     {StatusQueued, StatusCancelled},
	StatusQueued:    {StatusPreparing, StatusFailed, StatusCancelled},
	StatusPreparing: {StatusRunning, StatusFailed, StatusCancelled},
	StatusRunning:   {StatusWaiting, StatusReviewing, StatusFailed, StatusCancelled},
	StatusWaiting:   {StatusWaiting, StatusRunning, StatusReviewing, StatusFailed, StatusCancelled},
	StatusReviewing: {StatusQueued, StatusMerging, StatusCancelled},
	StatusFailed:    {StatusQueued, StatusCancelled},
	StatusMerging:   {StatusDone, StatusReviewing},
}

func canMove(from, to Status) bool { return slices.Contains(transitions[from], to) }

// columnOf says where a card of this status lies.
func columnOf(s Status) Column {
	switch s {
	case StatusDraft:
		return ColumnInbox
	case StatusQueued, StatusPreparing, StatusRunning:
		return ColumnWorking
	case StatusMerging, StatusDone, StatusCancelled:
		return ColumnDone
	default:
		return ColumnNeeds
	}
}

func statusesOf(c Column) []Status {
	var all []Status
	for _, s := range []Status{
		StatusDraft, StatusQueued, StatusPreparing, StatusRunning, StatusWaiting,
		StatusReviewing, StatusMerging, StatusDone, StatusFailed, StatusCancelled, StatusStopped,
	} {
		if columnOf(s) == c {
			all = append(all, s)
		}
	}
	return all
}

// running says that a run of the task is queued or executing.
func (s Status) running() bool { return columnOf(s) == ColumnWorking || s == StatusWaiting }

// closed says that nothing more happens to the task.
func (s Status) closed() bool { return s == StatusDone || s == StatusCancelled }

// Next steps of a task, codes of Task.NextStep.
const (
	NextRun     = "run"
	NextReview  = "review"
	NextCI      = "ci"
	NextApprove = "approve"
	NextMerge   = "merge"
	NextResolve = "resolve"
	NextRetry   = "retry"
	NextAnswer  = "answer" // an ask
)
