package admin

import (
	"net/http"

	"moeca/internal/audit"
	"moeca/internal/gateway"
	"moeca/internal/gateway/gatewayapi"
)

func (s *server) retention(w http.ResponseWriter, _ *http.Request) {
	s.answers.send(w, http.StatusOK, s.o.Gateway.Retention())
}

func (s *server) setRetention(w http.ResponseWriter, r *http.Request) {
	var put gatewayapi.Retention
	if !s.answers.read(w, r, &put) {
		return
	}
	s.change.Lock()
	defer s.change.Unlock()
	apply, err := s.o.Gateway.PlanRetention(put)
	if err != nil {
		s.fail(w, r, err)
		return
	}
	if err := record(r.Context(), s.o.Log, gateway.ActionRetention, "retention", audit.Attribution{}, put); err != nil {
		s.answers.logDown(w, err)
		return
	}
	apply()
	s.answers.send(w, http.StatusOK, s.o.Gateway.Retention())
}
