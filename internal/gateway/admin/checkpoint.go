package admin

import (
	"context"
	"errors"
	"net/http"
	"time"

	"moeca/internal/audit"
	"moeca/internal/gateway/gatewayapi"
)

// Audit is what the admin listener asks of the log itself. *audit.Log is one.
type Audit interface {
	Checkpoint(ctx context.Context) (audit.Checkpoint, error)
	Vkey() string
	Erase(ctx context.Context, e audit.Erasure) (audit.Erased, error)
}

// auditRoutes serves checkpoints, which change nothing and are no rows, and the
// erasing of contents, which writes its own.
func (s *server) auditRoutes(mux *http.ServeMux) {
	mux.HandleFunc("GET /v1/checkpoint", s.checkpoint)
	mux.HandleFunc("POST /v1/erase", s.erase)
	mux.HandleFunc("POST /v1/witness", s.witness)
}

func (s *server) checkpoint(w http.ResponseWriter, r *http.Request) {
	c, err := s.o.Audit.Checkpoint(r.Context())
	if err != nil {
		s.answers.logDown(w, err)
		return
	}
	s.answers.send(w, http.StatusOK, gatewayapi.Checkpoint{
		Origin: c.Origin, Size: c.Size, Root: c.Root.String(), Text: c.Text, Vkey: s.o.Audit.Vkey(),
	})
}

func (s *server) erase(w http.ResponseWriter, r *http.Request) {
	var req gatewayapi.EraseRequest
	if !s.answers.read(w, r, &req) {
		return
	}
	actor, err := audit.ParseActor(req.Actor)
	if err != nil || actor != audit.ActorPerson && actor != audit.ActorHost {
		s.answers.refuse(w, r, http.StatusBadRequest, "actor", "contents are erased for a person or for the host itself; say which as actor")
		return
	}
	// Once begun it is carried through, whoever hangs up, and says so however long
	// it took: it overwrites all that is selected.
	_ = http.NewResponseController(w).SetWriteDeadline(time.Time{})
	done, err := s.o.Audit.Erase(context.WithoutCancel(r.Context()), audit.Erasure{
		Select: audit.Selection{Run: req.Run, Task: req.Task, Rows: req.Rows, Before: req.Before}, Actor: actor, Reason: req.Reason,
	})
	switch {
	case errors.Is(err, audit.ErrSelection):
		s.answers.refuse(w, r, http.StatusBadRequest, "selection", err.Error())
	case err != nil && done.Row > 0:
		s.answers.refuse(w, r, http.StatusInternalServerError, "erase", err.Error()+"; some contents may be left: the gateway carries on when it starts again")
	case err != nil:
		s.answers.logDown(w, err)
	default:
		s.answers.send(w, http.StatusOK, gatewayapi.Erased(done))
	}
}
