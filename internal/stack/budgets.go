package stack

import (
	"context"
	"errors"

	"moeca/internal/board"
	"moeca/internal/gateway/gatewayapi"
)

// budgets passes on to the gateway, which keeps limits and prices in its log.
type budgets struct{ admin *gatewayapi.Client }

// List implements hostapi.Budgets.
func (b budgets) List(ctx context.Context) ([]gatewayapi.BudgetState, error) {
	list, err := b.admin.Budgets(ctx)
	return list, ofBudgets(err)
}

// Set implements hostapi.Budgets.
func (b budgets) Set(ctx context.Context, put gatewayapi.BudgetPut) ([]gatewayapi.BudgetState, error) {
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
	p, err := b.admin.PatchPrices(ctx, patch)
	return p, ofBudgets(err)
}

// ofBudgets tells a refusal of the gateway, in its own words, from a gateway
// that does not answer.
func ofBudgets(err error) error {
	var refused *gatewayapi.StatusError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &refused) && refused.Status/100 == 4:
		return &board.Error{Kind: board.Invalid, Code: refused.Body.Reason, Message: refused.Body.Message, Next: "correct the value; `moeca budget list` and `moeca price list` show what is set"}
	}
	return unavailable(err)
}
