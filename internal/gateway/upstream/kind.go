package upstream

import (
	"encoding/base64"
	"net/http"
	"strings"

	"moeca/internal/gateway/gatewayapi"
	"moeca/internal/secret"
)

// Kinds. Each says what a path means there.
const (
	KindAnthropic = "anthropic" // Messages
	KindOpenAI    = "openai"    // Chat Completions, Responses, embeddings
	KindGemini    = "gemini"
	KindGitHub    = "github" // REST and GraphQL, and git where GitURL says
	KindGit       = "git"    // smart HTTP only
	KindJira      = "jira"
	KindTrello    = "trello"
	KindNotion    = "notion"
	KindRAG       = "rag"    // the knowledge index: POST /search, over a Unix socket only
	KindFetch     = "fetch"  // GET of pages from listed hosts, without a key
	KindSigV4     = "sigv4"  // whatever signs its requests as Amazon's services do
	KindCustom    = "custom" // any other HTTP tool
)

// Kinds lists all kinds.
func Kinds() []string {
	return []string{
		KindAnthropic, KindOpenAI, KindGemini, KindGitHub, KindGit, KindJira, KindTrello, KindNotion, KindRAG, KindFetch, KindSigV4, KindCustom,
	}
}

// defaults are the public endpoints, and how a key goes there.
func defaults(name, kind string) Upstream {
	u := Upstream{Name: name, Kind: kind}
	bearer := gatewayapi.Auth{Header: "Authorization", Prefix: "Bearer "}
	switch kind {
	case KindAnthropic:
		u.BaseURL, u.Auth = "https://api.anthropic.com", gatewayapi.Auth{Header: "x-api-key"}
	case KindOpenAI:
		u.BaseURL, u.Auth = "https://api.openai.com", bearer
	case KindGemini:
		u.BaseURL, u.Auth = "https://generativelanguage.googleapis.com", gatewayapi.Auth{Header: "x-goog-api-key"}
	case KindGitHub:
		u.BaseURL, u.GitURL, u.Auth = "https://api.github.com", "https://github.com", bearer
	case KindGit:
		u.BaseURL, u.Auth = "https://github.com", gitAuth()
	case KindJira:
		u.Auth = gatewayapi.Auth{Scheme: gatewayapi.SchemeBasic}
	case KindTrello:
		u.BaseURL, u.Auth = "https://api.trello.com", gatewayapi.Auth{Scheme: gatewayapi.SchemeTrello}
	case KindNotion:
		u.BaseURL, u.Auth = "https://api.notion.com", bearer
	case KindFetch:
		u.BaseURL = fetchBase
	case KindSigV4:
		u.Auth = gatewayapi.Auth{Scheme: gatewayapi.SchemeSigV4}
	}
	return u
}

// gitAuth is how a token of GitHub is presented to its git service.
func gitAuth() gatewayapi.Auth {
	return gatewayapi.Auth{Scheme: gatewayapi.SchemeBasic, Prefix: "x-access-token:"}
}

// fetchBase stands where a fetch has no base; the name can never be dialled.
const fetchBase = "https://fetch.invalid"

// Model says whether the upstream is a model, whose calls are priced.
func (u Upstream) Model() bool {
	return u.Kind == KindAnthropic || u.Kind == KindOpenAI || u.Kind == KindGemini
}

// DefaultHeaders are what the service demands and a plain client leaves out.
func (u Upstream) DefaultHeaders() http.Header {
	switch u.Kind {
	case KindAnthropic:
		return http.Header{"Anthropic-Version": {"2023-06-01"}}
	case KindGitHub, KindGit:
		return http.Header{"User-Agent": {"moeca"}}
	case KindNotion:
		return http.Header{"Notion-Version": {"2022-06-28"}}
	}
	return nil
}

// Secrets are the strings that must not come back in an answer: the key, what
// Basic makes of it, and the first part of a key in parts, unless it is a user.
// Whoever looks for them looks for what follows the first part by itself.
func (u Upstream) Secrets() []secret.Value {
	if u.Key.Empty() {
		return nil
	}
	key, all := u.Key.Open(), []secret.Value{u.Key}
	add := func(text string) { all = append(all, secret.New(text)) }
	switch u.Auth.Scheme {
	case gatewayapi.SchemeBasic:
		add(base64.RawStdEncoding.EncodeToString([]byte(u.Auth.Prefix + key)))
	case gatewayapi.SchemeTrello, gatewayapi.SchemeSigV4:
		id, _, _ := strings.Cut(key, ":")
		add(id)
	}
	if u.Git != nil {
		add(base64.RawStdEncoding.EncodeToString([]byte(gitAuth().Prefix + key)))
	}
	return all
}

// Select returns the upstream as it is for one escaped path below its name, and
// the path below its base. ok is false when the path leads nowhere.
func (u Upstream) Select(rest string) (Upstream, string, bool) {
	switch {
	case u.Kind == KindGitHub && u.Git != nil && isGitPath(rest):
		u.Kind, u.Base, u.Auth = KindGit, u.Git, gitAuth()
		u.Exempt = exempt(u.Git)
	case u.Kind == KindFetch:
		host, path, _ := strings.Cut(strings.TrimPrefix(rest, "/"), "/")
		base, ok := fetchTarget(host)
		if !ok {
			return Upstream{}, "", false
		}
		u.Base, rest = base, "/"+path
	}
	return u, rest, true
}

// isGitPath: /<owner>/<name>.git/ and a service of smart HTTP. No path of the
// REST interface looks like this.
func isGitPath(rest string) bool {
	parts := strings.SplitN(strings.TrimPrefix(rest, "/"), "/", 3)
	if len(parts) != 3 || parts[0] == "" || len(parts[1]) <= len(".git") || !strings.HasSuffix(parts[1], ".git") {
		return false
	}
	switch parts[2] {
	case "info/refs", "git-upload-pack", "git-receive-pack":
		return true
	}
	return false
}

// MayFetch says whether host is on the list of a fetch.
func (u Upstream) MayFetch(host string) bool {
	for _, h := range u.Hosts {
		below, wild := strings.CutPrefix(h, "*")
		if h == host || wild && strings.HasSuffix(host, below) && len(host) > len(below) {
			return true
		}
	}
	return false
}

// ModelsTarget is where the list of models is, below the base; empty: there is
// none.
func (u Upstream) ModelsTarget() string {
	switch {
	case u.Kind == KindGemini:
		return "/v1beta/models?pageSize=1000"
	case u.Kind == KindAnthropic:
		return "/v1/models?limit=1000"
	case u.Kind == KindOpenAI && u.Base != nil && strings.HasSuffix(u.Base.Path, "/v1"):
		return "/models"
	case u.Kind == KindOpenAI:
		return "/v1/models"
	}
	return ""
}

// TestTarget is a read that costs nothing and needs a working key; empty: the
// kind has none.
func (u Upstream) TestTarget() string {
	switch u.Kind {
	case KindGitHub:
		return "/rate_limit"
	case KindJira:
		return "/rest/api/2/myself"
	case KindTrello:
		return "/1/members/me?fields=id"
	case KindNotion:
		return "/v1/users/me"
	case KindSigV4, KindCustom:
		return "/"
	}
	return u.ModelsTarget()
}
