package gateway

import (
	"encoding/json"
	"fmt"
	"iter"
	"slices"
	"strings"

	"moeca/internal/audit"
	"moeca/internal/gateway/budget"
	"moeca/internal/gateway/gatewayapi"
	"moeca/internal/session"
)

// ActionCarried is the action of rows that say what was drawn on budgets in a
// broken log, in the log that follows it.
const ActionCarried = "budget.carried"

// carriedAccounts in one row: a row has room for some thousand.
const carriedAccounts = 1000

// Carried are the rows with which a log begins that follows a broken one, so
// that it refills no budget: changes of prices as they were made, the limits of
// days and providers, what was drawn, and how long contents are kept. The rows
// given are the intact ones of the broken log, from which g was restored.
func (g *Gateway) Carried(rows iter.Seq2[audit.Record, error]) ([]audit.Record, error) {
	var out []audit.Record
	for r, err := range rows {
		if err != nil {
			return nil, fmt.Errorf("gateway: carry budgets: %w", err)
		}
		if action, _ := r.Attr("action"); action == ActionPrices && r.Kind == audit.KindAdmin && r.Source == audit.SourceGateway {
			out = append(out, carriedRow(action, r.Subject, r.Detail))
		}
	}
	kept, err := json.Marshal(g.Retention())
	if err != nil {
		return nil, fmt.Errorf("gateway: carry settings: %w", err)
	}
	out = append(out, carriedRow(ActionRetention, "retention", kept))
	for _, limit := range g.ledger.Limits() {
		shown := limitShown(limit.Limit)
		if shown == nil {
			continue
		}
		detail, err := json.Marshal(gatewayapi.BudgetPut{Scope: string(limit.Scope), ID: limit.ID, Budget: *shown})
		if err != nil {
			return nil, fmt.Errorf("gateway: carry budgets: %w", err)
		}
		out = append(out, carriedRow(ActionBudget, strings.TrimSpace(string(limit.Scope)+" "+limit.ID), detail))
	}
	for chunk := range slices.Chunk(g.ledger.Accounts(), carriedAccounts) {
		states := make([]gatewayapi.BudgetState, 0, len(chunk))
		for _, s := range chunk {
			states = append(states, shown(s))
		}
		detail, err := json.Marshal(states)
		if err != nil {
			return nil, fmt.Errorf("gateway: carry budgets: %w", err)
		}
		out = append(out, carriedRow(ActionCarried, "budgets", detail))
	}
	return out, nil
}

func carriedRow(action, subject string, detail []byte) audit.Record {
	return audit.Record{
		Kind: audit.KindAdmin, Source: audit.SourceGateway, Actor: audit.ActorHost, Subject: subject, Detail: detail,
		Attrs: []audit.Attr{{Key: "action", Value: action}},
	}
}

// carry puts back what such a row says.
func (g *Gateway) carry(detail []byte) error {
	var states []gatewayapi.BudgetState
	if err := json.Unmarshal(detail, &states); err != nil {
		return err
	}
	for _, s := range states {
		var limit session.Budget
		if s.Limit != nil {
			limit = *s.Limit
		}
		g.ledger.Carry(budget.State{
			Scope: budget.Scope(s.Scope), ID: s.ID, Day: s.Day, Limit: limitOf(limit), Spent: budget.Amount{Tokens: s.Spent.Tokens, Cost: s.Spent.CostNano},
		})
	}
	return nil
}
