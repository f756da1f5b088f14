package hostapi

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"moeca/internal/gateway/gatewayapi"
)

// Policies are what a person added to what the kind of a provider permits. The
// gateway keeps them and makes a row of each change; the types are its own.
type Policies interface {
	Policy(ctx context.Context, provider string) (ProviderPolicy, error)
	PatchPolicy(ctx context.Context, provider string, p gatewayapi.PolicyPatch) (ProviderPolicy, error)
}

// ProviderPolicy is the whole set of rules of a provider: what was added, and
// what its kind ships with.
type ProviderPolicy struct {
	Policy  gatewayapi.Policy  `json:"policy"`
	Shipped gatewayapi.Shipped `json:"shipped"`
}

func (s *Server) registerPolicies() {
	p := s.deps.Policies
	huma.Register(s.api, op(ScopeRead, "get-policy", http.MethodGet, "/api/providers/{name}/policy", "What agents may do at a provider: rules that were added, and those its kind ships with"),
		func(ctx context.Context, in *ProviderName) (*body[ProviderPolicy], error) {
			policy, err := p.Policy(ctx, in.Name)
			return answer(s, policy, err)
		})
	huma.Register(s.api, op(ScopeSecret, "patch-policy", http.MethodPatch, "/api/providers/{name}/policy", "Change rules of a provider; absent lists stay"),
		func(ctx context.Context, in *struct {
			ProviderName
			Body gatewayapi.PolicyPatch
		},
		) (*body[ProviderPolicy], error) {
			policy, err := p.PatchPolicy(ctx, in.Name, in.Body)
			return answer(s, policy, err)
		})
}
