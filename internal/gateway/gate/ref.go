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
// write gate changes that.
type Ref struct{}

// ReasonRef: a ref that agents may not write.
const ReasonRef = "protected-ref"

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
	}
	return Allow()
}

func example(prefixes []string) string {
	if len(prefixes) > 0 {
		return prefixes[0]
	}
	return policy.DefaultPrefix
}
