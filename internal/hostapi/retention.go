package hostapi

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"moeca/internal/gateway/gatewayapi"
)

// Retention is how long captured contents are kept. The gateway keeps the
// setting in its log and makes a row of each change.
type Retention interface {
	Retention(ctx context.Context) (gatewayapi.Retention, error)
	SetRetention(ctx context.Context, r gatewayapi.Retention) (gatewayapi.Retention, error)
}

func (s *Server) registerRetention() {
	huma.Register(s.api, op(ScopeRead, "get-retention", http.MethodGet, "/api/audit/retention", "How many days captured contents are kept; 0 is for ever"),
		func(ctx context.Context, _ *struct{}) (*body[gatewayapi.Retention], error) {
			r, err := s.deps.Retention.Retention(ctx)
			return answer(s, r, err)
		})
	huma.Register(s.api, op(ScopeErase, "set-retention", http.MethodPut, "/api/audit/retention", "Keep captured contents for that many days; rows are kept for ever"),
		func(ctx context.Context, in *struct{ Body gatewayapi.Retention }) (*body[gatewayapi.Retention], error) {
			r, err := s.deps.Retention.SetRetention(ctx, in.Body)
			return answer(s, r, err)
		})
}
