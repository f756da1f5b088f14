package hostapi

import (
	"context"
	"encoding/hex"
	"net/http"

	"github.com/danielgtaylor/huma/v2"
)

type auditIn struct {
	Before int64  `query:"before" minimum:"0" doc:"rows below this sequence; 0 = newest"`
	Limit  int    `query:"limit" minimum:"1" maximum:"500" default:"100"`
	Kind   string `query:"kind" maxLength:"40"`
	Task   string `query:"task" maxLength:"128"`
	Run    string `query:"run" maxLength:"128"`
	Text   string `query:"q" maxLength:"200"`
}

type auditSeq struct {
	Seq int64 `path:"seq" minimum:"1"`
}

func (s *Server) registerAudit() {
	log := s.deps.Audit
	huma.Register(s.api, op(ScopeRead, "list-audit", http.MethodGet, "/api/audit", "Rows of the log, newest first"),
		func(ctx context.Context, in *auditIn) (*body[AuditPage], error) {
			page, err := log.Page(ctx, AuditQuery(*in))
			if page.Items == nil {
				page.Items = []AuditRow{}
			}
			return answer(s, page, err)
		})
	huma.Register(s.api, op(ScopeRead, "get-audit", http.MethodGet, "/api/audit/{seq}", "One row"),
		func(ctx context.Context, in *auditSeq) (*body[AuditRow], error) {
			row, err := log.Entry(ctx, in.Seq)
			return answer(s, row, err)
		})
	huma.Register(s.api, op(ScopeRead, "audit-bodies", http.MethodGet, "/api/audit/{seq}/bodies", "Captured content of a row"),
		func(ctx context.Context, in *auditSeq) (*body[AuditBodies], error) {
			bodies, err := log.Bodies(ctx, in.Seq)
			return answer(s, bodies, err)
		})
	huma.Register(s.api, op(ScopeRead, "verify-audit", http.MethodPost, "/api/audit/verify", "Verify the whole log; blocks nothing"),
		func(ctx context.Context, _ *struct{}) (*body[VerifyReport], error) {
			r, err := log.Verify(ctx)
			return answer(s, VerifyReport{
				OK: r.OK, Records: r.Records, Head: hex.EncodeToString(r.Head[:]),
				FirstBroken: r.FirstBroken, Problem: r.Problem, Open: len(r.OpenIntents),
			}, err)
		})
}
