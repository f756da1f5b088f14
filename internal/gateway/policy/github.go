package policy

import (
	"net/http"
	"slices"
	"strings"

	"moeca/internal/strictjson"
)

// Reasons of Never, in the words of a refusal.
const (
	NeverMerge      = "merging is for a person"
	NeverApprove    = "approving is for a person"
	NeverAdminister = "rules and access of a repository are for a person"
	NeverCheck      = "reporting that something was checked or deployed is for CI"
	NeverRelease    = "releases and tags are for a person"
	NeverForce      = "forcing and deleting through a push are refused"
	NeverUnnamed    = "the request names its repository in a way that cannot be held to the session"
)

// parseGitHub reads a request of the REST interface, or hands it to GraphQL.
// Words of a route are compared as they are to permit, and in any spelling that
// Covers knows, without an extension, to refuse: a spelling that we do not know
// may be one they know.
func parseGitHub(in Input) ([]Operation, error) {
	segments := strings.Split(strings.TrimPrefix(in.Path, "/"), "/")
	switch word := routeWord(segments[0]); {
	case in.Path == "/graphql" && in.Method == http.MethodPost:
		return parseGraphQL(in)
	case word == "graphql":
		return nil, unclear("GraphQL is POST /graphql")
	case word == "repositories":
		return []Operation{{Name: "github.by-id", Never: NeverUnnamed}}, nil
	case word == "repos" && segments[0] != "repos":
		return nil, unclear("write /repos in lower case")
	case segments[0] == "repos" && len(segments) >= 3 && segments[1] != "" && segments[2] != "":
		op, err := parseRepo(in, segments[1]+"/"+segments[2], segments[3:])
		return []Operation{op}, err
	case isRead(in.Method) && slices.Contains([]string{"/", "", "/user", "/rate_limit", "/meta", "/versions", "/zen", "/octocat", "/emojis"}, in.Path):
		return []Operation{{Name: "github.read", Read: true, Shipped: true}}, nil
	case isRead(in.Method):
		return []Operation{{Name: "github.read-outside", Read: true}}, nil
	}
	return []Operation{{Name: "github.write-outside", Never: neverOutside(segments)}}, nil
}

// neverOutside recognises, in any spelling, writes outside repositories that no
// rule can open: what decides who may do what, and the key's own account.
func neverOutside(segments []string) string {
	words := routeWords(segments)
	switch words.at(0) {
	case "orgs", "organizations", "teams", "enterprises", "enterprise", "admin", "scim", "app", "apps", "app-manifests", "applications",
		"installation", "installations", "credentials", "authorizations", "setup", "manage", "hub":
		return NeverAdminister
	case "user", "users":
		switch words.at(1) {
		case "keys", "gpg_keys", "ssh_signing_keys", "email", "emails", "installations", "repository_invitations", "memberships", "blocks",
			"interaction-limits", "codespaces", "migrations", "packages", "":
			return NeverAdminister
		}
	}
	return ""
}

// routeWord is a segment as a lenient router would compare it.
func routeWord(segment string) string {
	word, _, _ := strings.Cut(looseWord(segment), ".")
	return strings.TrimSpace(word)
}

// wordList are the segments of a route, or its words.
type wordList []string

func routeWords(segments []string) wordList {
	words := make(wordList, len(segments))
	for i, s := range segments {
		words[i] = routeWord(s)
	}
	return words
}

// at is a word of the route, or "" behind its end.
func (w wordList) at(i int) string {
	if i < len(w) {
		return w[i]
	}
	return ""
}

// parseRepo reads a request below /repos/<owner>/<name>.
func parseRepo(in Input, repo string, rest []string) (Operation, error) {
	op := Operation{Name: "github.write", Repo: repo}
	if isRead(in.Method) {
		op.Name, op.Read, op.Shipped = "github.read", true, true
		if leadsAway(rest) {
			op.Name, op.Shipped = "github.read-across", false
		}
		return op, nil
	}
	if in.Query != "" {
		return op, unclear("a write carries a query; put the fields into the body")
	}
	if op.Never = neverOf(rest); op.Never != "" {
		return op, nil
	}
	var body strictjson.Document
	var err error
	if len(in.Body) > 0 {
		if body, err = jsonObject(in); err != nil {
			return op, err
		}
	}
	route := in.Method + " " + strings.Join(rest, "/")
	for _, r := range routes() {
		if MatchPath(r.pattern, route) {
			op.Name, op.Shipped = r.name, r.shipped
			if r.read == nil {
				return op, nil
			}
			return op, r.read(&op, body, rest)
		}
	}
	if word := routeWord(rest[0]); word == "git" || word == "contents" || word == "pulls" {
		return op, unclear("this is no known write of %s in this spelling", word)
	}
	return op, nil
}

// leadsAway recognises reads of a repository that answer with what lies in
// others: a comparison with a fork's branch, issues that refer to one of these.
func leadsAway(rest []string) bool {
	words := routeWords(rest)
	switch words.at(0) {
	case "compare":
		return strings.Contains(strings.Join(rest, "/"), ":")
	case "issues":
		switch words.at(2) {
		case "timeline", "sub_issues", "parent", "dependencies":
			return true
		}
	case "commits":
		return strings.HasSuffix(strings.TrimRight(strings.Join(words, "/"), "/"), "/pulls")
	}
	return false
}

// neverOf recognises, in any spelling, what no rule can open.
func neverOf(rest []string) string {
	words := routeWords(rest)
	switch words.at(0) {
	case "merges", "merge-upstream", "merge":
		return NeverMerge
	case "", "branches", "rulesets", "rules", "hooks", "keys", "collaborators", "invitations", "transfer", "environments", "properties",
		"interaction-limits", "automated-security-fixes", "vulnerability-alerts", "private-vulnerability-reporting", "tags", "forks", "generate", "import", "pages", "code-scanning", "secret-scanning", "security-advisories", "code-security-configuration",
		"autolinks", "topics", "lfs", "immutable-releases", "deployments", "dependabot", "codespaces":
		return NeverAdminister
	case "statuses", "check-runs", "check-suites", "attestations":
		return NeverCheck
	case "releases":
		if wordList(rest).at(1) != "generate-notes" {
			return NeverRelease
		}
	case "actions":
		return neverOfActions(rest, words)
	case "pulls":
		if strings.HasPrefix(words.at(2), "merge") || strings.HasPrefix(words.at(2), "auto-merge") || words.at(2) == "update-branch" {
			return NeverMerge
		}
	}
	return ""
}

// neverOfActions: workflows may be started by a rule. What decides whether they
// run, with which secrets, and where to, is not for rules.
func neverOfActions(exact, words wordList) string {
	switch last := words.at(3); {
	case words.at(1) == "runs" && (last == "approve" || last == "pending_deployments" || last == "deployment_protection_rule"):
		return NeverApprove
	case exact.at(1) == "workflows" && exact.at(3) == "dispatches" || exact.at(1) == "runs" || exact.at(1) == "jobs":
		return ""
	}
	return NeverAdminister
}

// route is a write below a repository, with what its body says.
type route struct {
	pattern string // method, blank, path below the repository
	name    string
	shipped bool
	read    func(op *Operation, body strictjson.Document, rest []string) error
}

func routes() []route {
	return []route{
		{"POST git/refs", "github.create-branch", true, readNewRef},
		{"POST pulls", "github.create-pull-request", true, readPull},
		{"POST issues/*/comments", "github.comment", true, nil},
		{"POST pulls/*/comments", "github.comment", true, nil},
		{"POST pulls/*/comments/*/replies", "github.comment", true, nil},
		{"POST commits/*/comments", "github.comment", true, nil},
		{"POST pulls/*/reviews", "github.review", false, readReview},
		{"PUT pulls/*/reviews/*", "github.review", false, readReview},
		{"POST pulls/*/reviews/*/events", "github.review", false, readReview},
		{"PUT pulls/*/reviews/*/dismissals", "github.review", false, refuseReview},
		{"DELETE pulls/*/reviews/*", "github.review", false, refuseReview},
		{"PATCH pulls/*", "github.edit-pull-request", false, nil},
		{"PATCH pulls/comments/*", "github.edit-comment", false, nil},
		{"DELETE pulls/comments/*", "github.edit-comment", false, nil},
		{"POST pulls/*/requested_reviewers", "github.request-review", false, nil},
		{"DELETE pulls/*/requested_reviewers", "github.request-review", false, nil},
		{"POST issues", "github.create-issue", false, nil},
		{"PATCH issues/*", "github.edit-issue", false, nil},
		{"PATCH issues/comments/*", "github.edit-comment", false, nil},
		{"DELETE issues/comments/*", "github.edit-comment", false, nil},
		{"POST issues/*/labels", "github.label", false, nil},
		{"PUT issues/*/labels", "github.label", false, nil},
		{"DELETE issues/*/labels/*", "github.label", false, nil},
		{"POST dispatches", "github.dispatch", false, nil},
		{"POST actions/workflows/*/dispatches", "github.run-workflow", false, nil},
		{"POST actions/runs/*/rerun", "github.run-workflow", false, nil},
		{"POST actions/runs/*/rerun-failed-jobs", "github.run-workflow", false, nil},
		{"POST actions/jobs/*/rerun", "github.run-workflow", false, nil},
		{"PATCH git/refs/**", "github.update-ref", false, readRefUpdate},
		{"DELETE git/refs/**", "github.delete-ref", false, readRefPath},
		{"POST git/blobs", "github.create-object", false, nil},
		{"POST git/trees", "github.create-object", false, nil},
		{"POST git/commits", "github.create-object", false, nil},
		{"PUT contents/**", "github.commit-contents", false, readContents},
		{"DELETE contents/**", "github.commit-contents", false, readContents},
	}
}

func readNewRef(op *Operation, body strictjson.Document, _ []string) error {
	if err := body.Only("ref", "sha"); err != nil {
		return unclear("%v", err)
	}
	ref, err := body.String("ref")
	if err != nil || ref == "" {
		return unclear("ref must be the full name of a branch")
	}
	op.Refs = []string{ref}
	return nil
}

// readPull: a pull request proposes; where it comes from must be this
// repository, since a head elsewhere would bring in what the session cannot see.
func readPull(op *Operation, body strictjson.Document, _ []string) error {
	if err := body.Only("title", "head", "base", "body", "draft", "issue", "maintainer_can_modify"); err != nil {
		return unclear("%v", err)
	}
	head, err := body.String("head")
	if err != nil || head == "" {
		return unclear("head must be the name of a branch")
	}
	owner, branch, foreign := strings.Cut(head, ":")
	if own, _, _ := strings.Cut(op.Repo, "/"); foreign && !strings.EqualFold(owner, own) {
		op.Name, op.Shipped = "github.create-pull-request-across", false
		return nil
	}
	if !foreign {
		branch = head
	}
	if !plainBranch(strings.TrimPrefix(branch, Heads)) {
		return unclear("head holds something that could be read as another name")
	}
	return nil
}

func readReview(op *Operation, body strictjson.Document, _ []string) error {
	if !body.Exists() {
		return unclear("a review without a body")
	}
	event, err := body.String("event")
	if err != nil {
		return unclear("%v", err)
	}
	switch event {
	case "", "PENDING", "COMMENT", "REQUEST_CHANGES":
	default:
		op.Never = NeverApprove
	}
	return nil
}

func refuseReview(op *Operation, _ strictjson.Document, _ []string) error {
	op.Never = NeverApprove // a dismissed objection is an approval
	return nil
}

// readRefPath: the interface takes "heads/x" for "refs/heads/x".
func readRefPath(op *Operation, _ strictjson.Document, rest []string) error {
	op.Refs = []string{"refs/" + strings.Join(rest[2:], "/")}
	return nil
}

func readRefUpdate(op *Operation, body strictjson.Document, rest []string) error {
	if err := body.Only("sha", "force"); err != nil {
		return unclear("%v", err)
	}
	force, err := body.Field("force")
	if err != nil {
		return unclear("%v", err)
	}
	if value, isBool := force.Bool(); force.Exists() && (!isBool || value) {
		op.Never = NeverForce
	}
	return readRefPath(op, body, rest)
}

// readContents: a commit without a branch goes to the default branch.
func readContents(op *Operation, body strictjson.Document, _ []string) error {
	branch := ""
	if body.Exists() {
		var err error
		if branch, err = body.String("branch"); err != nil {
			return unclear("%v", err)
		}
	}
	if branch != "" {
		branch = Heads + strings.TrimPrefix(branch, Heads)
	}
	op.Refs = []string{branch}
	return nil
}
