package admin

import (
	"net/http"

	"moeca/internal/gateway/gatewayapi"
	"moeca/internal/gateway/policy"
	"moeca/internal/gateway/upstream"
)

// policyRoutes serves what was added to the shipped rules of each upstream.
// Reading one that was never changed answers the empty policy.
func (s *server) policyRoutes(mux *http.ServeMux) {
	mux.HandleFunc("GET /v1/policies", func(w http.ResponseWriter, _ *http.Request) {
		s.answers.send(w, http.StatusOK, s.o.Policies.All())
	})
	mux.HandleFunc("GET /v1/policies/{name}", func(w http.ResponseWriter, r *http.Request) {
		s.answers.send(w, http.StatusOK, s.o.Policies.Get(r.PathValue("name")))
	})
	mux.HandleFunc("GET /v1/policies/{name}/shipped", s.shipped)
	mux.HandleFunc("PATCH /v1/policies/{name}", s.patchPolicy)
}

// shipped tells what the kind of an upstream permits without a policy.
func (s *server) shipped(w http.ResponseWriter, r *http.Request) {
	u, ok := s.o.Upstreams.Get(r.PathValue("name"))
	if !ok {
		s.fail(w, r, upstream.ErrUnknown)
		return
	}
	s.answers.send(w, http.StatusOK, policy.ShippedBy(u.Kind))
}

func (s *server) patchPolicy(w http.ResponseWriter, r *http.Request) {
	var patch gatewayapi.PolicyPatch
	if !s.answers.read(w, r, &patch) {
		return
	}
	name := r.PathValue("name")
	var c *policy.Change
	if s.commit(w, r, "policy.patch", name, func() (_ func() error, _ any, err error) {
		if c, err = s.planPolicy(name, patch); err != nil {
			return nil, nil, err
		}
		return c.Apply, patch, nil
	}) {
		s.answers.send(w, http.StatusOK, c.After)
	}
}

// planPolicy checks names where the kind is known; rules of a name that nobody
// has yet are checked by their form only.
func (s *server) planPolicy(name string, patch gatewayapi.PolicyPatch) (*policy.Change, error) {
	c, err := s.o.Policies.Plan(name, patch)
	if err != nil {
		return nil, err
	}
	if u, ok := s.o.Upstreams.Get(name); ok {
		err = policy.CheckNames(u.Kind, s.o.Policies.Get(name), patch)
	}
	return c, err
}
