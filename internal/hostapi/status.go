package hostapi

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"moeca/internal/board"
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
	huma.Register(s.api, op(ScopeRepos, "begin-demo", http.MethodPost, "/api/demo",
		"Make a demo repository and a task the scripted model can play"),
		func(ctx context.Context, _ *struct{}) (*body[board.Task], error) {
			task, err := s.deps.Demo(ctx)
			return answer(s, task, err)
		})
}
