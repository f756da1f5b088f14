package gatewayapi

import (
	"context"
	"net/http"

	"moeca/internal/session"
)

// Scopes of budgets that outlive a session. Those of day and provider begin
// anew each day in UTC and are set through PUT /v1/budgets; those of run and
// task come with the scope of a session.
const (
	BudgetDay      = "day"
	BudgetProvider = "provider"
	BudgetRun      = "run"
	BudgetTask     = "task"
)

// DefaultSessionTokens is the budget of a session whose scope names none.
const DefaultSessionTokens = 2_000_000

// BudgetPut is the body of PUT /v1/budgets: the limit of a day over all
// providers, or of one provider per day. Zero in a field of the budget is no
// limit; negative is nothing at all.
type BudgetPut struct {
	Scope  string         `json:"scope"`        // day or provider
	ID     string         `json:"id,omitempty"` // name of the provider
	Budget session.Budget `json:"budget"`
}

// BudgetState is one budget with what was drawn on it.
type BudgetState struct {
	Scope string `json:"scope"`
	ID    string `json:"id,omitempty"`  // of a run, a task, a provider
	Day   string `json:"day,omitempty"` // 2006-01-02 in UTC, of a day and a provider
	// Limit is absent where there is none; a field of zero is no limit of that
	// kind, a negative one nothing at all.
	Limit    *session.Budget `json:"limit,omitempty"`
	Spent    session.Budget  `json:"spent"`
	Reserved session.Budget  `json:"reserved"` // by calls under way
}

// Budgets lists the budgets of today, and those of runs and tasks with a limit.
func (c *Client) Budgets(ctx context.Context) ([]BudgetState, error) {
	var b []BudgetState
	return b, c.c.call(ctx, http.MethodGet, "/v1/budgets", nil, &b)
}

// SetBudget sets the limit of a day or of a provider. It is kept in the log and
// holds after a restart.
func (c *Client) SetBudget(ctx context.Context, b BudgetPut) ([]BudgetState, error) {
	var out []BudgetState
	return out, c.c.call(ctx, http.MethodPut, "/v1/budgets", b, &out)
}

// Prices returns the price table.
func (c *Client) Prices(ctx context.Context) (Prices, error) {
	var p Prices
	return p, c.c.call(ctx, http.MethodGet, "/v1/prices", nil, &p)
}

// PatchPrices changes rows of the price table. The change is kept in the log and
// holds after a restart.
func (c *Client) PatchPrices(ctx context.Context, p PricePatch) (Prices, error) {
	var out Prices
	return out, c.c.call(ctx, http.MethodPatch, "/v1/prices", p, &out)
}
