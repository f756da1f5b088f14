package gate

import (
	"context"
	"net/http"
	"slices"

	"moeca/internal/gateway/upstream"
)

// Allowlist holds the request to what its session was granted: the upstream's
// exact name, and a target on exactly the host the upstream is configured for.
// The scripted model is refused to runs that nobody attends.
type Allowlist struct{}

// Reasons of the allowlist gate.
const (
	ReasonNotGranted = "not-granted"
	ReasonOtherHost  = "other-host"
	ReasonUnattended = "scripted-unattended"
	ReasonUnlisted   = "host-not-listed"
)

// Name of the gate.
func (Allowlist) Name() string { return "allowlist" }

// Decide compares names; an empty list grants nothing.
func (Allowlist) Decide(_ context.Context, r *Request) Decision {
	if !slices.Contains(r.Session.Scope.Upstreams, r.Upstream.Name) {
		return Deny(http.StatusForbidden, ReasonNotGranted, "this session was not granted the upstream %s; a person can add it to what the task, or the session, may reach", r.Upstream.Name)
	}
	if r.Upstream.Scripted && r.Session.Scope.Unattended {
		return Deny(http.StatusForbidden, ReasonUnattended, "%s is scripted and cannot stand in for a model while nobody watches", r.Upstream.Name)
	}
	if r.Target.Scheme != r.Upstream.Base.Scheme || r.Target.Host != r.Upstream.Base.Host || r.Target.User != nil {
		return Deny(http.StatusForbidden, ReasonOtherHost, "the target is not on the host of %s", r.Upstream.Name)
	}
	if r.Upstream.Kind == upstream.KindFetch && !r.Upstream.MayFetch(r.Target.Host) {
		return Deny(http.StatusForbidden, ReasonUnlisted, "%s is not on the list of %s; a person can add it to the hosts of that provider", r.Target.Host, r.Upstream.Name)
	}
	return Allow()
}
