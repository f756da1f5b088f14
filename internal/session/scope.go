package session

import "time"

// Scope is everything a session may do and who it is. It is set by the
// controller when the session is minted and never changes afterwards.
type Scope struct {
	Run       string   `json:"run,omitempty"`
	Stage     string   `json:"stage,omitempty"`
	Parent    string   `json:"parent,omitempty"` // session id of the parent sandbox
	Task      string   `json:"task,omitempty"`
	Template  string   `json:"template,omitempty"`
	Agent     string   `json:"agent,omitempty"`
	Upstreams []string `json:"upstreams"`       // names that may be reached; empty = none
	Repos     []string `json:"repos,omitempty"` // owner/name pairs for repository upstreams
	// RepoIDs are the database ids of repositories, by their names in Repos.
	// GraphQL names what it changes by id only and is refused for the rest. They
	// are of the one upstream of kind github that the session may reach.
	RepoIDs     map[string]int64 `json:"repo_ids,omitempty"`
	Groups      *[]string        `json:"groups,omitempty"`         // knowledge groups: nil = unset (everything), empty = nothing
	Budget      Budget           `json:"budget"`                   // bounds of this session
	RunBudget   *Budget          `json:"run_budget,omitempty"`     // bounds of all sessions of the run together; nil leaves what is set
	TaskBudget  *Budget          `json:"task_budget,omitempty"`    // likewise of the task
	RateLimits  []RateLimit      `json:"rate_limits,omitempty"`    // override of the defaults per upstream
	Service     bool             `json:"service,omitempty"`        // a session of the host itself
	Unattended  bool             `json:"unattended,omitempty"`     // nobody is there to answer
	ProtectRefs []string         `json:"protected_refs,omitempty"` // branches no agent may write
	Grants      []string         `json:"grants,omitempty"`         // what a model provider may do on its side; empty = nothing
}

// Budget bounds what may be spent. Zero means the default limit of a session,
// and no limit for a run or a task; a negative value means nothing at all.
type Budget struct {
	Tokens   int64 `json:"tokens,omitempty"`    // input and output together
	CostNano int64 `json:"cost_nano,omitempty"` // 1e-9 USD
}

// RateLimit is a token bucket for one upstream.
type RateLimit struct {
	Upstream  string  `json:"upstream"`
	PerSecond float64 `json:"per_second"`
	Burst     int     `json:"burst"`
}

// Session is a minted session as the gateway holds it. The token itself is not
// part of it; only its hash is.
type Session struct {
	ID      string    `json:"id"` // public, 128 random bits
	Scope   Scope     `json:"scope"`
	Minted  time.Time `json:"minted"`
	Expires time.Time `json:"expires"`
}
