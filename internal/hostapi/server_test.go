package hostapi

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/danielgtaylor/huma/v2"
)

// newTestServer has no parts behind it: what these tests check is decided
// before any part is asked.
func newTestServer(t *testing.T) (*Server, *Tokens) {
	t.Helper()
	tokens := NewTokens(time.Now)
	return New(Deps{
		Tokens: tokens, Version: "1", Now: time.Now,
		UI: fstest.MapFS{
			"index.html":       {Data: []byte("<title>moeca</title>")},
			"assets/app-1.js":  {Data: []byte("1")},
			"assets/secret.js": {Data: []byte("2")},
		},
	}), tokens
}

func send(s *Server, method, path, bearer, body string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, path, strings.NewReader(body))
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	if bearer != "" {
		r.Header.Set("Authorization", "Bearer "+bearer)
	}
	w := httptest.NewRecorder()
	s.ServeHTTP(w, r)
	return w
}

// personOnly are the operations that no program's token may reach (I15).
var personOnly = map[string]bool{
	"approve-task": true, "merge-task": true, "approve-and-merge-task": true, "set-secret": true,
	"put-provider": true, "delete-provider": true, "launch": true,
	"add-repo": true, "update-repo": true, "remove-repo": true, "begin-demo": true,
	"set-budget": true, "patch-prices": true, "test-provider": true, "list-models": true, "detect-servers": true,
	"erase-audit": true, "patch-policy": true, "answer-ask": true, "create-session": true, "revoke-session": true,
}

func TestEveryOperationNeedsItsScope(t *testing.T) {
	s, tokens := newTestServer(t)
	program := tokens.Mint("program", ProgramScopes())
	seen := 0
	for path, item := range s.api.OpenAPI().Paths {
		for method, operation := range operations(item) {
			seen++
			url := strings.NewReplacer("{id}", "x", "{name}", "x", "{seq}", "1").Replace(path)
			if operation.OperationID == "exchange" {
				continue
			}
			for name, bearer := range map[string]string{"no token": "", "an unknown token": "nonsense", "an empty token": " "} {
				if w := send(s, method, url, bearer, "{}"); w.Code != http.StatusUnauthorized {
					t.Errorf("%s %s with %s: %d", method, path, name, w.Code)
				}
			}
			if personOnly[operation.OperationID] {
				w := send(s, method, url, program, "{}")
				if w.Code != http.StatusForbidden || !strings.Contains(w.Body.String(), `"scope"`) {
					t.Errorf("%s %s with a program's token: %d %s", method, path, w.Code, w.Body)
				}
			}
			if scope, ok := operation.Metadata["scope"].(Scope); !ok || scope == publicRequest {
				t.Errorf("%s %s names no scope", method, path)
			}
		}
	}
	if seen < 25 {
		t.Errorf("only %d operations were checked", seen)
	}
}

// One of two scopes is not enough for what does both.
func TestApproveAndMergeNeedsBothScopes(t *testing.T) {
	s, tokens := newTestServer(t)
	for _, one := range []Scope{ScopeApprove, ScopeMerge} {
		bearer := tokens.Mint("person", []Scope{ScopeRead, ScopeWork, one})
		w := send(s, "POST", "/api/tasks/x/approve-and-merge", bearer, `{"head":"","target_oid":"","result_tree":""}`)
		if w.Code != http.StatusForbidden || !strings.Contains(w.Body.String(), `"scope"`) {
			t.Errorf("with %s alone: %d %s", one, w.Code, w.Body)
		}
	}
}

// What a program may do to a task does not include what decides where an agent
// reaches and what it may draw. The board is not asked: there is none here.
func TestProgramsSayNeitherReachNorBudgets(t *testing.T) {
	s, tokens := newTestServer(t)
	program := tokens.Mint("program", ProgramScopes())
	for _, c := range [][3]string{
		{"POST", "/api/tasks", `{"repo_id":"r","title":"t","reach":["github"]}`},
		{"PATCH", "/api/tasks/1", `{"version":1,"reach":[]}`},
		{"PATCH", "/api/tasks/1", `{"version":1,"budget":{}}`},
		{"PATCH", "/api/tasks/1", `{"version":1,"run_budget":{"tokens":1}}`},
		{"PATCH", "/api/tasks/1", `{"version":1,"title":"x","budget":{"cost_nano":1}}`},
	} {
		w := send(s, c[0], c[1], program, c[2])
		if w.Code != http.StatusForbidden || !strings.Contains(w.Body.String(), `"scope"`) {
			t.Errorf("%s %s %s: %d %s", c[0], c[1], c[2], w.Code, w.Body)
		}
	}
}

func TestEveryPathParameterIsDeclared(t *testing.T) {
	s, _ := newTestServer(t)
	for path, item := range s.api.OpenAPI().Paths {
		for method, operation := range operations(item) {
			declared := 0
			for _, p := range operation.Parameters {
				if p.In == "path" {
					declared++
				}
			}
			if want := strings.Count(path, "{"); declared != want {
				t.Errorf("%s %s declares %d path parameters, want %d", method, path, declared, want)
			}
		}
	}
}

func TestProgramsHoldNoScopeOfAPerson(t *testing.T) {
	for _, scope := range ProgramScopes() {
		switch scope {
		case ScopeApprove, ScopeMerge, ScopeSecret, ScopeLaunch, ScopeRepos:
			t.Errorf("a program's token holds %s", scope)
		}
	}
}

func operations(item *huma.PathItem) map[string]*huma.Operation {
	all := map[string]*huma.Operation{
		"GET": item.Get, "POST": item.Post, "PUT": item.Put, "PATCH": item.Patch, "DELETE": item.Delete,
	}
	for method, operation := range all {
		if operation == nil {
			delete(all, method)
		}
	}
	return all
}

func TestLaunchTokenWorksOnceAndNotForLong(t *testing.T) {
	now := time.Unix(1_000_000, 0)
	tokens := NewTokens(func() time.Time { return now })
	launch := tokens.Launch()
	bearer := tokens.Exchange(launch)
	if g, ok := tokens.lookUp(bearer); !ok || g.actor != "person" {
		t.Fatalf("exchange gave %v %v", g, ok)
	}
	if again := tokens.Exchange(launch); again != "" {
		t.Error("a launch token worked twice")
	}
	late := tokens.Launch()
	now = now.Add(launchTTL + time.Second)
	if tokens.Exchange(late) != "" {
		t.Error("a launch token worked after its time")
	}
	if tokens.Exchange("") != "" || tokens.Exchange(bearer) != "" {
		t.Error("something that is no launch token was exchanged")
	}
	if _, ok := tokens.lookUp(tokens.Launch()); ok {
		t.Error("a launch token is a bearer")
	}
}

func TestExchangeAnswersAProblem(t *testing.T) {
	s, tokens := newTestServer(t)
	w := send(s, "POST", "/api/auth/exchange", "", `{"launch_token":"nonsense"}`)
	if w.Code != http.StatusUnauthorized || w.Header().Get("Content-Type") != "application/problem+json" {
		t.Errorf("%d %s %s", w.Code, w.Header().Get("Content-Type"), w.Body)
	}
	w = send(s, "POST", "/api/auth/exchange", "", `{"launch_token":"`+tokens.Launch()+`"}`)
	if w.Code != http.StatusOK || !strings.Contains(w.Body.String(), `"token"`) {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}

// The link stands in the arguments of the command that opens the browser, where
// every user of the machine can read it.
func TestLaunchTokenIsOfNoUseToAnotherUser(t *testing.T) {
	s, tokens := newTestServer(t)
	own := false
	s.deps.OwnPeer = func(string) bool { return own }
	request := `{"launch_token":"` + tokens.Launch() + `"}`
	if w := send(s, "POST", "/api/auth/exchange", "", request); w.Code != http.StatusForbidden || strings.Contains(w.Body.String(), `"token"`) {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	own = true
	if w := send(s, "POST", "/api/auth/exchange", "", request); w.Code != http.StatusOK {
		t.Errorf("the link was used up by somebody else: %d %s", w.Code, w.Body)
	}
}

// A token in a URL would be logged; it must not work.
func TestTokenInURLDoesNotWork(t *testing.T) {
	s, tokens := newTestServer(t)
	bearer := tokens.Mint("person", PersonScopes())
	for _, path := range []string{"/api/tasks?token=" + bearer, "/api/tasks?access_token=" + bearer, "/api/tasks?Authorization=Bearer+" + bearer} {
		if w := send(s, "GET", path, "", ""); w.Code != http.StatusUnauthorized {
			t.Errorf("%s: %d", path[:20], w.Code)
		}
	}
}

func TestMutationsNeedJSON(t *testing.T) {
	s, tokens := newTestServer(t)
	r := httptest.NewRequest("POST", "/api/repos", strings.NewReader(`{"path":"/x"}`))
	r.Header.Set("Content-Type", "text/plain")
	r.Header.Set("Authorization", "Bearer "+tokens.Mint("person", PersonScopes()))
	w := httptest.NewRecorder()
	s.ServeHTTP(w, r)
	if w.Code < 400 || w.Code >= 500 {
		t.Errorf("text/plain was taken as JSON: %d", w.Code)
	}
}

func TestUnknownFieldsAndBigBodiesAreRefused(t *testing.T) {
	s, tokens := newTestServer(t)
	person := tokens.Mint("person", PersonScopes())
	if w := send(s, "POST", "/api/repos", person, `{"path":"/x","nonsense":1}`); w.Code != http.StatusUnprocessableEntity {
		t.Errorf("unknown field: %d %s", w.Code, w.Body)
	}
	if w := send(s, "POST", "/api/repos", person, `{"path":"`+strings.Repeat("x", maxRequest)+`"}`); w.Code < 400 {
		t.Errorf("a body over the limit: %d", w.Code)
	}
	var p Problem
	w := send(s, "POST", "/api/repos", person, `{"path":1}`)
	if err := json.Unmarshal(w.Body.Bytes(), &p); err != nil || p.Code != "invalid" || len(p.Errors) == 0 || p.Errors[0].Location != "body.path" {
		t.Errorf("a wrong field answers %s", w.Body)
	}
}

func TestDeepLinksGetTheInterface(t *testing.T) {
	s, _ := newTestServer(t)
	for _, path := range []string{"/", "/tasks/abc", "/audit", "/a/../b"} {
		if w := send(s, "GET", path, "", ""); w.Code == 200 && !strings.Contains(w.Body.String(), "<title>moeca") {
			t.Errorf("%s: %d %s", path, w.Code, w.Body)
		}
	}
	if w := send(s, "GET", "/assets/app-1.js", "", ""); w.Code != 200 || w.Body.String() != "1" || !strings.Contains(w.Header().Get("Cache-Control"), "immutable") {
		t.Errorf("asset: %d %s", w.Code, w.Body)
	}
	if w := send(s, "POST", "/", "", "{}"); w.Code != http.StatusMethodNotAllowed {
		t.Errorf("POST on the interface: %d", w.Code)
	}
	for _, path := range []string{"/api/", "/api/nonsense", "/api"} {
		if w := send(s, "GET", path, "", ""); strings.Contains(w.Body.String(), "<title>") && path != "/api" {
			t.Errorf("%s answers the interface", path)
		}
	}
}

// The committed description is what the UI's client is generated from.
func TestOpenAPIIsCommitted(t *testing.T) {
	s, _ := newTestServer(t)
	got, err := s.OpenAPI()
	if err != nil {
		t.Fatal(err)
	}
	want, err := os.ReadFile("../../ui/openapi.json")
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != string(want) {
		t.Error("ui/openapi.json is not what the operations describe: run `make gen` and commit both files")
	}
}
