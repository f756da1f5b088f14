// Package admin is how the host steers the gateway, and how host and registry
// add rows of their own to the log.
//
// Both listeners are Unix sockets in directories that no sandbox has a path
// to. The admin listener takes one bearer token, of which the gateway holds
// SHA-256 only. The append listener takes other credentials; each belongs to a
// source, which the gateway stamps on the row, and to a closed list of kinds.
// An append credential changes nothing but the log; the admin token appends
// nothing.
//
// Invariants:
//   - a change takes effect only after its row is durable. Ending a session is
//     the exception: it happens also when the log cannot be written, because
//     the opposite would keep a caller alive that the host wants gone.
//   - no row, answer, error or log line holds a key or a token, except the
//     answer to a mint that asked for one.
//   - a body is one JSON value with known fields only, of at most 1 MiB.
//   - a refused credential is a row.
//
// Changes to providers are serialised; everything else may run concurrently.
package admin

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"strings"
	"sync"

	"moeca/internal/audit"
	"moeca/internal/gateway"
	"moeca/internal/gateway/gatewayapi"
	"moeca/internal/gateway/policy"
	"moeca/internal/gateway/price"
	"moeca/internal/gateway/upstream"
	"moeca/internal/session"
)

// Options of the admin listener.
type Options struct {
	Gateway   *gateway.Gateway
	Log       gateway.Log
	Sessions  *session.Table
	Upstreams *upstream.Set
	Policies  *policy.Set
	Audit     Audit
	Witness   Witness
	Broken    Broken            // nil: the log is whole
	TokenHash [sha256.Size]byte // of the admin bearer
	Health    func() gatewayapi.Health
	Logger    *slog.Logger
}

type server struct {
	o       Options
	answers answers
	models  modelCache
	change  sync.Mutex // one provider change at a time, from plan to apply
}

// New returns the handler of the admin listener.
func New(o Options) http.Handler {
	s := &server{o: o, answers: answers{o.Log, o.Logger}}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /v1/health", func(w http.ResponseWriter, _ *http.Request) { s.answers.send(w, http.StatusOK, o.Health()) })
	mux.HandleFunc("POST /v1/sessions", s.mint)
	mux.HandleFunc("GET /v1/sessions", func(w http.ResponseWriter, _ *http.Request) {
		s.answers.send(w, http.StatusOK, o.Gateway.SessionStates())
	})
	mux.HandleFunc("DELETE /v1/sessions/{id}", s.revoke)
	mux.HandleFunc("GET /v1/providers", func(w http.ResponseWriter, _ *http.Request) {
		s.answers.send(w, http.StatusOK, o.Upstreams.List())
	})
	mux.HandleFunc("PUT /v1/providers/{name}", s.define("provider.put", o.Upstreams.PlanPut))
	mux.HandleFunc("PATCH /v1/providers/{name}", s.define("provider.patch", o.Upstreams.PlanPatch))
	mux.HandleFunc("DELETE /v1/providers/{name}", s.deleteProvider)
	mux.HandleFunc("PUT /v1/providers/{name}/secret", s.setSecret)
	mux.HandleFunc("GET /v1/providers/{name}/models", s.listModels)
	mux.HandleFunc("POST /v1/providers/{name}/test", s.test)
	s.policyRoutes(mux)
	s.settingRoutes(mux)
	s.askRoutes(mux)
	s.auditRoutes(mux)
	mux.HandleFunc("POST /v1/log/next", s.prepareRestart)
	mux.HandleFunc("GET /v1/providers/{name}/repository", s.repository)
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		s.answers.refuse(w, r, http.StatusNotFound, "no-endpoint", "there is no such endpoint")
	})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !holds(r, o.TokenHash) {
			s.answers.refuse(w, r, http.StatusUnauthorized, "credential", "the admin token is wrong or missing")
			return
		}
		mux.ServeHTTP(w, r)
	})
}

// holds compares the bearer of a request with a hash in constant time.
func holds(r *http.Request, hash [sha256.Size]byte) bool {
	token, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	got := sha256.Sum256([]byte(token))
	return ok && token != "" && subtle.ConstantTimeCompare(got[:], hash[:]) == 1
}

// record writes the row of a change and waits until it is durable.
func record(ctx context.Context, log gateway.Log, action, subject string, a audit.Attribution, detail any) error {
	doc, err := json.Marshal(detail)
	if err != nil {
		return err
	}
	row, err := log.Queue(audit.Record{
		Kind: audit.KindAdmin, Source: audit.SourceGateway, Actor: audit.ActorHost, Attribution: a,
		Subject: subject, Detail: doc, Attrs: []audit.Attr{{Key: "action", Value: action}},
	}, nil, nil)
	if err != nil {
		return err
	}
	return row.Wait(ctx)
}

// mintDetail is what a row says about a mint: everything but the token.
type mintDetail struct {
	Scope     session.Scope `json:"scope"`
	TTL       int64         `json:"ttl_seconds"`
	SocketDir string        `json:"socket_dir,omitempty"`
	WithToken bool          `json:"with_token,omitempty"`
}

func (s *server) mint(w http.ResponseWriter, r *http.Request) {
	var req gatewayapi.MintRequest
	if !s.answers.read(w, r, &req) {
		return
	}
	if (req.SocketDir == "") == !req.WithToken {
		s.answers.refuse(w, r, http.StatusBadRequest, "no-way-in", "a session needs a socket directory or a token")
		return
	}
	m, err := s.o.Gateway.Mint(req)
	if err != nil {
		s.fail(w, r, err)
		return
	}
	a, _ := gateway.Attribution(m.Session)
	err = record(r.Context(), s.o.Log, gateway.ActionMint, m.Session.ID, a, mintDetail(req))
	if err != nil {
		m.Drop()
		s.answers.logDown(w, err)
		return
	}
	if err := m.Serve(); err != nil {
		m.Drop()
		s.fail(w, r, err)
		return
	}
	s.answers.send(w, http.StatusCreated, gatewayapi.MintResponse{ID: m.Session.ID, Token: m.Token, Expires: m.Session.Expires})
}

func (s *server) revoke(w http.ResponseWriter, r *http.Request) {
	id := r.PathValue("id")
	known, err := s.o.Sessions.Get(id)
	a, _ := gateway.Attribution(known)
	var logged error
	if err == nil {
		logged = record(r.Context(), s.o.Log, "session.revoke", id, a, struct{}{})
	}
	out, ok := s.o.Gateway.Revoke(context.WithoutCancel(r.Context()), id)
	switch {
	case logged != nil:
		s.answers.logDown(w, logged)
	case !ok:
		s.answers.refuse(w, r, http.StatusNotFound, "unknown-session", "no such session; it may have ended by its time")
	default:
		s.answers.send(w, http.StatusOK, out)
	}
}

// define handles PUT and PATCH of a definition.
func (s *server) define(action string, plan func(string, gatewayapi.ProviderPatch) (*upstream.Change, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		var patch gatewayapi.ProviderPatch
		if !s.answers.read(w, r, &patch) {
			return
		}
		name := r.PathValue("name")
		s.apply(w, r, action, func() (*upstream.Change, any, error) {
			c, err := plan(name, patch)
			return c, patch, err
		})
	}
}

func (s *server) deleteProvider(w http.ResponseWriter, r *http.Request) {
	s.apply(w, r, "provider.delete", func() (*upstream.Change, any, error) {
		c, err := s.o.Upstreams.PlanDelete(r.PathValue("name"))
		return c, struct{}{}, err
	})
}

func (s *server) setSecret(w http.ResponseWriter, r *http.Request) {
	var put gatewayapi.SecretPut
	if !s.answers.read(w, r, &put) {
		return
	}
	action := "provider.set-secret"
	if put.Value == "" {
		action = "provider.clear-secret"
	}
	s.apply(w, r, action, func() (*upstream.Change, any, error) {
		c, err := s.o.Upstreams.PlanKey(r.PathValue("name"), put.Value)
		return c, struct{}{}, err
	})
}

// apply commits a change of the upstreams and answers.
func (s *server) apply(w http.ResponseWriter, r *http.Request, action string, plan func() (*upstream.Change, any, error)) {
	var c *upstream.Change
	if !s.commit(w, r, action, r.PathValue("name"), func() (apply func() error, detail any, err error) {
		if c, detail, err = plan(); err != nil {
			return nil, nil, err
		}
		return c.Apply, detail, nil
	}) {
		return
	}
	s.o.Gateway.ForgetConnections()
	s.models.clear()
	if c.After.Name == "" || strings.HasSuffix(action, "-secret") {
		w.WriteHeader(http.StatusNoContent)
		return
	}
	s.answers.send(w, http.StatusOK, c.After)
}

// commit plans a change, records it and lets it take effect, in this order and
// one at a time: what cannot be recorded does not happen. Where it stops it
// answers and returns false.
func (s *server) commit(w http.ResponseWriter, r *http.Request, action, subject string, plan func() (apply func() error, detail any, err error)) bool {
	s.change.Lock()
	defer s.change.Unlock()
	apply, detail, err := plan()
	if err != nil {
		s.fail(w, r, err)
		return false
	}
	if err := record(r.Context(), s.o.Log, action, subject, audit.Attribution{}, detail); err != nil {
		s.answers.logDown(w, err)
		return false
	}
	if err := apply(); err != nil {
		s.fail(w, r, err)
		return false
	}
	return true
}

// fail maps an error to a status. The one who asks is the host, so it gets the
// text; keys and tokens are in no error of these packages.
func (s *server) fail(w http.ResponseWriter, r *http.Request, err error) {
	switch {
	case errors.Is(err, upstream.ErrUnknown):
		s.answers.refuse(w, r, http.StatusNotFound, "unknown-provider", err.Error())
	case errors.Is(err, upstream.ErrInvalid):
		s.answers.refuse(w, r, http.StatusBadRequest, "invalid-provider", err.Error())
	case errors.Is(err, policy.ErrInvalid):
		s.answers.refuse(w, r, http.StatusBadRequest, "invalid-policy", err.Error())
	case errors.Is(err, gateway.ErrSetting):
		s.answers.refuse(w, r, http.StatusBadRequest, "invalid-setting", err.Error())
	case errors.Is(err, gateway.ErrBudget):
		s.answers.refuse(w, r, http.StatusBadRequest, "invalid-budget", err.Error())
	case errors.Is(err, price.ErrInvalid):
		s.answers.refuse(w, r, http.StatusBadRequest, "invalid-price", err.Error())
	case errors.Is(err, session.ErrScope):
		s.answers.refuse(w, r, http.StatusBadRequest, "invalid-scope", err.Error())
	case errors.Is(err, gateway.ErrSocketDir):
		s.answers.refuse(w, r, http.StatusBadRequest, "invalid-socket-dir", err.Error())
	default:
		s.answers.refuse(w, r, http.StatusInternalServerError, "failed", err.Error())
	}
}
