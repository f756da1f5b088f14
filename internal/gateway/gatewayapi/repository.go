package gatewayapi

import (
	"context"
	"net/http"
	"net/url"
)

// Repository is what a GitHub upstream tells about one of its repositories.
type Repository struct {
	FullName      string `json:"full_name"` // owner/name, as the upstream spells it
	ID            int64  `json:"id"`        // for Scope.RepoIDs
	DefaultBranch string `json:"default_branch"`
}

// Repository asks an upstream of kind github for a repository, through every
// gate. The id is what GraphQL names it by: put it into Scope.RepoIDs of the
// sessions that may work there.
func (c *Client) Repository(ctx context.Context, upstream, fullName string) (Repository, error) {
	var out Repository
	return out, c.c.call(ctx, http.MethodGet, providerPath(upstream)+"/repository?"+url.Values{"name": {fullName}}.Encode(), nil, &out)
}
