package gate

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"moeca/internal/gateway/gatewayapi"
	"moeca/internal/gateway/policy"
	"moeca/internal/gateway/upstream"
	"moeca/internal/session"
)

type policies map[string]gatewayapi.Policy

func (p policies) Get(name string) gatewayapi.Policy { return p[name] }

// judged is a request that passed the target gate, for an upstream named as its
// kind, in a session with one repository and one protected ref.
func judged(kind, method, target, body string) *Request {
	r := request(method, "/x")
	path, query, _ := strings.Cut(target, "?")
	base := &url.URL{Scheme: "https", Host: "api.example.com", Path: "/base"}
	r.Upstream = upstream.Upstream{Name: kind, Kind: kind, Base: base}
	r.Target = &url.URL{Scheme: "https", Host: base.Host, Path: base.Path + path, RawQuery: query}
	r.Body = []byte(body)
	if body != "" {
		r.HTTP.Header.Set("Content-Type", "application/json")
	}
	r.Session = session.Session{Scope: session.Scope{Repos: []string{"o/n"}, ProtectRefs: []string{"moeca/target"}}}
	r.Class = r.Upstream.Classify(method, path)
	return r
}

// authorize is the part of the chain that goes by what a request would do.
func authorize(p gatewayapi.Policy) Chain {
	return Chain{Path{Policies: policies{"github": p, "git": p, "jira": p, "custom": p, "anthropic": p}}, Write{}, Forbidden{}, Ref{}}
}

const newBranch = `{"ref":"refs/heads/%s","sha":"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"}`

func TestWritesAreDeniedUnlessPermitted(t *testing.T) {
	rule := func(method, path string) gatewayapi.Policy {
		return gatewayapi.Policy{Writes: []gatewayapi.OperationRule{{Method: method, Path: path}}}
	}
	everything := gatewayapi.Policy{Writes: []gatewayapi.OperationRule{
		{Method: "POST", Path: "/**"}, {Method: "PUT", Path: "/**"}, {Method: "PATCH", Path: "/**"}, {Method: "DELETE", Path: "/**"}, {Method: "GET", Path: "/**"},
	}}
	none := gatewayapi.Policy{}
	for name, c := range map[string]struct {
		r            *Request
		p            gatewayapi.Policy
		gate, reason string
	}{
		"a model call changes nothing":              {judged("anthropic", "POST", "/v1/messages", `{}`), none, "", ""},
		"the models of a model upstream":            {judged("anthropic", "GET", "/v1/models", ""), none, "", ""},
		"a model path that no table names":          {judged("anthropic", "POST", "/v1/organizations", `{}`), none, "write", ReasonNoRule},
		"files of a model, for the capability gate": {judged("anthropic", "POST", "/v1/files", `{}`), none, "", ""},
		"a GET of a tool":                           {judged("custom", "GET", "/x", ""), none, "", ""},
		"a POST of a tool":                          {judged("custom", "POST", "/x", "{}"), none, "write", ReasonNoRule},
		"a POST of a tool with its rule":            {judged("custom", "POST", "/x", "{}"), rule("POST", "/x"), "", ""},
		"a PUT where the rule says POST":            {judged("custom", "PUT", "/x", "{}"), rule("POST", "/x"), "write", ReasonNoRule},
		"a path beside the rule's":                  {judged("custom", "POST", "/x/y", "{}"), rule("POST", "/x"), "write", ReasonNoRule},
		"a GET that names an action":                {judged("custom", "GET", "/x?action=delete", ""), none, "write", ReasonNoRule},
		"a GET with a body":                         {judged("custom", "GET", "/x", "{}"), everything, "write", ReasonUnclear},
		"a search of Jira":                          {judged("jira", "POST", "/rest/api/3/search", "{}"), none, "", ""},
		"an issue of Jira":                          {judged("jira", "POST", "/rest/api/3/issue", "{}"), none, "write", ReasonNoRule},
		"an issue of Jira with its rule":            {judged("jira", "POST", "/rest/api/3/issue", "{}"), rule("POST", "/rest/api/3/issue"), "", ""},
		"a read of the session's repository":        {judged("github", "GET", "/repos/o/n/pulls", ""), none, "", ""},
		"the same in another case":                  {judged("github", "GET", "/repos/O/N", ""), none, "write", ReasonRepository},
		"a read of another repository":              {judged("github", "GET", "/repos/o/other", ""), everything, "write", ReasonRepository},
		"a read outside repositories":               {judged("github", "GET", "/search/code?q=x", ""), none, "write", ReasonNoRead},
		"a read outside repositories with its rule": {judged("github", "GET", "/search/code?q=x", ""), rule("GET", "/search/code"), "", ""},
		"a branch":                                       {judged("github", "POST", "/repos/o/n/git/refs", fmt.Sprintf(newBranch, "moeca/x")), none, "", ""},
		"a branch of another repository":                 {judged("github", "POST", "/repos/o/other/git/refs", fmt.Sprintf(newBranch, "moeca/x")), everything, "write", ReasonRepository},
		"a branch outside the prefix":                    {judged("github", "POST", "/repos/o/n/git/refs", fmt.Sprintf(newBranch, "feature")), everything, "ref", ReasonRef},
		"main":                                           {judged("github", "POST", "/repos/o/n/git/refs", fmt.Sprintf(newBranch, "main")), everything, "ref", ReasonRef},
		"main in another case":                           {judged("github", "POST", "/repos/o/n/git/refs", fmt.Sprintf(newBranch, "MAIN")), everything, "ref", ReasonRef},
		"main with a lock behind":                        {judged("github", "POST", "/repos/o/n/git/refs", fmt.Sprintf(newBranch, "main.lock")), everything, "ref", ReasonRef},
		"main with a slash behind":                       {judged("github", "POST", "/repos/o/n/git/refs", fmt.Sprintf(newBranch, "main/")), everything, "ref", ReasonRef},
		"main in percent":                                {judged("github", "POST", "/repos/o/n/git/refs", fmt.Sprintf(newBranch, "m%61in")), everything, "ref", ReasonRef},
		"main behind a backslash":                        {judged("github", "POST", "/repos/o/n/git/refs", fmt.Sprintf(newBranch, `moeca\\..\\main`)), everything, "ref", ReasonRef},
		"the target of the task, under the prefix":       {judged("github", "POST", "/repos/o/n/git/refs", fmt.Sprintf(newBranch, "moeca/Target")), everything, "ref", ReasonRef},
		"main in the path":                               {judged("github", "PATCH", "/repos/o/n/git/refs/heads/main", `{"sha":"x"}`), everything, "ref", ReasonRef},
		"main in the path, slash behind":                 {judged("github", "PATCH", "/repos/o/n/git/refs/heads/main/", `{"sha":"x"}`), everything, "ref", ReasonRef},
		"main in the path, in full":                      {judged("github", "PATCH", "/repos/o/n/git/refs/refs/heads/main", `{"sha":"x"}`), everything, "ref", ReasonRef},
		"an update of a branch needs a rule":             {judged("github", "PATCH", "/repos/o/n/git/refs/heads/moeca/x", `{"sha":"x"}`), none, "write", ReasonNoRule},
		"an update of a branch with its rule":            {judged("github", "PATCH", "/repos/o/n/git/refs/heads/moeca/x", `{"sha":"x"}`), everything, "", ""},
		"a forced update, whatever the rules":            {judged("github", "PATCH", "/repos/o/n/git/refs/heads/moeca/x", `{"sha":"x","force":true}`), everything, "write", ReasonNever},
		"a merge, whatever the rules":                    {judged("github", "PUT", "/repos/o/n/pulls/1/merge", `{}`), everything, "write", ReasonNever},
		"a merge in another case, whatever the rules":    {judged("github", "PUT", "/repos/o/n/Pulls/1/Merge", `{}`), everything, "write", ReasonNever},
		"an approval, whatever the rules":                {judged("github", "POST", "/repos/o/n/pulls/1/reviews", `{"event":"APPROVE"}`), everything, "write", ReasonNever},
		"a commit to the default branch, whatever":       {judged("github", "PUT", "/repos/o/n/contents/a", `{"content":"x"}`), everything, "ref", ReasonRef},
		"a commit to a branch of the agent needs a rule": {judged("github", "PUT", "/repos/o/n/contents/a", `{"branch":"moeca/x"}`), none, "write", ReasonNoRule},
		"a pull request":                                 {judged("github", "POST", "/repos/o/n/pulls", `{"title":"t","head":"moeca/x","base":"main"}`), none, "", ""},
		"a comment":                                      {judged("github", "POST", "/repos/o/n/issues/1/comments", `{"body":"b"}`), none, "", ""},
		"an issue needs a rule":                          {judged("github", "POST", "/repos/o/n/issues", `{"title":"t"}`), none, "write", ReasonNoRule},
		"an issue with its rule":                         {judged("github", "POST", "/repos/o/n/issues", `{"title":"t"}`), rule("POST", "/repos/o/n/issues"), "", ""},
		"a body that reads in two ways":                  {judged("github", "POST", "/repos/o/n/git/refs", `{"ref":"refs/heads/moeca/x","ref":"refs/heads/main"}`), everything, "write", ReasonUnclear},
		"a merge through GraphQL":                        {judged("github", "POST", "/graphql", `{"query":"mutation{mergePullRequest(input:{pullRequestId:\"x\"}){clientMutationId}}"}`), everything, "write", ReasonNever},
		"the second operation of a document":             {judged("github", "POST", "/graphql", `{"query":"query a{viewer{login}} mutation b{deleteRef(input:{refId:\"x\"}){clientMutationId}}","operationName":"a"}`), everything, "write", ReasonNever},
		"another repository through GraphQL":             {judged("github", "POST", "/graphql", `{"query":"{repository(owner:\"o\",name:\"other\"){id}}"}`), everything, "write", ReasonRepository},
		"a repository through GraphQL":                   {judged("github", "POST", "/graphql", `{"query":"{repository(owner:\"o\",name:\"n\"){id}}"}`), none, "", ""},
		"a mutation by id without the id's repository":   {judged("github", "POST", "/graphql", `{"query":"mutation{createRef(input:{repositoryId:\"R_kgDOABPHjQ\",name:\"refs/heads/moeca/x\",oid:\"x\"}){clientMutationId}}"}`), everything, "write", ReasonNever},
		"a mutation by id of the session's repository":   {judged("github", "POST", "/graphql", `{"query":"mutation{createRef(input:{repositoryId:\"R_kgDOABPHjQ\",name:\"refs/heads/moeca/x\",oid:\"x\"}){clientMutationId}}"}`), gatewayapi.Policy{RepositoryIDs: map[string]int64{"o/n": 1296269}}, "", ""},
		"a mutation by an id that the session names":     {of(judged("github", "POST", "/graphql", newRef), ids("o/n", 1296269)), none, "", ""},
		"one that session and policy tell alike":         {of(judged("github", "POST", "/graphql", newRef), ids("o/n", 1296269)), withIDs(none), "", ""},
		"one that they tell differently":                 {of(judged("github", "POST", "/graphql", newRef), ids("o/n", 7)), withIDs(none), "write", ReasonNever},
		"one that the policy gives to another name":      {of(judged("github", "POST", "/graphql", newRef), ids("o/n", 1296269)), gatewayapi.Policy{RepositoryIDs: map[string]int64{"o/other": 1296269}}, "write", ReasonNever},
		"an id of the session, of another repository":    {of(judged("github", "POST", "/graphql", newRef), ids("o/n", 5)), none, "write", ReasonNever},
		"main, by an id that the session names":          {of(judged("github", "POST", "/graphql", strings.Replace(newRef, "moeca/x", "main", 1)), ids("o/n", 1296269)), none, "ref", ReasonRef},
		"a comment by an id that could be forged":        {judged("github", "POST", "/graphql", addComment), withIDs(everything), "write", ReasonNoRule},
		"the same with a rule for that operation":        {judged("github", "POST", "/graphql", addComment), withIDs(gatewayapi.Policy{Writes: []gatewayapi.OperationRule{{Operation: "github.graphql.addComment"}}}), "", ""},
		"a search by GraphQL, whatever the paths":        {judged("github", "POST", "/graphql", `{"query":"{search(query:\"x\",type:CODE){codeCount}}"}`), everything, "write", ReasonNoRead},
		"main through GraphQL":                           {judged("github", "POST", "/graphql", `{"query":"mutation{createRef(input:{repositoryId:\"R_kgDOABPHjQ\",name:\"refs/heads/main\",oid:\"x\"}){clientMutationId}}"}`), gatewayapi.Policy{RepositoryIDs: map[string]int64{"o/n": 1296269}}, "ref", ReasonRef},
		"a listed id of a repository the session lacks":  {judged("github", "POST", "/graphql", `{"query":"mutation{createRef(input:{repositoryId:\"R_kgDOABPHjQ\",name:\"refs/heads/moeca/x\",oid:\"x\"}){clientMutationId}}"}`), gatewayapi.Policy{RepositoryIDs: map[string]int64{"o/other": 1296269}}, "write", ReasonRepository},
		"a fetch":                          {judged("git", "GET", "/o/n.git/info/refs?service=git-upload-pack", ""), none, "", ""},
		"a fetch of another repository":    {judged("git", "GET", "/o/other.git/info/refs?service=git-upload-pack", ""), none, "write", ReasonRepository},
		"a push":                           {push("0", "a", "refs/heads/moeca/x"), none, "", ""},
		"a push to main":                   {push("0", "a", "refs/heads/main"), everything, "ref", ReasonRef},
		"a push to main beside a branch":   {push("0", "a", "refs/heads/moeca/x", "0", "a", "refs/heads/main"), everything, "ref", ReasonRef},
		"a push of a tag":                  {push("0", "a", "refs/tags/v1"), everything, "ref", ReasonRef},
		"a push to the target of the task": {push("a", "b", "refs/heads/moeca/target"), everything, "ref", ReasonRef},
		"a push that shows nothing":        {push("a", "b", "refs/heads/moeca/x"), everything, "ref", ReasonForced},
		"the same beside a new branch":     {push("0", "a", "refs/heads/moeca/y", "a", "b", "refs/heads/moeca/x"), everything, "ref", ReasonForced},
		"a push that deletes":              {push("a", "0", "refs/heads/moeca/x"), everything, "write", ReasonNever},
		"a listed path":                    {judged("custom", "GET", "/x", ""), gatewayapi.Policy{Paths: []string{"/x", "/y/*"}}, "", ""},
		"a path that is not listed":        {judged("custom", "GET", "/z", ""), gatewayapi.Policy{Paths: []string{"/x", "/y/*"}}, "path", ReasonNotListed},
		"a model path that is not listed":  {judged("anthropic", "POST", "/v1/messages", "{}"), gatewayapi.Policy{Paths: []string{"/v1/models"}}, "path", ReasonNotListed},
		"a listed path is no write rule":   {judged("custom", "POST", "/x", "{}"), gatewayapi.Policy{Paths: []string{"/x"}}, "write", ReasonNoRule},
	} {
		d := authorize(c.p).Run(t.Context(), c.r)
		if d.Allowed != (c.reason == "") || !d.Allowed && (d.Gate != c.gate || d.Reason != c.reason || d.Status != http.StatusForbidden || len(d.Message) < 20) {
			t.Errorf("%s: %+v, want %s/%s", name, d, c.gate, c.reason)
		}
	}
}

// addComment names its subject by the id of a pull request of repository 1296269.
const addComment = `{"query":"mutation{addComment(input:{subjectId:\"PR_kwDOABPHjc4AAAAF\",body:\"b\"}){clientMutationId}}"}`

// newRef names the repository 1296269 by its own id.
const newRef = `{"query":"mutation{createRef(input:{repositoryId:\"R_kgDOABPHjQ\",name:\"refs/heads/moeca/x\",oid:\"x\"}){clientMutationId}}"}`

func ids(repo string, id int64) func(*session.Scope) {
	return func(s *session.Scope) { s.RepoIDs = map[string]int64{repo: id} }
}

func withIDs(p gatewayapi.Policy) gatewayapi.Policy {
	p.RepositoryIDs = map[string]int64{"o/n": 1296269}
	return p
}

// push is a receive-pack request: old, new and ref of each command, an object
// id written as its one digit.
func push(commands ...string) *Request {
	var body strings.Builder
	for i := 0; i+2 < len(commands); i += 3 {
		line := strings.Repeat(commands[i], 40) + " " + strings.Repeat(commands[i+1], 40) + " " + commands[i+2]
		if i == 0 {
			line += "\x00 report-status"
		}
		fmt.Fprintf(&body, "%04x%s", len(line)+4, line)
	}
	r := judged("git", "POST", "/o/n.git/git-receive-pack", body.String()+"0000PACK")
	r.HTTP.Header.Set("Content-Type", "application/x-git-receive-pack-request")
	return r
}

func TestASessionWithoutRepositoriesReachesNone(t *testing.T) {
	for _, r := range []*Request{judged("github", "GET", "/repos/o/n", ""), judged("git", "GET", "/o/n.git/info/refs?service=git-upload-pack", "")} {
		r.Session.Scope.Repos = nil
		expect(t, "no repositories", authorize(gatewayapi.Policy{}).Run(t.Context(), r), ReasonRepository)
	}
}

func TestClassFollowsWhatARequestDoes(t *testing.T) {
	for name, c := range map[string]struct {
		r    *Request
		want upstream.Class
	}{
		"a search is a read":                 {judged("jira", "POST", "/rest/api/3/search", "{}"), upstream.Read},
		"a query of GraphQL is a read":       {judged("github", "POST", "/graphql", `{"query":"{viewer{login}}"}`), upstream.Read},
		"a comment is a write":               {judged("github", "POST", "/repos/o/n/issues/1/comments", `{"body":"b"}`), upstream.Write},
		"a model call stays a model call":    {judged("anthropic", "POST", "/v1/messages", "{}"), upstream.Inference},
		"a query beside a change is no read": {judged("github", "POST", "/graphql", `{"query":"query a{viewer{login}} mutation b{createRef(input:{repositoryId:\"R_kgDOABPHjQ\",name:\"refs/heads/moeca/x\",oid:\"x\"}){clientMutationId}}","operationName":"a"}`), upstream.Write},
	} {
		d := authorize(gatewayapi.Policy{RepositoryIDs: map[string]int64{"o/n": 1296269}}).Run(t.Context(), c.r)
		if !d.Allowed || c.r.Class != c.want {
			t.Errorf("%s: %s, %+v", name, c.r.Class, d)
		}
	}
}

func TestForbidden(t *testing.T) {
	comment := func() *Request { return judged("github", "POST", "/repos/o/n/issues/1/comments", `{"body":"b"}`) }
	byName := gatewayapi.OperationRule{Operation: "github.comment"}
	byPath := gatewayapi.OperationRule{Method: "POST", Path: "/repos/*/*/issues/*/comments"}
	rules := func(r ...gatewayapi.ForbiddenRule) gatewayapi.Policy { return gatewayapi.Policy{Forbidden: r} }
	// A branch is made, and the answer asks for what is beyond its repository.
	across := func() *Request {
		return judged("github", "POST", "/graphql", `{"query":"mutation{createRef(input:{repositoryId:\"R_kgDOABPHjQ\",name:\"refs/heads/moeca/x\",oid:\"x\"}){ref{repository{forks{totalCount}}}}}"}`)
	}
	readsAcross := gatewayapi.Policy{
		RepositoryIDs: map[string]int64{"o/n": 1296269},
		Writes:        []gatewayapi.OperationRule{{Operation: "github.graphql.read-across"}},
	}
	noBranch := readsAcross
	noBranch.Forbidden = []gatewayapi.ForbiddenRule{{OperationRule: gatewayapi.OperationRule{Operation: "github.graphql.createRef"}, Effect: "block"}}
	for name, c := range map[string]struct {
		r      *Request
		p      gatewayapi.Policy
		reason string
		warns  bool
	}{
		"nothing is forbidden":           {comment(), rules(), "", false},
		"blocked by name":                {comment(), rules(gatewayapi.ForbiddenRule{OperationRule: byName, Effect: "block"}), ReasonForbidden, false},
		"blocked by path":                {comment(), rules(gatewayapi.ForbiddenRule{OperationRule: byPath, Effect: "block"}), ReasonForbidden, false},
		"asked, and nobody attends":      {of(comment(), func(s *session.Scope) { s.Unattended = true }), rules(gatewayapi.ForbiddenRule{OperationRule: byName, Effect: "ask"}), ReasonAsk, false},
		"asked by the host itself":       {of(comment(), func(s *session.Scope) { s.Service = true }), rules(gatewayapi.ForbiddenRule{OperationRule: byName, Effect: "ask"}), ReasonAsk, false},
		"asked and blocked":              {comment(), rules(gatewayapi.ForbiddenRule{OperationRule: byName, Effect: "ask"}, gatewayapi.ForbiddenRule{OperationRule: byPath, Effect: "block"}), ReasonForbidden, false},
		"warned":                         {comment(), rules(gatewayapi.ForbiddenRule{OperationRule: byName, Effect: "warn"}), "", true},
		"warned first, blocked second":   {comment(), rules(gatewayapi.ForbiddenRule{OperationRule: byName, Effect: "warn"}, gatewayapi.ForbiddenRule{OperationRule: byPath, Effect: "block"}), ReasonForbidden, false},
		"blocked first, warned second":   {comment(), rules(gatewayapi.ForbiddenRule{OperationRule: byName, Effect: "block"}, gatewayapi.ForbiddenRule{OperationRule: byPath, Effect: "warn"}), ReasonForbidden, false},
		"an effect that nobody knows":    {comment(), rules(gatewayapi.ForbiddenRule{OperationRule: byName, Effect: "allow"}), ReasonForbidden, false},
		"another operation":              {comment(), rules(gatewayapi.ForbiddenRule{OperationRule: gatewayapi.OperationRule{Operation: "github.create-branch"}, Effect: "block"}), "", false},
		"a read":                         {judged("custom", "GET", "/secret", ""), rules(gatewayapi.ForbiddenRule{OperationRule: gatewayapi.OperationRule{Method: "GET", Path: "/secret"}, Effect: "block"}), ReasonForbidden, false},
		"a model call":                   {judged("anthropic", "POST", "/v1/messages", "{}"), rules(gatewayapi.ForbiddenRule{OperationRule: gatewayapi.OperationRule{Operation: "anthropic.inference"}, Effect: "block"}), ReasonForbidden, false},
		"a change that reads across":     {across(), readsAcross, "", false},
		"the same, and blocked by name":  {across(), noBranch, ReasonForbidden, false},
		"a rule of writes opens nothing": {comment(), gatewayapi.Policy{Writes: []gatewayapi.OperationRule{byName}, Forbidden: []gatewayapi.ForbiddenRule{{OperationRule: byName, Effect: "block"}}}, ReasonForbidden, false},
	} {
		d := authorize(c.p).Run(t.Context(), c.r)
		expect(t, name, d, c.reason)
		if slices.Contains(c.r.Warnings, "github.comment") != c.warns {
			t.Errorf("%s: warnings %v", name, c.r.Warnings)
		}
	}
}

func of(r *Request, edit func(*session.Scope)) *Request {
	edit(&r.Session.Scope)
	return r
}

// An operation that a person is asked about passes the gate with a note, without
// which the gateway would not hold it.
func TestForbiddenNotesWhatIsAsked(t *testing.T) {
	byName, byPath := gatewayapi.OperationRule{Operation: "github.comment"}, gatewayapi.OperationRule{Method: "POST", Path: "/repos/**"}
	r := judged("github", "POST", "/repos/o/n/issues/1/comments", `{"body":"b"}`)
	d := authorize(gatewayapi.Policy{Forbidden: []gatewayapi.ForbiddenRule{
		{OperationRule: byPath, Effect: "warn"}, {OperationRule: byName, Effect: "ask"}, {OperationRule: byPath, Effect: "ask"},
	}}).Run(t.Context(), r)
	expect(t, "attended", d, "")
	if !slices.Equal(r.Asks, []Asking{{"github.comment", byName}}) || len(r.Warnings) != 0 {
		t.Errorf("asks %+v, warnings %v", r.Asks, r.Warnings)
	}
}

func TestNetwork(t *testing.T) {
	list, err := ParseNetworks([]string{"evil.example.com", ".bad.example", "203.0.113.0/24", "2001:db8::/32", "198.51.100.7"})
	if err != nil {
		t.Fatal(err)
	}
	for host, reason := range map[string]string{
		"evil.example.com": ReasonDenied, "EVIL.example.com": ReasonDenied, "evil.example.com.": ReasonDenied, "a.evil.example.com": "", "evil.example.com.org": "",
		"a.bad.example": ReasonDenied, "a.b.bad.example": ReasonDenied, "bad.example": "", "notbad.example": "",
		"203.0.113.9": ReasonDenied, "203.0.114.9": "", "[2001:db8::1]": ReasonDenied, "198.51.100.7": ReasonDenied, "198.51.100.8": "", "[::ffff:203.0.113.9]": ReasonDenied,
	} {
		r := request("GET", "/a")
		r.Target = &url.URL{Scheme: "https", Host: host, Path: "/"}
		expect(t, host, Network{list}.Decide(t.Context(), r), reason)
		expect(t, host+" without a list", Network{}.Decide(t.Context(), r), "")
	}
	if n := len(list.Prefixes()); n != 3 {
		t.Errorf("%d prefixes", n)
	}
	for _, entry := range []string{"", ".", "*", "*.example.com", "example.com/path", "203.0.113.1/24", "http://example.com", "::ffff:1.2.3.4/120", "a b"} {
		if _, err := ParseNetworks([]string{entry}); err == nil {
			t.Errorf("%q was taken", entry)
		}
	}
}

func FuzzAuthorize(f *testing.F) {
	f.Add("github", "POST", "/repos/o/n/git/refs", "", fmt.Sprintf(newBranch, "moeca/x"))
	f.Add("github", "POST", "/graphql", "", `{"query":"{viewer{login}}"}`)
	f.Add("git", "POST", "/o/n.git/git-receive-pack", "", "0000")
	f.Add("jira", "POST", "/rest/api/3/search", "", "{}")
	f.Add("custom", "GET", "/x", "a=b", "")
	chain := authorize(gatewayapi.Policy{})
	f.Fuzz(func(t *testing.T, kind, method, path, query, body string) {
		if rest, err := upstream.CanonicalPath(path); err != nil || rest == "" || rest != path {
			return
		}
		if (upstream.Upstream{Kind: kind}).Model() || !slices.Contains([]string{"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"}, method) {
			return // the target gate passes no other
		}
		ask := func() (Decision, *Request) {
			r := judged(kind, method, "/", body)
			r.Target.Path, r.Target.RawQuery = "/base"+path, query
			return chain.Run(t.Context(), r), r
		}
		d, r := ask()
		if again, _ := ask(); again != d {
			t.Fatalf("decided %+v and then %+v", d, again)
		}
		if d.Reason == ReasonFailed {
			t.Fatalf("a gate panicked: %+v", d)
		}
		if !d.Allowed {
			return
		}
		for _, op := range r.Operations {
			for _, ref := range op.Refs {
				if !strings.HasPrefix(ref, "refs/heads/moeca/") || strings.EqualFold(ref, "refs/heads/moeca/target") {
					t.Fatalf("%s %s may write %q", method, path, ref)
				}
			}
			if op.Repo != "" && op.Repo != "o/n" || op.Never != "" || op.Forced != "" || !op.Shipped {
				t.Fatalf("%s %s passes as %+v", method, path, op)
			}
		}
		if (kind == upstream.KindGitHub || kind == upstream.KindGit) && strings.Contains(strings.ToLower(path), "merge") && method != "GET" && method != "HEAD" &&
			!slices.ContainsFunc(r.Operations, func(op policy.Operation) bool { return op.Name == "github.comment" }) {
			t.Fatalf("%s %s passes", method, path)
		}
	})
}
