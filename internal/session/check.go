package session

import (
	"fmt"
	"slices"
	"unicode/utf8"
)

// maxID is the longest id an audit row takes.
const maxID = 128

// maxList bounds every list of a scope.
const maxList = 1024

// Check refuses a scope whose ids could not be written into an audit row or
// whose lists have no sensible size.
func (s Scope) Check() error {
	ids := [...]struct{ name, value string }{
		{"run", s.Run},
		{"stage", s.Stage},
		{"parent", s.Parent},
		{"task", s.Task},
		{"template", s.Template},
		{"agent", s.Agent},
	}
	for _, id := range ids {
		if len(id.value) > maxID || !utf8.ValidString(id.value) {
			return fmt.Errorf("%w: %s is not UTF-8 of at most %d bytes", ErrScope, id.name, maxID)
		}
	}
	if max(len(s.Upstreams), len(s.Repos), len(s.RateLimits), len(s.ProtectRefs), len(s.Grants)) > maxList {
		return fmt.Errorf("%w: a list has more than %d entries", ErrScope, maxList)
	}
	if err := checkGrants(s.Grants); err != nil {
		return err
	}
	if s.RunBudget != nil && s.Run == "" || s.TaskBudget != nil && s.Task == "" {
		return fmt.Errorf("%w: a budget of a run or a task that is not named", ErrScope)
	}
	for _, l := range s.RateLimits {
		if !(l.PerSecond > 0) || l.Burst < 1 {
			return fmt.Errorf("%w: rate limit of %q is not positive", ErrScope, l.Upstream)
		}
	}
	return nil
}

// Within refuses a scope that grants more than parent does. A zero budget is
// the default limit, which the gateway applies to both; a negative one is
// nothing at all.
func (s Scope) Within(parent Scope) error {
	for _, u := range s.Upstreams {
		if !slices.Contains(parent.Upstreams, u) {
			return fmt.Errorf("%w: upstream %q is not granted to the parent", ErrScope, u)
		}
	}
	for _, r := range s.Repos {
		if !slices.Contains(parent.Repos, r) {
			return fmt.Errorf("%w: repository %q is not granted to the parent", ErrScope, r)
		}
	}
	for _, g := range s.Grants {
		if !slices.Contains(parent.Grants, g) {
			return fmt.Errorf("%w: %q is not granted to the parent", ErrScope, g)
		}
	}
	if !groupsWithin(s.Groups, parent.Groups) {
		return fmt.Errorf("%w: knowledge groups exceed the parent's", ErrScope)
	}
	if !amountWithin(s.Budget.Tokens, parent.Budget.Tokens) || !amountWithin(s.Budget.CostNano, parent.Budget.CostNano) {
		return fmt.Errorf("%w: budget exceeds the parent's", ErrScope)
	}
	return nil
}

// groupsWithin: nil is everything and so is only within nil.
func groupsWithin(child, parent *[]string) bool {
	if parent == nil {
		return true
	}
	if child == nil {
		return false
	}
	for _, g := range *child {
		if !slices.Contains(*parent, g) {
			return false
		}
	}
	return true
}

// amountWithin compares two bounds where 0 is the default and negative is
// nothing. A default is within a default only: its size is not known here.
func amountWithin(child, parent int64) bool {
	switch {
	case child < 0:
		return true
	case parent < 0:
		return false
	case parent == 0:
		return true
	default:
		return child != 0 && child <= parent
	}
}

func (s Scope) clone() Scope {
	s.Upstreams = slices.Clone(s.Upstreams)
	s.Repos = slices.Clone(s.Repos)
	s.RateLimits = slices.Clone(s.RateLimits)
	s.ProtectRefs = slices.Clone(s.ProtectRefs)
	s.Grants = slices.Clone(s.Grants)
	s.RunBudget, s.TaskBudget = s.RunBudget.clone(), s.TaskBudget.clone()
	if s.Groups != nil {
		groups := slices.Clone(*s.Groups)
		if groups == nil {
			groups = []string{}
		}
		s.Groups = &groups
	}
	return s
}

func (b *Budget) clone() *Budget {
	if b == nil {
		return nil
	}
	c := *b
	return &c
}
