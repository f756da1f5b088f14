package board

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"moeca/internal/gateway/gatewayapi"
)

// StatementVersion is the version of Statement.
const StatementVersion = 1

// statementContext goes in front of what is signed, so that the key's
// signatures mean approvals and nothing else.
const statementContext = "moeca approval v1\n"

// Approve signs that actor agrees to exactly the result named in req. Any
// difference to what is there now refuses.
func (s *Service) Approve(ctx context.Context, key string, req ApproveRequest, actor Actor) (Approval, error) {
	if err := actor.mustBePerson("approve"); err != nil {
		return Approval{}, err
	}
	t, unlock, err := s.lockTask(ctx, key)
	if err != nil {
		return Approval{}, err
	}
	defer unlock()
	return s.approve(ctx, t, req, actor)
}

func (a Actor) mustBePerson(what string) error {
	if a.Person && strings.TrimSpace(a.Name) != "" {
		return nil
	}
	return refuse(Forbidden, "person_required", "do it in the window, or at a terminal", "only a person may %s", what)
}

func (s *Service) approve(ctx context.Context, t Task, req ApproveRequest, actor Actor) (Approval, error) {
	if err := s.trusted(ctx); err != nil {
		return Approval{}, err
	}
	f, err := s.look(ctx, t)
	if err != nil {
		return Approval{}, err
	}
	if err := f.admits(req); err != nil {
		return Approval{}, err
	}
	doc, err := json.Marshal(f.statement(req, actor, s))
	if err != nil {
		return Approval{}, fmt.Errorf("board: encode statement: %w", err)
	}
	sig, err := s.Signer.Sign(signed(doc))
	if err != nil {
		return Approval{}, &Error{
			Kind: Unavailable, Code: "key_unavailable", Err: err, Message: "the approval key cannot be used",
			Next: "unlock the key store; nothing was approved",
		}
	}
	a := Approval{ID: s.NewID(), Statement: doc, Signature: sig, PublicKey: s.Signer.Public(), At: s.Now().UTC()}
	detail, err := json.Marshal(a)
	if err != nil {
		return Approval{}, fmt.Errorf("board: encode approval: %w", err)
	}
	s.step("approval-append")
	// From here on a request that goes away must not leave a row without its approval.
	ctx = context.WithoutCancel(ctx)
	row, err := s.Ledger.Append(ctx, gatewayapi.AppendRequest{
		Kind: "approval", Actor: "person", Task: t.ID, Subject: t.Target, Detail: detail,
	})
	if err != nil {
		return Approval{}, &Error{
			Kind: Unavailable, Code: "audit_unavailable", Err: err,
			Message: "the audit log did not take the approval, so it does not count", Next: "see moeca doctor, then approve again",
		}
	}
	a.Seq = row.Seq
	s.step("approval-store")
	err = s.change(ctx, func(c *change) error {
		if err := c.exec(ctx, `INSERT INTO approvals (id, task_id, statement, signature, public_key, seq, at) VALUES (?, ?, ?, ?, ?, ?, ?)`,
			a.ID, t.ID, string(doc), a.Signature, []byte(a.PublicKey), a.Seq, a.At.UnixMilli()); err != nil {
			return err
		}
		c.taskChanged(t.ID)
		return c.exec(ctx, `UPDATE tasks SET cause = 'approved; ready to merge', next_step = ?, version = version + 1, updated_at = ? WHERE id = ?`,
			NextMerge, s.Now().UnixMilli(), t.ID)
	})
	if err != nil {
		return Approval{}, wrap("store approval", err)
	}
	return a, nil
}

// admits refuses unless the request is about exactly what is there now.
func (f *facts) admits(req ApproveRequest) error {
	r := f.review
	if !r.CanApprove {
		return locked("approval_locked", r.Blockers)
	}
	p := r.Preview
	for _, d := range []struct{ what, seen, now string }{
		{"head", req.Head, p.Head}, {"target", req.TargetOID, p.TargetOID}, {"result", req.ResultTree, p.ResultTree},
	} {
		if d.seen == "" || d.seen != d.now {
			return refuse(Conflict, "review_changed", "look at the review again", "the %s is not what you saw (%s), it is %s now; nothing was approved", d.what, or(d.seen, "nothing"), d.now)
		}
	}
	for _, a := range r.Acks {
		if !slices.Contains(req.Acks, a) {
			return refuse(Locked, "ack_missing", "acknowledge "+a, "%s; this has to be acknowledged (%s)", ackMeaning(a), a)
		}
	}
	for _, a := range req.Acks {
		if !slices.Contains(r.Acks, a) {
			return refuse(Invalid, "ack_unknown", "look at the review again", "there is nothing to acknowledge as %q", a)
		}
	}
	return nil
}

func locked(code string, blockers []Blocker) error {
	var why []string
	for _, b := range blockers {
		why = append(why, b.Message)
	}
	return refuse(Locked, code, "remove what stands against it, then look at the review again", "not now: %s", strings.Join(why, "; "))
}

func ackMeaning(ack string) string {
	switch ack {
	case AckNoCI:
		return "no CI gate checked this work"
	case AckGateChanged:
		return "the work changes files the CI gate depends on"
	case AckTruncated:
		return "the diff does not show every file whole"
	}
	return ack
}

func (f *facts) statement(req ApproveRequest, actor Actor, s *Service) Statement {
	r, p := f.review, f.review.Preview
	return Statement{
		Version: StatementVersion, Task: f.task.ID, Repo: f.repo.Path, Target: p.Target, TargetOID: p.TargetOID,
		Head: p.Head, ResultTree: p.ResultTree, GateHash: f.gateHash, CIID: r.CI.ID, CIState: r.CI.State, Digest: r.CI.Digest,
		Acks: sorted(r.Acks), Unviewed: bounded(req.Unviewed), Truncated: bounded(r.Truncated),
		LogHead: r.LogHead, Actor: "person:" + strings.TrimSpace(actor.Name), At: s.Now().UTC(),
	}
}

func sorted(v []string) []string {
	v = slices.Clone(nonNil(v))
	slices.Sort(v)
	return slices.Compact(v)
}

// maxListed is how many bytes of paths a statement spells out.
const maxListed = 128 << 10

// bounded is sorted, with what does not fit into a row of the log replaced by
// one entry that stands for it: number and hash of the whole list.
func bounded(paths []string) []string {
	all := sorted(paths)
	size := 0
	for i, p := range all {
		if size += len(p) + 1; size > maxListed {
			sum := sha256.Sum256([]byte(strings.Join(all, "\x00")))
			return append(all[:i:i], fmt.Sprintf("and %d more; sha256 of all %d: %x", len(all)-i, len(all), sum))
		}
	}
	return all
}

func signed(statement []byte) []byte { return append([]byte(statementContext), statement...) }

// Verify checks an approval's signature and returns its statement. It does not
// say whether the key is the right one.
func (a Approval) Verify() (Statement, error) {
	if len(a.PublicKey) != ed25519.PublicKeySize || !ed25519.Verify(a.PublicKey, signed(a.Statement), a.Signature) {
		return Statement{}, refuse(Locked, "signature_invalid", "approve again", "the approval's signature is not valid")
	}
	d := json.NewDecoder(bytes.NewReader(a.Statement))
	d.DisallowUnknownFields()
	var st Statement
	if err := d.Decode(&st); err != nil {
		return Statement{}, refuse(Locked, "statement_unreadable", "approve again", "the approval's statement cannot be read: %v", err)
	}
	if st.Version != StatementVersion {
		return Statement{}, refuse(Locked, "statement_version", "approve again", "the approval has version %d, this is %d", st.Version, StatementVersion)
	}
	return st, nil
}

// judgeApproval offers the newest approval only while it holds: a merge asks
// the same questions.
func (s *Service) judgeApproval(f *facts) {
	r := &f.review
	r.Approval = f.approval
	if f.approval == nil || f.task.Status.closed() || f.task.Status == StatusMerging {
		return
	}
	if why := s.staleReason(f); why != "" {
		r.Approval, r.ApprovalStale, r.ApprovalStaleReason = nil, true, why
	}
}

// staleReason says why the approval does not hold any more, or "".
func (s *Service) staleReason(f *facts) string {
	st, err := s.statementOf(*f.approval)
	if err != nil {
		return err.Error()
	}
	if what := f.drifted(st); what != "" {
		return fmt.Sprintf("the %s changed after it was approved", what)
	}
	return ""
}

// statementOf verifies an approval of this host's key.
func (s *Service) statementOf(a Approval) (Statement, error) {
	if !bytes.Equal(a.PublicKey, s.Signer.Public()) {
		return Statement{}, refuse(Locked, "key_changed", "approve again", "the approval was signed with another key")
	}
	return a.Verify()
}

// drifted names what is not as the statement has it, or "".
func (f *facts) drifted(st Statement) string {
	r, p := f.review, f.review.Preview
	head := ""
	if f.task.Attempt != nil {
		head = f.task.Attempt.HeadOID
	}
	for _, d := range []struct{ what, then, now string }{
		{"task", st.Task, f.task.ID},
		{"repository", st.Repo, f.repo.Path},
		{"work", st.Head, head},
		{"target branch", st.Target, p.Target},
		{"head", st.Head, p.Head},
		{"target", st.TargetOID, p.TargetOID},
		{"result", st.ResultTree, p.ResultTree},
		{"gate", st.GateHash, f.gateHash},
		{"gate run", st.CIID, r.CI.ID},
		{"gate result", string(st.CIState), string(r.CI.State)},
		{"gate image", st.Digest, r.CI.Digest},
		{"list of acknowledgements", strings.Join(st.Acks, " "), strings.Join(sorted(r.Acks), " ")},
		{"list of hidden files", strings.Join(st.Truncated, "\x00"), strings.Join(bounded(r.Truncated), "\x00")},
	} {
		if d.then != d.now {
			return d.what
		}
	}
	return ""
}

// holds says whether the statement is still about exactly what is there, and
// nothing else speaks against a merge.
func (f *facts) holds(st Statement) error {
	if what := f.drifted(st); what != "" {
		return refuse(Conflict, "approval_stale", "look at the review again and approve what is there now",
			"the %s changed after it was approved; nothing was merged", what)
	}
	if !f.review.CanApprove {
		return locked("merge_locked", f.review.Blockers)
	}
	return nil
}
