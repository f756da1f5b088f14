package hostapi

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"
)

func (s *Server) registerStatus() {
	huma.Register(s.api, op(ScopeRead, "status", http.MethodGet, "/api/status",
		"What runs: driver, gateway, log head"),
		func(ctx context.Context, _ *struct{}) (*body[Status], error) {
			return &body[Status]{Body: s.deps.Status(ctx)}, nil
		})
	huma.Register(s.api, op(ScopeRead, "doctor", http.MethodGet, "/api/doctor",
		"What is installed, what is missing, how to get it"),
		func(ctx context.Context, _ *struct{}) (*body[Doctor], error) {
			return &body[Doctor]{Body: s.deps.Doctor(ctx)}, nil
		})
}
