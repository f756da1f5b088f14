package admin

import (
	"context"
	"errors"
	"net/http"

	"moeca/internal/audit"
	"moeca/internal/gateway/gatewayapi"
	"moeca/internal/gateway/witness"
)

// Witness asks a witness to cosign the log. *witness.Client is one.
type Witness interface {
	Add(ctx context.Context, a witness.Ask) (witness.Answer, error)
}

// witness records that a witness is asked, asks it, and records its answer. The
// address may be a person's mistake, so nothing goes out before it was judged.
func (s *server) witness(w http.ResponseWriter, r *http.Request) {
	var req gatewayapi.WitnessAsk
	if !s.answers.read(w, r, &req) {
		return
	}
	ask := witness.Ask(req)
	if err := ask.Check(); err != nil {
		s.answers.refuse(w, r, http.StatusBadRequest, gatewayapi.WitnessInvalid, err.Error())
		return
	}
	name := audit.Clip(req.URL, audit.MaxAttr)
	if err := record(r.Context(), s.o.Log, "witness.ask", name, audit.Attribution{}, map[string]any{"key": req.Key, "old": req.Old, "local": req.Local}); err != nil {
		s.answers.logDown(w, err)
		return
	}
	ctx := context.WithoutCancel(r.Context()) // so that the outcome is a row, whoever hangs up
	answer, err := s.o.Witness.Add(ctx, ask)
	if err != nil {
		status, reason := classOf(err)
		if err := record(ctx, s.o.Log, "witness.failed", name, audit.Attribution{}, map[string]any{"reason": reason, "error": audit.Clip(err.Error(), 1000)}); err != nil {
			s.answers.logDown(w, err)
			return
		}
		s.answers.send(w, status, gatewayapi.Error{Error: gatewayapi.ErrorBody{Gate: "witness", Reason: reason, Message: err.Error()}})
		return
	}
	out := gatewayapi.Witnessed{Size: answer.Checkpoint.Size, Text: answer.Checkpoint.Text, At: answer.At}
	if err := record(ctx, s.o.Log, "witness.cosigned", name, audit.Attribution{}, out); err != nil {
		s.answers.logDown(w, err)
		return
	}
	s.answers.send(w, http.StatusOK, out)
}

func classOf(err error) (status int, reason string) {
	switch {
	case errors.Is(err, witness.ErrAsk):
		return http.StatusBadRequest, gatewayapi.WitnessInvalid
	case errors.Is(err, witness.ErrAhead):
		return http.StatusConflict, gatewayapi.WitnessAhead
	case errors.Is(err, witness.ErrRefused):
		return http.StatusBadGateway, gatewayapi.WitnessRefused
	}
	return http.StatusBadGateway, gatewayapi.WitnessUnreachable
}
