package stack

import (
	"context"
	"fmt"

	"moeca/internal/board"
	"moeca/internal/gateway/gatewayapi"
	"moeca/internal/hostapi"
)

// policies passes on to the gateway, which keeps policies beside its log and
// makes a row of each change.
type policies struct{ admin *gatewayapi.Client }

// Policy implements hostapi.Policies.
func (p policies) Policy(ctx context.Context, provider string) (hostapi.ProviderPolicy, error) {
	shipped, err := p.admin.Shipped(ctx, provider)
	if err != nil {
		return hostapi.ProviderPolicy{}, ofPolicy(provider, err)
	}
	policy, err := p.admin.Policy(ctx, provider)
	return hostapi.ProviderPolicy{Policy: policy, Shipped: shipped}, ofPolicy(provider, err)
}

// PatchPolicy implements hostapi.Policies.
func (p policies) PatchPolicy(ctx context.Context, provider string, patch gatewayapi.PolicyPatch) (hostapi.ProviderPolicy, error) {
	shipped, err := p.admin.Shipped(ctx, provider) // a policy of nobody would wait for whoever takes the name
	if err != nil {
		return hostapi.ProviderPolicy{}, ofPolicy(provider, err)
	}
	policy, err := p.admin.PatchPolicy(ctx, provider, patch)
	return hostapi.ProviderPolicy{Policy: policy, Shipped: shipped}, ofPolicy(provider, err)
}

func ofPolicy(provider string, err error) error {
	if gatewayapi.IsNotFound(err) {
		return notFound(provider)
	}
	return ofGateway(err, board.Invalid, "correct the rule; `moeca provider policy "+provider+"` shows what is set")
}

// forgetPolicy removes what was added to the rules of a name, so that a provider
// that takes the name later begins with the shipped ones.
func forgetPolicy(ctx context.Context, admin *gatewayapi.Client, provider string) error {
	p, err := admin.Policy(ctx, provider)
	if err == nil && len(p.Writes)+len(p.Paths)+len(p.Forbidden)+len(p.BranchPrefixes)+len(p.ProtectedRefs)+len(p.RepositoryIDs) == 0 {
		return nil
	}
	if err == nil {
		_, err = admin.PatchPolicy(ctx, provider, gatewayapi.PolicyPatch{
			Writes: &[]gatewayapi.OperationRule{}, Paths: &[]string{}, Forbidden: &[]gatewayapi.ForbiddenRule{},
			BranchPrefixes: &[]string{}, ProtectedRefs: &[]string{}, RepositoryIDs: &map[string]int64{},
		})
	}
	if err != nil {
		return fmt.Errorf("providers: the rules of an earlier %s could not be removed: %w", provider, err)
	}
	return nil
}
