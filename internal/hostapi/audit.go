package hostapi

import (
	"context"
	"encoding/hex"
	"net/http"
	"strconv"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"moeca/internal/pubsub"
)

type auditIn struct {
	AuditFilters
	Before int64  `query:"before" minimum:"0" doc:"rows below this sequence; 0 = no bound"`
	After  int64  `query:"after" minimum:"0" doc:"rows above this sequence"`
	Limit  int    `query:"limit" minimum:"1" maximum:"500" default:"100"`
	Order  string `query:"order" enum:"newest,oldest" default:"newest"`
}

func (in auditIn) query() AuditQuery {
	q := AuditQuery{Filter: in.filter(), Limit: in.Limit, Oldest: in.Order == "oldest"}
	q.Below, q.Above = in.Before, in.After
	return q
}

type auditSeq struct {
	Seq int64 `path:"seq" minimum:"1"`
}

func (s *Server) registerAudit() {
	log := s.deps.Audit
	huma.Register(s.api, op(ScopeRead, "list-audit", http.MethodGet, "/api/audit", "Rows of the log"),
		func(ctx context.Context, in *auditIn) (*body[AuditPage], error) {
			page, err := log.Page(ctx, in.query())
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
	huma.Register(s.api, op(ScopeRead, "verify-audit", http.MethodPost, "/api/audit/verify", "Verify the whole log; blocks nothing. Events of topic audit, kind verify, tell the row it has reached"),
		func(ctx context.Context, _ *struct{}) (*body[VerifyReport], error) {
			r, err := log.Verify(ctx, s.verifying())
			if err != nil {
				return nil, s.problemOf(err)
			}
			found, err := s.deps.Witnesses.Check(ctx)
			return answer(s, VerifyReport{
				OK: r.OK, Records: r.Records, Head: hex.EncodeToString(r.Head[:]),
				FirstBroken: r.FirstBroken, Problem: r.Problem, Open: len(r.OpenIntents),
			}.With(found), err)
		})
	s.registerAuditIndex()
	s.registerAuditEvidence()
}

// verifyEvery is the shortest time between two events of a verification.
const verifyEvery = 250 * time.Millisecond

// verifying publishes how far a verification is, as the row it has reached.
func (s *Server) verifying() func(seq int64) {
	if s.deps.Bus == nil {
		return nil // read without a host
	}
	told := s.deps.Now()
	return func(seq int64) {
		if now := s.deps.Now(); now.Sub(told) >= verifyEvery {
			told = now
			s.deps.Bus.Publish(pubsub.Event{Topic: "audit", Kind: "verify", ID: strconv.FormatInt(seq, 10)})
		}
	}
}
