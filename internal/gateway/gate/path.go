package gate

import (
	"context"
	"net/http"
	"slices"
	"strings"

	"moeca/internal/gateway/gatewayapi"
	"moeca/internal/gateway/policy"
)

// Path holds a request to the paths of its upstream's policy, if it lists any.
// It compares the canonical path below the base, so no spelling of another path
// looks like a listed one. It also fetches the policy for the gates after it.
type Path struct {
	Policies interface {
		Get(upstream string) gatewayapi.Policy
	}
}

// ReasonNotListed: the upstream's policy lists paths, and this is none.
const ReasonNotListed = "path-not-listed"

// Name of the gate.
func (Path) Name() string { return "path" }

// Decide fills Policy.
func (g Path) Decide(_ context.Context, r *Request) Decision {
	r.Policy = g.Policies.Get(r.Upstream.Name)
	if len(r.Policy.Paths) == 0 || slices.ContainsFunc(r.Policy.Paths, func(p string) bool { return policy.MatchPath(p, below(r)) }) {
		return Allow()
	}
	return Deny(http.StatusForbidden, ReasonNotListed, "the policy of %s lists the paths that may be requested, and %s is none of them; a person can add it", r.Upstream.Name, clip(below(r)))
}

// below is the canonical path below the upstream's base.
func below(r *Request) string {
	if rest := strings.TrimPrefix(r.Target.Path, r.Upstream.Base.Path); rest != "" {
		return rest
	}
	return "/"
}
