package sdk

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-github/v74/github"

	"moeca/internal/gateway/gatewayapi"
	"moeca/internal/session"
)

func gitHubDialect() dialect {
	const key = "ghp_InjectedByTheGateway"
	mux := http.NewServeMux()
	mux.HandleFunc("GET /repos/acme/widget", func(w http.ResponseWriter, _ *http.Request) {
		answerJSON(w, `{"id":7,"full_name":"acme/widget","default_branch":"main"}`)
	})
	mux.HandleFunc("GET /repos/acme/widget/issues", func(w http.ResponseWriter, r *http.Request) {
		page := r.URL.Query().Get("page")
		if page == "" {
			page = "1" // and there is another, which they link by the number of the repository
			w.Header().Set("Link", fmt.Sprintf(`<http://%s/repositories/7/issues?page=2>; rel="next"`, r.Host))
		}
		answerJSON(w, `[{"number":%s,"title":"on page %s"}]`, page, page)
	})
	mux.HandleFunc("POST /repos/acme/widget/git/refs", func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(http.StatusCreated)
		_, _ = io.Copy(w, r.Body)
	})
	mux.HandleFunc("POST /repos/acme/widget/pulls", func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusCreated)
		answerJSON(w, `{"number":42,"state":"open"}`)
	})
	mux.HandleFunc("POST /graphql", func(w http.ResponseWriter, _ *http.Request) {
		answerJSON(w, `{"data":{"repository":{"pullRequest":{"title":"a title"}}}}`)
	})
	return dialect{
		name: "github", define: gatewayapi.ProviderPatch{Kind: ptr("github")},
		key: key, header: "Authorization", credential: "Bearer " + key, answer: mux,
	}
}

func gitHubClient(w *world) *github.Client {
	c := github.NewClient(nil).WithAuthToken(w.session.Token)
	base, err := url.Parse(w.base + "/")
	if err != nil {
		w.t.Fatal(err)
	}
	c.BaseURL = base
	return c
}

// graphQL posts a document as the command line tools do, and returns the
// status and the body.
func (w *world) graphQL(document string, variables map[string]any) (int, string) {
	w.t.Helper()
	body, _ := json.Marshal(map[string]any{"query": document, "variables": variables})
	req, err := http.NewRequestWithContext(w.t.Context(), "POST", w.base+"/graphql", bytes.NewReader(body))
	if err != nil {
		w.t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+w.session.Token)
	req.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		w.t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		w.t.Fatal(err)
	}
	return resp.StatusCode, string(text)
}

func gitHubScope() session.Scope { return session.Scope{Repos: []string{"acme/widget"}} }

const pullQuery = `query($owner:String!,$name:String!){repository(owner:$owner,name:$name){pullRequest(number:42){title}}}`

func TestGitHubDoesItsJob(t *testing.T) {
	w := newWorld(t, gitHubDialect(), gitHubScope())
	c, ctx := gitHubClient(w), t.Context()
	repo, _, err := c.Repositories.Get(ctx, "acme", "widget")
	if err != nil || repo.GetDefaultBranch() != "main" {
		t.Fatalf("%+v, %v", repo, err)
	}
	var titles []string
	list := &github.IssueListByRepoOptions{}
	for {
		issues, resp, err := c.Issues.ListByRepo(ctx, "acme", "widget", list)
		if err != nil {
			t.Fatal(err)
		}
		for _, i := range issues {
			titles = append(titles, i.GetTitle())
		}
		if resp.NextPage == 0 {
			break
		}
		list.ListOptions.Page = resp.NextPage
	}
	if got := strings.Join(titles, ", "); got != "on page 1, on page 2" {
		t.Errorf("issues %q", got)
	}
	ref := &github.Reference{Ref: ptr("refs/heads/moeca/change"), Object: &github.GitObject{SHA: ptr(strings.Repeat("a", 40))}}
	if got, _, err := c.Git.CreateRef(ctx, "acme", "widget", ref); err != nil || got.GetRef() != *ref.Ref {
		t.Errorf("%+v, %v", got, err)
	}
	pull := &github.NewPullRequest{Title: ptr("a title"), Head: ptr("moeca/change"), Base: ptr("main"), Body: ptr("why")}
	if got, _, err := c.PullRequests.Create(ctx, "acme", "widget", pull); err != nil || got.GetNumber() != 42 {
		t.Errorf("%+v, %v", got, err)
	}
	status, body := w.graphQL(pullQuery, map[string]any{"owner": "acme", "name": "widget"})
	if status != http.StatusOK || !strings.Contains(body, "a title") {
		t.Errorf("%d %s", status, body)
	}
	w.check(6)
}

func TestGitHubUnderstandsRefusals(t *testing.T) {
	w := newWorld(t, gitHubDialect(), gitHubScope())
	c, ctx := gitHubClient(w), t.Context()
	main := &github.Reference{Ref: ptr("refs/heads/main"), Object: &github.GitObject{SHA: ptr(strings.Repeat("a", 40))}}
	for _, row := range []struct {
		name, reason string
		call         func() error
	}{
		{"another repository", "write/not-your-repo", func() error { _, _, err := c.Repositories.Get(ctx, "acme", "other"); return err }},
		{"the default branch", "ref/protected-ref", func() error { _, _, err := c.Git.CreateRef(ctx, "acme", "widget", main); return err }},
		{"a merge", "write/for-a-person", func() error {
			_, _, err := c.PullRequests.Merge(ctx, "acme", "widget", 42, "", nil)
			return err
		}},
		{"an approval", "write/for-a-person", func() error {
			_, _, err := c.PullRequests.CreateReview(ctx, "acme", "widget", 42, &github.PullRequestReviewRequest{Event: ptr("APPROVE")})
			return err
		}},
		{"a deletion", "write/for-a-person", func() error { _, err := c.Repositories.Delete(ctx, "acme", "widget"); return err }},
		{"a write that no rule names", "write/no-write-rule", func() error {
			_, _, err := c.Issues.Create(ctx, "acme", "widget", &github.IssueRequest{Title: ptr("x")})
			return err
		}},
	} {
		err := row.call()
		var api *github.ErrorResponse
		if !errors.As(err, &api) || api.Response.StatusCode != http.StatusForbidden || !strings.Contains(api.Message, "moeca gateway, "+row.reason) {
			t.Errorf("%s: %v", row.name, err)
		}
	}
	for name, document := range map[string]string{
		"a merge":                `mutation{mergePullRequest(input:{pullRequestId:"PR_kwDOAAAAB84"}){clientMutationId}}`,
		"a merge under an alias": `mutation{title:mergePullRequest(input:{pullRequestId:"PR_kwDOAAAAB84"}){clientMutationId}}`,
		"a merge beside a query": `query a{repository(owner:"acme",name:"widget"){id}} mutation b{mergePullRequest(input:{pullRequestId:"x"}){clientMutationId}}`,
		"another repository":     `{repository(owner:"acme",name:"other"){id}}`,
	} {
		status, body := w.graphQL(document, nil)
		var shown struct {
			Message string `json:"message"`
		}
		if err := json.Unmarshal([]byte(body), &shown); err != nil || status != http.StatusForbidden || !strings.Contains(shown.Message, "moeca gateway, write/") {
			t.Errorf("%s: %d %s", name, status, body)
		}
	}
	w.check(0)
}
