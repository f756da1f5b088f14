package hostapi

import (
	"context"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"moeca/internal/session"
)

// Sessions are the gateway's live sessions, and those made for programs on this
// host: a command line or an SDK that goes through the gateway with a token in
// place of a key.
type Sessions interface {
	List(ctx context.Context) ([]LiveSession, error)
	Create(ctx context.Context, in SessionInput) (SessionMade, error)
	Revoke(ctx context.Context, id string) (LiveSession, error)
}

// SessionInput says what a program may do.
type SessionInput struct {
	Name       string          `json:"name,omitempty" maxLength:"80" doc:"what it is for; shown in the list and in the log"`
	Reach      []string        `json:"reach" minItems:"1" maxItems:"50" doc:"providers it may reach"`
	Grants     []string        `json:"grants,omitempty" maxItems:"50" doc:"what a provider may do on its side, such as web-search"`
	Repos      []string        `json:"repos,omitempty" maxItems:"50" doc:"owner/name, for providers with repositories"`
	Budget     *session.Budget `json:"budget,omitempty" doc:"0 in a field is the default of a session"`
	TTL        int64           `json:"ttl_seconds,omitempty" minimum:"0" maximum:"86400" doc:"0 is an hour, a day the most"`
	Unattended bool            `json:"unattended,omitempty" doc:"nobody is there to answer: what would ask is refused"`
}

// LiveSession is a session without its token.
type LiveSession struct {
	ID         string         `json:"id"`
	Program    bool           `json:"program"` // made here for a program, and not for a sandbox
	Name       string         `json:"name"`    // of the program, or of the agent
	Task       string         `json:"task,omitempty"`
	Run        string         `json:"run,omitempty"`
	Stage      string         `json:"stage,omitempty"`
	Reach      []string       `json:"reach"`
	Grants     []string       `json:"grants"`
	Repos      []string       `json:"repos"`
	Budget     session.Budget `json:"budget"` // 0 in a field: the default for tokens, no limit for money
	Spent      session.Budget `json:"spent"`  // by calls that have ended
	Unattended bool           `json:"unattended"`
	Service    bool           `json:"service"` // the host's own
	Minted     time.Time      `json:"minted_at"`
	Expires    time.Time      `json:"expires_at"`
}

// SessionMade carries the token, once.
type SessionMade struct {
	Session LiveSession  `json:"session"`
	Token   string       `json:"token" doc:"shown once; it stands where the provider's key would"`
	Header  string       `json:"header" doc:"where a client may put the token instead"`
	URLs    []SessionURL `json:"urls"`
}

// SessionURL is where a provider is reached.
type SessionURL struct {
	Provider string `json:"provider"`
	Kind     string `json:"kind"`
	URL      string `json:"url"`                // base URL for a client of the provider
	GitURL   string `json:"git_url,omitempty"`  // repositories are below it
	Variable string `json:"variable,omitempty"` // that clients of the kind read the base URL from
	KeyVar   string `json:"key_variable,omitempty"`
}

type sessionIn struct {
	ID string `path:"id" maxLength:"64"`
}

func (s *Server) registerSessions() {
	p := s.deps.Sessions
	huma.Register(s.api, op(ScopeRead, "list-sessions", http.MethodGet, "/api/sessions", "Live sessions of the gateway, oldest first, without tokens"),
		func(ctx context.Context, _ *struct{}) (*body[[]LiveSession], error) {
			list, err := p.List(ctx)
			return answer(s, list, err)
		})
	huma.Register(s.api, op(ScopeSecret, "create-session", http.MethodPost, "/api/sessions", "Make a session for a program on this host; the token is in no other answer"),
		func(ctx context.Context, in *struct{ Body SessionInput }) (*body[SessionMade], error) {
			made, err := p.Create(ctx, in.Body)
			return answer(s, made, err)
		})
	huma.Register(s.api, op(ScopeSecret, "revoke-session", http.MethodDelete, "/api/sessions/{id}", "End a program's session; its streams are cut"),
		func(ctx context.Context, in *sessionIn) (*body[LiveSession], error) {
			ended, err := p.Revoke(ctx, in.ID)
			return answer(s, ended, err)
		})
}
