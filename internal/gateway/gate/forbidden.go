package gate

import (
	"context"
	"net/http"

	"moeca/internal/gateway/gatewayapi"
	"moeca/internal/gateway/policy"
)

// Forbidden stops operations that are permitted in general and forbidden by the
// policy of their upstream: reads as well as writes. Of all rules that name an
// operation the most severe counts, not the first.
//
// "block" refuses. "warn" passes and puts a warning into the row of the request.
// "ask" refuses where nobody is there to answer: of an unattended session and of
// the host's own calls. Else the gate notes what it would ask and lets the chain
// go on; the gateway holds what every gate let pass until a person has answered.
type Forbidden struct{}

// Reasons of the forbidden gate. All but the first two are given by the gateway,
// which holds the request.
const (
	ReasonForbidden = "forbidden"
	ReasonAsk       = "needs-person"      // and nobody attends the session
	ReasonRefused   = "person-refused"    // a person said no
	ReasonNoAnswer  = "nobody-answered"   // in time
	ReasonManyAsks  = "too-many-asks"     // as many as may wait do
	ReasonChanged   = "changed-meanwhile" // what it would do is not what was asked about
)

// Asking is an operation that a rule wants a person asked about.
type Asking struct {
	Operation string
	Rule      gatewayapi.OperationRule
}

// Name of the gate.
func (Forbidden) Name() string { return "forbidden" }

// Decide looks at every operation and fills Warnings and Asks.
func (Forbidden) Decide(_ context.Context, r *Request) Decision {
	scope := r.Session.Scope
	for _, op := range r.Operations {
		rule, found := severest(r, op)
		switch {
		case !found:
		case rule.Effect == gatewayapi.EffectWarn:
			r.Warnings = append(r.Warnings, op.Name)
		case rule.Effect == gatewayapi.EffectAsk && (scope.Unattended || scope.Service):
			return Deny(http.StatusForbidden, ReasonAsk, "%s needs a person at %s, and nobody attends this session; a person can run it attended, or change the rule in its policy", op.Name, r.Upstream.Name)
		case rule.Effect == gatewayapi.EffectAsk:
			r.Asks = append(r.Asks, Asking{op.Name, rule.OperationRule})
		default:
			return Deny(http.StatusForbidden, ReasonForbidden, "%s is forbidden by the policy of %s; a person can change the rule", op.Name, r.Upstream.Name)
		}
	}
	return Allow()
}

func severest(r *Request, op policy.Operation) (most gatewayapi.ForbiddenRule, found bool) {
	for _, rule := range r.Policy.Forbidden {
		if policy.Covers(rule.OperationRule, r.HTTP.Method, below(r), op) && (!found || severity(rule.Effect) > severity(most.Effect)) {
			most, found = rule, true
		}
	}
	return most, found
}

// severity: an effect that is not known blocks.
func severity(effect string) int {
	switch effect {
	case gatewayapi.EffectWarn:
		return 1
	case gatewayapi.EffectAsk:
		return 2
	}
	return 3
}
