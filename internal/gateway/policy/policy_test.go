package policy

import (
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"moeca/internal/gateway/gatewayapi"

	"moeca/internal/gateway/upstream"
)

func jsonInput(kind, method, target, body string) Input {
	path, query, _ := strings.Cut(target, "?")
	in := Input{Kind: kind, Method: method, Path: path, Query: query, Header: http.Header{}, Body: []byte(body)}
	if body != "" {
		in.Header.Set("Content-Type", "application/json; charset=utf-8")
	}
	return in
}

func TestRefFault(t *testing.T) {
	for ref, want := range map[string]string{
		"refs/heads/moeca/1-1":             "",
		"refs/heads/moeca/a/b_c.d":         "",
		"":                                 RefDefault,
		"refs/tags/v1":                     RefNoBranch,
		"main":                             RefNoBranch,
		"heads/moeca/x":                    RefNoBranch,
		"refs/heads":                       RefNoBranch,
		"REFS/HEADS/moeca/x":               RefNoBranch,
		"refs/heads/main":                  RefProtected,
		"refs/heads/Main":                  RefProtected,
		"refs/heads/MASTER":                RefProtected,
		"refs/heads/develop":               RefProtected,
		"refs/heads/release":               RefProtected, // by the session
		"refs/heads/moeca/Frozen":          RefProtected, // under the prefix, and protected
		"refs/heads/feature":               RefPrefix,
		"refs/heads/moeca":                 RefPrefix,
		"refs/heads/Moeca/x":               RefPrefix,
		"refs/heads/moecax/y":              RefPrefix,
		"refs/heads/main/":                 RefSpelling,
		"refs/heads/main.lock":             RefSpelling,
		"refs/heads/moeca/x.LOCK":          RefSpelling,
		"refs/heads/moeca/x.lock/y":        RefSpelling,
		"refs/heads/moeca/":                RefSpelling,
		"refs/heads/moeca//x":              RefSpelling,
		"refs/heads//main":                 RefSpelling,
		"refs/heads/moeca/../main":         RefSpelling,
		"refs/heads/moeca/x..y":            RefSpelling,
		"refs/heads/moeca/.x":              RefSpelling,
		"refs/heads/moeca/x.":              RefSpelling,
		"refs/heads/-x":                    RefSpelling,
		"refs/heads/moeca/-x":              RefSpelling,
		"refs/heads/mai%6e":                RefSpelling,
		"refs/heads/moeca%2fx":             RefSpelling,
		"refs/heads/moeca\\x":              RefSpelling,
		"refs/heads/moeca/x y":             RefSpelling,
		"refs/heads/moeca/x\n":             RefSpelling,
		"refs/heads/moeca/x\x00":           RefSpelling,
		"refs/heads/moeca/x@{1}":           RefSpelling,
		"refs/heads/moeca/x~1":             RefSpelling,
		"refs/heads/moeca/x:refs/heads/m":  RefSpelling,
		"refs/heads/ma\u0131n":             RefSpelling,
		"refs/heads/\uff4dain":             RefSpelling,
		"refs/heads/moeca/\u202ex":         RefSpelling,
		"refs/heads/refs/heads/main":       RefSpelling,
		"refs/heads/HEAD":                  RefSpelling,
		"refs/heads/moeca/" + long:         RefSpelling,
		"+refs/heads/moeca/x":              RefNoBranch,
		"refs/heads/moeca/x*":              RefSpelling,
		"refs/heads/moeca/[x]":             RefSpelling,
		"refs/heads/moeca/refs/heads/main": "",
	} {
		if got := RefFault(ref, nil, []string{"release", "refs/heads/moeca/frozen"}); got != want {
			t.Errorf("%q: %q, want %q", ref, got, want)
		}
	}
	if got := RefFault("refs/heads/bot/x", []string{"bot/"}, nil); got != "" {
		t.Error(got)
	}
	if got := RefFault("refs/heads/moeca/x", []string{"bot/"}, nil); got != RefPrefix {
		t.Error("the default prefix stays open beside another: ", got)
	}
	if got := RefFault("refs/heads/main", []string{"", "main"}, nil); got != RefProtected {
		t.Error(got)
	}
}

const long = "0123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789" +
	"0123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890123456789"

func TestMatchPath(t *testing.T) {
	for _, c := range []struct {
		pattern, path string
		want          bool
	}{
		{"/a/b", "/a/b", true},
		{"/a/b", "/a/B", false},
		{"/a/b", "/a/b/", false},
		{"/a/b", "/a", false},
		{"/a/*", "/a/b", true},
		{"/a/*", "/a/", false},
		{"/a/*", "/a/b/c", false},
		{"/a/**", "/a/b/c", true},
		{"/a/**", "/a/", false},
		{"/a/**", "/a", false},
		{"/a/*/c", "/a/b/c", true},
		{"/a/*/c", "/a//c", false},
		{"/**", "/", false},
		{"/**", "/x", true},
		{"/", "/", true},
	} {
		if got := MatchPath(c.pattern, c.path); got != c.want {
			t.Errorf("%s against %s: %v", c.pattern, c.path, got)
		}
	}
}

func TestToolsReadUnlessATableSaysOtherwise(t *testing.T) {
	for name, c := range map[string]struct {
		in   Input
		want string // operation, "+" in front when it is shipped, "!" when nothing opens it
	}{
		"an issue is read":                            {jsonInput(upstream.KindJira, "GET", "/rest/api/3/issue/A-1", ""), "+jira.read"},
		"Jira's search is a read":                     {jsonInput(upstream.KindJira, "POST", "/rest/api/3/search", "{}"), "+jira.search"},
		"Jira's search by query is a read":            {jsonInput(upstream.KindJira, "POST", "/rest/api/3/search/jql", "{}"), "+jira.search"},
		"a search of another version is none":         {jsonInput(upstream.KindJira, "POST", "/rest/api/9/search", "{}"), "jira.write"},
		"a search in another case is none":            {jsonInput(upstream.KindJira, "POST", "/rest/api/3/Search", "{}"), "jira.write"},
		"a search with a slash behind it is none":     {jsonInput(upstream.KindJira, "POST", "/rest/api/3/search/", "{}"), "jira.write"},
		"a new issue is a write":                      {jsonInput(upstream.KindJira, "POST", "/rest/api/3/issue", "{}"), "jira.write"},
		"a card is read":                              {jsonInput(upstream.KindTrello, "GET", "/1/cards/x", ""), "+trello.read"},
		"a card is moved":                             {jsonInput(upstream.KindTrello, "PUT", "/1/cards/x?idList=y", ""), "trello.write"},
		"a card is deleted":                           {jsonInput(upstream.KindTrello, "DELETE", "/1/cards/x", ""), "trello.write"},
		"Notion's search is a read":                   {jsonInput(upstream.KindNotion, "POST", "/v1/search", "{}"), "+notion.search"},
		"Notion's search below a base is a read":      {jsonInput(upstream.KindNotion, "POST", "/search", "{}"), "+notion.search"},
		"Notion's database query is a read":           {jsonInput(upstream.KindNotion, "POST", "/v1/databases/abc/query", "{}"), "+notion.search"},
		"a query of a database without id is none":    {jsonInput(upstream.KindNotion, "POST", "/v1/databases//query", "{}"), "notion.write"},
		"a new page is a write":                       {jsonInput(upstream.KindNotion, "POST", "/v1/pages", "{}"), "notion.write"},
		"a block is appended":                         {jsonInput(upstream.KindNotion, "PATCH", "/v1/blocks/x/children", "{}"), "notion.write"},
		"knowledge is searched":                       {jsonInput(upstream.KindRAG, "POST", "/search", "{}"), "+rag.search"},
		"knowledge is not read otherwise":             {jsonInput(upstream.KindRAG, "GET", "/documents", ""), "rag.other"},
		"knowledge is not written":                    {jsonInput(upstream.KindRAG, "POST", "/index", "{}"), "rag.write"},
		"a page is fetched":                           {jsonInput(upstream.KindFetch, "GET", "/x?action=view", ""), "+fetch.read"},
		"fetch posts nothing, whatever a rule says":   {jsonInput(upstream.KindFetch, "POST", "/x", ""), "!fetch.write"},
		"an unknown kind reads":                       {jsonInput("custom", "HEAD", "/x", ""), "+custom.read"},
		"an unknown kind does not write":              {jsonInput("custom", "POST", "/x", ""), "custom.write"},
		"a GET that names an action is a write":       {jsonInput("custom", "GET", "/?Action=DeleteUser", ""), "custom.action"},
		"a GET that names an action with an escape":   {jsonInput("sigv4", "GET", "/?%41ction=DeleteUser&x=1", ""), "sigv4.action"},
		"a GET of an object that is called action":    {jsonInput("custom", "GET", "/action", ""), "+custom.read"},
		"the name of a model kind gives no privilege": {jsonInput("Jira", "POST", "/rest/api/3/search", "{}"), "Jira.write"},
	} {
		ops, err := Parse(c.in)
		if err != nil || len(ops) != 1 {
			t.Errorf("%s: %v, %v", name, ops, err)
			continue
		}
		got := ops[0].Name
		switch {
		case ops[0].Never != "":
			got = "!" + got
		case ops[0].Shipped:
			got = "+" + got
		}
		if got != c.want || ops[0].Shipped && !ops[0].Read {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
	for name, in := range map[string]Input{
		"a GET with a body":               jsonInput("custom", "GET", "/x", "{}"),
		"a HEAD with a body":              jsonInput(upstream.KindJira, "HEAD", "/x", "{}"),
		"a method in the query":           jsonInput("custom", "GET", "/x?_method=DELETE", ""),
		"a method in the query, escaped":  jsonInput(upstream.KindTrello, "GET", "/x?a=1&%5fmethod=PUT", ""),
		"a method override, another name": jsonInput(upstream.KindNotion, "POST", "/search?X-HTTP-Method-Override=PATCH", "{}"),
	} {
		if _, err := Parse(in); !errors.Is(err, ErrUnclear) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestSetKeepsPolicies(t *testing.T) {
	path := filepath.Join(t.TempDir(), "policies.json")
	s, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	if got := s.Get("jira"); !reflect.DeepEqual(got, gatewayapi.Policy{}) {
		t.Errorf("%+v", got)
	}
	rules := []gatewayapi.OperationRule{{Method: "POST", Path: "/rest/api/3/issue/*/comment"}}
	prefixes := []string{"bot/"}
	apply(t, s, "jira", gatewayapi.PolicyPatch{Writes: &rules})
	apply(t, s, "jira", gatewayapi.PolicyPatch{BranchPrefixes: &prefixes})
	got := s.Get("jira")
	if !reflect.DeepEqual(got.Writes, rules) || !reflect.DeepEqual(got.BranchPrefixes, prefixes) {
		t.Errorf("a patch dropped another field: %+v", got)
	}
	got.Writes[0].Path = "/**"
	if s.Get("jira").Writes[0].Path == "/**" {
		t.Error("a reader changed the set")
	}
	again, err := Open(path)
	if err != nil || !reflect.DeepEqual(again.Get("jira"), s.Get("jira")) {
		t.Errorf("after a restart: %+v, %v", again, err)
	}
	if left, _ := filepath.Glob(filepath.Join(filepath.Dir(path), ".policies-*")); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
	none := []gatewayapi.OperationRule{}
	apply(t, s, "jira", gatewayapi.PolicyPatch{Writes: &none})
	if len(s.Get("jira").Writes) != 0 {
		t.Error("rules cannot be removed")
	}
}

func apply(t *testing.T, s *Set, name string, p gatewayapi.PolicyPatch) {
	t.Helper()
	c, err := s.Plan(name, p)
	if err == nil {
		err = c.Apply()
	}
	if err != nil {
		t.Fatal(err)
	}
}

func TestChangeThatCannotBeKeptIsNotMade(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "gone")
	s, err := Open(filepath.Join(dir, "policies.json"))
	if err != nil {
		t.Fatal(err)
	}
	paths := []string{"/a"}
	c, err := s.Plan("x", gatewayapi.PolicyPatch{Paths: &paths})
	if err != nil {
		t.Fatal(err)
	}
	if c.Apply() == nil || len(s.Get("x").Paths) != 0 {
		t.Error("a policy that was not written took effect")
	}
}

func TestDamagedPoliciesAreNotGuessed(t *testing.T) {
	for name, text := range map[string]string{
		"half a file":       `{"a":{"paths":["/x"`,
		"an unknown key":    `{"a":{"allow_all":true}}`,
		"a key twice":       `{"a":{"paths":["/x"]},"a":{}}`,
		"null":              `null`,
		"an invalid policy": `{"a":{"paths":["x"]}}`,
		"an invalid name":   `{"A/b":{}}`,
	} {
		path := filepath.Join(t.TempDir(), "policies.json")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := Open(path); err == nil {
			t.Errorf("%s was read", name)
		}
	}
}

func TestPlanRefusesWhatCannotBeMeant(t *testing.T) {
	rule := func(r gatewayapi.OperationRule) gatewayapi.PolicyPatch {
		return gatewayapi.PolicyPatch{Writes: &[]gatewayapi.OperationRule{r}}
	}
	for name, p := range map[string]gatewayapi.PolicyPatch{
		"a rule without anything":    rule(gatewayapi.OperationRule{}),
		"a rule without a method":    rule(gatewayapi.OperationRule{Path: "/x"}),
		"a method of one's own":      rule(gatewayapi.OperationRule{Method: "post", Path: "/x"}),
		"a method wildcard":          rule(gatewayapi.OperationRule{Method: "*", Path: "/x"}),
		"a path without a slash":     rule(gatewayapi.OperationRule{Method: "POST", Path: "x"}),
		"a path with an escape":      rule(gatewayapi.OperationRule{Method: "POST", Path: "/a%2fb"}),
		"a star inside a segment":    rule(gatewayapi.OperationRule{Method: "POST", Path: "/a*"}),
		"two stars in the middle":    rule(gatewayapi.OperationRule{Method: "POST", Path: "/**/x"}),
		"dots":                       rule(gatewayapi.OperationRule{Method: "POST", Path: "/../x"}),
		"a query":                    rule(gatewayapi.OperationRule{Method: "POST", Path: "/x?y"}),
		"an operation and a path":    rule(gatewayapi.OperationRule{Operation: "a.b", Method: "POST", Path: "/x"}),
		"an operation of no name":    rule(gatewayapi.OperationRule{Operation: "a b"}),
		"an effect that is unknown":  {Forbidden: &[]gatewayapi.ForbiddenRule{{OperationRule: gatewayapi.OperationRule{Operation: "a"}, Effect: "allow"}}},
		"an effect that is missing":  {Forbidden: &[]gatewayapi.ForbiddenRule{{OperationRule: gatewayapi.OperationRule{Operation: "a"}}}},
		"a prefix without its slash": {BranchPrefixes: &[]string{"bot"}},
		"a prefix of everything":     {BranchPrefixes: &[]string{""}},
		"a prefix that goes up":      {BranchPrefixes: &[]string{"../"}},
		"an empty protected ref":     {ProtectedRefs: &[]string{""}},
		"one id for two":             {RepositoryIDs: &map[string]int64{"a/b": 1, "a/c": 1}},
		"an id of no repository":     {RepositoryIDs: &map[string]int64{"a": 1}},
		"a negative id":              {RepositoryIDs: &map[string]int64{"a/b": -1}},
	} {
		if _, err := NewSet().Plan("x", p); !errors.Is(err, ErrInvalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := NewSet().Plan("../x", gatewayapi.PolicyPatch{}); !errors.Is(err, ErrInvalid) {
		t.Errorf("a name that is a path: %v", err)
	}
}
