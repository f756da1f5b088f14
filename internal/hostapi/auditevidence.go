package hostapi

import (
	"context"
	"io"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"moeca/internal/gateway/gatewayapi"
)

// AuditEvidence is what the log proves to others, and what it forgets.
type AuditEvidence interface {
	// Checkpoint is the last signed statement of what the rows are.
	Checkpoint(ctx context.Context) (gatewayapi.Checkpoint, error)
	// Bundle writes the rows of a run or a task with what proves them.
	Bundle(ctx context.Context, w io.Writer, q AuditBundle) error
	// Erase destroys captured contents; rows stay. The index is purged when it
	// returns.
	Erase(ctx context.Context, q AuditErase) (gatewayapi.Erased, error)
}

// AuditBundle says whose rows: of a run or of a task.
type AuditBundle struct {
	Run      string `query:"run" maxLength:"128"`
	Task     string `query:"task" maxLength:"128" doc:"a run or a task, not both"`
	Withhold bool   `query:"withhold" doc:"without contents; what commits to them stays"`
}

// AuditErase says whose contents: exactly one of run, task, rows and before.
type AuditErase struct {
	Run    string     `json:"run,omitempty" maxLength:"128"`
	Task   string     `json:"task,omitempty" maxLength:"128"`
	Rows   []int64    `json:"rows,omitempty" maxItems:"10000"`
	Before *time.Time `json:"before,omitempty" doc:"rows older than this"`
	Reason string     `json:"reason,omitempty" maxLength:"500"`
}

func (s *Server) registerAuditEvidence() {
	log := s.deps.Audit
	huma.Register(s.api, op(ScopeRead, "audit-checkpoint", http.MethodGet, "/api/audit/checkpoint", "The last signed checkpoint of the log"),
		func(ctx context.Context, _ *struct{}) (*body[gatewayapi.Checkpoint], error) {
			c, err := log.Checkpoint(ctx)
			return answer(s, c, err)
		})
	huma.Register(s.api, op(ScopeRead, "audit-bundle", http.MethodGet, "/api/audit/bundle", "The rows of a run or a task with their proofs, as one file that moeca-verify checks"),
		func(_ context.Context, in *AuditBundle) (*huma.StreamResponse, error) {
			q := *in
			return s.download("moeca-evidence.tar", "application/x-tar", func(ctx context.Context, w io.Writer) error { return log.Bundle(ctx, w, q) }), nil
		})
	huma.Register(s.api, op(ScopeErase, "erase-audit", http.MethodPost, "/api/audit/erase", "Destroy captured contents; rows and their proofs stay"),
		func(ctx context.Context, in *struct{ Body AuditErase }) (*body[gatewayapi.Erased], error) {
			done, err := log.Erase(ctx, in.Body)
			return answer(s, done, err)
		})
}
