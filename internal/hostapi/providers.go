package hostapi

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"
)

// ProviderName names a provider in a path.
type ProviderName struct {
	Name string `path:"name" pattern:"^[a-z][a-z0-9-]{0,39}$"`
}

type secretIn struct {
	ProviderName
	Body struct {
		Value string `json:"value" maxLength:"8192" doc:"the key; empty clears it; no answer ever contains it"`
	}
}

func (s *Server) registerProviders() {
	p := s.deps.Providers
	huma.Register(s.api, op(ScopeRead, "list-providers", http.MethodGet, "/api/providers", "Providers, without keys"),
		func(ctx context.Context, _ *struct{}) (*body[[]Provider], error) {
			list, err := p.List(ctx)
			if list == nil {
				list = []Provider{}
			}
			return answer(s, list, err)
		})
	huma.Register(s.api, op(ScopeSecret, "put-provider", http.MethodPut, "/api/providers/{name}", "Add or change a provider; absent fields stay"),
		func(ctx context.Context, in *struct {
			ProviderName
			Body ProviderInput
		},
		) (*body[Provider], error) {
			provider, err := p.Put(ctx, in.Name, in.Body)
			return answer(s, provider, err)
		})
	huma.Register(s.api, op(ScopeSecret, "delete-provider", http.MethodDelete, "/api/providers/{name}", "Remove a provider and its key"),
		func(ctx context.Context, in *ProviderName) (*struct{}, error) {
			return nil, s.problemOf(p.Delete(ctx, in.Name))
		})
	huma.Register(s.api, op(ScopeSecret, "set-secret", http.MethodPut, "/api/providers/{name}/secret", "Set or clear a key"),
		func(ctx context.Context, in *secretIn) (*body[Provider], error) {
			provider, err := p.SetSecret(ctx, in.Name, in.Body.Value)
			return answer(s, provider, err)
		})
	huma.Register(s.api, op(ScopeSecret, "test-provider", http.MethodPost, "/api/providers/{name}/test", "Make one call that costs nothing"),
		func(ctx context.Context, in *ProviderName) (*body[ProviderTest], error) {
			result, err := p.Test(ctx, in.Name)
			return answer(s, result, err)
		})
	huma.Register(s.api, op(ScopeSecret, "list-models", http.MethodGet, "/api/providers/{name}/models", "Ask a provider for its models"),
		func(ctx context.Context, in *ProviderName) (*body[ProviderModels], error) {
			models, err := p.Models(ctx, in.Name)
			return answer(s, models, err)
		})
	huma.Register(s.api, op(ScopeSecret, "detect-servers", http.MethodGet, "/api/local-servers", "Look for model servers on this machine"),
		func(ctx context.Context, _ *struct{}) (*body[[]LocalServer], error) {
			found, err := p.Detect(ctx)
			return answer(s, found, err)
		})
}
