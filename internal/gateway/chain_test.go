package gateway

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"moeca/internal/audit"
	"moeca/internal/gateway/gate"
	"moeca/internal/gateway/gatewayapi"
	"moeca/internal/gateway/policy"
	"moeca/internal/gateway/upstream"
	"moeca/internal/session"
)

// toolPolicy permits writes to the upstream "tool", whose rules the rig's tests
// are not about.
func toolPolicy(t *testing.T) *policy.Set {
	t.Helper()
	s := policy.NewSet()
	setPolicy(t, s, "tool", gatewayapi.PolicyPatch{Writes: &[]gatewayapi.OperationRule{{Method: "POST", Path: "/**"}, {Method: "PUT", Path: "/**"}}})
	return s
}

func setPolicy(t *testing.T, s *policy.Set, name string, p gatewayapi.PolicyPatch) {
	t.Helper()
	c, err := s.Plan(name, p)
	if err == nil {
		err = c.Apply()
	}
	if err != nil {
		t.Fatal(err)
	}
}

// TestGatesRunInTheDocumentedOrder: who calls, then where to, then what it
// would do there, then what it may have done there.
func TestGatesRunInTheDocumentedOrder(t *testing.T) {
	var got []string
	for _, g := range New(Options{}).chain {
		got = append(got, g.Name())
	}
	want := "protocol session route body rate budget target allowlist address network path write forbidden ref capability key"
	if strings.Join(got, " ") != want {
		t.Errorf("order\n%s, documented is\n%s", strings.Join(got, " "), want)
	}
}

func TestDenialsOfOperationsAreOneRowEach(t *testing.T) {
	r := newRig(t, Limits{}, session.Scope{Upstreams: []string{"tool", "hub", "tracker", "listed"}, Repos: []string{"o/n"}, ProtectRefs: []string{"moeca/target"}, Unattended: true})
	github, jira, custom, base := upstream.KindGitHub, upstream.KindJira, upstream.KindCustom, r.stub.URL
	r.define("hub", gatewayapi.ProviderPatch{Kind: &github, BaseURL: &base, GitURL: &base}, theKey)
	r.define("tracker", gatewayapi.ProviderPatch{Kind: &jira, BaseURL: &base}, theKey)
	r.define("listed", gatewayapi.ProviderPatch{Kind: &custom, BaseURL: &base}, theKey)
	setPolicy(t, r.policies, "listed", gatewayapi.PolicyPatch{Paths: &[]string{"/only"}})
	setPolicy(t, r.policies, "hub", gatewayapi.PolicyPatch{Forbidden: &[]gatewayapi.ForbiddenRule{
		{OperationRule: gatewayapi.OperationRule{Operation: "github.comment"}, Effect: gatewayapi.EffectBlock},
		{OperationRule: gatewayapi.OperationRule{Operation: "github.create-pull-request"}, Effect: gatewayapi.EffectAsk},
		{OperationRule: gatewayapi.OperationRule{Operation: "github.create-branch"}, Effect: gatewayapi.EffectWarn},
	}})
	ref := func(name string) string { return fmt.Sprintf(`{"ref":"refs/heads/%s","sha":"x"}`, name) }
	cases := []struct{ name, method, path, body, gate, reason string }{
		{"a path that is not listed", "GET", "/listed/x", "", "path", gate.ReasonNotListed},
		{"a write without a rule", "POST", "/tracker/rest/api/3/issue", "{}", "write", gate.ReasonNoRule},
		{"a merge", "PUT", "/hub/repos/o/n/pulls/1/merge", "{}", "write", gate.ReasonNever},
		{"a merge by GraphQL", "POST", "/hub/graphql", `{"query":"mutation{mergePullRequest(input:{pullRequestId:\"x\"}){clientMutationId}}"}`, "write", gate.ReasonNever},
		{"another repository", "GET", "/hub/repos/o/other", "", "write", gate.ReasonRepository},
		{"a body with a key twice", "POST", "/hub/repos/o/n/git/refs", `{"ref":"refs/heads/moeca/x","REF":"refs/heads/main"}`, "write", gate.ReasonUnclear},
		{"a blocked comment", "POST", "/hub/repos/o/n/issues/1/comments", `{"body":"b"}`, "forbidden", gate.ReasonForbidden},
		{"a pull request that asks", "POST", "/hub/repos/o/n/pulls", `{"title":"t","head":"moeca/x","base":"main"}`, "forbidden", gate.ReasonAsk},
		{"main", "POST", "/hub/repos/o/n/git/refs", ref("main"), "ref", gate.ReasonRef},
		{"the target of the task", "POST", "/hub/repos/o/n/git/refs", ref("moeca/target"), "ref", gate.ReasonRef},
		{"a push to main", "POST", "/hub/o/n.git/git-receive-pack", "not a push", "write", gate.ReasonUnclear},
	}
	for i, c := range cases {
		resp, body := r.do(r.overSocket(), c.method, "http://g"+c.path, c.body, "Content-Type", "application/json")
		if resp.StatusCode != http.StatusForbidden || !strings.Contains(body, c.gate) || !strings.Contains(body, c.reason) {
			t.Errorf("%s: %d %s", c.name, resp.StatusCode, body)
		}
		rows := r.rows(audit.KindRefusal, i+1)
		if last := rows[len(rows)-1]; last.Gate != c.gate || last.Reason != c.reason {
			t.Errorf("%s: row %+v", c.name, last)
		}
	}
	if n := len(r.calls()); n != 0 {
		t.Fatalf("%d refused requests reached the upstream", n)
	}
	branch := ref("moeca/x")
	if resp, body := r.post("/hub/repos/o/n/git/refs", branch, "Content-Type", "application/json"); resp.StatusCode != 200 {
		t.Fatalf("%d %s", resp.StatusCode, body)
	}
	if got := r.calls(); len(got) != 1 || string(got[0].Body) != branch {
		t.Errorf("what was checked is not what was sent: %q", got[0].Body)
	}
	attrs := map[string]string{}
	for _, a := range r.rows(audit.KindIntent, 1)[0].Attrs {
		attrs[a.Key] = a.Value
	}
	if attrs["operation"] != "github.create-branch" || attrs["warning"] != "github.create-branch" || attrs["class"] != "write" {
		t.Errorf("attributes of the intent: %v", attrs)
	}
}

func TestFetchMayComeCompressedAndAPushMayNot(t *testing.T) {
	r := newRig(t, Limits{}, session.Scope{Upstreams: []string{"git"}, Repos: []string{"o/n"}})
	kind, base := upstream.KindGit, r.stub.URL
	r.define("git", gatewayapi.ProviderPatch{Kind: &kind, BaseURL: &base}, theKey)
	for service, want := range map[string]int{"git-upload-pack": 200, "git-receive-pack": 415} {
		resp, body := r.post("/git/o/n.git/"+service, "\x1f\x8bcompressed", "Content-Type", "application/x-"+service+"-request", "Content-Encoding", "gzip")
		if resp.StatusCode != want {
			t.Errorf("%s: %d %s", service, resp.StatusCode, body)
		}
	}
	if got := r.calls(); len(got) != 1 || string(got[0].Body) != "\x1f\x8bcompressed" || got[0].Header.Get("Content-Encoding") != "gzip" {
		t.Errorf("%d calls, %+v", len(got), got)
	}
}

type panicking struct{}

func (panicking) Name() string                                        { return "panicking" }
func (panicking) Decide(context.Context, *gate.Request) gate.Decision { panic("boom") }

func TestPanicInAGateIsADenialAndARow(t *testing.T) {
	r := newRig(t, Limits{}, session.Scope{})
	for at := range r.g.chain {
		r.g.chain = append(append(append(gate.Chain{}, r.g.gates()[:at]...), panicking{}), r.g.gates()[at:]...)
		resp, body := r.post("/anthropic/v1/messages", smallBody)
		if resp.StatusCode != http.StatusInternalServerError || !strings.Contains(body, gate.ReasonFailed) {
			t.Errorf("before gate %d: %d %s", at, resp.StatusCode, body)
		}
		rows := r.rows(audit.KindRefusal, at+1)
		if last := rows[len(rows)-1]; last.Gate != "panicking" || last.Reason != gate.ReasonFailed {
			t.Errorf("before gate %d: row %+v", at, last)
		}
		r.g.chain = r.g.gates()
	}
	if n := len(r.calls()); n != 0 {
		t.Fatalf("%d calls passed a gate that panicked", n)
	}
}
