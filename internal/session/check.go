package session

import (
	"fmt"
	"maps"
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
	if err := checkRepoIDs(s.Repos, s.RepoIDs); err != nil {
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

// checkRepoIDs: an id that stands for two names would decide for both.
func checkRepoIDs(repos []string, ids map[string]int64) error {
	names := make(map[int64]string, len(ids))
	for name, id := range ids {
		switch other := names[id]; {
		case !slices.Contains(repos, name):
			return fmt.Errorf("%w: the id of %.140q, which is not among the repositories", ErrScope, name)
		case id <= 0 || other != "":
			return fmt.Errorf("%w: the id %d of %.140q is not positive, or another's too", ErrScope, id, name)
		}
		names[id] = name
	}
	return nil
}

func (s Scope) clone() Scope {
	s.Upstreams = slices.Clone(s.Upstreams)
	s.Repos = slices.Clone(s.Repos)
	s.RepoIDs = maps.Clone(s.RepoIDs)
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
