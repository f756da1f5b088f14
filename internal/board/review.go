package board

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"

	"moeca/internal/ci"
	"moeca/internal/diff"
	"moeca/internal/git"
)

// Acknowledgements an approval may have to carry.
const (
	AckNoCI        = "no_ci"
	AckGateChanged = "gate_changed"
	AckTruncated   = "truncated_diff"
)

// facts is everything a decision about a task rests on, seen at one time.
type facts struct {
	task     Task
	repo     Repo
	source   Source
	store    Store
	gateHash string
	worktree string    // where the target is checked out
	gone     bool      // the target branch is
	approval *Approval // newest, whether it holds or not
	review   Review
}

// Review looks at everything an approval is about, now.
func (s *Service) Review(ctx context.Context, key string) (Review, error) {
	t, err := s.Task(ctx, key)
	if err != nil {
		return Review{}, err
	}
	f, err := s.look(ctx, t)
	if err != nil {
		return Review{}, err
	}
	return f.review, s.refresh(ctx, f)
}

// look gathers the facts. What cannot be found out is a blocker, or an error
// where nothing could be shown at all.
func (s *Service) look(ctx context.Context, t Task) (*facts, error) {
	f := &facts{task: t}
	f.review = Review{TaskID: t.ID, Blockers: []Blocker{}, Acks: []string{}, Truncated: []string{}}
	var err error
	if f.repo, err = s.Repo(ctx, t.RepoID); err != nil {
		return nil, err
	}
	if err := s.lookStored(ctx, f); err != nil {
		return nil, wrap("review task", err)
	}
	if f.block(f.taskBlockers()...); t.Attempt == nil || t.Attempt.HeadOID == "" || t.Status.closed() {
		f.settle()
		s.judgeApproval(f)
		return f, nil
	}
	if f.source, f.store, err = s.open(ctx, f.repo); err != nil {
		return nil, err
	}
	if err := s.lookAtGit(ctx, f); err != nil {
		return nil, wrap("review task", err)
	}
	f.judgeCI(s.checks.Digest)
	f.settle()
	s.judgeApproval(f)
	return f, nil
}

// lookStored reads gate result, approval and the head of the audit log.
func (s *Service) lookStored(ctx context.Context, f *facts) error {
	f.review.CI = CI{State: CINone}
	if f.repo.CI != nil {
		hash, err := ci.Gate(*f.repo.CI).Hash()
		if err != nil {
			return err
		}
		f.gateHash = hash
		f.review.CI.State = CIPending
	}
	if err := s.DB.Read(ctx, func(tx *sql.Tx) error {
		got, err := readCheck(ctx, tx, f.task.ID)
		if err != nil {
			return err
		}
		if got != nil && f.repo.CI != nil {
			f.review.CI = *got
		}
		f.approval, err = readApproval(ctx, tx, f.task.ID)
		return err
	}); err != nil {
		return err
	}
	head, err := s.logHead()
	if err != nil {
		return err
	}
	f.review.LogHead = head
	return nil
}

func (f *facts) block(b ...Blocker) { f.review.Blockers = append(f.review.Blockers, b...) }

// taskBlockers are those that need no look at the repository.
func (f *facts) taskBlockers() []Blocker {
	t := f.task
	switch {
	case t.Status == StatusDone:
		return []Blocker{{"task_done", "the task is merged already"}}
	case t.Status == StatusCancelled:
		return []Blocker{{"task_cancelled", "the task was cancelled"}}
	case t.Status == StatusMerging:
		return []Blocker{{"merging", "the task is being merged"}}
	case t.Attempt == nil:
		return []Blocker{{"not_run", "the task has not run yet"}}
	case t.Status.running():
		return []Blocker{{"run_active", "the agent is still working"}}
	case t.Status == StatusFailed:
		return []Blocker{{"run_failed", "the run did not succeed: " + t.Cause}}
	case t.Status != StatusReviewing:
		return []Blocker{{"not_reviewing", "the task is " + string(t.Status)}}
	}
	return nil
}

// lookAtGit previews the merge and finds out what a diff would not show.
func (s *Service) lookAtGit(ctx context.Context, f *facts) error {
	t, r := f.task, &f.review
	r.Preview = git.Preview{Target: t.Target, Head: t.Attempt.HeadOID}
	if f.gone = !slices.Contains(f.source.Info().Branches, t.Target); f.gone {
		f.block(Blocker{"target_gone", fmt.Sprintf("the branch %q of %s is gone: create it again, or cancel this and create a task for another branch", t.Target, f.repo.Name)})
		return nil
	}
	p, err := f.store.Preview(ctx, t.Target, t.Attempt.HeadOID)
	if err != nil {
		return err
	}
	r.Preview = p
	r.BaseMoved = p.TargetOID != t.Attempt.Target
	if f.worktree, err = f.source.CheckedOut(ctx, t.Target); err != nil {
		return err
	}
	if f.worktree != "" {
		r.CheckedOut = true
		if err := s.DB.Read(ctx, func(tx *sql.Tx) error {
			b, err := behindOf(ctx, tx, t.RepoID, t.Target, f.worktree, p.TargetOID)
			r.Note = b.before(t.Target)
			return err
		}); err != nil {
			return err
		}
	}
	switch {
	case p.UpToDate || t.Attempt.HeadOID == t.Attempt.BaseOID:
		f.block(Blocker{"nothing_to_merge", "the work adds nothing to " + t.Target})
		return nil
	case len(p.Conflicts) > 0:
		f.block(Blocker{"conflict", "the work does not merge into " + t.Target + ": " + paths(p.Conflicts)})
		return nil
	case p.ResultTree == "":
		f.block(Blocker{"no_result", "the merge has no result"})
		return nil
	}
	if r.Truncated, err = s.truncated(ctx, f.store, p.TargetOID, p.ResultTree); err != nil {
		return err
	}
	if len(r.Truncated) > 0 {
		r.Acks = append(r.Acks, AckTruncated)
	}
	return nil
}

func paths(conflicts []git.Conflict) string {
	const most = 10
	var names []string
	for _, c := range conflicts[:min(most, len(conflicts))] {
		names = append(names, c.Path)
	}
	if n := len(conflicts) - most; n > 0 {
		names = append(names, fmt.Sprintf("and %d more", n))
	}
	return strings.Join(names, ", ")
}

// judgeCI compares the stored result with what it would have to be about now.
func (f *facts) judgeCI(digest func(policy string) (string, bool)) {
	c, p := &f.review.CI, f.review.Preview
	if f.repo.CI == nil {
		f.review.Acks = append(f.review.Acks, AckNoCI)
		return
	}
	if c.ID != "" && f.stale(digest) {
		c.State = CIStale
	}
	c.ResultTree, c.TargetOID = or(c.ResultTree, p.ResultTree), or(c.TargetOID, p.TargetOID)
	switch c.State {
	case CIPassed:
	case CIPassedDrift:
		f.review.Acks = append(f.review.Acks, AckGateChanged)
	case CIPending:
		f.block(Blocker{"ci_pending", "the CI gate has not run on this result"})
	case CIRunning:
		f.block(Blocker{"ci_running", "the CI gate is running"})
	case CIStale:
		f.block(Blocker{"ci_stale", "the CI gate ran on something else: the work, " + f.task.Target + ", the gate or its image changed since"})
	case CIError:
		f.block(Blocker{"ci_error", "the CI gate could not be run: " + c.Cause})
	default: // failed, and whatever else there may be
		f.block(Blocker{"ci_failed", "the CI gate failed: " + c.Cause})
	}
}

func (f *facts) stale(digest func(policy string) (string, bool)) bool {
	c, p := f.review.CI, f.review.Preview
	if c.ResultTree != p.ResultTree || c.TargetOID != p.TargetOID || c.Head != p.Head || c.GateHash != f.gateHash {
		return true
	}
	now, known := digest(f.repo.CI.Policy)
	return known && c.Digest != "" && c.Digest != now
}

func or(a, b string) string {
	if a != "" {
		return a
	}
	return b
}

// settle decides. Approval is locked unless nothing speaks against it.
func (f *facts) settle() {
	f.review.CanApprove = len(f.review.Blockers) == 0 && f.review.Preview.ResultTree != "" &&
		(f.repo.CI == nil || f.review.CI.State == CIPassed || f.review.CI.State == CIPassedDrift)
	if !f.review.CanApprove && len(f.review.Blockers) == 0 {
		f.block(Blocker{"not_ready", "there is nothing to approve"})
	}
}

// Diff returns what a merge would change in the target, or, where the work does
// not merge or the target is gone, what it changed since it began.
func (s *Service) Diff(ctx context.Context, key string, o DiffOptions) (diff.Set, error) {
	t, err := s.Task(ctx, key)
	if err != nil {
		return diff.Set{}, err
	}
	if t.Attempt == nil || t.Attempt.HeadOID == "" {
		return diff.Set{}, refuse(Conflict, "no_result", "run the task first", "task %d has no result yet", t.Number)
	}
	repo, err := s.Repo(ctx, t.RepoID)
	if err != nil {
		return diff.Set{}, err
	}
	src, store, err := s.open(ctx, repo)
	if err != nil {
		return diff.Set{}, err
	}
	from, to := t.Attempt.BaseOID, t.Attempt.HeadOID
	if !t.Status.closed() && slices.Contains(src.Info().Branches, t.Target) {
		p, err := store.Preview(ctx, t.Target, t.Attempt.HeadOID)
		if err != nil {
			return diff.Set{}, wrap("diff task", err)
		}
		switch {
		case p.ResultTree != "":
			from, to = p.TargetOID, p.ResultTree
		case p.MergeBase != "":
			from = p.MergeBase
		}
	}
	defaults(&o.MaxFileLines, DiffLines)
	set, err := store.Diff(ctx, from, to, o)
	return set, wrap("diff task", err)
}

// truncations remembers which files a diff does not show whole; a pair of
// objects never changes.
type truncations struct {
	mu   sync.Mutex
	keys []string
	of   map[string][]string
}

const truncationsKept = 64

func (s *Service) truncated(ctx context.Context, st Store, from, to string) ([]string, error) {
	c, key := &s.cuts, from+".."+to
	c.mu.Lock()
	got, ok := c.of[key]
	c.mu.Unlock()
	if ok {
		return slices.Clone(got), nil
	}
	set, err := st.Diff(ctx, from, to, DiffOptions{MaxFileLines: DiffLines})
	if err != nil {
		return nil, err
	}
	files := []string{}
	for _, f := range set.Files {
		if f.Truncated {
			files = append(files, f.Path)
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.of == nil {
		c.of = map[string][]string{}
	}
	if len(c.keys) == truncationsKept {
		delete(c.of, c.keys[0])
		c.keys = c.keys[1:]
	}
	c.keys, c.of[key] = append(c.keys, key), files
	return slices.Clone(files), nil
}

// readApproval returns the newest approval of a task, or nil.
func readApproval(ctx context.Context, q querier, task string) (*Approval, error) {
	var a Approval
	var statement string
	var ms int64
	err := q.QueryRowContext(ctx, `SELECT id, statement, signature, public_key, seq, at FROM approvals WHERE task_id = ? ORDER BY seq DESC LIMIT 1`, task).
		Scan(&a.ID, &statement, &a.Signature, &a.PublicKey, &a.Seq, &ms)
	if err == sql.ErrNoRows {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	a.Statement, a.At = json.RawMessage(statement), at(ms)
	return &a, nil
}
