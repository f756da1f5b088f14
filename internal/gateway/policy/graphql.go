package policy

import (
	"slices"
	"strings"

	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/parser"

	"moeca/internal/strictjson"
)

const (
	maxGraphQLTokens = 8192
	maxGraphQLFields = 4096 // visited, with fragments as often as they are spread
	graphQLPrefix    = "github.graphql."
)

// parseGraphQL reads POST /graphql. Every operation of the document counts,
// whichever the request selects, and every field at the top of one, whatever
// alias it has and through whatever fragment it comes. Batches, stored queries
// and subscriptions are refused.
func parseGraphQL(in Input) ([]Operation, error) {
	if in.Query != "" {
		return nil, unclear("a GraphQL request carries a query string")
	}
	body, err := jsonObject(in)
	if err != nil {
		return nil, err
	}
	if err := body.Only("query", "variables", "operationName"); err != nil {
		return nil, unclear("%v", err)
	}
	text, err := body.String("query")
	if err != nil || text == "" || hidesLines(text) {
		return nil, unclear("query must be a GraphQL document in plain lines")
	}
	if _, err := body.String("operationName"); err != nil {
		return nil, unclear("%v", err)
	}
	variables, err := body.Field("variables")
	if err != nil || variables.Exists() && !variables.IsNull() && !variables.IsObject() {
		return nil, unclear("variables must be an object")
	}
	doc, perr := parser.ParseQueryWithTokenLimit(&ast.Source{Input: text}, maxGraphQLTokens)
	if perr != nil {
		return nil, unclear("the GraphQL document cannot be parsed")
	}
	g := graphQL{fragments: map[string]*ast.FragmentDefinition{}, variables: variables, ids: in.Repositories, left: maxGraphQLFields}
	return g.operations(doc)
}

// hidesLines: characters that end a line, and so a comment, for some readers
// only.
func hidesLines(text string) bool {
	return strings.ContainsAny(strings.ReplaceAll(text, "\r\n", "\n"), "\r\v\f\x00\u0085\u2028\u2029\ufeff")
}

// graphQL reads one document.
type graphQL struct {
	fragments map[string]*ast.FragmentDefinition
	variables strictjson.Document
	ids       map[string]int64
	left      int // fields that may still be visited
}

func (g *graphQL) operations(doc *ast.QueryDocument) ([]Operation, error) {
	for _, f := range doc.Fragments {
		if g.fragments[f.Name] != nil {
			return nil, unclear("the fragment %.64q is defined twice", f.Name)
		}
		g.fragments[f.Name] = f
	}
	var out []Operation
	names := map[string]bool{}
	for _, o := range doc.Operations {
		if names[o.Name] || o.Name == "" && len(doc.Operations) > 1 {
			return nil, unclear("operations of one name, or a nameless one beside others")
		}
		names[o.Name] = true
		fields, err := g.roots(o.SelectionSet, nil)
		if err != nil {
			return nil, err
		}
		for _, f := range fields {
			ops, err := g.field(o, f)
			if err != nil {
				return nil, err
			}
			out = append(out, ops...)
		}
	}
	if len(out) == 0 {
		return nil, unclear("the GraphQL document asks for nothing")
	}
	return out, nil
}

// roots are the fields of a selection with all fragments spread.
func (g *graphQL) roots(set ast.SelectionSet, open []string) ([]*ast.Field, error) {
	var out []*ast.Field
	for _, s := range set {
		if err := g.visit(); err != nil {
			return nil, err
		}
		inner, opened := ast.SelectionSet(nil), open
		switch s := s.(type) {
		case *ast.Field:
			out = append(out, s)
			continue
		case *ast.InlineFragment:
			inner = s.SelectionSet
		case *ast.FragmentSpread:
			f, under, err := g.spread(s.Name, open)
			if err != nil {
				return nil, err
			}
			inner, opened = f.SelectionSet, under
		}
		fields, err := g.roots(inner, opened)
		if err != nil {
			return nil, err
		}
		out = append(out, fields...)
	}
	return out, nil
}

// visit counts a selection that is looked at.
func (g *graphQL) visit() error {
	if g.left--; g.left < 0 {
		return unclear("the GraphQL document is too large to be judged")
	}
	return nil
}

// spread returns a fragment, and the names of those that are open inside it.
func (g *graphQL) spread(name string, open []string) (*ast.FragmentDefinition, []string, error) {
	f := g.fragments[name]
	if f == nil || slices.Contains(open, name) {
		return nil, nil, unclear("the fragment %.64q is missing or contains itself", name)
	}
	return f, append(slices.Clone(open), name), nil
}

// field reads a field at the top. A mutation whose answer leads to other
// repositories is two operations: what it changes, and what it reads.
func (g *graphQL) field(o *ast.OperationDefinition, f *ast.Field) ([]Operation, error) {
	crosses, err := g.crosses(f.SelectionSet, wide, nil)
	if err != nil {
		return nil, err
	}
	if len(f.Name) > 64 {
		return nil, unclear("a field has a name that no interface has")
	}
	var op Operation
	switch {
	case o.Operation == ast.Mutation && f.Name == "__typename":
		return []Operation{{Name: graphQLPrefix + "read", Read: true, Shipped: true}}, nil
	case o.Operation == ast.Mutation:
		op, err = g.mutation(o, f)
	case o.Operation == ast.Query:
		op, err = g.query(o, f)
	default:
		return nil, unclear("subscriptions are refused")
	}
	if err != nil {
		return nil, err
	}
	if !crosses || !op.Shipped {
		return []Operation{op}, nil
	}
	across := Operation{Name: graphQLPrefix + "read-across", Read: true, Repo: op.Repo}
	if op.Read {
		return []Operation{across}, nil
	}
	return []Operation{op, across}, nil
}

func (g *graphQL) query(o *ast.OperationDefinition, f *ast.Field) (Operation, error) {
	op := Operation{Name: graphQLPrefix + f.Name, Read: true}
	switch f.Name {
	case "__typename", "__schema", "__type", "rateLimit", "meta":
		op.Shipped = true
	case "viewer":
		away, err := g.crosses(f.SelectionSet, narrow, nil)
		op.Shipped = !away
		return op, err
	case "repository":
		args, err := g.arguments(o, f)
		if err != nil {
			return op, err
		}
		owner, _ := args["owner"].(string)
		name, _ := args["name"].(string)
		if owner == "" || name == "" || strings.Contains(owner+name, "/") {
			return op, unclear("repository needs owner and name as strings")
		}
		op.Shipped, op.Repo = true, owner+"/"+name
	}
	return op, nil
}

// mutation ties a change to one repository by the ids in its input. Ids of
// what lies inside a repository are enough for a rule of the user only.
func (g *graphQL) mutation(o *ast.OperationDefinition, f *ast.Field) (Operation, error) {
	op := Operation{Name: graphQLPrefix + f.Name}
	args, err := g.arguments(o, f)
	if err != nil {
		return op, err
	}
	input, ok := args["input"].(map[string]any)
	if !ok || len(args) != 1 {
		return op, unclear("a mutation takes one input object")
	}
	if op.Never = neverMutation(f.Name, input); op.Never != "" {
		return op, nil
	}
	exact := g.tie(&op, input)
	if op.Never != "" {
		return op, nil
	}
	switch f.Name {
	case "createRef":
		ref, ok := input["name"].(string)
		if !ok || ref == "" {
			return op, unclear("createRef needs the full name of a branch")
		}
		op.Refs, op.Shipped = []string{ref}, exact
	case "createLinkedBranch": // without a name it makes one up
		name, _ := input["name"].(string)
		op.Refs = []string{Heads + strings.TrimPrefix(name, Heads)}
	case "revertPullRequest": // on a branch that it names itself
		op.Refs = []string{Heads + "revert"}
	case "createPullRequest":
		head, _ := input["headRefName"].(string)
		op.Shipped = exact && plainBranch(strings.TrimPrefix(head, Heads))
	}
	return op, nil
}

// neverMutation recognises what no rule can open.
func neverMutation(name string, input map[string]any) string {
	lower := strings.ToLower(name)
	contains := func(words ...string) bool {
		return slices.ContainsFunc(words, func(w string) bool { return strings.Contains(lower, w) })
	}
	switch {
	case contains("merge", "enqueue", "dequeue", "updatepullrequestbranch"):
		return NeverMerge
	case contains("commitonbranch", "updateref", "deleteref"):
		return NeverForce
	case contains("checkrun", "checksuite", "commitstatus", "attestation"):
		return NeverCheck
	case contains("release", "tag"):
		return NeverRelease
	case contains("review") && contains("dismiss", "delete", "resolve"):
		return NeverApprove
	case contains("pullrequestreview"):
		if event, ok := input["event"].(string); input["event"] != nil && (!ok || event != "COMMENT" && event != "REQUEST_CHANGES") {
			return NeverApprove
		}
	case contains("protection", "ruleset", "repository", "deploykey", "environment", "enterprise", "organization", "team", "migration", "sponsor", "verifiabledomain", "allowlist", "deployment"):
		return NeverAdminister
	}
	return ""
}

// tie sets the repository of a change, or Never. It returns whether every id
// is a repository's own.
func (g *graphQL) tie(op *Operation, input map[string]any) (exact bool) {
	ids, clear := collectIDs(input)
	exact = true
	for _, id := range ids {
		number, own, ok := nodeRepository(id)
		exact = exact && own
		name, names := "", 0
		for n, known := range g.ids {
			if ok && known == number {
				name, names = n, names+1
			}
		}
		if names != 1 || op.Repo != "" && op.Repo != name {
			clear = false
			break
		}
		op.Repo = name
	}
	if len(ids) == 0 || !clear {
		op.Never, op.Repo = NeverUnnamed, ""
	}
	return exact
}

// collectIDs finds the ids in an input by the names of their fields. An id that
// is no string makes the input unclear.
func collectIDs(v any) (ids []string, clear bool) {
	clear = true
	add := func(more []string, ok bool) { ids, clear = append(ids, more...), clear && ok }
	switch v := v.(type) {
	case []any:
		for _, e := range v {
			add(collectIDs(e))
		}
	case map[string]any:
		for key, e := range v {
			lower := strings.ToLower(key)
			if lower == "clientmutationid" || e == nil || !strings.HasSuffix(lower, "id") && !strings.HasSuffix(lower, "ids") || lower == "oid" || strings.HasSuffix(key, "Oid") {
				add(collectIDs(e))
				continue
			}
			add(idStrings(e))
		}
	}
	return ids, clear
}

func idStrings(v any) (ids []string, clear bool) {
	switch v := v.(type) {
	case string:
		return []string{v}, true
	case []any:
		clear = true
		for _, e := range v {
			more, ok := idStrings(e)
			ids, clear = append(ids, more...), clear && ok
		}
		return ids, clear
	}
	return nil, false
}
