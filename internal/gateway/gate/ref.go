package gate

import (
	"context"
	"net/http"
	"slices"

	"moeca/internal/gateway/policy"
)

// Ref keeps agents off protected branches: main, master, develop, the target of
// the task, and what the policy of the upstream adds. A branch that an agent
// writes must also lie under a prefix where agents may write. No rule of the
// write gate changes that. Nor may a branch that exists be rewritten: a push that
// moves one must show that it moves forward.
type Ref struct{}

// Reasons of the ref gate.
const (
	ReasonRef    = "protected-ref"    // a ref that agents may not write
	ReasonForced = "not-fast-forward" // a branch would be rewritten, or nothing shows that it would not
)

// Name of the gate.
func (Ref) Name() string { return "ref" }

// Decide looks at the refs of every operation.
func (Ref) Decide(_ context.Context, r *Request) Decision {
	protected := slices.Concat(r.Session.Scope.ProtectRefs, r.Policy.ProtectedRefs)
	for _, op := range r.Operations {
		for _, ref := range op.Refs {
			if fault := policy.RefFault(ref, r.Policy.BranchPrefixes, protected); fault != "" {
				return Deny(http.StatusForbidden, ReasonRef, "%s may not write %s: %s; write a branch such as %s", op.Name, clip(ref), fault, policy.Heads+example(r.Policy.BranchPrefixes)+"change")
			}
		}
		if op.Forced != "" {
			return Deny(http.StatusForbidden, ReasonForced, "%s is refused: %s; push to a new branch such as %s, merge the old commit into a new one (git merge --no-ff), or let a person push", op.Name, op.Forced, policy.Heads+example(r.Policy.BranchPrefixes)+"change-2")
		}
	}
	return Allow()
}

func example(prefixes []string) string {
	if len(prefixes) > 0 {
		return prefixes[0]
	}
	return policy.DefaultPrefix
}
