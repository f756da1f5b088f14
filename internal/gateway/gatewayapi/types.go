package gatewayapi

import (
	"encoding/json"
	"time"

	"moeca/internal/session"
)

// MintRequest is the body of POST /v1/sessions.
type MintRequest struct {
	Scope session.Scope `json:"scope"`
	TTL   int64         `json:"ttl_seconds"`
	// SocketDir is a directory made by the host, as the gateway sees it; the
	// gateway listens on gateway.sock inside it until the session ends. Empty
	// for sessions that present a token on the loopback listener.
	SocketDir string `json:"socket_dir,omitempty"`
	// WithToken asks for a bearer token, returned once. Sandboxes never get one.
	WithToken bool `json:"with_token,omitempty"`
}

// MintResponse is the answer to MintRequest.
type MintResponse struct {
	ID      string    `json:"id"`
	Token   string    `json:"token,omitempty"`
	Expires time.Time `json:"expires"`
}

// Revoked is the answer to DELETE /v1/sessions/{id}: listener closed, accepted
// connections closed, streams cut, socket unlinked.
type Revoked struct {
	ID     string `json:"id"`
	Tokens int64  `json:"tokens"`    // settled by the session in total
	Cost   int64  `json:"cost_nano"` // 1e-9 USD
}

// Health is the answer to GET /v1/health.
type Health struct {
	OK       bool   `json:"ok"`
	PID      int    `json:"pid"`
	Boot     string `json:"boot"` // random per start: a change tells the host to mint again
	Records  int64  `json:"records"`
	Head     string `json:"head"`     // hex hash of the last durable row
	Writable bool   `json:"writable"` // false when the log cannot be written
	Cause    string `json:"cause,omitempty"`
	Address  string `json:"address,omitempty"`  // loopback listener for token clients
	Landlock string `json:"landlock,omitempty"` // how far the gateway restricted itself: "off" or what the kernel enforces

	Broken *BrokenLog `json:"broken,omitempty"` // the log is broken: a person decides
}

// Provider describes an upstream. Reads never carry the key.
type Provider struct {
	Name     string     `json:"name"`
	Kind     string     `json:"kind"` // one of the kinds of package upstream
	BaseURL  string     `json:"base_url"`
	Models   []string   `json:"models,omitempty"`
	Auth     Auth       `json:"auth"`
	Scripted bool       `json:"scripted,omitempty"`
	Local    bool       `json:"local,omitempty"`   // a model server of the user's own, by exact address
	GitURL   string     `json:"git_url,omitempty"` // of a github: where its repositories are fetched and pushed
	Hosts    []string   `json:"hosts,omitempty"`   // of a fetch: what may be fetched from; "*.example.com" is all below
	Secret   SecretInfo `json:"secret"`
}

// Auth says how the key goes out. The form of the key depends on the scheme.
type Auth struct {
	Scheme  string `json:"scheme,omitempty"`  // one of the Scheme constants
	Header  string `json:"header,omitempty"`  // "x-api-key", "Authorization"; empty = no key
	Prefix  string `json:"prefix,omitempty"`  // "Bearer "; with basic it is inside what is encoded
	Region  string `json:"region,omitempty"`  // sigv4: "eu-west-1"
	Service string `json:"service,omitempty"` // sigv4: "bedrock"
}

// Schemes.
const (
	SchemeHeader = ""       // the key behind Prefix in Header
	SchemeBasic  = "basic"  // user:password; a key without a colon and without Prefix is a bearer token
	SchemeTrello = "trello" // key:token, as OAuth parameters in Authorization
	SchemeSigV4  = "sigv4"  // id:secret or id:secret:session-token, which sign and are not sent
)

// NeedsKey says whether calls cannot be made without a key.
func (a Auth) NeedsKey() bool { return a.Header != "" || a.Scheme != SchemeHeader }

// SecretInfo is what a read tells about a key.
type SecretInfo struct {
	HasSecret bool       `json:"has_secret"`
	SetAt     *time.Time `json:"set_at,omitempty"`
	LastUsed  *time.Time `json:"last_used,omitempty"`
}

// ProviderPatch is the body of PATCH /v1/providers/{name}: absent fields keep
// their value. PUT of a new name creates it.
type ProviderPatch struct {
	Kind     *string   `json:"kind,omitempty"`
	BaseURL  *string   `json:"base_url,omitempty"`
	Models   *[]string `json:"models,omitempty"`
	Auth     *Auth     `json:"auth,omitempty"`
	Scripted *bool     `json:"scripted,omitempty"`
	Local    *bool     `json:"local,omitempty"`
	GitURL   *string   `json:"git_url,omitempty"`
	Hosts    *[]string `json:"hosts,omitempty"`
}

// Models is the answer to GET /v1/providers/{name}/models.
type Models struct {
	Models []string  `json:"models"`
	At     time.Time `json:"at"` // when the upstream was asked
}

// TestResult is the answer to POST /v1/providers/{name}/test.
type TestResult struct {
	OK        bool   `json:"ok"`
	Class     string `json:"class"` // one of the Test constants
	Message   string `json:"message"`
	Status    int    `json:"status,omitempty"` // of the upstream or of the gate that refused
	LatencyMS int64  `json:"latency_ms"`
}

// Classes of a test call.
const (
	TestOK          = "ok"
	TestNoKey       = "no-key"      // none is set
	TestKey         = "key"         // the upstream refused it
	TestUnreachable = "unreachable" // no answer: network, name, certificate, time
	TestRate        = "rate"
	TestFault       = "fault"   // the upstream's own
	TestPath        = "path"    // it answered, but not what was asked for
	TestRefused     = "refused" // a gate of ours did
	TestNone        = "none"    // nothing to try
)

// SecretPut is the body of PUT /v1/providers/{name}/secret. An empty value
// clears the key.
type SecretPut struct {
	Value string `json:"value"`
}

// AppendRequest is the body of POST /v1/append on the append listener. The
// credential decides the source and the kinds it may add.
type AppendRequest struct {
	Kind    string          `json:"kind"` // approval, merge, ci, admin, fetch
	Actor   string          `json:"actor"`
	Task    string          `json:"task,omitempty"`
	Run     string          `json:"run,omitempty"`
	Stage   string          `json:"stage,omitempty"`
	Ref     int64           `json:"ref,omitempty"`
	Subject string          `json:"subject,omitempty"`
	Result  string          `json:"result,omitempty"`
	Detail  json.RawMessage `json:"detail,omitempty"`
}

// AppendResponse is sent only after the row is durable.
type AppendResponse struct {
	Seq  int64  `json:"seq"`
	Hash string `json:"hash"`
}

// Error is the body of every refusal, also inside a dialect's own error shape.
type Error struct {
	Error ErrorBody `json:"error"`
}

// ErrorBody names the gate, the reason constant, and what would have to change.
type ErrorBody struct {
	Gate    string `json:"gate"`
	Reason  string `json:"reason"`
	Message string `json:"message"`
}
