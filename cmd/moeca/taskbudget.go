package main

import (
	"fmt"

	"moeca/internal/board"
	"moeca/internal/gateway/gatewayapi"
	"moeca/internal/session"
)

// taskLimits are the budgets of a task and of each of its runs.
type taskLimits struct {
	budgetFlags
	RunBudgetUSD    *string `name:"run-budget-usd" help:"Most each run may draw in USD; 0 is no limit."`
	RunBudgetTokens *int64  `name:"run-budget-tokens" help:"Most each run may draw in tokens; 0 is no limit."`
}

// limits are the budgets of a task with the limits that are given, nil where
// none is.
func (l taskLimits) limits(t board.Task) (task, run *session.Budget, err error) {
	if task, err = l.over(t.Budget); err == nil {
		run, err = budgetFlags{l.RunBudgetUSD, l.RunBudgetTokens}.over(t.RunBudget)
	}
	return task, run, err
}

type taskBudget struct {
	taskArg
	taskLimits
}

// Run changes the limits that are given and shows what is set.
func (t *taskBudget) Run(e *env, c *client) error {
	var task board.Task
	if err := c.do(e.ctx, "GET", t.path(""), nil, &task); err != nil {
		return err
	}
	patch := board.TaskPatch{Version: task.Version}
	var err error
	if patch.Budget, patch.RunBudget, err = t.limits(task); err != nil {
		return err
	}
	if patch.Means() {
		task = board.Task{}
		if err := c.asPerson(e.ctx, "PATCH", t.path(""), patch, &task); err != nil {
			return err
		}
	}
	if e.cli.JSON {
		return e.print(task)
	}
	var states []gatewayapi.BudgetState
	if err := c.do(e.ctx, "GET", "/api/budgets", nil, &states); err != nil {
		return err
	}
	fmt.Fprintf(e.stdout, "%s %s\n", task.ID, plain(task.Title))
	e.showBudgets(drawnNow(task, states))
	return nil
}

// drawnNow adds what stages that have not ended drew, where the gateway counts
// it: it does so for tasks with a limit.
func drawnNow(t board.Task, states []gatewayapi.BudgetState) board.Task {
	for _, s := range states {
		if s.Scope == gatewayapi.BudgetTask && s.ID == t.ID {
			t.Tokens, t.CostNano = max(t.Tokens, s.Spent.Tokens), max(t.CostNano, s.Spent.CostNano)
		}
	}
	return t
}

// showBudgets says what a task drew and of how much.
func (e *env) showBudgets(t board.Task) {
	limit := func(b *session.Budget) session.Budget {
		if b == nil {
			return session.Budget{}
		}
		return *b
	}
	task, run := limit(t.Budget), limit(t.RunBudget)
	fmt.Fprintf(e.stdout, "  drew %s tokens, %s USD\n",
		drawnWords(t.Tokens, task.Tokens, tokenWords), drawnWords(t.CostNano, task.CostNano, gatewayapi.USD))
	if run != (session.Budget{}) {
		fmt.Fprintf(e.stdout, "  each run: %s tokens, %s USD\n",
			limitWords(run.Tokens, tokenWords), limitWords(run.CostNano, gatewayapi.USD))
	}
}
