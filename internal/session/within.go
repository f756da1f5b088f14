package session

import (
	"fmt"
	"slices"
	"strings"
)

// Within refuses a scope that may do more than parent, answers to another run or
// task, or draws on other budgets. Every field of a Scope is compared here or is
// one of those that only name who acts: Stage, Parent, Template, Agent.
//
// An amount of zero is no bound. The gateway writes the default of a session into
// its scope before it mints, so that what is compared is what will hold.
func (s Scope) Within(parent Scope) error {
	refused := func(format string, args ...any) error {
		return fmt.Errorf("%w: %s", ErrScope, fmt.Sprintf(format, args...))
	}
	if s.Run != parent.Run || s.Task != parent.Task {
		return refused("run and task are not the parent's")
	}
	if s.Service != parent.Service || parent.Unattended && !s.Unattended {
		return refused("it is a session of the host, or attended, where the parent is not")
	}
	for _, list := range [...]struct {
		what          string
		child, parent []string
	}{
		{"upstream", s.Upstreams, parent.Upstreams},
		{"repository", s.Repos, parent.Repos},
		{"grant", s.Grants, parent.Grants},
	} {
		if extra := beyond(list.child, list.parent); extra != "" {
			return refused("%s %q is not granted to the parent", list.what, extra)
		}
	}
	for name, id := range s.RepoIDs {
		if parent.RepoIDs[name] != id {
			return refused("the id of repository %q is not the parent's", name)
		}
	}
	if !groupsWithin(s.Groups, parent.Groups) {
		return refused("knowledge groups exceed the parent's")
	}
	for _, ref := range parent.ProtectRefs {
		if !slices.ContainsFunc(s.ProtectRefs, func(own string) bool { return sameRef(own, ref) }) {
			return refused("%q is protected for the parent", ref)
		}
	}
	if !s.Budget.within(parent.Budget) || !sharedWithin(s.RunBudget, parent.RunBudget) || !sharedWithin(s.TaskBudget, parent.TaskBudget) {
		return refused("budget exceeds the parent's")
	}
	return s.ratesWithin(parent)
}

// beyond returns an entry of child that parent lacks. Entries are never empty
// where they open anything.
func beyond(child, parent []string) string {
	for _, c := range child {
		if !slices.Contains(parent, c) {
			return c
		}
	}
	return ""
}

// sameRef compares as the ref gate does.
func sameRef(a, b string) bool {
	return strings.EqualFold(strings.TrimPrefix(a, "refs/heads/"), strings.TrimPrefix(b, "refs/heads/"))
}

// groupsWithin: nil is everything and so is only within nil.
func groupsWithin(child, parent *[]string) bool {
	if parent == nil {
		return true
	}
	return child != nil && beyond(*child, *parent) == ""
}

// sharedWithin: a child may leave the budget of its run or task as it is, or
// tighten the one its parent set. Where the parent set none, one was set by
// somebody else, perhaps tighter.
func sharedWithin(child, parent *Budget) bool {
	return child == nil || parent != nil && child.within(*parent)
}

func (b Budget) within(parent Budget) bool {
	return amountWithin(b.Tokens, parent.Tokens) && amountWithin(b.CostNano, parent.CostNano)
}

// amountWithin compares two bounds where 0 is none and negative is nothing.
func amountWithin(child, parent int64) bool {
	switch {
	case child < 0 || parent == 0:
		return true
	case parent < 0 || child == 0:
		return false
	}
	return child <= parent
}

// ratesWithin holds the rates of a child to those that its parent was given, and
// lets it have none of its own where the parent has the default.
func (s Scope) ratesWithin(parent Scope) error {
	for _, own := range s.RateLimits {
		if _, ok := parent.rate(own.Upstream); !ok {
			return fmt.Errorf("%w: the parent has no rate of its own at %q", ErrScope, own.Upstream)
		}
	}
	for _, u := range s.Upstreams {
		limit, ok := parent.rate(u)
		if own, has := s.rate(u); ok && (!has || own.PerSecond > limit.PerSecond || own.Burst > limit.Burst) {
			return fmt.Errorf("%w: the rate at %q exceeds the parent's", ErrScope, u)
		}
	}
	return nil
}

// rate is the first limit of an upstream, which is the one that holds.
func (s Scope) rate(upstream string) (RateLimit, bool) {
	for _, l := range s.RateLimits {
		if l.Upstream == upstream {
			return l, true
		}
	}
	return RateLimit{}, false
}
