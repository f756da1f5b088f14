package admin

import (
	"errors"
	"net/http"
	"strconv"
	"time"

	"moeca/internal/gateway"
	"moeca/internal/gateway/gatewayapi"
)

// askRoutes serves the requests that wait for a person, and takes the answers.
func (s *server) askRoutes(mux *http.ServeMux) {
	mux.HandleFunc("GET /v1/asks", s.listAsks)
	mux.HandleFunc("POST /v1/asks/{id}", s.answerAsk)
}

// listAsks is a long poll: with the cursor of a list it answers when that list
// is no longer true.
func (s *server) listAsks(w http.ResponseWriter, r *http.Request) {
	q, wait := r.URL.Query(), time.Duration(0)
	if text := q.Get("wait"); text != "" {
		n, err := strconv.ParseUint(text, 10, 16)
		if wait = time.Duration(n) * time.Second; err != nil || wait > gatewayapi.MaxAskWait {
			s.answers.refuse(w, r, http.StatusBadRequest, "invalid-wait", "wait must be whole seconds, 30 at most")
			return
		}
	}
	// The server's time for a request would end the wait; a writer without
	// deadlines has none to lift.
	_ = http.NewResponseController(w).SetReadDeadline(time.Time{})
	s.answers.send(w, http.StatusOK, s.o.Gateway.Asks(r.Context(), q.Get("after"), wait))
}

// answerAsk takes the answer of a person. The gateway has recorded it durably
// before the request goes on and before this answers.
func (s *server) answerAsk(w http.ResponseWriter, r *http.Request) {
	var in gatewayapi.AskAnswer
	if !s.answers.read(w, r, &in) {
		return
	}
	if in.Actor != gatewayapi.AskActor {
		s.answers.refuse(w, r, http.StatusForbidden, "not-a-person", "only a person answers: the actor must be "+gatewayapi.AskActor)
		return
	}
	id := r.PathValue("id")
	seq, err := s.o.Gateway.AnswerAsk(id, in.Allow)
	switch {
	case err == nil:
		s.answers.send(w, http.StatusOK, gatewayapi.AskAnswered{ID: id, Allow: in.Allow, Seq: seq})
	case errors.Is(err, gateway.ErrAskUnknown):
		s.answers.refuse(w, r, http.StatusNotFound, gatewayapi.AskReasonUnknown, err.Error())
	case errors.Is(err, gateway.ErrAskEnded):
		s.answers.refuse(w, r, http.StatusConflict, gatewayapi.AskReasonEnded, err.Error())
	case errors.Is(err, gateway.ErrAskAnswered):
		s.answers.refuse(w, r, http.StatusConflict, gatewayapi.AskReasonAnswered, err.Error())
	default:
		s.answers.logDown(w, err)
	}
}
