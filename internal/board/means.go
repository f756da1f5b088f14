package board

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"moeca/internal/gateway/gatewayapi"
	"moeca/internal/session"
)

// maxReach is how many upstreams a task may name.
const maxReach = 20

// mostBudget bounds a budget, far below where sums of such could overflow.
const mostBudget = 1 << 50

// checkBudget refuses what could not be meant. Zero in a field is no limit of
// that kind; both are no budget.
func checkBudget(what string, b *session.Budget) error {
	if b == nil {
		return nil
	}
	for _, n := range []int64{b.Tokens, b.CostNano} {
		if n < 0 || n > mostBudget {
			return refuse(Invalid, "budget_invalid", "write a number of tokens or USD, or 0 for no limit", "the %s cannot be %d", what, n)
		}
	}
	return nil
}

// checkReach cleans the list of upstreams a task's agents may reach beside the
// model: names of configured providers that are no models.
func (s *Service) checkReach(ctx context.Context, names []string) ([]string, error) {
	if len(names) == 0 {
		return []string{}, nil
	}
	all, err := s.providers(ctx)
	if err != nil {
		return nil, err
	}
	var tools []string
	for _, p := range all {
		if !isModel(p) {
			tools = append(tools, p.Name)
		}
	}
	slices.Sort(tools)
	next := "reach one of " + strings.Join(tools, ", ")
	if len(tools) == 0 {
		next = "add a tool such as GitHub first, with `moeca provider add`"
	}
	clean := []string{}
	for _, name := range names {
		switch i := slices.IndexFunc(all, func(p gatewayapi.Provider) bool { return p.Name == name }); {
		case i < 0:
			return nil, refuse(Invalid, "provider_not_found", next, "there is no provider %q", name)
		case isModel(all[i]):
			return nil, refuse(Invalid, "reach_model", next, "%s is a model; a task has one, its provider", name)
		case !slices.Contains(clean, name):
			clean = append(clean, name)
		}
	}
	if len(clean) > maxReach {
		return nil, refuse(Invalid, "reach_too_long", "name fewer", "a task reaches at most %d providers", maxReach)
	}
	return clean, nil
}

func isModel(p gatewayapi.Provider) bool {
	return p.Scripted || p.Kind == "anthropic" || p.Kind == "openai" || p.Kind == "gemini"
}

// means are the columns of what a person set for a task.
type means struct{ reach, budget, runBudget any }

func meansOf(reach []string, budget, runBudget *session.Budget) (m means, err error) {
	if m.reach, err = toJSON(nonNil(reach)); err != nil {
		return m, fmt.Errorf("encode reach: %w", err)
	}
	for to, b := range map[*any]*session.Budget{&m.budget: budget, &m.runBudget: runBudget} {
		if b == nil {
			continue
		}
		if *to, err = toJSON(b); err != nil {
			return m, fmt.Errorf("encode budget: %w", err)
		}
	}
	return m, nil
}

// newMeans are those of a task after a patch.
func (s *Service) newMeans(ctx context.Context, t Task, p TaskPatch) (means, error) {
	if err := errors.Join(checkBudget("budget", p.Budget), checkBudget("budget of a run", p.RunBudget)); err != nil {
		return means{}, err
	}
	if p.Reach != nil {
		var err error
		if t.Reach, err = s.checkReach(ctx, *p.Reach); err != nil {
			return means{}, err
		}
	}
	if p.Budget != nil {
		t.Budget = p.Budget
	}
	if p.RunBudget != nil {
		t.RunBudget = p.RunBudget
	}
	return meansOf(t.Reach, t.Budget, t.RunBudget)
}

// budgetOf reads a stored budget; nil when none was ever set.
func budgetOf(doc sql.NullString) (*session.Budget, error) {
	if !doc.Valid {
		return nil, nil
	}
	var b session.Budget
	if err := json.Unmarshal([]byte(doc.String), &b); err != nil {
		return nil, fmt.Errorf("stored budget: %w", err)
	}
	return &b, nil
}
