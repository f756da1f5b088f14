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
// "block" refuses. "ask" refuses too, with a reason of its own: the gateway has
// no way to reach a person, who permits the operation by changing the rule.
// "warn" passes and puts a warning into the row of the request.
type Forbidden struct{}

// Reasons of the forbidden gate.
const (
	ReasonForbidden = "forbidden"
	ReasonAsk       = "needs-person"
)

// Name of the gate.
func (Forbidden) Name() string { return "forbidden" }

// Decide looks at every operation and fills Warnings.
func (Forbidden) Decide(_ context.Context, r *Request) Decision {
	for _, op := range r.Operations {
		effect := ""
		for _, rule := range r.Policy.Forbidden {
			if policy.Matches(rule.OperationRule, r.HTTP.Method, below(r), op) && severity(rule.Effect) > severity(effect) {
				effect = rule.Effect
			}
		}
		switch effect {
		case "":
		case gatewayapi.EffectWarn:
			r.Warnings = append(r.Warnings, op.Name)
		case gatewayapi.EffectAsk:
			return Deny(http.StatusForbidden, ReasonAsk, "%s needs a person at %s: the rule in its policy says ask; a person can change the rule", op.Name, r.Upstream.Name)
		default:
			return Deny(http.StatusForbidden, ReasonForbidden, "%s is forbidden by the policy of %s", op.Name, r.Upstream.Name)
		}
	}
	return Allow()
}

// severity: an effect that is not known blocks.
func severity(effect string) int {
	switch effect {
	case "":
		return 0
	case gatewayapi.EffectWarn:
		return 1
	case gatewayapi.EffectAsk:
		return 2
	}
	return 3
}
