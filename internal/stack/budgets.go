package stack

import (
	"context"

	"moeca/internal/board"
	"moeca/internal/gateway/gatewayapi"
	"moeca/internal/session"
)

// budgets passes on to the gateway, which keeps limits and prices in its log. It
// takes no limit or price for a provider that does not exist: a name that was
// mistyped would bound nothing, and nobody would be told.
type budgets struct {
	admin     *gatewayapi.Client
	providers interface{ exists(name string) error }
}

// List implements hostapi.Budgets.
func (b budgets) List(ctx context.Context) ([]gatewayapi.BudgetState, error) {
	list, err := b.admin.Budgets(ctx)
	return list, ofBudgets(err)
}

// Set implements hostapi.Budgets.
func (b budgets) Set(ctx context.Context, put gatewayapi.BudgetPut) ([]gatewayapi.BudgetState, error) {
	if put.Scope == gatewayapi.BudgetProvider && put.Budget != (session.Budget{}) { // a limit that was left behind can be taken off
		if err := b.providers.exists(put.ID); err != nil {
			return nil, err
		}
	}
	list, err := b.admin.SetBudget(ctx, put)
	return list, ofBudgets(err)
}

// Prices implements hostapi.Budgets.
func (b budgets) Prices(ctx context.Context) (gatewayapi.Prices, error) {
	p, err := b.admin.Prices(ctx)
	return p, ofBudgets(err)
}

// PatchPrices implements hostapi.Budgets.
func (b budgets) PatchPrices(ctx context.Context, patch gatewayapi.PricePatch) (gatewayapi.Prices, error) {
	for _, row := range patch.Set {
		if row.Upstream == "" {
			continue
		}
		if err := b.providers.exists(row.Upstream); err != nil {
			return gatewayapi.Prices{}, err
		}
	}
	p, err := b.admin.PatchPrices(ctx, patch)
	return p, ofBudgets(err)
}

func ofBudgets(err error) error {
	return ofGateway(err, board.Invalid, "correct the value; `moeca budget list` and `moeca price list` show what is set")
}
