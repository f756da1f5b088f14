package gatewayapi

import (
	"context"
	"net/http"
)

// Shipped is what the kind of an upstream permits and protects before a policy
// adds anything: with it a person sees the whole set of rules.
type Shipped struct {
	Kind string `json:"kind"`
	// Operations are those the kind has names for. A write that is not among
	// them is refused unless a rule names its method and path.
	Operations []ShippedOperation `json:"operations"`
	// Never is what no rule opens.
	Never []ShippedNever `json:"never"`
	// BranchPrefixes and ProtectedRefs hold for upstreams with repositories: where
	// branches may be written while the policy names no prefix, and what no policy
	// opens.
	BranchPrefixes []string `json:"branch_prefixes"`
	ProtectedRefs  []string `json:"protected_refs"`
}

// ShippedOperation is one operation of a kind.
type ShippedOperation struct {
	Name      string   `json:"name"`
	Read      bool     `json:"read"`
	Permitted bool     `json:"permitted"` // without a rule
	Routes    []string `json:"routes"`    // method and path, for a reader; the operation is what counts
}

// ShippedNever is something that is refused whatever a policy says.
type ShippedNever struct {
	What string `json:"what"`
	Why  string `json:"why"`
}

// Shipped reads what the kind of an upstream permits by itself.
func (c *Client) Shipped(ctx context.Context, name string) (Shipped, error) {
	var out Shipped
	return out, c.c.call(ctx, http.MethodGet, policyPath(name)+"/shipped", nil, &out)
}
