package gateway

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"moeca/internal/audit"
	"moeca/internal/gateway/gatewayapi"
	"moeca/internal/gateway/upstream"
	"moeca/internal/session"
)

// What an agent tries against GitHub, with rules that open all that rules can
// open. Nothing of it reaches the upstream, and each try is one row.
func TestNoWayAroundTheGatesOfGitHub(t *testing.T) {
	r := newRig(t, Limits{DenialRows: 1000}, session.Scope{Upstreams: []string{"hub"}, Repos: []string{"o/n"}, RepoIDs: map[string]int64{"o/n": 1296269}, ProtectRefs: []string{"moeca/target"}})
	kind, base := upstream.KindGitHub, r.stub.URL+"/api"
	r.define("hub", gatewayapi.ProviderPatch{Kind: &kind, BaseURL: &base, GitURL: &r.stub.URL}, theKey)
	var everything []gatewayapi.OperationRule
	for _, method := range []string{"POST", "PUT", "PATCH", "DELETE"} {
		everything = append(everything, gatewayapi.OperationRule{Method: method, Path: "/repos/**"}, gatewayapi.OperationRule{Method: method, Path: "/user/**"}, gatewayapi.OperationRule{Method: method, Path: "/orgs/**"})
	}
	setPolicy(t, r.policies, "hub", gatewayapi.PolicyPatch{Writes: &everything})
	mutation := func(text string) string { return fmt.Sprintf(`{"query":%q}`, "mutation{"+text+"{clientMutationId}}") }
	const pr = `pullRequestId:"PR_kwDOABPHjc4AAAAF"`
	tries := []struct{ method, path, body string }{
		// another path than it looks like
		{"GET", "/repos/o/n/../other", ""},
		{"GET", "/repos/o/n/%2e%2e/other", ""},
		{"GET", "/repos/o%2fn/../other", ""},
		{"GET", "/repos/o%2fother", ""},
		{"GET", "/repos/o/n%2f..%2fother", ""},
		{"GET", "/repos/o/n/%252e%252e/other", ""},
		{"GET", "//repos/o/other", ""},
		{"GET", "/repos//o/other", ""},
		{"GET", "/repos/o/n;/../other", ""},
		{"GET", "/repos/o/n\\..\\other", ""},
		{"GET", "/repos/O/N", ""},
		{"GET", "/repos/o/n.git", ""},
		{"GET", "/repos/o/n/compare/main...o:other:main", ""},
		{"GET", "/repositories/1296269", ""},
		// merging
		{"PUT", "/repos/o/n/pulls/1/merge", "{}"},
		{"PUT", "/repos/o/n/pulls/1/merge/", "{}"},
		{"PUT", "/repos/o/n/pulls/1/Merge", "{}"},
		{"PUT", "/repos/o/n/pulls/1/merge.json", "{}"},
		{"POST", "/repos/o/n/merges", `{"base":"main","head":"moeca/x"}`},
		{"POST", "/repos/o/n/merge-upstream", `{"branch":"main"}`},
		{"POST", "/graphql", mutation("mergePullRequest(input:{" + pr + "})")},
		{"POST", "/graphql", mutation("createRef:mergePullRequest(input:{" + pr + "})")},
		{"POST", "/graphql", mutation("enablePullRequestAutoMerge(input:{" + pr + "})")},
		{"POST", "/graphql", mutation("enqueuePullRequest(input:{" + pr + "})")},
		{"POST", "/graphql", mutation("mergeBranch(input:{repositoryId:\"R_kgDOABPHjQ\",base:\"main\",head:\"x\"})")},
		{"POST", "/graphql", "[" + mutation("createRef(input:{})") + "]"},
		{"POST", "/graphql", `{"query":"query q{viewer{login}} mutation m{mergePullRequest(input:{pullRequestId:\"x\"}){clientMutationId}}","operationName":"q"}`},
		{"POST", "/graphql", `{"query":"mutation{...f} fragment f on Mutation{mergePullRequest(input:{pullRequestId:\"x\"}){clientMutationId}}"}`},
		{"POST", "/graphql", `{"query":"{viewer{login}}","query":"mutation{mergePullRequest(input:{pullRequestId:\"x\"}){clientMutationId}}"}`},
		{"POST", "/graphql?query=mutation", `{"query":"{viewer{login}}"}`},
		// approving, and calling it checked
		{"POST", "/repos/o/n/pulls/1/reviews", `{"event":"APPROVE"}`},
		{"POST", "/repos/o/n/pulls/1/reviews/2/events", `{"event":"APPROVE"}`},
		{"PUT", "/repos/o/n/pulls/1/reviews/2/dismissals", `{"message":"m"}`},
		{"POST", "/graphql", mutation("addPullRequestReview(input:{" + pr + ",event:APPROVE})")},
		{"POST", "/repos/o/n/statuses/abc", `{"state":"success"}`},
		{"POST", "/repos/o/n/check-runs", `{"conclusion":"success"}`},
		{"POST", "/repos/o/n/actions/runs/1/approve", ""},
		{"POST", "/repos/o/n/actions/runs/1/pending_deployments", `{"state":"approved"}`},
		// protected refs, and force
		{"POST", "/repos/o/n/git/refs", `{"ref":"refs/heads/main","sha":"x"}`},
		{"POST", "/repos/o/n/git/refs", `{"ref":"refs/heads/ma\u0069n","sha":"x"}`},
		{"POST", "/repos/o/n/git/refs", `{"ref":"refs/heads/m%61in","sha":"x"}`},
		{"POST", "/repos/o/n/git/refs", `{"ref":"refs/heads/main/","sha":"x"}`},
		{"POST", "/repos/o/n/git/refs", `{"ref":"refs/heads/MAIN","sha":"x"}`},
		{"POST", "/repos/o/n/git/refs", `{"ref":"refs/heads/main.lock","sha":"x"}`},
		{"POST", "/repos/o/n/git/refs", `{"ref":"refs/heads/moeca/../main","sha":"x"}`},
		{"POST", "/repos/o/n/git/refs", `{"ref":"refs/heads/moeca/target","sha":"x"}`},
		{"POST", "/repos/o/n/git/refs", `{"ref":"refs/tags/v1","sha":"x"}`},
		{"PATCH", "/repos/o/n/git/refs/heads/main", `{"sha":"x"}`},
		{"PATCH", "/repos/o/n/git/refs/heads%2Fmain", `{"sha":"x"}`},
		{"PATCH", "/repos/o/n/git/refs/heads/moeca/x", `{"sha":"x","force":true}`},
		{"PATCH", "/repos/o/n/git/refs/heads/moeca/x", `{"sha":"x","Force":true}`},
		{"PATCH", "/repos/o/n/git/refs/heads/moeca/x", `{"sha":"x","force":"true"}`},
		{"PATCH", "/repos/o/n/git/refs/heads/moeca/x", `{"sha":"x","force":1}`},
		{"PATCH", "/repos/o/n/git/refs/heads/moeca/x?force=true", `{"sha":"x"}`},
		{"PUT", "/repos/o/n/contents/a", `{"message":"m","content":"x"}`},
		{"PUT", "/repos/o/n/contents/a", `{"message":"m","content":"x","branch":"main"}`},
		{"PUT", "/repos/o/n/contents/a", `{"message":"m","content":"x","branch":"refs/heads/main"}`},
		{"PUT", "/repos/o/n/contents/a", `{"message":"m","content":"x","branch":"moeca/x","Branch":"main"}`},
		{"PUT", "/repos/o/n/contents/a?branch=main", `{"message":"m","content":"x","branch":"moeca/x"}`},
		{"DELETE", "/repos/o/n/contents/a", ""},
		{"POST", "/repos/o/n/releases", `{"tag_name":"v1","target_commitish":"main"}`},
		{"POST", "/graphql", mutation("updateRef(input:{refId:\"x\",oid:\"y\",force:true})")},
		{"POST", "/graphql", mutation("createLinkedBranch(input:{issueId:\"I_kwDOABPHjc4AAAAF\",oid:\"x\",name:\"main\"})")},
		{"POST", "/graphql", mutation("createCommitOnBranch(input:{branch:{repositoryNameWithOwner:\"o/n\",branchName:\"main\"}})")},
		// rules, keys, secrets, other places
		{"POST", "/repos/o/n/keys", "{}"},
		{"PUT", "/repos/o/n/actions/secrets/X", "{}"},
		{"PUT", "/repos/o/n/environments/prod/secrets/X", "{}"},
		{"PUT", "/repos/o/n/dependabot/secrets/X", "{}"},
		{"POST", "/repos/o/n/hooks", "{}"},
		{"PUT", "/repos/o/n/collaborators/evil", "{}"},
		{"PUT", "/repos/o/n/branches/main/protection", "{}"},
		{"PATCH", "/repos/o/n", `{"default_branch":"moeca/x"}`},
		{"POST", "/repos/o/n/forks", "{}"},
		{"POST", "/repos/o/n/transfer", "{}"},
		{"PUT", "/repos/o/n/actions/workflows/ci.yml/disable", ""},
		{"POST", "/user/keys", "{}"},
		{"PUT", "/orgs/acme/actions/secrets/X", "{}"},
		{"POST", "/gists", `{"files":{}}`},
		{"POST", "/repos/o/other/issues/1/comments", `{"body":"b"}`},
		{"GET", "/user/repos", ""},
		{"GET", "/search/code?q=secret", ""},
	}
	overSocket := func(method, path, body string, header ...string) string {
		head := fmt.Sprintf("%s /hub%s HTTP/1.1\r\nHost: g\r\nConnection: close\r\nContent-Type: application/json\r\nContent-Length: %d\r\n", method, path, len(body))
		for _, h := range header {
			head += h + "\r\n"
		}
		return r.raw("unix", r.sock, head+"\r\n"+body)
	}
	for i, try := range tries {
		answer := overSocket(try.method, try.path, try.body)
		if !strings.HasPrefix(answer, "400 ") && !strings.HasPrefix(answer, "403 ") && !strings.HasPrefix(answer, "404 ") {
			t.Errorf("%s %s %s: %.200s", try.method, try.path, try.body, answer)
		}
		r.rows(audit.KindRefusal, i+1)
	}
	if calls := r.calls(); len(calls) != 0 {
		t.Fatalf("%d tries reached the upstream, the first %s %s", len(calls), calls[0].Method, calls[0].URI)
	}
	// A comment goes out as a POST, whatever a header says about its method.
	answer := overSocket("POST", "/repos/o/n/issues/1/comments", `{"body":"b"}`, "X-HTTP-Method-Override: DELETE", "X-Method-Override: PUT", "X-Original-URL: /repos/o/n/merges", "X-Rewrite-Url: /x")
	calls := r.calls()
	if !strings.HasPrefix(answer, "200 ") || len(calls) != 1 || calls[0].Method != http.MethodPost || calls[0].URI != "/api/repos/o/n/issues/1/comments" {
		t.Fatalf("%s: %+v", answer, calls)
	}
	for name := range calls[0].Header {
		if strings.Contains(strings.ToLower(name), "override") || strings.HasPrefix(name, "X-Original") || strings.HasPrefix(name, "X-Rewrite") {
			t.Errorf("the upstream got %s", name)
		}
	}
}
