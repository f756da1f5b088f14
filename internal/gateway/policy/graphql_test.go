package policy

import (
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"strings"
	"testing"

	"moeca/internal/gateway/upstream"
)

// node makes an id as GitHub writes it.
func node(prefix string, numbers ...uint32) string {
	raw := []byte{0x91 + byte(len(numbers)), 0}
	for _, n := range numbers {
		raw = binary.BigEndian.AppendUint32(append(raw, 0xce), n)
	}
	return prefix + "_" + base64.RawURLEncoding.EncodeToString(raw)
}

const repoNumber = 1296269

func gql(document, variables string) Input {
	text, err := json.Marshal(document)
	if err != nil {
		panic(err)
	}
	body := `{"query":` + string(text)
	if variables != "" {
		body += `,"variables":` + variables
	}
	in := jsonInput(upstream.KindGitHub, "POST", "/graphql", body+"}")
	in.Repositories = map[string]int64{"o/n": repoNumber, "o/other": 7}
	return in
}

func TestNodeIDs(t *testing.T) {
	old := base64.StdEncoding.EncodeToString([]byte("010:Repository1296269"))
	for id, want := range map[string]struct {
		repo      int64
		exact, ok bool
	}{
		"R_kgDOABPHjQ":                         {repoNumber, true, true},
		"MDEwOlJlcG9zaXRvcnkxMjk2MjY5":         {repoNumber, true, true},
		old:                                    {repoNumber, true, true},
		node("R", repoNumber):                  {repoNumber, true, true},
		node("PR", repoNumber, 5):              {repoNumber, false, true},
		node("I", repoNumber, 5):               {repoNumber, false, true},
		node("R", repoNumber, 5):               {}, // a repository with something behind
		node("PR", repoNumber):                 {}, // an issue without a number
		node("U", repoNumber):                  {}, // a person
		"R_":                                   {},
		"R_kgDOABPHj":                          {},
		"R_kgDOABPHjQ==":                       {},
		"R_kgDOABPHjQAA":                       {},
		"r_kgDOABPHjQ":                         {},
		"":                                     {},
		"1296269":                              {},
		"MDEwOlJlcG9zaXRvcnkwMTI5NjI2OQ==":     {}, // a zero in front
		"MDExOlB1bGxSZXF1ZXN0MQ==":             {}, // an old id of a pull request says nothing of its repository
		"R_" + strings.Repeat("A", 1<<10):      {},
		" R_kgDOABPHjQ":                        {},
		base64.StdEncoding.EncodeToString(nil): {},
	} {
		if repo, exact, ok := nodeRepository(id); ok != want.ok || ok && (repo != want.repo || exact != want.exact) {
			t.Errorf("%q: %d %v %v", id, repo, exact, ok)
		}
	}
}

func TestGraphQLMutations(t *testing.T) {
	r, other, stranger := node("R", repoNumber), node("R", 7), node("R", 99)
	pr := node("PR", repoNumber, 5)
	ref := `mutation($i:CreateRefInput!){createRef(input:$i){ref{name}}}`
	for name, c := range map[string]struct {
		in   Input
		want string
	}{
		"a branch":                     {gql(`mutation{createRef(input:{repositoryId:"`+r+`",name:"refs/heads/moeca/x",oid:"`+oidA+`"}){ref{name}}}`, ""), "+createRef o/n refs/heads/moeca/x"},
		"a branch by variable":         {gql(ref, `{"i":{"repositoryId":"`+r+`","name":"refs/heads/moeca/x","oid":"x"}}`), "+createRef o/n refs/heads/moeca/x"},
		"a branch by parts":            {gql(`mutation($r:ID!,$n:String!){createRef(input:{repositoryId:$r,name:$n,oid:"x"}){clientMutationId}}`, `{"r":"`+r+`","n":"refs/heads/main"}`), "+createRef o/n refs/heads/main"},
		"a branch by default value":    {gql(`mutation($n:String="refs/heads/main"){createRef(input:{repositoryId:"`+r+`",name:$n,oid:"x"}){clientMutationId}}`, ""), "+createRef o/n refs/heads/main"},
		"a variable beats its default": {gql(`mutation($n:String="refs/heads/moeca/x"){createRef(input:{repositoryId:"`+r+`",name:$n,oid:"x"}){clientMutationId}}`, `{"n":"refs/heads/main"}`), "+createRef o/n refs/heads/main"},
		"a null beats its default":     {gql(`mutation($n:String="refs/heads/moeca/x"){createRef(input:{repositoryId:"`+r+`",name:$n,oid:"x"}){clientMutationId}}`, `{"n":null}`), "unclear"},
		"a name in escapes":            {gql(`mutation{createRef(input:{repositoryId:"`+r+`",name:"refs/heads/m\u0061in",oid:"x"}){clientMutationId}}`, ""), "+createRef o/n refs/heads/main"},
		"a name in a block":            {gql(`mutation{createRef(input:{repositoryId:"`+r+`",name:"""refs/heads/main""",oid:"x"}){clientMutationId}}`, ""), "+createRef o/n refs/heads/main"},
		"a variable in another case":   {gql(ref, `{"I":{"repositoryId":"`+r+`","name":"refs/heads/moeca/x"}}`), "unclear"},
		"a variable twice":             {gql(ref, `{"i":{"repositoryId":"`+r+`","name":"refs/heads/moeca/x","name":"refs/heads/main"}}`), "unclear"},
		"a field twice":                {gql(`mutation{createRef(input:{repositoryId:"`+r+`",name:"refs/heads/moeca/x",name:"refs/heads/main",oid:"x"}){clientMutationId}}`, ""), "unclear"},
		"an argument twice":            {gql(`mutation{createRef(input:{repositoryId:"`+r+`",name:"refs/heads/moeca/x"},input:{repositoryId:"`+r+`",name:"refs/heads/main"}){clientMutationId}}`, ""), "unclear"},
		"an undeclared variable":       {gql(`mutation{createRef(input:$i){clientMutationId}}`, `{"i":{"repositoryId":"`+r+`","name":"refs/heads/moeca/x"}}`), "unclear"},
		"a variable declared twice":    {gql(`mutation($i:A,$i:B){createRef(input:$i){clientMutationId}}`, `{"i":{"repositoryId":"`+r+`","name":"refs/heads/moeca/x"}}`), "unclear"},
		"another session's repository": {gql(ref, `{"i":{"repositoryId":"`+other+`","name":"refs/heads/moeca/x"}}`), "+createRef o/other refs/heads/moeca/x"},
		"a repository nobody listed":   {gql(ref, `{"i":{"repositoryId":"`+stranger+`","name":"refs/heads/moeca/x"}}`), "!createRef"},
		"no repository":                {gql(ref, `{"i":{"name":"refs/heads/moeca/x"}}`), "!createRef"},
		"an id that is a number":       {gql(ref, `{"i":{"repositoryId":1296269,"name":"refs/heads/moeca/x"}}`), "!createRef"},
		"ids of two repositories":      {gql(ref, `{"i":{"repositoryId":"`+r+`","x":[{"otherId":"`+other+`"}],"name":"refs/heads/moeca/x"}}`), "!createRef"},
		"ids in a list":                {gql(`mutation{closeIssue(input:{issueIds:["`+node("I", repoNumber, 1)+`","`+node("I", 99, 1)+`"]}){clientMutationId}}`, ""), "!closeIssue"},
		"a pull request":               {gql(`mutation{createPullRequest(input:{repositoryId:"`+r+`",baseRefName:"main",headRefName:"moeca/x",title:"t"}){pullRequest{number url}}}`, ""), "+createPullRequest o/n"},
		"a pull request from afar":     {gql(`mutation{createPullRequest(input:{repositoryId:"`+r+`",baseRefName:"main",headRefName:"evil:x",title:"t"}){clientMutationId}}`, ""), "createPullRequest o/n"},
		"a pull request, head afar":    {gql(`mutation{createPullRequest(input:{repositoryId:"`+r+`",headRepositoryId:"`+stranger+`",baseRefName:"main",headRefName:"x",title:"t"}){clientMutationId}}`, ""), "!createPullRequest"},
		"a comment, by an id that could be forged, needs a rule": {gql(`mutation{addComment(input:{subjectId:"`+pr+`",body:"b"}){clientMutationId}}`, ""), "addComment o/n"},
		"a comment elsewhere":           {gql(`mutation{addComment(input:{subjectId:"`+node("I", 99, 1)+`",body:"b"}){clientMutationId}}`, ""), "!addComment"},
		"a merge":                       {gql(`mutation{mergePullRequest(input:{pullRequestId:"`+pr+`"}){clientMutationId}}`, ""), "!mergePullRequest"},
		"a merge under another name":    {gql(`mutation{createRef:mergePullRequest(input:{pullRequestId:"`+pr+`"}){clientMutationId}}`, ""), "!mergePullRequest"},
		"a merge when it is green":      {gql(`mutation{enablePullRequestAutoMerge(input:{pullRequestId:"`+pr+`"}){clientMutationId}}`, ""), "!enablePullRequestAutoMerge"},
		"a place in the merge queue":    {gql(`mutation{enqueuePullRequest(input:{pullRequestId:"`+pr+`"}){clientMutationId}}`, ""), "!enqueuePullRequest"},
		"a commit":                      {gql(`mutation{createCommitOnBranch(input:{branch:{repositoryNameWithOwner:"o/n",branchName:"main"}}){clientMutationId}}`, ""), "!createCommitOnBranch"},
		"a ref is moved":                {gql(`mutation{updateRef(input:{refId:"x",oid:"y"}){clientMutationId}}`, ""), "!updateRef"},
		"refs are moved":                {gql(`mutation{updateRefs(input:{repositoryId:"`+r+`",refUpdates:[]}){clientMutationId}}`, ""), "!updateRefs"},
		"a ref is deleted":              {gql(`mutation{deleteRef(input:{refId:"x"}){clientMutationId}}`, ""), "!deleteRef"},
		"an approval":                   {gql(`mutation{addPullRequestReview(input:{pullRequestId:"`+pr+`",event:APPROVE}){clientMutationId}}`, ""), "!addPullRequestReview"},
		"an approval by variable":       {gql(`mutation($e:E){submitPullRequestReview(input:{pullRequestReviewId:"x",event:$e}){clientMutationId}}`, `{"e":"APPROVE"}`), "!submitPullRequestReview"},
		"a check that passed":           {gql(`mutation{createCheckRun(input:{repositoryId:"`+r+`",conclusion:SUCCESS,name:"ci",headSha:"x"}){clientMutationId}}`, ""), "!createCheckRun"},
		"a branch linked to an issue":   {gql(`mutation{createLinkedBranch(input:{issueId:"`+node("I", repoNumber, 5)+`",oid:"x",name:"main"}){clientMutationId}}`, ""), "createLinkedBranch o/n refs/heads/main"},
		"the same without a name":       {gql(`mutation{createLinkedBranch(input:{issueId:"`+node("I", repoNumber, 5)+`",oid:"x"}){clientMutationId}}`, ""), "createLinkedBranch o/n refs/heads/"},
		"a branch that undoes":          {gql(`mutation{revertPullRequest(input:{pullRequestId:"`+pr+`"}){clientMutationId}}`, ""), "revertPullRequest o/n refs/heads/revert"},
		"a deployment is approved":      {gql(`mutation{approveDeployments(input:{workflowRunId:"x",environmentIds:["y"]}){clientMutationId}}`, ""), "!approveDeployments"},
		"an issue moves elsewhere":      {gql(`mutation{transferIssue(input:{issueId:"`+node("I", repoNumber, 5)+`",repositoryId:"`+other+`"}){clientMutationId}}`, ""), "!transferIssue"},
		"a protection rule":             {gql(`mutation{deleteBranchProtectionRule(input:{branchProtectionRuleId:"x"}){clientMutationId}}`, ""), "!deleteBranchProtectionRule"},
		"a repository":                  {gql(`mutation{updateRepository(input:{repositoryId:"`+r+`",name:"x"}){clientMutationId}}`, ""), "!updateRepository"},
		"two aliases, two operations":   {gql(`mutation{a:createRef(input:{repositoryId:"`+r+`",name:"refs/heads/moeca/x",oid:"x"}){clientMutationId} b:createRef(input:{repositoryId:"`+r+`",name:"refs/heads/main",oid:"x"}){clientMutationId}}`, ""), "+createRef o/n refs/heads/moeca/x; +createRef o/n refs/heads/main"},
		"through a fragment":            {gql(`mutation{...f} fragment f on Mutation{mergePullRequest(input:{pullRequestId:"`+pr+`"}){clientMutationId}}`, ""), "!mergePullRequest"},
		"through two fragments":         {gql(`mutation{...f} fragment f on Mutation{...g} fragment g on Mutation{deleteRef(input:{refId:"x"}){clientMutationId}}`, ""), "!deleteRef"},
		"through an inline fragment":    {gql(`mutation{... on Mutation @include(if:true){deleteRef(input:{refId:"x"}){clientMutationId}}}`, ""), "!deleteRef"},
		"skipped by a directive counts": {gql(`mutation{deleteRef(input:{refId:"x"}) @skip(if:true) {clientMutationId}}`, ""), "!deleteRef"},
		"not the selected operation":    {gql(`query q{viewer{login}} mutation m{deleteRef(input:{refId:"x"}){clientMutationId}}`, ""), "+viewer; !deleteRef"},
		"one name for two operations":   {gql(`query q{viewer{login}} mutation q{deleteRef(input:{refId:"x"}){clientMutationId}}`, ""), "unclear"},
		"a nameless one beside another": {gql(`{viewer{login}} mutation q{deleteRef(input:{refId:"x"}){clientMutationId}}`, ""), "unclear"},
		"a fragment that holds itself":  {gql(`mutation{...f} fragment f on Mutation{...f}`, ""), "unclear"},
		"a fragment that is missing":    {gql(`mutation{...f}`, ""), "unclear"},
		"a fragment defined twice":      {gql(`mutation{...f} fragment f on Mutation{__typename} fragment f on Mutation{deleteRef(input:{refId:"x"}){clientMutationId}}`, ""), "unclear"},
		"a mutation without input":      {gql(`mutation{deleteRef}`, ""), "unclear"},
		"input by another name":         {gql(`mutation{createRef(in:{repositoryId:"`+r+`"}){clientMutationId}}`, ""), "unclear"},
		"a subscription":                {gql(`subscription{x}`, ""), "unclear"},
		"a payload that leads away":     {gql(`mutation{createRef(input:{repositoryId:"`+r+`",name:"refs/heads/moeca/x",oid:"x"}){ref{repository{object(expression:"HEAD"){oid}}}}}`, ""), "+createRef o/n refs/heads/moeca/x; read-across o/n"},
	} {
		if got := read(c.in); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

func TestGraphQLQueries(t *testing.T) {
	deep := strings.Repeat("a{", 1100) + "b" + strings.Repeat("}", 1100)
	for name, c := range map[string]struct {
		in   Input
		want string
	}{
		"a repository":                 {gql(`query($o:String!,$n:String!){repository(owner:$o,name:$n){id name owner{login} defaultBranchRef{name} pullRequests(first:1){nodes{id author{login}}}}}`, `{"o":"o","n":"n"}`), "+repository o/n"},
		"what gh asks":                 {gql(`fragment repo on Repository{id name owner{login} defaultBranchRef{name}} query R($o:String!,$n:String!){repository(owner:$o,name:$n){...repo parent{...repo} mergeCommitAllowed}}`, `{"o":"o","n":"n"}`), "+repository o/n"},
		"the commit of a reference":    {gql(`{repository(owner:"o",name:"n"){issue(number:1){timelineItems(first:9){nodes{... on ReferencedEvent{commit{message}}}}}}}`, ""), "read-across o/n"},
		"the same by a fragment":       {gql(`fragment f on ReferencedEvent{commit{message}} {repository(owner:"o",name:"n"){issue(number:1){timelineItems(first:9){nodes{...f}}}}}`, ""), "read-across o/n"},
		"a repository of a reference":  {gql(`{repository(owner:"o",name:"n"){issue(number:1){timelineItems(first:9){nodes{... on TransferredEvent{fromRepository{object(expression:"HEAD:a"){id}}}}}}}}`, ""), "read-across o/n"},
		"the parent of an issue":       {gql(`{repository(owner:"o",name:"n"){issue(number:1){parent{body}}}}`, ""), "read-across o/n"},
		"what a parent is called":      {gql(`{repository(owner:"o",name:"n"){issue(number:1){parent{number url repository{nameWithOwner}}}}}`, ""), "read-across o/n"},
		"the number of a parent":       {gql(`{repository(owner:"o",name:"n"){issue(number:1){parent{number url}}}}`, ""), "+repository o/n"},
		"what blocks an issue":         {gql(`{repository(owner:"o",name:"n"){issue(number:1){blockedBy(first:9){nodes{body}}}}}`, ""), "read-across o/n"},
		"a comparison with a fork":     {gql(`{repository(owner:"o",name:"n"){ref(qualifiedName:"main"){compare(headRef:"evil:main"){commits(first:9){nodes{message}}}}}}`, ""), "read-across o/n"},
		"pull requests that close":     {gql(`{repository(owner:"o",name:"n"){issue(number:1){closedByPullRequestsReferences(first:9){nodes{body}}}}}`, ""), "read-across o/n"},
		"two repositories":             {gql(`{a:repository(owner:"o",name:"n"){id} b:repository(owner:"x",name:"y"){id}}`, ""), "+repository o/n; +repository x/y"},
		"a name with a slash":          {gql(`{repository(owner:"o",name:"n/x"){id}}`, ""), "unclear"},
		"a repository without a name":  {gql(`{repository(owner:"o"){id}}`, ""), "unclear"},
		"who am I":                     {gql(`{viewer{login id}}`, ""), "+viewer"},
		"my repositories":              {gql(`{viewer{repositories(first:9){nodes{name}}}}`, ""), "viewer"},
		"my issues":                    {gql(`{viewer{issues(first:9){nodes{title comments(first:1){nodes{body}}}}}}`, ""), "viewer"},
		"the schema":                   {gql(`{__schema{types{name}}}`, ""), "+__schema"},
		"a node":                       {gql(`{node(id:"x"){id}}`, ""), "node"},
		"a search":                     {gql(`{search(query:"x",type:CODE){codeCount}}`, ""), "search"},
		"the owner's repositories":     {gql(`{repository(owner:"o",name:"n"){owner{repositories(first:9){nodes{name}}}}}`, ""), "read-across o/n"},
		"an alias for it":              {gql(`{repository(owner:"o",name:"n"){owner{login:repositories(first:9){nodes{name}}}}}`, ""), "read-across o/n"},
		"the author's issues":          {gql(`{repository(owner:"o",name:"n"){issue(number:1){author{... on User{issues(first:1){nodes{body}}}}}}}`, ""), "read-across o/n"},
		"an assignee's requests":       {gql(`{repository(owner:"o",name:"n"){issue(number:1){assignees(first:1){nodes{pullRequests(first:1){nodes{body}}}}}}}`, ""), "read-across o/n"},
		"by a fragment on User":        {gql(`{repository(owner:"o",name:"n"){issue(number:1){author{...u}}}} fragment u on User{issues(first:1){nodes{body}}}`, ""), "read-across o/n"},
		"a file of the head's fork":    {gql(`{repository(owner:"o",name:"n"){pullRequest(number:1){headRepository{object(expression:"HEAD:x"){... on Blob{text}}}}}}`, ""), "read-across o/n"},
		"a file of this repository":    {gql(`{repository(owner:"o",name:"n"){object(expression:"HEAD:x"){... on Blob{text}}}}`, ""), "+repository o/n"},
		"no document":                  {gql(``, ""), "unclear"},
		"nothing but a fragment":       {gql(`fragment f on Query{viewer{login}}`, ""), "unclear"},
		"no GraphQL":                   {gql(`DROP TABLE`, ""), "unclear"},
		"deep nesting":                 {gql("{"+deep+"}", ""), "unclear"},
		"a line that ends for some":    {gql("{viewer{login}} # \rmutation{x}", ""), "unclear"},
		"a line separator":             {gql("{viewer{login}} # \u2028 mutation m{x}", ""), "unclear"},
		"a comment":                    {gql("# a\r\n{viewer{login}} # b\n", ""), "+viewer"},
		"a stored query":               {jsonInput(upstream.KindGitHub, "POST", "/graphql", `{"extensions":{"persistedQuery":{"sha256Hash":"x"}}}`), "unclear"},
		"a stored query beside a real": {jsonInput(upstream.KindGitHub, "POST", "/graphql", `{"query":"{viewer{login}}","extensions":{}}`), "unclear"},
		"a batch":                      {jsonInput(upstream.KindGitHub, "POST", "/graphql", `[{"query":"{viewer{login}}"}]`), "unclear"},
		"a query twice":                {jsonInput(upstream.KindGitHub, "POST", "/graphql", `{"query":"{viewer{login}}","Query":"mutation{x}"}`), "unclear"},
		"a query that is a list":       {jsonInput(upstream.KindGitHub, "POST", "/graphql", `{"query":["{viewer{login}}"]}`), "unclear"},
		"variables that are a text":    {jsonInput(upstream.KindGitHub, "POST", "/graphql", `{"query":"{viewer{login}}","variables":"{}"}`), "unclear"},
		"plain GraphQL":                {withType(jsonInput(upstream.KindGitHub, "POST", "/graphql", `{viewer{login}}`), "application/graphql"), "unclear"},
		"a query beside it in the URL": {jsonInput(upstream.KindGitHub, "POST", "/graphql?query=mutation", `{"query":"{viewer{login}}"}`), "unclear"},
		"a bomb of fragments":          {gql(bomb(), ""), "unclear"},
	} {
		if got := read(c.in); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

// bomb spreads to 2^40 fields.
func bomb() string {
	var b strings.Builder
	b.WriteString("{...f0}")
	for i := range 40 {
		name := func(n int) string { return "f" + string(rune('0'+n/10)) + string(rune('0'+n%10)) }
		from, to := name(i), name(i+1)
		if i == 0 {
			from = "f0"
		}
		b.WriteString(" fragment " + from + " on Query{..." + to + " ..." + to + "}")
	}
	b.WriteString(" fragment f40 on Query{viewer{login}}")
	return b.String()
}

func FuzzGraphQL(f *testing.F) {
	f.Add(`mutation($i:X!){createRef(input:$i){ref{name}}}`, `{"i":{"repositoryId":"R_kgDOABPHjQ","name":"refs/heads/moeca/x"}}`)
	f.Add(`{repository(owner:"o",name:"n"){id ...f}} fragment f on Repository{owner{login}}`, ``)
	f.Add(`query q{viewer{login}} mutation m{mergePullRequest(input:{pullRequestId:"x"}){clientMutationId}}`, `{}`)
	f.Add(bomb(), `null`)
	f.Fuzz(func(t *testing.T, document, variables string) {
		if variables != "" && !json.Valid([]byte(variables)) {
			return
		}
		in := gql(document, variables)
		first := read(in)
		if again := read(in); again != first {
			t.Fatalf("%q reads as %q and as %q", document, first, again)
		}
		ops, err := Parse(in)
		if err != nil {
			return
		}
		if len(ops) == 0 {
			t.Fatal("no operation and no error")
		}
		for _, op := range ops {
			name := strings.ToLower(op.Name)
			if op.Shipped && !op.Read && (op.Repo == "" || strings.Contains(name, "merge") || op.Name != graphQLPrefix+"createRef" && op.Name != graphQLPrefix+"createPullRequest") {
				t.Fatalf("%q ships %+v", document, op)
			}
		}
	})
}

func FuzzGitHub(f *testing.F) {
	f.Add("POST", "/repos/o/n/git/refs", "", `{"ref":"refs/heads/moeca/x","sha":"x"}`)
	f.Add("PUT", "/repos/o/n/pulls/1/merge", "", `{}`)
	f.Add("GET", "/repos/o/n", "a=b", "")
	f.Add("PATCH", "/repos/o/n/git/refs/heads/main", "", `{"sha":"x","force":true}`)
	f.Fuzz(func(t *testing.T, method, path, query, body string) {
		in := jsonInput(upstream.KindGitHub, method, "", body)
		in.Path, in.Query = path, query
		first := read(in)
		if again := read(in); again != first {
			t.Fatalf("%s %q reads as %q and as %q", method, path, first, again)
		}
		ops, err := Parse(in)
		if err != nil {
			return
		}
		for _, op := range ops {
			switch {
			case !op.Shipped || op.Read:
			case op.Name == "github.comment" || op.Name == "github.create-pull-request":
			case op.Name == "github.create-branch" && len(op.Refs) == 1 && strings.Contains(strings.ToLower(body), "ref"):
			case strings.HasPrefix(op.Name, graphQLPrefix):
			default:
				t.Fatalf("%s %q ships %+v", method, path, op)
			}
		}
	})
}
