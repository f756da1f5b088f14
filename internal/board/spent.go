package board

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"moeca/internal/audit"
	"moeca/internal/gateway/gatewayapi"
	"moeca/internal/run"
)

// What the gateway's rows say about a call that no budget had room for.
const (
	gateBudget    = "budget"
	reasonSpent   = "exhausted"
	reasonNoPrice = "unknown-price"
	attrShort     = "short" // of a refusal: the scope of the budget and "tokens" or "money"
	shortOfMoney  = "money"
)

// explainFailure says which budget ended a stage, by the last thing the log
// knows of it, and where a person raises it. Empty: it was no budget. The
// agent's own words about it stay in its log.
func (s *Service) explainFailure(ctx context.Context, job run.Job, stage string, since time.Time) string {
	row, ok, err := s.lastCall(ctx, stage, since)
	if err != nil {
		s.Logger.Warn("why a run failed is not looked up", slog.String("run", job.Run), slog.Any("error", err))
	}
	if !ok || row.Kind != audit.KindRefusal || row.Gate != gateBudget {
		return ""
	}
	t, err := s.Task(ctx, job.Task)
	if err != nil {
		return ""
	}
	switch row.Reason {
	case reasonNoPrice:
		return fmt.Sprintf("a budget in USD applies and the model %s has no price: set one with `moeca price set --provider %s %s --input … --output …`, or take the USD limit off with `moeca task budget %d --budget-usd 0 --run-budget-usd 0`; then run it again",
			t.Model, t.Provider, t.Model, t.Number)
	case reasonSpent:
		return spentWords(t, row)
	}
	return ""
}

func spentWords(t Task, row audit.Record) string {
	short, _ := row.Attr(attrShort)
	scope, what, _ := strings.Cut(short, " ")
	flag := "tokens"
	if what == shortOfMoney {
		flag = "usd"
	}
	switch scope {
	case gatewayapi.BudgetTask:
		return fmt.Sprintf("the budget of the task does not suffice for another call: raise it in the task's details or with `moeca task budget %d --budget-%s N`, then run it again", t.Number, flag)
	case gatewayapi.BudgetRun:
		return fmt.Sprintf("the budget of the run does not suffice for another call: raise it in the task's details or with `moeca task budget %d --run-budget-%s N`, then run it again", t.Number, flag)
	case gatewayapi.BudgetDay:
		return fmt.Sprintf("the budget of the day does not suffice for another call: raise it in Settings or with `moeca budget set day --%s N`, or run it again tomorrow (UTC)", flag)
	case gatewayapi.BudgetProvider:
		return fmt.Sprintf("the budget of %s for today does not suffice for another call: raise it in Settings or with `moeca budget set %s --%s N`, or run it again tomorrow (UTC)", row.Upstream, row.Upstream, flag)
	case "":
		return fmt.Sprintf("a budget does not suffice for another call: `moeca task budget %d` and `moeca budget list` show the limits; raise one, then run it again", t.Number)
	}
	return "the budget of the session does not suffice for another call: run it again, or split the task into smaller ones"
}

// lastCall finds the newest row of a stage's calls: one that was let pass, or a
// refusal.
func (s *Service) lastCall(ctx context.Context, stage string, since time.Time) (audit.Record, bool, error) {
	last, err := s.Log.Refresh()
	if err != nil {
		return audit.Record{}, false, err
	}
	for seq := last; seq > 0 && ctx.Err() == nil; seq-- {
		r, _, err := s.Log.At(seq)
		if err != nil || r.Time.Before(since.Add(-clockSlack)) {
			return audit.Record{}, false, err
		}
		if r.Attribution.Stage == stage && (r.Kind == audit.KindIntent || r.Kind == audit.KindRefusal) {
			return r, true, nil
		}
	}
	return audit.Record{}, false, ctx.Err()
}
