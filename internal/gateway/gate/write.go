package gate

import (
	"context"
	"maps"
	"net/http"
	"slices"

	"moeca/internal/gateway/gatewayapi"
	"moeca/internal/gateway/policy"
	"moeca/internal/gateway/upstream"
)

// Write refuses whatever would change something, unless it is known to be
// permitted. What a write is depends on the upstream: a model call is a POST
// and changes nothing, a search is a POST that reads, "?action=delete" is a GET
// that does not; package policy holds the tables.
//
// A request is read into operations, and every one of them must pass. It must
// be readable in one way. It must not be one of those that are for a person.
// Its repository, where the upstream is one of repositories, must be the
// session's, also for a read. And it must be shipped as permitted, or be named
// by a write rule that the user added.
type Write struct{}

// Reasons of the write gate.
const (
	ReasonUnclear    = "unclear"        // no single reading
	ReasonNever      = "for-a-person"   // no rule can permit it
	ReasonRepository = "not-your-repo"  // outside the session's repositories
	ReasonNoRule     = "no-write-rule"  // a write that nothing permits
	ReasonNoRead     = "read-elsewhere" // a read of something else than the session's repositories
)

// Name of the gate.
func (Write) Name() string { return "write" }

// Decide fills Operations, and sets the class of a request that only reads.
func (Write) Decide(_ context.Context, r *Request) Decision {
	operations, err := operationsOf(r)
	if err != nil || len(operations) == 0 {
		return Deny(http.StatusForbidden, ReasonUnclear, "what this would do at %s cannot be told: %v", r.Upstream.Name, err)
	}
	for _, op := range operations {
		if d := permit(r, op); !d.Allowed {
			return d
		}
	}
	r.Operations = operations
	writes := slices.ContainsFunc(operations, func(op policy.Operation) bool { return !op.Read })
	switch {
	case r.Class == upstream.Write && !writes:
		r.Class = upstream.Read
	case r.Class == upstream.Read && writes: // "?action=delete" by GET is as durable as any write
		r.Class = upstream.Write
	}
	return Allow()
}

func operationsOf(r *Request) ([]policy.Operation, error) {
	if r.Upstream.Model() {
		return []policy.Operation{modelOperation(r)}, nil
	}
	return policy.Parse(policy.Input{
		Kind: r.Upstream.Kind, Method: r.HTTP.Method, Path: below(r), Query: r.Target.RawQuery,
		Header: r.HTTP.Header, Body: r.Body, Repositories: repositoryIDs(r),
	})
}

// repositoryIDs are those of the policy and of the session. Where they differ
// about a repository, neither is believed.
func repositoryIDs(r *Request) map[string]int64 {
	own := r.Session.Scope.RepoIDs
	if len(own) == 0 {
		return r.Policy.RepositoryIDs
	}
	all := maps.Clone(own)
	for name, id := range r.Policy.RepositoryIDs {
		if mine, ok := own[name]; ok && mine != id {
			delete(all, name)
			continue
		}
		all[name] = id
	}
	return all
}

// modelOperation: a model upstream ships what its dialect's table names.
// Endpoints that keep something at the provider are the capability gate's.
func modelOperation(r *Request) policy.Operation {
	op := policy.Operation{Name: r.Upstream.Kind + "." + r.Class.String()}
	var kept needs
	kept.path(below(r))
	op.Read = r.HTTP.Method == http.MethodGet || r.HTTP.Method == http.MethodHead
	op.Shipped = op.Read || r.Class != upstream.Unknown || len(kept.grants) > 0
	return op
}

func permit(r *Request, op policy.Operation) Decision {
	switch name := r.Upstream.Name; {
	case op.Never != "":
		return Deny(http.StatusForbidden, ReasonNever, "%s is refused: %s", op.Name, op.Never)
	case op.Repo != "" && !policy.Holds(r.Session.Scope.Repos, op.Repo):
		return Deny(http.StatusForbidden, ReasonRepository, "the repository %s is not one of this session's; a person can name it for the session", clip(op.Repo))
	case op.Shipped || ruled(r.Policy.Writes, r, op):
		return Allow()
	case op.Read:
		return Deny(http.StatusForbidden, ReasonNoRead, "%s reads what is not in the repositories of this session; a rule for %s in the policy of %s would permit it", op.Name, op.Name, name)
	default:
		return Deny(http.StatusForbidden, ReasonNoRule, "%s writes are refused unless a rule permits them; none in the policy of %s names %s, or %s %s", name, name, op.Name, r.HTTP.Method, clip(below(r)))
	}
}

func ruled(rules []gatewayapi.OperationRule, r *Request, op policy.Operation) bool {
	return slices.ContainsFunc(rules, func(rule gatewayapi.OperationRule) bool {
		return policy.Permits(rule, r.HTTP.Method, below(r), op)
	})
}
