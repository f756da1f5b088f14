package session

import (
	"errors"
	"reflect"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// scopes draws a scope from small sets, so that two of them often relate.
func scopes() *rapid.Generator[Scope] {
	some := func(t *rapid.T, name string, from ...string) []string {
		return rapid.SliceOfNDistinct(rapid.SampledFrom(from), 0, len(from), rapid.ID).Draw(t, name)
	}
	amount := rapid.SampledFrom([]int64{-1, 0, 1, 5, 100})
	budget := rapid.Custom(func(t *rapid.T) Budget { return Budget{amount.Draw(t, "tokens"), amount.Draw(t, "cost")} })
	return rapid.Custom(func(t *rapid.T) Scope {
		s := Scope{
			Run: rapid.SampledFrom([]string{"r", "r2"}).Draw(t, "run"), Task: "t", Stage: rapid.SampledFrom([]string{"s", "s2"}).Draw(t, "stage"),
			Upstreams: some(t, "upstreams", "a", "b", "c"), Repos: some(t, "repos", "o/a", "o/b"), Grants: some(t, "grants", GrantMCP, GrantCode),
			ProtectRefs: some(t, "refs", "moeca/x", "refs/heads/moeca/y"), Budget: budget.Draw(t, "budget"),
			Unattended: rapid.Bool().Draw(t, "unattended"), Service: rapid.IntRange(0, 9).Draw(t, "service") == 0,
		}
		if rapid.Bool().Draw(t, "grouped") {
			groups := some(t, "groups", "g", "h")
			s.Groups = &groups
		}
		for i, repo := range s.Repos {
			if rapid.Bool().Draw(t, "named") {
				if s.RepoIDs == nil {
					s.RepoIDs = map[string]int64{}
				}
				s.RepoIDs[repo] = int64(2*i + rapid.IntRange(1, 2).Draw(t, "id"))
			}
		}
		for _, shared := range []**Budget{&s.RunBudget, &s.TaskBudget} {
			if rapid.Bool().Draw(t, "shared") {
				b := budget.Draw(t, "bound")
				*shared = &b
			}
		}
		for _, u := range some(t, "rates", "a", "b", "c") {
			s.RateLimits = append(s.RateLimits, RateLimit{u, float64(rapid.IntRange(1, 3).Draw(t, "rate")), rapid.IntRange(1, 3).Draw(t, "burst")})
		}
		return s
	})
}

// may lists what a scope permits, each as a sentence; a child's must be among its
// parent's. Amounts and rates are compared at each height that occurs.
func may(s Scope) map[string]bool {
	out := map[string]bool{}
	yes := func(ok bool, what string) {
		if ok {
			out[what] = true
		}
	}
	for _, u := range s.Upstreams {
		out["reach "+u] = true
		limit, own := s.rate(u)
		for n := range 3 {
			yes(!own || limit.PerSecond > float64(n), "rate of "+u+string(rune('0'+n)))
			yes(!own || limit.Burst > n, "burst of "+u+string(rune('0'+n)))
		}
	}
	for _, r := range s.Repos {
		out["touch "+r] = true
	}
	for r, id := range s.RepoIDs {
		out["change by id "+r+string(rune('0'+id))] = true
	}
	for _, g := range s.Grants {
		out["use "+g] = true
	}
	for _, g := range []string{"g", "h", "any"} {
		yes(s.Groups == nil || slices.Contains(*s.Groups, g), "know "+g)
	}
	for _, ref := range []string{"moeca/x", "moeca/y"} {
		yes(!slices.ContainsFunc(s.ProtectRefs, func(p string) bool { return sameRef(p, ref) }), "write "+ref)
	}
	spend := func(b Budget, of string) {
		for _, n := range []int64{1, 5, 100, 1000} {
			yes(b.Tokens == 0 || b.Tokens >= n, of+" tokens"+string(rune(n)))
			yes(b.CostNano == 0 || b.CostNano >= n, of+" cost"+string(rune(n)))
		}
	}
	spend(s.Budget, "session")
	yes(!s.Unattended, "ask")
	return out
}

func TestNoChildMayDoWhatItsParentMayNot(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		parent, other := scopes().Draw(t, "parent"), scopes().Draw(t, "other")
		child := narrowed(t, parent)
		for range rapid.IntRange(0, 2).Draw(t, "fields") { // of another scope
			i := rapid.IntRange(0, reflect.TypeFor[Scope]().NumField()-1).Draw(t, "field")
			reflect.ValueOf(&child).Elem().Field(i).Set(reflect.ValueOf(other).Field(i))
		}
		if child.Within(parent) != nil {
			return
		}
		allowed := may(parent)
		for what := range may(child) {
			if !allowed[what] {
				t.Fatalf("a child may %s, its parent may not", what)
			}
		}
		if child.Run != parent.Run || child.Task != parent.Task || child.Service != parent.Service {
			t.Fatal("a child of another run, task or party")
		}
	})
}

// narrowed takes away from a scope at random.
func narrowed(t *rapid.T, s Scope) Scope {
	c := s.clone()
	fewer := func(list []string) []string {
		return slices.DeleteFunc(list, func(string) bool { return rapid.Bool().Draw(t, "without") })
	}
	c.Stage, c.Agent, c.Template, c.Parent = "other", "other", "other", "other"
	c.Upstreams, c.Repos, c.Grants = fewer(c.Upstreams), fewer(c.Repos), fewer(c.Grants)
	for name := range c.RepoIDs {
		if !slices.Contains(c.Repos, name) || rapid.Bool().Draw(t, "without id") {
			delete(c.RepoIDs, name)
		}
	}
	c.ProtectRefs = append(c.ProtectRefs, "moeca/z")
	c.Unattended = c.Unattended || rapid.Bool().Draw(t, "unattended")
	if c.Groups != nil {
		groups := fewer(*c.Groups)
		c.Groups = &groups
	}
	for _, b := range []*int64{&c.Budget.Tokens, &c.Budget.CostNano} {
		if *b > 1 && rapid.Bool().Draw(t, "less") {
			*b--
		}
	}
	if rapid.Bool().Draw(t, "as it is") {
		c.RunBudget, c.TaskBudget = nil, nil
	}
	return c
}

func TestNarrowedScopesAreWithin(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := scopes().Draw(t, "scope")
		child := narrowed(t, s)
		grandchild := narrowed(t, child)
		if err := errors.Join(s.Within(s), child.Within(s), grandchild.Within(child)); err != nil {
			t.Fatal(err)
		}
		// nil leaves a shared budget as it is, so what is within nil need not be within
		// what nil is within.
		grandchild.RunBudget, grandchild.TaskBudget = nil, nil
		if err := grandchild.Within(s); err != nil {
			t.Fatal(err)
		}
	})
}

func full() Scope {
	return Scope{
		Run: "r", Task: "t", Stage: "s", Parent: "p", Template: "tpl", Agent: "a", Upstreams: []string{"a"}, Repos: []string{"o/a"}, RepoIDs: map[string]int64{"o/a": 1},
		Groups: &[]string{"g"}, Budget: Budget{100, 100}, RunBudget: &Budget{100, 100}, TaskBudget: &Budget{100, 100}, RateLimits: []RateLimit{{"a", 1, 1}},
		Unattended: true, ProtectRefs: []string{"refs/heads/moeca/x"}, Grants: []string{GrantMCP},
	}
}

// Each field that decides something, widened alone. A field that is added to
// Scope and not here fails the test.
func TestWithinLooksAtEveryField(t *testing.T) {
	widen := map[string][]func(*Scope){
		"Run": {func(s *Scope) { s.Run = "r2" }, func(s *Scope) { s.Run, s.RunBudget = "", nil }}, "Task": {func(s *Scope) { s.Task = "t2" }},
		"Stage": nil, "Parent": nil, "Template": nil, "Agent": nil,
		"Upstreams": {func(s *Scope) { s.Upstreams = []string{"a", "b"} }},
		"Repos":     {func(s *Scope) { s.Repos = []string{"o/b"} }, func(s *Scope) { s.Repos = []string{"O/A"} }},
		"RepoIDs":   {func(s *Scope) { s.RepoIDs = map[string]int64{"o/a": 2} }, func(s *Scope) { s.RepoIDs = map[string]int64{"o/b": 1} }},
		"Groups":    {func(s *Scope) { s.Groups = nil }, func(s *Scope) { s.Groups = &[]string{"h"} }},
		"Budget": {
			func(s *Scope) { s.Budget.Tokens = 101 }, func(s *Scope) { s.Budget.CostNano = 101 },
			func(s *Scope) { s.Budget.Tokens = 0 }, func(s *Scope) { s.Budget.CostNano = 0 },
		},
		"RunBudget":   {func(s *Scope) { s.RunBudget = &Budget{101, 100} }, func(s *Scope) { s.RunBudget = &Budget{} }},
		"TaskBudget":  {func(s *Scope) { s.TaskBudget = &Budget{100, 101} }, func(s *Scope) { s.TaskBudget = &Budget{100, 0} }},
		"RateLimits":  {func(s *Scope) { s.RateLimits = nil }, func(s *Scope) { s.RateLimits[0].PerSecond = 2 }, func(s *Scope) { s.RateLimits[0].Burst = 2 }, func(s *Scope) { s.RateLimits = append(s.RateLimits, RateLimit{"b", 1, 1}) }},
		"Service":     {func(s *Scope) { s.Service = true }},
		"Unattended":  {func(s *Scope) { s.Unattended = false }},
		"ProtectRefs": {func(s *Scope) { s.ProtectRefs = nil }, func(s *Scope) { s.ProtectRefs = []string{"moeca/x/y"} }},
		"Grants":      {func(s *Scope) { s.Grants = []string{GrantMCP, GrantCode} }},
	}
	for _, f := range reflect.VisibleFields(reflect.TypeFor[Scope]()) {
		edits, known := widen[f.Name]
		if !known {
			t.Errorf("nobody decided what %s of a child may be", f.Name)
		}
		for i, edit := range edits {
			child := full().clone()
			edit(&child)
			if err := child.Within(full()); !errors.Is(err, ErrScope) {
				t.Errorf("%s, widened in way %d: %v", f.Name, i, err)
			}
		}
	}
	same := full()
	same.Stage, same.Agent, same.Template, same.Parent, same.ProtectRefs = "x", "x", "x", "x", []string{"MOECA/X", "more"}
	if err := same.Within(full()); err != nil {
		t.Error(err)
	}
	// Shared budgets that the parent left alone are somebody else's to loosen.
	parent := full()
	parent.RunBudget = nil
	if err := full().Within(parent); !errors.Is(err, ErrScope) {
		t.Errorf("a child set the budget of the run: %v", err)
	}
}

func TestChildEndsWithItsParent(t *testing.T) {
	table, _ := newTable()
	parent, _, err := table.Mint(Scope{}, time.Minute, false)
	if err != nil {
		t.Fatal(err)
	}
	child, _, err := table.Mint(Scope{Parent: parent.ID}, time.Hour, false)
	if err != nil || !child.Expires.Equal(parent.Expires) {
		t.Errorf("%v, %v", child.Expires, err)
	}
}

func TestRepoIDsAreACopy(t *testing.T) {
	table, _ := newTable()
	ids := map[string]int64{"o/a": 1}
	s, _, err := table.Mint(Scope{Repos: []string{"o/a"}, RepoIDs: ids}, time.Hour, false)
	if err != nil {
		t.Fatal(err)
	}
	ids["o/a"], s.Scope.RepoIDs["o/a"] = 2, 3
	if got, _ := table.Get(s.ID); got.Scope.RepoIDs["o/a"] != 1 {
		t.Errorf("%v", got.Scope.RepoIDs)
	}
}
