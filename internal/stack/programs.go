package stack

import (
	"context"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"moeca/internal/audit"
	"moeca/internal/board"
	"moeca/internal/gateway/gatewayapi"
	"moeca/internal/hostapi"
	"moeca/internal/session"
)

// Life of a program's session.
const (
	programTTL    = time.Hour
	maxProgramTTL = 24 * time.Hour
)

// programs makes sessions for programs on this host. Their token is handed out
// once and kept by nobody, so they end with the gateway: it cannot be minted
// again.
type programs struct {
	sessions  *sessions
	providers *Providers
	address   func() string // of the gateway's loopback listener
}

// List implements hostapi.Sessions.
func (p programs) List(ctx context.Context) ([]hostapi.LiveSession, error) {
	live, err := p.sessions.Sessions(ctx)
	if err != nil {
		return nil, unavailable(err)
	}
	spent, err := p.sessions.drawn(ctx)
	if err != nil {
		return nil, err
	}
	out := make([]hostapi.LiveSession, 0, len(live))
	for _, s := range live {
		out = append(out, p.view(s, spent[s.ID]))
	}
	return out, nil
}

func (p programs) view(s session.Session, spent audit.Spend) hostapi.LiveSession {
	list := func(l []string) []string { return append([]string{}, l...) }
	return hostapi.LiveSession{
		ID: s.ID, Program: p.sessions.ofProgram(s.ID), Name: s.Scope.Agent,
		Task: s.Scope.Task, Run: s.Scope.Run, Stage: s.Scope.Stage,
		Reach: list(s.Scope.Upstreams), Grants: list(s.Scope.Grants), Repos: list(s.Scope.Repos),
		Budget: s.Scope.Budget, Spent: session.Budget{Tokens: spent.Tokens, CostNano: spent.Cost},
		Unattended: s.Scope.Unattended, Service: s.Scope.Service, Minted: s.Minted, Expires: s.Expires,
	}
}

var repoName = regexp.MustCompile(`^[A-Za-z0-9._-]{1,100}/[A-Za-z0-9._-]{1,100}$`)

// Create implements hostapi.Sessions. The gateway judges the scope again and in
// full, and makes a row of it before the session is served.
func (p programs) Create(ctx context.Context, in hostapi.SessionInput) (hostapi.SessionMade, error) {
	scope, ttl, err := p.scope(in)
	if err != nil {
		return hostapi.SessionMade{}, err
	}
	reached, err := p.reached(ctx, in.Reach)
	if err != nil {
		return hostapi.SessionMade{}, err
	}
	address := p.address()
	if address == "" {
		return hostapi.SessionMade{}, &board.Error{Kind: board.Unavailable, Code: "no_listener", Message: "the gateway has no loopback listener, so no program can reach it", Next: "start moeca with a --gateway-listen address"}
	}
	p.identify(ctx, &scope, reached)
	m, err := p.sessions.Mint(ctx, gatewayapi.MintRequest{Scope: scope, TTL: int64(ttl / time.Second), WithToken: true})
	if err != nil {
		return hostapi.SessionMade{}, ofGateway(err, board.Invalid, "correct it; no session was made")
	}
	made := hostapi.SessionMade{
		Session: p.view(session.Session{ID: m.ID, Scope: scope, Minted: m.Expires.Add(-ttl), Expires: m.Expires}, audit.Spend{}),
		Token:   m.Token, Header: "X-Moeca-Session",
	}
	for _, r := range reached {
		made.URLs = append(made.URLs, urlOf(r, address))
	}
	return made, nil
}

func (p programs) scope(in hostapi.SessionInput) (session.Scope, time.Duration, error) {
	ttl := programTTL
	if in.TTL != 0 {
		ttl = time.Duration(in.TTL) * time.Second
	}
	if ttl < time.Second || ttl > maxProgramTTL {
		return session.Scope{}, 0, invalid("ttl", "a session lives between a second and a day", "choose a time such as 1h")
	}
	for _, r := range in.Repos {
		if !repoName.MatchString(r) {
			return session.Scope{}, 0, invalid("repo", fmt.Sprintf("%.80q is no repository", r), "write owner/name")
		}
	}
	scope := session.Scope{
		Agent: strings.TrimSpace(in.Name), Upstreams: slices.Clone(in.Reach), Grants: in.Grants, Repos: in.Repos, Unattended: in.Unattended,
	}
	if scope.Agent == "" {
		scope.Agent = "program"
	}
	if !utf8.ValidString(scope.Agent) || strings.ContainsFunc(scope.Agent, func(r rune) bool { return !unicode.IsPrint(r) }) {
		return session.Scope{}, 0, invalid("session_name", "the name holds what cannot be printed", "write it in letters, digits and blanks")
	}
	if in.Budget != nil {
		scope.Budget = *in.Budget
	}
	if scope.Budget.Tokens < 0 || scope.Budget.CostNano < 0 {
		return session.Scope{}, 0, invalid("budget", "a budget is not negative", "leave it out for the default")
	}
	return scope, ttl, nil
}

// reached finds the providers by name: a name that is none would be a session
// that looks as if it could reach something.
func (p programs) reached(ctx context.Context, names []string) ([]hostapi.Provider, error) {
	all, err := p.providers.List(ctx)
	if err != nil {
		return nil, err
	}
	var out []hostapi.Provider
	for i, name := range names {
		at := slices.IndexFunc(all, func(one hostapi.Provider) bool { return one.Name == name })
		if at < 0 {
			known := make([]string, len(all))
			for j, one := range all {
				known[j] = one.Name
			}
			return nil, invalid("provider_unknown", "there is no provider "+name, "reach one of "+strings.Join(known, ", "))
		}
		if slices.Index(names, name) == i {
			out = append(out, all[at])
		}
	}
	return out, nil
}

// identify asks for the ids by which GraphQL names repositories, where there is
// one place to ask. Without them changes by GraphQL are refused.
func (p programs) identify(ctx context.Context, scope *session.Scope, reached []hostapi.Provider) {
	reached = slices.DeleteFunc(slices.Clone(reached), func(r hostapi.Provider) bool { return r.Kind != "github" && r.Kind != "git" })
	if len(reached) != 1 || reached[0].Kind != "github" || !reached[0].HasSecret {
		return
	}
	for _, name := range slices.Clone(scope.Repos) {
		repo, err := p.sessions.admin.Repository(ctx, reached[0].Name, name)
		if err != nil {
			p.sessions.say.Warn("repository not identified; changes by GraphQL will be refused", "repository", name, "error", err)
			continue
		}
		if scope.RepoIDs == nil {
			scope.RepoIDs = map[string]int64{}
		}
		if scope.RepoIDs[repo.FullName] = repo.ID; !slices.Contains(scope.Repos, repo.FullName) {
			scope.Repos = append(scope.Repos, repo.FullName)
		}
	}
}

// urlOf is where a client of a provider's kind is pointed to.
func urlOf(p hostapi.Provider, address string) hostapi.SessionURL {
	u := hostapi.SessionURL{Provider: p.Name, Kind: p.Kind, URL: "http://" + address + "/" + p.Name}
	switch p.Kind {
	case "anthropic":
		u.Variable, u.KeyVar = "ANTHROPIC_BASE_URL", "ANTHROPIC_API_KEY"
	case "openai":
		u.Variable, u.KeyVar = "OPENAI_BASE_URL", "OPENAI_API_KEY"
		if base, err := url.Parse(p.BaseURL); err == nil && !strings.HasSuffix(base.Path, "/v1") {
			u.URL += "/v1"
		}
	case "gemini":
		u.Variable, u.KeyVar = "GOOGLE_GEMINI_BASE_URL", "GEMINI_API_KEY"
	case "github", "git":
		u.GitURL = u.URL
	}
	return u
}

// Revoke implements hostapi.Sessions.
func (p programs) Revoke(ctx context.Context, id string) (hostapi.LiveSession, error) {
	all, err := p.List(ctx)
	if err != nil {
		return hostapi.LiveSession{}, err
	}
	i := slices.IndexFunc(all, func(s hostapi.LiveSession) bool { return s.ID == id })
	if i < 0 {
		return hostapi.LiveSession{}, &board.Error{Kind: board.NotFound, Code: "session_unknown", Message: "there is no live session of this id; it may have ended by its time", Next: "see `moeca session list`"}
	}
	if !all[i].Program {
		return hostapi.LiveSession{}, &board.Error{Kind: board.Conflict, Code: "session_of_run", Message: "this session belongs to a sandbox and ends with it", Next: "stop its run with `moeca run stop " + all[i].Run + "`"}
	}
	spent, err := p.sessions.Revoke(ctx, id)
	if err != nil {
		return hostapi.LiveSession{}, unavailable(err)
	}
	all[i].Spent = session.Budget{Tokens: spent.Tokens, CostNano: spent.Cost}
	return all[i], nil
}

// ofProgram says whether a session was made with a token.
func (s *sessions) ofProgram(id string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	l := s.live[id]
	return l != nil && l.request.WithToken
}
