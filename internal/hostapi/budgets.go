package hostapi

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"moeca/internal/gateway/gatewayapi"
)

// Budgets are the limits of days and providers and the price table. The gateway
// keeps both in its log and makes a row of each change; the types are its own.
type Budgets interface {
	List(ctx context.Context) ([]gatewayapi.BudgetState, error)
	Set(ctx context.Context, b gatewayapi.BudgetPut) ([]gatewayapi.BudgetState, error)
	Prices(ctx context.Context) (gatewayapi.Prices, error)
	PatchPrices(ctx context.Context, p gatewayapi.PricePatch) (gatewayapi.Prices, error)
}

func (s *Server) registerBudgets() {
	b := s.deps.Budgets
	huma.Register(s.api, op(ScopeRead, "list-budgets", http.MethodGet, "/api/budgets", "Budgets of today, and of runs and tasks with a limit"),
		func(ctx context.Context, _ *struct{}) (*body[[]gatewayapi.BudgetState], error) {
			list, err := b.List(ctx)
			return answer(s, list, err)
		})
	huma.Register(s.api, op(ScopeSecret, "set-budget", http.MethodPut, "/api/budgets", "Limit a day, or a provider per day"),
		func(ctx context.Context, in *struct{ Body gatewayapi.BudgetPut }) (*body[[]gatewayapi.BudgetState], error) {
			list, err := b.Set(ctx, in.Body)
			return answer(s, list, err)
		})
	huma.Register(s.api, op(ScopeRead, "list-prices", http.MethodGet, "/api/prices", "The price table"),
		func(ctx context.Context, _ *struct{}) (*body[gatewayapi.Prices], error) {
			prices, err := b.Prices(ctx)
			return answer(s, prices, err)
		})
	huma.Register(s.api, op(ScopeSecret, "patch-prices", http.MethodPatch, "/api/prices", "Set or remove rows of the price table; all others stay"),
		func(ctx context.Context, in *struct{ Body gatewayapi.PricePatch }) (*body[gatewayapi.Prices], error) {
			prices, err := b.PatchPrices(ctx, in.Body)
			return answer(s, prices, err)
		})
}
