package gate

import (
	"context"
	"net/http"
)

// Key refuses a call to an upstream that needs a key while none is set: sent
// without one it could only fail, and it would leave this machine to do so.
type Key struct{}

// ReasonNoKey: no key is set.
const ReasonNoKey = "no-key"

// Name of the gate.
func (Key) Name() string { return "key" }

// Decide looks whether there is a key, not at it.
func (Key) Decide(_ context.Context, r *Request) Decision {
	if r.Upstream.Auth.NeedsKey() && r.Upstream.Key.Empty() {
		return Deny(http.StatusForbidden, ReasonNoKey, "no key is set for %s: set one with `moeca provider set-key %s`", r.Upstream.Name, r.Upstream.Name)
	}
	return Allow()
}
