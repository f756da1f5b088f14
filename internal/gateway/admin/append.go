package admin

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"

	"moeca/internal/audit"
	"moeca/internal/gateway"
	"moeca/internal/gateway/gatewayapi"
)

// Credential lets its holder append rows of some kinds under one source.
type Credential struct {
	Name   string
	Source audit.Source
	Kinds  []audit.Kind
	Hash   [sha256.Size]byte
}

// Check refuses a credential that could write rows only the gateway may write.
func (c Credential) Check() error {
	if c.Source != audit.SourceHost && c.Source != audit.SourceRegistry {
		return fmt.Errorf("admin: credential %s: source must be host or registry", c.Name)
	}
	for _, k := range c.Kinds {
		switch k {
		case audit.KindApproval, audit.KindMerge, audit.KindCI, audit.KindAdmin:
			if c.Source != audit.SourceHost {
				return fmt.Errorf("admin: credential %s: only the host adds %s rows", c.Name, k)
			}
		case audit.KindFetch:
			if c.Source != audit.SourceRegistry {
				return fmt.Errorf("admin: credential %s: only the registry adds fetch rows", c.Name)
			}
		default:
			return fmt.Errorf("admin: credential %s: %s rows are the gateway's own", c.Name, k)
		}
	}
	return nil
}

type appender struct {
	credentials []Credential
	log         gateway.Log
	answers     answers
}

// NewAppend returns the handler of the append listener.
func NewAppend(log gateway.Log, credentials []Credential, logger *slog.Logger) (http.Handler, error) {
	for _, c := range credentials {
		if err := c.Check(); err != nil {
			return nil, err
		}
	}
	a := &appender{credentials: credentials, log: log, answers: answers{log, logger}}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/append", a.append)
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		a.answers.refuse(w, r, http.StatusNotFound, "no-endpoint", "there is no such endpoint")
	})
	return mux, nil
}

// who finds the credential of a request. All are compared, so that the time
// taken does not tell which one nearly matched.
func (a *appender) who(r *http.Request) (Credential, bool) {
	var found Credential
	ok := false
	for _, c := range a.credentials {
		if holds(r, c.Hash) {
			found, ok = c, true
		}
	}
	return found, ok
}

func (a *appender) append(w http.ResponseWriter, r *http.Request) {
	c, ok := a.who(r)
	if !ok {
		a.answers.refuse(w, r, http.StatusUnauthorized, "credential", "the append credential is wrong or missing")
		return
	}
	var req gatewayapi.AppendRequest
	if !a.answers.read(w, r, &req) {
		return
	}
	kind, err := audit.ParseKind(req.Kind)
	if err != nil || !slices.Contains(c.Kinds, kind) {
		a.answers.refuse(w, r, http.StatusForbidden, "kind", "this credential may not add such rows")
		return
	}
	actor, err := audit.ParseActor(req.Actor)
	if err != nil {
		a.answers.refuse(w, r, http.StatusBadRequest, "actor", "actor must be agent, person, host or service")
		return
	}
	row, err := a.log.Queue(audit.Record{
		Kind: kind, Source: c.Source, Actor: actor, Ref: req.Ref, Subject: req.Subject, Result: req.Result, Detail: req.Detail,
		Attribution: audit.Attribution{Task: req.Task, Run: req.Run, Stage: req.Stage},
	}, nil, nil)
	switch {
	case err != nil && a.log.Err() == nil && !errors.Is(err, audit.ErrFull) && !errors.Is(err, audit.ErrBacklog):
		a.answers.refuse(w, r, http.StatusBadRequest, "row", err.Error())
		return
	case err == nil:
		err = row.Wait(r.Context())
	}
	if err != nil {
		a.answers.logDown(w, err)
		return
	}
	a.answers.send(w, http.StatusCreated, gatewayapi.AppendResponse{Seq: row.Seq(), Hash: row.Hash().String()})
}
