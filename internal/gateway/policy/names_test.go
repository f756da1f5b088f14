package policy

import (
	"testing"

	"moeca/internal/gateway/gatewayapi"
	"moeca/internal/gateway/upstream"
)

func TestRuleForAnOperationThatCannotBeIsRefused(t *testing.T) {
	for kind, names := range map[string]struct{ can, cannot []string }{
		upstream.KindGitHub: {
			can:    []string{"github.comment", "github.write", "git.push", "github.graphql.createRef", "github.graphql.addComment", "github.graphql.read-across", "github.read-outside", "github.by-id"},
			cannot: []string{"GitHub.comment", "github.coment", "github.comment.create", "comment", "github.graphql.", "github.graphql.add-comment", "openai.inference"},
		},
		upstream.KindGit:    {can: []string{"git.push", "git.fetch"}, cannot: []string{"github.comment", "git.action", "git.Push"}},
		upstream.KindOpenAI: {can: []string{"openai.inference", "openai.write", "openai.unknown"}, cannot: []string{"openai.inferense", "anthropic.inference", "openai.action"}},
		upstream.KindJira:   {can: []string{"jira.write", "jira.search"}, cannot: []string{"jira.create-issue", "jira.action", "trello.write"}},
		upstream.KindCustom: {can: []string{"custom.read", "custom.write", "custom.action"}, cannot: []string{"custom.delete"}},
		upstream.KindRAG:    {can: []string{"rag.search", "rag.other", "rag.write"}, cannot: []string{"rag.read"}},
		upstream.KindFetch:  {can: []string{"fetch.read", "fetch.write"}, cannot: []string{"fetch.search"}},
	} {
		for want, list := range map[bool][]string{true: names.can, false: names.cannot} {
			for _, name := range list {
				rule := gatewayapi.OperationRule{Operation: name}
				forbid := gatewayapi.PolicyPatch{Forbidden: &[]gatewayapi.ForbiddenRule{{OperationRule: rule, Effect: "block"}}}
				permit := gatewayapi.PolicyPatch{Writes: &[]gatewayapi.OperationRule{rule}}
				for _, patch := range []gatewayapi.PolicyPatch{forbid, permit} {
					if err := CheckNames(kind, gatewayapi.Policy{}, patch); (err == nil) != want {
						t.Errorf("%s at %s: %v, want taken %v", name, kind, err, want)
					}
				}
				if err := CheckNames(kind, gatewayapi.Policy{Writes: *permit.Writes}, forbid); err != nil {
					t.Errorf("a change beside the standing rule for %s is refused: %v", name, err)
				}
			}
		}
	}
}

func TestRuleForAPathNeedsNoName(t *testing.T) {
	patch := gatewayapi.PolicyPatch{Writes: &[]gatewayapi.OperationRule{{Method: "POST", Path: "/x"}}}
	if err := CheckNames(upstream.KindCustom, gatewayapi.Policy{}, patch); err != nil {
		t.Error(err)
	}
}

// Every kind can be named in a rule by what its requests are.
func TestEveryNameParseGivesCanStandInARule(t *testing.T) {
	for _, kind := range upstream.Kinds() {
		for _, method := range []string{"GET", "POST", "PUT", "DELETE"} {
			for _, path := range []string{
				"/", "/x", "/search", "/v1/search", "/rest/api/3/search", "/repos/o/r", "/repos/o/r/pulls", "/repos/o/r/pulls/1/merge", "/repositories/1",
				"/user/repos", "/orgs/o/teams", "/o/r.git/info/refs", "/repos/o/r/issues/1/comments", "/repos/o/r/compare/a:b",
			} {
				body := ""
				if method == "POST" || method == "PUT" {
					body = "{}"
				}
				ops, err := Parse(jsonInput(kind, method, path, body))
				if err != nil {
					continue
				}
				for _, op := range ops {
					if isModel := kind == upstream.KindAnthropic || kind == upstream.KindOpenAI || kind == upstream.KindGemini; !isModel && op.Never == "" && !hasName(kind, op.Name) {
						t.Errorf("%s %s of %s is %q, and no rule may say so", method, path, kind, op.Name)
					}
				}
			}
		}
	}
}
