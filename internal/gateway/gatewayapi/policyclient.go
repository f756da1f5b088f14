package gatewayapi

import (
	"context"
	"net/http"
	"net/url"
)

func policyPath(name string) string { return "/v1/policies/" + url.PathEscape(name) }

// Policy reads what was added to the shipped rules of an upstream.
func (c *Client) Policy(ctx context.Context, name string) (Policy, error) {
	var out Policy
	return out, c.c.call(ctx, http.MethodGet, policyPath(name), nil, &out)
}

// PatchPolicy changes the fields that are present and no other.
func (c *Client) PatchPolicy(ctx context.Context, name string, p PolicyPatch) (Policy, error) {
	var out Policy
	return out, c.c.call(ctx, http.MethodPatch, policyPath(name), p, &out)
}
