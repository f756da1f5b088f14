package policy

import (
	"errors"
	"net/http"
	"strings"
	"testing"

	"moeca/internal/gateway/upstream"
)

// read is what Parse found, in one word per operation: "+" in front of what is
// shipped, "!" in front of what no rule opens, the repository and the refs
// behind.
func read(in Input) string {
	ops, err := Parse(in)
	if err != nil {
		if !errors.Is(err, ErrUnclear) {
			return "error of another kind: " + err.Error()
		}
		return "unclear"
	}
	var words []string
	for _, op := range ops {
		word := strings.TrimPrefix(strings.TrimPrefix(op.Name, "github."), "graphql.")
		switch {
		case op.Never != "":
			word = "!" + word
		case op.Shipped:
			word = "+" + word
		}
		if op.Repo != "" {
			word += " " + op.Repo
		}
		for _, ref := range op.Refs {
			word += " " + ref
		}
		words = append(words, word)
	}
	return strings.Join(words, "; ")
}

func TestGitHubREST(t *testing.T) {
	gh := func(method, target, body string) Input { return jsonInput(upstream.KindGitHub, method, target, body) }
	ref := func(name string) string { return `{"ref":"` + name + `","sha":"` + oidA + `"}` }
	for name, c := range map[string]struct {
		in   Input
		want string
	}{
		"a repository is read":                     {gh("GET", "/repos/o/n", ""), "+read o/n"},
		"a file is read":                           {gh("GET", "/repos/o/n/contents/a/b?ref=main", ""), "+read o/n"},
		"who am I":                                 {gh("GET", "/user", ""), "+read"},
		"rate limit":                               {gh("GET", "/rate_limit", ""), "+read"},
		"a search leaves the repository":           {gh("GET", "/search/code?q=x", ""), "read-outside"},
		"repositories of the account":              {gh("GET", "/user/repos", ""), "read-outside"},
		"a repository by its number":               {gh("GET", "/repositories/1", ""), "!by-id"},
		"a write to a repository by its number":    {gh("PUT", "/repositories/1/pulls/1/merge", "{}"), "!by-id"},
		"a branch is created":                      {gh("POST", "/repos/o/n/git/refs", ref("refs/heads/moeca/x")), "+create-branch o/n refs/heads/moeca/x"},
		"a protected branch, for the ref gate":     {gh("POST", "/repos/o/n/git/refs", ref("refs/heads/main")), "+create-branch o/n refs/heads/main"},
		"a branch in escapes of JSON":              {gh("POST", "/repos/o/n/git/refs", ref(`refs/heads/m\u0061in`)), "+create-branch o/n refs/heads/main"},
		"a branch without a ref":                   {gh("POST", "/repos/o/n/git/refs", `{"sha":"x"}`), "unclear"},
		"a branch with ref in capitals":            {gh("POST", "/repos/o/n/git/refs", `{"Ref":"refs/heads/moeca/x","sha":"x"}`), "unclear"},
		"a branch with ref twice":                  {gh("POST", "/repos/o/n/git/refs", `{"ref":"refs/heads/moeca/x","ref":"refs/heads/main"}`), "unclear"},
		"a branch with ref in two cases":           {gh("POST", "/repos/o/n/git/refs", `{"ref":"refs/heads/moeca/x","REF":"refs/heads/main"}`), "unclear"},
		"a branch with a list of refs":             {gh("POST", "/repos/o/n/git/refs", `{"ref":["refs/heads/moeca/x"]}`), "unclear"},
		"a branch with an unknown field":           {gh("POST", "/repos/o/n/git/refs", `{"ref":"refs/heads/moeca/x","sha":"x","force":true}`), "unclear"},
		"a branch and data behind":                 {gh("POST", "/repos/o/n/git/refs", ref("refs/heads/moeca/x")+`{"ref":"refs/heads/main"}`), "unclear"},
		"a branch in a list":                       {gh("POST", "/repos/o/n/git/refs", "["+ref("refs/heads/moeca/x")+"]"), "unclear"},
		"a branch with a byte order mark":          {gh("POST", "/repos/o/n/git/refs", "\xef\xbb\xbf"+ref("refs/heads/moeca/x")), "unclear"},
		"a branch without a body":                  {gh("POST", "/repos/o/n/git/refs", ""), "unclear"},
		"a branch with ref in the query":           {gh("POST", "/repos/o/n/git/refs?ref=refs/heads/main", ref("refs/heads/moeca/x")), "unclear"},
		"a branch with a slash behind the route":   {gh("POST", "/repos/o/n/git/refs/", ref("refs/heads/moeca/x")), "unclear"},
		"a branch with the route in capitals":      {gh("POST", "/repos/o/n/Git/Refs", ref("refs/heads/moeca/x")), "unclear"},
		"the interface in capitals":                {gh("POST", "/Repos/o/n/git/refs", ref("refs/heads/moeca/x")), "unclear"},
		"a branch by PUT":                          {gh("PUT", "/repos/o/n/git/refs", ref("refs/heads/moeca/x")), "unclear"},
		"a branch is moved":                        {gh("PATCH", "/repos/o/n/git/refs/heads/moeca/x", `{"sha":"x"}`), "update-ref o/n refs/heads/moeca/x"},
		"main is moved, for the ref gate":          {gh("PATCH", "/repos/o/n/git/refs/heads/main", `{"sha":"x"}`), "update-ref o/n refs/heads/main"},
		"main with a slash behind":                 {gh("PATCH", "/repos/o/n/git/refs/heads/main/", `{"sha":"x"}`), "update-ref o/n refs/heads/main/"},
		"main as the interface does not write it":  {gh("PATCH", "/repos/o/n/git/refs/refs/heads/main", `{"sha":"x"}`), "update-ref o/n refs/refs/heads/main"},
		"a branch is forced":                       {gh("PATCH", "/repos/o/n/git/refs/heads/moeca/x", `{"sha":"x","force":true}`), "!update-ref o/n refs/heads/moeca/x"},
		"a branch is forced by a word":             {gh("PATCH", "/repos/o/n/git/refs/heads/moeca/x", `{"sha":"x","force":"true"}`), "!update-ref o/n refs/heads/moeca/x"},
		"a branch is not forced":                   {gh("PATCH", "/repos/o/n/git/refs/heads/moeca/x", `{"sha":"x","force":false}`), "update-ref o/n refs/heads/moeca/x"},
		"a branch is deleted":                      {gh("DELETE", "/repos/o/n/git/refs/heads/moeca/x", ""), "delete-ref o/n refs/heads/moeca/x"},
		"a pull request":                           {gh("POST", "/repos/o/n/pulls", `{"title":"t","head":"moeca/x","base":"main","body":"b","draft":true}`), "+create-pull-request o/n"},
		"a pull request of one's own owner":        {gh("POST", "/repos/o/n/pulls", `{"title":"t","head":"O:moeca/x","base":"main"}`), "+create-pull-request o/n"},
		"a pull request from elsewhere":            {gh("POST", "/repos/o/n/pulls", `{"title":"t","head":"evil:moeca/x","base":"main"}`), "create-pull-request-across o/n"},
		"a pull request from another repository":   {gh("POST", "/repos/o/n/pulls", `{"title":"t","head":"moeca/x","base":"main","head_repo":"evil"}`), "unclear"},
		"a pull request without a head":            {gh("POST", "/repos/o/n/pulls", `{"title":"t","base":"main"}`), "unclear"},
		"a pull request in a strange type":         {withType(gh("POST", "/repos/o/n/pulls", `{"title":"t","head":"moeca/x","base":"main"}`), "application/x-www-form-urlencoded"), "unclear"},
		"a pull request in two types":              {withType(gh("POST", "/repos/o/n/pulls", `{"title":"t","head":"moeca/x","base":"main"}`), "application/json", "text/plain"), "unclear"},
		"a pull request in another character set":  {withType(gh("POST", "/repos/o/n/pulls", `{"title":"t","head":"moeca/x","base":"main"}`), "application/json; charset=utf-7"), "unclear"},
		"a pull request in their own type":         {withType(gh("POST", "/repos/o/n/pulls", `{"title":"t","head":"moeca/x","base":"main"}`), "application/vnd.github+json"), "+create-pull-request o/n"},
		"a comment":                                {gh("POST", "/repos/o/n/issues/1/comments", `{"body":"b"}`), "+comment o/n"},
		"a comment that is no JSON":                {gh("POST", "/repos/o/n/issues/1/comments", `body=b`), "unclear"},
		"a review comment":                         {gh("POST", "/repos/o/n/pulls/1/comments", `{"body":"b"}`), "+comment o/n"},
		"a reply":                                  {gh("POST", "/repos/o/n/pulls/1/comments/2/replies", `{"body":"b"}`), "+comment o/n"},
		"a review that only comments needs a rule": {gh("POST", "/repos/o/n/pulls/1/reviews", `{"event":"COMMENT"}`), "review o/n"},
		"an approval":                              {gh("POST", "/repos/o/n/pulls/1/reviews", `{"event":"APPROVE"}`), "!review o/n"},
		"an approval in lower case":                {gh("POST", "/repos/o/n/pulls/1/reviews", `{"event":"approve"}`), "!review o/n"},
		"an approval of a pending review":          {gh("POST", "/repos/o/n/pulls/1/reviews/2/events", `{"event":"APPROVE"}`), "!review o/n"},
		"an approval with event in capitals":       {gh("POST", "/repos/o/n/pulls/1/reviews", `{"EVENT":"APPROVE"}`), "unclear"},
		"an objection is dismissed":                {gh("PUT", "/repos/o/n/pulls/1/reviews/2/dismissals", `{"message":"m"}`), "!review o/n"},
		"a merge":                                  {gh("PUT", "/repos/o/n/pulls/1/merge", `{}`), "!write o/n"},
		"a merge in capitals":                      {gh("PUT", "/repos/o/n/pulls/1/MERGE", `{}`), "!write o/n"},
		"a merge with an extension":                {gh("PUT", "/repos/o/n/pulls/1/merge.json", `{}`), "!write o/n"},
		"a merge with a slash behind":              {gh("PUT", "/repos/o/n/pulls/1/merge/", `{}`), "!write o/n"},
		"a merge with a blank behind":              {gh("PUT", "/repos/o/n/pulls/1/merge ", `{}`), "!write o/n"},
		"a merge in wide letters":                  {gh("PUT", "/repos/o/n/pulls/1/\uff4derge", `{}`), "!write o/n"},
		"a merge by POST":                          {gh("POST", "/repos/o/n/pulls/1/merge", `{}`), "!write o/n"},
		"a merge of branches":                      {gh("POST", "/repos/o/n/merges", `{"base":"main","head":"moeca/x"}`), "!write o/n"},
		"a merge of upstream":                      {gh("POST", "/repos/o/n/merge-upstream", `{"branch":"main"}`), "!write o/n"},
		"a branch of a pull request is updated":    {gh("PUT", "/repos/o/n/pulls/1/update-branch", `{}`), "!write o/n"},
		"a commit to the default branch":           {gh("PUT", "/repos/o/n/contents/a", `{"message":"m","content":"x"}`), "commit-contents o/n "},
		"a commit to main":                         {gh("PUT", "/repos/o/n/contents/a", `{"branch":"main"}`), "commit-contents o/n refs/heads/main"},
		"a commit to refs/heads/main":              {gh("PUT", "/repos/o/n/contents/a", `{"branch":"refs/heads/main"}`), "commit-contents o/n refs/heads/main"},
		"a commit to a branch of the agent":        {gh("PUT", "/repos/o/n/contents/a/b", `{"branch":"moeca/x"}`), "commit-contents o/n refs/heads/moeca/x"},
		"a deletion of a file without a body":      {gh("DELETE", "/repos/o/n/contents/a", ""), "commit-contents o/n "},
		"protection":                               {gh("DELETE", "/repos/o/n/branches/main/protection", ""), "!write o/n"},
		"a branch is renamed":                      {gh("POST", "/repos/o/n/branches/main/rename", `{"new_name":"x"}`), "!write o/n"},
		"a ruleset":                                {gh("POST", "/repos/o/n/rulesets", `{}`), "!write o/n"},
		"a hook with a Kelvin sign":                {gh("POST", "/repos/o/n/hoo\u212as", `{}`), "!write o/n"},
		"a hook":                                   {gh("POST", "/repos/o/n/hooks", `{}`), "!write o/n"},
		"a deploy key":                             {gh("POST", "/repos/o/n/keys", `{}`), "!write o/n"},
		"a collaborator":                           {gh("PUT", "/repos/o/n/collaborators/evil", `{}`), "!write o/n"},
		"a secret":                                 {gh("PUT", "/repos/o/n/actions/secrets/X", `{}`), "!write o/n"},
		"a secret in capitals":                     {gh("PUT", "/repos/o/n/Actions/Secrets/X", `{}`), "!write o/n"},
		"the repository is edited":                 {gh("PATCH", "/repos/o/n", `{"default_branch":"moeca/x"}`), "!write o/n"},
		"the repository is edited, slash behind":   {gh("PATCH", "/repos/o/n/", `{"default_branch":"moeca/x"}`), "!write o/n"},
		"the repository is deleted":                {gh("DELETE", "/repos/o/n", ""), "!write o/n"},
		"an issue is opened":                       {gh("POST", "/repos/o/n/issues", `{"title":"t"}`), "create-issue o/n"},
		"a workflow is started":                    {gh("POST", "/repos/o/n/actions/workflows/x/dispatches", `{"ref":"main"}`), "run-workflow o/n"},
		"a workflow is started by an event":        {gh("POST", "/repos/o/n/dispatches", `{"event_type":"deploy"}`), "dispatch o/n"},
		"a run is started again":                   {gh("POST", "/repos/o/n/actions/runs/1/rerun", ""), "run-workflow o/n"},
		"a run is started again, in capitals":      {gh("POST", "/repos/o/n/actions/Runs/1/rerun", ""), "!write o/n"},
		"notes of a release":                       {gh("POST", "/repos/o/n/releases/generate-notes", `{}`), "write o/n"},
		"notes of a release, in capitals":          {gh("POST", "/repos/o/n/releases/Generate-Notes", `{}`), "!write o/n"},
		"a workflow is switched off":               {gh("PUT", "/repos/o/n/actions/workflows/x/disable", ""), "!write o/n"},
		"the run of a stranger is approved":        {gh("POST", "/repos/o/n/actions/runs/1/approve", ""), "!write o/n"},
		"a deployment is approved":                 {gh("POST", "/repos/o/n/actions/runs/1/pending_deployments", `{"state":"approved"}`), "!write o/n"},
		"a deployment is approved, otherwise":      {gh("POST", "/repos/o/n/actions/runs/1/deployment_protection_rule", `{"state":"approved"}`), "!write o/n"},
		"a deployment":                             {gh("POST", "/repos/o/n/deployments", `{"ref":"moeca/x"}`), "!write o/n"},
		"a commit is called green":                 {gh("POST", "/repos/o/n/statuses/"+oidA, `{"state":"success"}`), "!write o/n"},
		"a check that passed":                      {gh("POST", "/repos/o/n/check-runs", `{"conclusion":"success"}`), "!write o/n"},
		"an attestation":                           {gh("POST", "/repos/o/n/attestations", `{}`), "!write o/n"},
		"a release, which makes a tag":             {gh("POST", "/repos/o/n/releases", `{"tag_name":"v1","target_commitish":"moeca/x"}`), "!write o/n"},
		"a draft is published":                     {gh("PATCH", "/repos/o/n/releases/1", `{"draft":false}`), "!write o/n"},
		"an alert is dismissed":                    {gh("PATCH", "/repos/o/n/dependabot/alerts/1", `{"state":"dismissed"}`), "!write o/n"},
		"a fork":                                   {gh("POST", "/repos/o/n/forks", ""), "!write o/n"},
		"a key of the account":                     {gh("POST", "/user/keys", `{"key":"ssh-ed25519 x"}`), "!write-outside"},
		"a key of the account, in capitals":        {gh("POST", "/User/Keys", `{"key":"ssh-ed25519 x"}`), "!write-outside"},
		"the account is edited":                    {gh("PATCH", "/user", `{"email":"evil@x"}`), "!write-outside"},
		"an invitation is accepted":                {gh("PATCH", "/user/repository_invitations/1", ""), "!write-outside"},
		"a secret of the organisation":             {gh("PUT", "/orgs/acme/actions/secrets/X", `{}`), "!write-outside"},
		"a hook of the organisation":               {gh("POST", "/orgs/acme/hooks", `{}`), "!write-outside"},
		"the key is revoked":                       {gh("DELETE", "/installation/token", ""), "!write-outside"},
		"two branches of the repository compared":  {gh("GET", "/repos/o/n/compare/main...moeca/x", ""), "+read o/n"},
		"compared with a fork":                     {gh("GET", "/repos/o/n/compare/main...evil:main", ""), "read-across o/n"},
		"compared with another repository":         {gh("GET", "/repos/o/n/compare/main...evil:secret:main", ""), "read-across o/n"},
		"what refers to an issue from anywhere":    {gh("GET", "/repos/o/n/issues/1/timeline", ""), "read-across o/n"},
		"issues below an issue, of anywhere":       {gh("GET", "/repos/o/n/issues/1/sub_issues", ""), "read-across o/n"},
		"the issue above an issue, of anywhere":    {gh("GET", "/repos/o/n/issues/1/parent", ""), "read-across o/n"},
		"what blocks an issue, of anywhere":        {gh("GET", "/repos/o/n/issues/1/dependencies/blocked_by", ""), "read-across o/n"},
		"pull requests that hold a commit":         {gh("GET", "/repos/o/n/commits/"+oidA+"/pulls", ""), "read-across o/n"},
		"the same with a slash behind":             {gh("GET", "/repos/o/n/commits/"+oidA+"/pulls/", ""), "read-across o/n"},
		"a commit by a branch of that name":        {gh("GET", "/repos/o/n/commits/my-pulls", ""), "+read o/n"},
		"events of an issue":                       {gh("GET", "/repos/o/n/issues/1/events", ""), "+read o/n"},
		"a gist":                                   {gh("POST", "/gists", `{}`), "write-outside"},
		"a repository is made":                     {gh("POST", "/user/repos", `{"name":"x"}`), "write-outside"},
		"no repository is named":                   {gh("POST", "/repos/o", `{}`), "write-outside"},
		"an empty name":                            {gh("GET", "/repos/o/", ""), "read-outside"},
		"a read with a body":                       {gh("GET", "/repos/o/n", `{}`), "unclear"},
		"a method in the query":                    {gh("GET", "/repos/o/n/pulls/1/merge?_method=PUT", ""), "unclear"},
		"GraphQL by GET":                           {gh("GET", "/graphql?query=mutation", ""), "unclear"},
		"GraphQL in capitals":                      {gh("POST", "/GraphQL", `{"query":"{viewer{login}}"}`), "unclear"},
		"GraphQL with a slash behind":              {gh("POST", "/graphql/", `{"query":"{viewer{login}}"}`), "unclear"},
	} {
		if got := read(c.in); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

func withType(in Input, types ...string) Input {
	in.Header = http.Header{"Content-Type": types}
	return in
}
