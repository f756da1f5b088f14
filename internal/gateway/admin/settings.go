package admin

import (
	"net/http"

	"moeca/internal/gateway"
	"moeca/internal/gateway/gatewayapi"
)

// settingRoutes serves the limits of days and providers, the price table, and how
// long contents are kept. They are in the log and nowhere else: the row of a
// change is the change, and a gateway that starts reads it back (gateway.Restore).
func (s *server) settingRoutes(mux *http.ServeMux) {
	g := s.o.Gateway
	budgets := func() any { return g.Budgets() }
	mux.HandleFunc("GET /v1/budgets", s.shows(budgets))
	mux.HandleFunc("PUT /v1/budgets", changes(s, gateway.ActionBudget, budgetName, g.PlanBudget, budgets))

	prices := func() any { return g.Prices().List() }
	mux.HandleFunc("GET /v1/prices", s.shows(prices))
	mux.HandleFunc("PATCH /v1/prices", changes(s, gateway.ActionPrices, func(gatewayapi.PricePatch) string { return "prices" }, s.planPrices, prices))

	kept := func() any { return g.Retention() }
	mux.HandleFunc("GET /v1/retention", s.shows(kept))
	mux.HandleFunc("PUT /v1/retention", changes(s, gateway.ActionRetention, func(gatewayapi.Retention) string { return "retention" }, g.PlanRetention, kept))
}

func (s *server) shows(now func() any) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { s.answers.send(w, http.StatusOK, now()) }
}

// changes serves what sets a setting: the row of action has the body as it came.
func changes[P any](s *server, action string, subject func(P) string, plan func(P) (apply func(), err error), now func() any) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		var put P
		if !s.answers.read(w, r, &put) {
			return
		}
		if s.commit(w, r, action, subject(put), func() (func() error, any, error) {
			apply, err := plan(put)
			return func() error { apply(); return nil }, put, err
		}) {
			s.answers.send(w, http.StatusOK, now())
		}
	}
}

func budgetName(put gatewayapi.BudgetPut) string {
	if put.ID == "" {
		return put.Scope
	}
	return put.Scope + " " + put.ID
}

func (s *server) planPrices(patch gatewayapi.PricePatch) (apply func(), err error) {
	c, err := s.o.Gateway.Prices().Plan(patch)
	if err != nil {
		return nil, err
	}
	return c.Apply, nil
}
