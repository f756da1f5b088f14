package gateway

import (
	"log/slog"
	"net/http"
	"sync"
	"time"

	"moeca/internal/gateway/budget"
	"moeca/internal/gateway/gate"
	"moeca/internal/gateway/gatewayapi"
	"moeca/internal/gateway/policy"
	"moeca/internal/gateway/price"
	"moeca/internal/gateway/upstream"
	"moeca/internal/netguard"
	"moeca/internal/session"
)

// Limits of a gateway. Zero fields take the defaults beside them.
type Limits struct {
	BodyBytes      int64   `json:"body_bytes,omitempty"`       // 8 MiB
	CaptureBytes   int64   `json:"capture_bytes,omitempty"`    // 1 MiB of each body kept in the log
	SessionTokens  int64   `json:"session_tokens,omitempty"`   // 2,000,000 where a scope names no budget
	ContextTokens  int64   `json:"context_tokens,omitempty"`   // 1,050,000: the largest context of any model
	OutputTokens   int64   `json:"output_tokens,omitempty"`    // 128,000: the largest output of any model
	SessionKept    int64   `json:"session_kept,omitempty"`     // 256 MiB of bodies of a session in the log; beyond it their commitments only
	SessionRecords int64   `json:"session_records,omitempty"`  // 500,000 rows of a session, then it is ended; negative: no bound
	SessionDenials int64   `json:"session_denials,omitempty"`  // 2,000 refusals of a session, then it is ended; negative: no bound
	DenialRows     int     `json:"denial_rows,omitempty"`      // 20 refusals of one kind that are rows of their own; then they are counted
	DenialSeconds  int64   `json:"denial_seconds,omitempty"`   // 10: a row for those counted
	SessionConns   int     `json:"session_conns,omitempty"`    // 64 connections to a sandbox's socket, and requests of a session at once
	ClientConns    int     `json:"client_conns,omitempty"`     // 256 to the loopback listener, of all callers
	ModelPerSecond float64 `json:"model_per_second,omitempty"` // 5
	ModelBurst     int     `json:"model_burst,omitempty"`      // 10
	ToolPerSecond  float64 `json:"tool_per_second,omitempty"`  // 10
	ToolBurst      int     `json:"tool_burst,omitempty"`       // 20
	ConnectSeconds int64   `json:"connect_seconds,omitempty"`  // 10
	IdleSeconds    int64   `json:"idle_seconds,omitempty"`     // 600 without a byte from the upstream
	TotalSeconds   int64   `json:"total_seconds,omitempty"`    // 3,600 for a whole exchange
	AskSeconds     int64   `json:"ask_seconds,omitempty"`      // 600 for a person to answer, before any other clock starts
}

// WithDefaults fills what is zero.
func (l Limits) WithDefaults() Limits {
	def(&l.BodyBytes, 8<<20)
	def(&l.CaptureBytes, 1<<20)
	def(&l.SessionTokens, gatewayapi.DefaultSessionTokens)
	def(&l.ContextTokens, 1_050_000)
	def(&l.OutputTokens, 128_000)
	def(&l.SessionKept, 256<<20)
	def(&l.SessionRecords, 500_000)
	def(&l.SessionDenials, 2_000)
	def(&l.DenialRows, 20)
	def(&l.DenialSeconds, 10)
	def(&l.SessionConns, 64)
	def(&l.ClientConns, 256)
	def(&l.ModelPerSecond, 5)
	def(&l.ModelBurst, 10)
	def(&l.ToolPerSecond, 10)
	def(&l.ToolBurst, 20)
	def(&l.ConnectSeconds, 10)
	def(&l.IdleSeconds, 600)
	def(&l.TotalSeconds, 3600)
	def(&l.AskSeconds, 600)
	return l
}

func def[T int | int64 | float64](field *T, value T) {
	if *field == 0 {
		*field = value
	}
}

// Options are the parts a gateway is made of.
type Options struct {
	Log       Log
	Sessions  *session.Table
	Upstreams *upstream.Set
	Policies  *policy.Set   // nil: every upstream has the shipped rules of its kind
	Denied    gate.Networks // hosts that no upstream may lead to
	Guard     *netguard.Guard
	Prices    *price.Table
	Limits    Limits
	SocketGID int    // group of sandbox sockets; negative leaves it
	SocketTop string // sandbox sockets must be below this directory; empty: anywhere
	Published bool   // the loopback listener is in a container: clients name another port
	Logger    *slog.Logger
	Now       func() time.Time
}

// Gateway decides, records and forwards.
type Gateway struct {
	o         Options
	limits    Limits
	ledger    *budget.Ledger
	rate      *gate.Rate
	chain     gate.Chain
	second    gate.Chain // decides again after a person did
	asks      *asks
	transport http.RoundTripper
	copies    copyBuffers
	idle      func() // closes idle upstream connections
	hosts     hostList
	scrubs    scrubs
	strangers *fold          // refusals of callers without a session
	ends      sync.WaitGroup // sessions that end by themselves; Add only with mu held

	mu        sync.Mutex
	lives     map[string]*live
	paths     map[string]bool // sockets that are ours
	retention gatewayapi.Retention
	closed    bool
}

// New returns a gateway without sessions or listeners.
func New(o Options) *Gateway {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Prices == nil {
		o.Prices = price.Empty()
	}
	if o.Policies == nil {
		o.Policies = policy.NewSet()
	}
	g := &Gateway{
		o: o, limits: o.Limits.WithDefaults(), ledger: budget.NewLedger(), lives: map[string]*live{}, paths: map[string]bool{},
		retention: gatewayapi.Retention{Days: gatewayapi.DefaultRetentionDays},
	}
	t := newTransport(o.Guard, func() { o.Log.Hurry() })
	g.transport, g.idle = t, t.CloseIdleConnections
	g.rate = &gate.Rate{
		Model: gate.Bucket{PerSecond: g.limits.ModelPerSecond, Burst: g.limits.ModelBurst},
		Tool:  gate.Bucket{PerSecond: g.limits.ToolPerSecond, Burst: g.limits.ToolBurst},
	}
	g.strangers = g.newFold(1)
	g.chain, g.asks = g.gates(), newAsks(g.limits.SessionConns)
	g.second = secondLook(g.chain)
	return g
}

// gates is the order of decisions. The order is the security property, so it
// is written here and cannot be configured.
func (g *Gateway) gates() gate.Chain {
	return gate.Chain{
		gate.Protocol{},
		gate.Session{Table: g.o.Sessions},
		gate.Route{Upstreams: g.o.Upstreams},
		gate.Body{Limit: g.limits.BodyBytes},
		g.rate,
		gate.Budget{Ledger: g.ledger},
		gate.Target{},
		gate.Allowlist{},
		gate.Address{Guard: g.o.Guard},
		gate.Network{Denied: g.o.Denied},
		gate.Path{Policies: g.o.Policies},
		gate.Write{},
		gate.Forbidden{},
		gate.Ref{},
		gate.Capability{},
		gate.Key{},
	}
}

// ForgetConnections drops idle upstream connections, after a definition
// changed: the next request dials anew.
func (g *Gateway) ForgetConnections() { g.idle() }
