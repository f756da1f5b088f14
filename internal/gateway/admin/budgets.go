package admin

import (
	"net/http"

	"moeca/internal/audit"
	"moeca/internal/gateway"
	"moeca/internal/gateway/gatewayapi"
)

// budgetRoutes serves the limits of days and providers and the price table.
// Both are kept in the log and nowhere else: the row of a change is the change,
// and a gateway that starts reads it back (gateway.Restore).
func (s *server) budgetRoutes(mux *http.ServeMux) {
	g := s.o.Gateway
	mux.HandleFunc("GET /v1/budgets", func(w http.ResponseWriter, _ *http.Request) { s.answers.send(w, http.StatusOK, g.Budgets()) })
	mux.HandleFunc("PUT /v1/budgets", s.setBudget)
	mux.HandleFunc("GET /v1/prices", func(w http.ResponseWriter, _ *http.Request) { s.answers.send(w, http.StatusOK, g.Prices().List()) })
	mux.HandleFunc("PATCH /v1/prices", s.patchPrices)
}

func (s *server) setBudget(w http.ResponseWriter, r *http.Request) {
	var put gatewayapi.BudgetPut
	if !s.answers.read(w, r, &put) {
		return
	}
	s.change.Lock()
	defer s.change.Unlock()
	apply, err := s.o.Gateway.PlanBudget(put)
	if err != nil {
		s.fail(w, r, err)
		return
	}
	subject := put.Scope
	if put.ID != "" {
		subject += " " + put.ID
	}
	if err := record(r.Context(), s.o.Log, gateway.ActionBudget, subject, audit.Attribution{}, put); err != nil {
		s.answers.logDown(w, err)
		return
	}
	apply()
	s.answers.send(w, http.StatusOK, s.o.Gateway.Budgets())
}

func (s *server) patchPrices(w http.ResponseWriter, r *http.Request) {
	var patch gatewayapi.PricePatch
	if !s.answers.read(w, r, &patch) {
		return
	}
	s.change.Lock()
	defer s.change.Unlock()
	prices := s.o.Gateway.Prices()
	c, err := prices.Plan(patch)
	if err != nil {
		s.fail(w, r, err)
		return
	}
	if err := record(r.Context(), s.o.Log, gateway.ActionPrices, "prices", audit.Attribution{}, patch); err != nil {
		s.answers.logDown(w, err)
		return
	}
	c.Apply()
	s.answers.send(w, http.StatusOK, prices.List())
}
