package hostapi

import (
	"context"
	"encoding/json"
	"mime"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"moeca/internal/auditindex"
)

// AuditExport says what is exported, oldest first.
type AuditExport struct {
	Filter  auditindex.Filter // a text searches rows, not contents
	Format  string            // jsonl or otlp
	Rows    bool              // jsonl: a document per row instead of per call
	Content bool              // with captured contents
}

type auditExportIn struct {
	AuditFilters
	Format  string `query:"format" enum:"jsonl,otlp" default:"jsonl"`
	Rows    bool   `query:"rows" doc:"jsonl: a document per row instead of per call"`
	Content bool   `query:"content" doc:"with captured contents"`
}

// registerAuditExport streams: an error after the first byte ends the answer
// without its end, which every client of HTTP notices.
func (s *Server) registerAuditExport() {
	log := s.deps.Audit
	operation := op(ScopeRead, "audit-export", http.MethodGet, "/api/audit/export", "The log as JSON lines, or as OpenTelemetry traces in JSON lines")
	huma.Register(s.api, operation, func(_ context.Context, in *auditExportIn) (*huma.StreamResponse, error) {
		q := AuditExport{Filter: in.filter(), Format: in.Format, Rows: in.Rows, Content: in.Content}
		return &huma.StreamResponse{Body: func(ctx huma.Context) {
			out := &lateHeader{ctx: ctx, name: "moeca-audit." + in.Format + ".jsonl"}
			if in.Format == "jsonl" {
				out.name = "moeca-audit.jsonl"
			}
			err := log.Export(ctx.Context(), out, q)
			switch {
			case err == nil:
				out.begin()
			case !out.begun:
				p := s.problemOf(err).(*Problem)
				ctx.SetHeader("Content-Type", p.ContentType(""))
				ctx.SetStatus(p.Status)
				_ = json.NewEncoder(ctx.BodyWriter()).Encode(p)
			default:
				s.deps.Logger.Error("export of the log broke off", "error", err)
				panic(http.ErrAbortHandler)
			}
		}}, nil
	})
}

// lateHeader writes the header with the first byte, so that an export that
// cannot begin is an error like others.
type lateHeader struct {
	ctx   huma.Context
	name  string
	begun bool
}

func (l *lateHeader) begin() {
	if l.begun {
		return
	}
	l.begun = true
	l.ctx.SetHeader("Content-Type", "application/jsonl")
	l.ctx.SetHeader("Content-Disposition", mime.FormatMediaType("attachment", map[string]string{"filename": l.name}))
	l.ctx.SetHeader("X-Content-Type-Options", "nosniff")
	l.ctx.SetStatus(http.StatusOK)
}

// Write implements io.Writer.
func (l *lateHeader) Write(p []byte) (int, error) {
	l.begin()
	return l.ctx.BodyWriter().Write(p)
}
