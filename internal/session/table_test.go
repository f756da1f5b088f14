package session

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

type clock struct {
	mu sync.Mutex
	t  time.Time
}

func (c *clock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.t
}

func (c *clock) add(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.t = c.t.Add(d)
}

func newTable() (*Table, *clock) {
	c := &clock{t: time.Unix(1_800_000_000, 0)}
	return NewTable(c.now), c
}

func TestTokenAuthenticatesOnlyItsSession(t *testing.T) {
	table, _ := newTable()
	a, tokenA, err := table.Mint(Scope{Run: "a"}, time.Hour, true)
	if err != nil {
		t.Fatal(err)
	}
	b, tokenB, err := table.Mint(Scope{Run: "b"}, time.Hour, true)
	if err != nil {
		t.Fatal(err)
	}
	if a.ID == b.ID || tokenA == tokenB {
		t.Fatal("two sessions share an id or a token")
	}
	if len(a.ID) != 32 || len(tokenA) != tokenLen {
		t.Fatalf("id has %d digits, token %d bytes", len(a.ID), len(tokenA))
	}
	got, err := table.ByToken(tokenA)
	if err != nil || got.Scope.Run != "a" {
		t.Fatalf("ByToken = %+v, %v", got, err)
	}
	refused := map[string]string{
		"nothing":            "",
		"the public id":      a.ID,
		"a cut token":        tokenA[:len(tokenA)-1],
		"a longer token":     tokenA + "0",
		"upper case":         strings.ToUpper(tokenA),
		"another last digit": tokenA[:len(tokenA)-1] + flip(tokenA[len(tokenA)-1]),
	}
	for name, token := range refused {
		if _, err := table.ByToken(token); !errors.Is(err, ErrUnknown) {
			t.Errorf("%s authenticated: %v", name, err)
		}
	}
}

func flip(b byte) string {
	if b == '0' {
		return "1"
	}
	return "0"
}

func TestTableKeepsNoToken(t *testing.T) {
	table, _ := newTable()
	_, token, err := table.Mint(Scope{}, time.Hour, true)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range table.byID {
		if dump := fmt.Sprintf("%#v", *e); strings.Contains(dump, token) || strings.Contains(dump, strings.TrimPrefix(token, TokenPrefix)) {
			t.Fatal("the table holds the token")
		}
	}
}

func TestSandboxSessionHasNoToken(t *testing.T) {
	table, _ := newTable()
	s, token, err := table.Mint(Scope{}, time.Hour, false)
	if err != nil || token != "" {
		t.Fatalf("token %q, %v", token, err)
	}
	if _, err := table.Get(s.ID); err != nil {
		t.Fatal(err)
	}
	if len(table.byHash) != 0 {
		t.Fatal("a session without a token can be found by one")
	}
}

func TestExpiryAndRevocation(t *testing.T) {
	table, clock := newTable()
	s, token, _ := table.Mint(Scope{}, time.Minute, true)
	clock.add(time.Minute - time.Nanosecond)
	if _, err := table.ByToken(token); err != nil {
		t.Fatalf("refused before its time: %v", err)
	}
	clock.add(time.Nanosecond)
	if _, err := table.ByToken(token); !errors.Is(err, ErrUnknown) {
		t.Fatal("token lives at its expiry")
	}
	if _, err := table.Get(s.ID); !errors.Is(err, ErrUnknown) {
		t.Fatal("session lives at its expiry")
	}
	if live := table.Live(); len(live) != 0 {
		t.Fatalf("%d live sessions", len(live))
	}
	r, token2, _ := table.Mint(Scope{}, time.Minute, true)
	if _, ok := table.Revoke(r.ID); !ok {
		t.Fatal("nothing revoked")
	}
	if _, err := table.ByToken(token2); !errors.Is(err, ErrUnknown) {
		t.Fatal("a revoked token works")
	}
	if _, ok := table.Revoke(r.ID); ok {
		t.Fatal("revoked twice")
	}
}

func TestScopeIsACopy(t *testing.T) {
	table, _ := newTable()
	groups := []string{"g"}
	scope := Scope{Upstreams: []string{"demo"}, Groups: &groups}
	s, _, err := table.Mint(scope, time.Hour, false)
	if err != nil {
		t.Fatal(err)
	}
	scope.Upstreams[0], groups[0] = "anthropic", "x"
	s.Scope.Upstreams[0] = "openai"
	got, _ := table.Get(s.ID)
	want := []string{"g"}
	if diff := cmp.Diff(Scope{Upstreams: []string{"demo"}, Groups: &want}, got.Scope); diff != "" {
		t.Fatal(diff)
	}
}

func TestEmptyGroupsStayNothing(t *testing.T) {
	table, _ := newTable()
	s, _, _ := table.Mint(Scope{Groups: &[]string{}}, time.Hour, false)
	if s.Scope.Groups == nil {
		t.Fatal("empty groups became unset, which means everything")
	}
	u, _, _ := table.Mint(Scope{}, time.Hour, false)
	if u.Scope.Groups != nil {
		t.Fatal("unset groups became a list")
	}
}

func TestMintRefuses(t *testing.T) {
	table, clock := newTable()
	parent, _, err := table.Mint(Scope{Upstreams: []string{"demo"}, Repos: []string{"o/r"}, Groups: &[]string{"g"}, Budget: Budget{Tokens: 100}}, time.Hour, false)
	if err != nil {
		t.Fatal(err)
	}
	old, _, _ := table.Mint(Scope{}, time.Second, false)
	clock.add(2 * time.Second)
	ok := func(s Scope) Scope {
		s.Parent, s.Groups, s.Budget = parent.ID, &[]string{}, Budget{Tokens: 50}
		return s
	}
	if _, _, err := table.Mint(ok(Scope{Upstreams: []string{"demo"}}), time.Minute, false); err != nil {
		t.Fatalf("a child within its parent was refused: %v", err)
	}
	cases := map[string]struct {
		scope Scope
		ttl   time.Duration
	}{
		"no life":                        {Scope{}, 0},
		"negative life":                  {Scope{}, -1},
		"endless life":                   {Scope{}, MaxTTL + 1},
		"an id over 128 bytes":           {Scope{Run: strings.Repeat("x", 129)}, 1},
		"an id that is not UTF-8":        {Scope{Stage: "\xff"}, 1},
		"a rate of nothing":              {Scope{RateLimits: []RateLimit{{Upstream: "x", Burst: 1}}}, 1},
		"an unknown parent":              {Scope{Parent: "nobody"}, 1},
		"an expired parent":              {Scope{Parent: old.ID}, 1},
		"an upstream the parent lacks":   {ok(Scope{Upstreams: []string{"anthropic"}}), 1},
		"a repository the parent lacks":  {ok(Scope{Repos: []string{"o/x"}}), 1},
		"all groups under a narrow one":  {with(ok(Scope{}), func(s *Scope) { s.Groups = nil }), 1},
		"a group the parent lacks":       {with(ok(Scope{}), func(s *Scope) { s.Groups = &[]string{"h"} }), 1},
		"a larger budget":                {with(ok(Scope{}), func(s *Scope) { s.Budget.Tokens = 101 }), 1},
		"a grant nobody knows":           {Scope{Grants: []string{"web_search"}}, 1},
		"a beta grant without a value":   {Scope{Grants: []string{"beta:"}}, 1},
		"a grant for every beta":         {Scope{Grants: []string{"beta:*"}}, 1},
		"a grant the parent lacks":       {ok(Scope{Grants: []string{GrantMCP}}), 1},
		"an id of another repository":    {Scope{Repos: []string{"o/r"}, RepoIDs: map[string]int64{"o/x": 1}}, 1},
		"an id of nothing":               {Scope{Repos: []string{"o/r"}, RepoIDs: map[string]int64{"o/r": 0}}, 1},
		"one id for two repositories":    {Scope{Repos: []string{"o/r", "o/s"}, RepoIDs: map[string]int64{"o/r": 7, "o/s": 7}}, 1},
		"the default budget under a own": {with(ok(Scope{}), func(s *Scope) { s.Budget.Tokens = 0 }), 1},
	}
	for name, c := range cases {
		if _, _, err := table.Mint(c.scope, c.ttl, false); !errors.Is(err, ErrScope) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func with(s Scope, edit func(*Scope)) Scope {
	edit(&s)
	return s
}

func TestTableUnderConcurrency(t *testing.T) {
	table, _ := newTable()
	var wg sync.WaitGroup
	for range 16 {
		wg.Go(func() {
			for range 100 {
				s, token, err := table.Mint(Scope{}, time.Hour, true)
				if err != nil {
					t.Error(err)
					return
				}
				if got, err := table.ByToken(token); err != nil || !reflect.DeepEqual(got, s) {
					t.Errorf("ByToken = %v, %v", got, err)
				}
				table.Live()
				table.Revoke(s.ID)
			}
		})
	}
	wg.Wait()
	if n := len(table.Live()); n != 0 || len(table.byHash) != 0 {
		t.Fatalf("%d sessions left", n)
	}
}
