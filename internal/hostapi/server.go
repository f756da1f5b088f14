// Package hostapi is the HTTP API of the host process: it decodes a request,
// calls the part of the host that knows, and encodes the answer. It holds no
// state of its own but tokens.
//
// Every operation is declared once with huma; the OpenAPI document and from it
// the typed client of the UI are generated, and a test fails when they drift.
// Errors are problem documents with a stable code (see Problem). Lists are
// paged with opaque cursors.
//
// Access (I10, I15): internal/web's Guard checks Host and Origin before
// anything here runs. Each operation names the scope it needs; a request
// without a bearer that holds it is refused. There are no cookies, and a token
// is never taken from a URL. One stream, /api/events, carries every change as
// {seq, topic, kind, id}; a client that was away sends Last-Event-ID and gets
// what it missed, because the sequence is the database's.
package hostapi

import (
	"context"
	"encoding/json"
	"io/fs"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"moeca/internal/audit"
	"moeca/internal/board"
	"moeca/internal/pubsub"
)

// Deps are the parts of the host the API speaks for.
type Deps struct {
	Board     *board.Service
	Bus       *pubsub.Bus
	Audit     AuditLog
	Providers Providers
	Budgets   Budgets
	Policies  Policies
	Asks      Asks
	Witnesses Witnesses
	Retention Retention
	Sessions  Sessions
	Status    func(context.Context) Status
	Doctor    func(context.Context) Doctor
	// RestartLog keeps a broken log and begins another one; nil where no host runs.
	RestartLog func(context.Context, LogRestart) (LogRestarted, error)
	Demo       func(context.Context) (board.Task, error)
	// Record appends a row about a person's change; durable when it returns.
	Record  func(ctx context.Context, action, object string, change any) error
	Tokens  *Tokens
	OwnPeer func(remote string) bool // whether a connection is of this user; nil: nobody can tell
	UI      fs.FS                    // built UI; without index.html a page says how to build it
	Logger  *slog.Logger
	Version string
	Now     func() time.Time
}

// AuditLog reads the log. The host never writes it except through the gateway.
type AuditLog interface {
	Page(ctx context.Context, q AuditQuery) (AuditPage, error)
	Entry(ctx context.Context, seq int64) (AuditRow, error)
	Bodies(ctx context.Context, seq int64) (AuditBodies, error)
	// Verify tells progress the rows it has read, every thousand; nil wants no word.
	Verify(ctx context.Context, progress func(seq int64)) (audit.Report, error)
	AuditIndex
	AuditEvidence
}

// Server answers the API and serves the UI.
type Server struct {
	deps Deps
	mux  *http.ServeMux
	api  huma.API
}

var hookErrors sync.Once

// New wires the operations. The handler it returns still needs a web.Guard.
func New(deps Deps) *Server {
	hookErrors.Do(func() { huma.NewError = newProblem })
	s := &Server{deps: deps, mux: http.NewServeMux()}
	config := huma.DefaultConfig("moeca", deps.Version)
	config.DocsPath, config.SchemasPath, config.OpenAPIPath = "", "", ""
	config.CreateHooks = nil // no $schema links in answers
	config.Info.Description = "The host API of moeca, on loopback only."
	config.Components.Schemas = huma.NewMapRegistry("#/components/schemas/", schemaName)
	config.Components.SecuritySchemes = map[string]*huma.SecurityScheme{
		"bearer": {Type: "http", Scheme: "bearer"},
	}
	s.api = humago.New(s.mux, config)
	s.api.UseMiddleware(s.authorize)
	s.registerAuth()
	s.registerStatus()
	s.registerRepos()
	s.registerTasks()
	s.registerReview()
	s.registerRuns()
	s.registerAudit()
	s.registerAuditRestart()
	s.registerRetention()
	s.registerProviders()
	s.registerBudgets()
	s.registerPolicies()
	s.registerAsks()
	s.registerWitnesses()
	s.registerSessions()
	s.registerEvents()
	s.mux.HandleFunc("/api/", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/problem+json")
		w.WriteHeader(http.StatusNotFound)
		_ = json.NewEncoder(w).Encode(newProblem(http.StatusNotFound, "no such operation"))
	})
	s.mux.Handle("/", uiHandler(deps.UI))
	return s
}

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	r.Body = http.MaxBytesReader(w, r.Body, maxRequest)
	s.mux.ServeHTTP(w, r)
}

// maxRequest bounds a request body in bytes, as huma's own default does; a
// task's detail is the longest thing a person sends.
const maxRequest = 1 << 20

// OpenAPI returns the document the UI's client is generated from.
func (s *Server) OpenAPI() ([]byte, error) {
	raw, err := s.api.OpenAPI().MarshalJSON()
	if err != nil {
		return nil, err
	}
	var doc any
	if err := json.Unmarshal(raw, &doc); err != nil {
		return nil, err
	}
	out, err := json.MarshalIndent(doc, "", "  ")
	return append(out, '\n'), err
}

type actorKey struct{}

// authorize refuses a request whose bearer does not hold the operation's scope.
func (s *Server) authorize(ctx huma.Context, next func(huma.Context)) {
	need, declared := ctx.Operation().Metadata["scope"].(Scope)
	if !declared {
		writeProblem(ctx, http.StatusForbidden, "forbidden", "this operation names no scope")
		return
	}
	if need == publicRequest {
		next(ctx)
		return
	}
	bearer, ok := strings.CutPrefix(ctx.Header("Authorization"), "Bearer ")
	if !ok || bearer == "" {
		writeProblem(ctx, http.StatusUnauthorized, "unauthorized", "a bearer token is needed: open moeca again with `moeca open`")
		return
	}
	grant, ok := s.deps.Tokens.lookUp(bearer)
	if !ok {
		writeProblem(ctx, http.StatusUnauthorized, "unauthorized", "this token is not known to the running process: open moeca again with `moeca open`")
		return
	}
	further, _ := ctx.Operation().Metadata["also"].([]Scope)
	for _, scope := range append([]Scope{need}, further...) {
		if !slices.Contains(grant.scopes, scope) {
			writeProblem(ctx, http.StatusForbidden, "scope", "this token may not do that: it lacks the scope "+string(scope)+", which only a person holds")
			return
		}
	}
	next(huma.WithValue(ctx, actorKey{}, grant.actor))
}

// actorOf says who the bearer of the running request is.
func actorOf(ctx context.Context) board.Actor {
	actor, _ := ctx.Value(actorKey{}).(string)
	return board.Actor{Person: actor == "person", Name: actor}
}

func writeProblem(ctx huma.Context, status int, code, detail string) {
	ctx.SetHeader("Content-Type", "application/problem+json")
	ctx.SetStatus(status)
	_ = json.NewEncoder(ctx.BodyWriter()).Encode(&Problem{
		Title: http.StatusText(status), Status: status, Code: code, Detail: detail,
	})
}

// op builds an operation. Summary doubles as documentation of the API.
func op(scope Scope, id, method, path, summary string) huma.Operation {
	o := huma.Operation{
		OperationID: id, Method: method, Path: path, Summary: summary,
		Metadata: map[string]any{"scope": scope},
	}
	if scope != publicRequest {
		o.Security = []map[string][]string{{"bearer": {string(scope)}}}
	}
	return o
}

// also makes an operation need a further scope: a bearer must hold both.
func also(o huma.Operation, scope Scope) huma.Operation {
	further, _ := o.Metadata["also"].([]Scope)
	o.Metadata["also"] = append(further, scope)
	o.Security[0]["bearer"] = append(o.Security[0]["bearer"], string(scope))
	return o
}

// body is the common shape of an answer.
type body[T any] struct{ Body T }

func answer[T any](s *Server, v T, err error) (*body[T], error) {
	if err != nil {
		return nil, s.problemOf(err)
	}
	return &body[T]{Body: v}, nil
}
