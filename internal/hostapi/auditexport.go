package hostapi

import (
	"context"
	"encoding/json"
	"errors"
	"io"
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

// ErrAuditIncomplete: what is before the damage of a broken log was written, and
// then what is wrong.
var ErrAuditIncomplete = errors.New("the log is broken, and so the export is not all of it")

func (s *Server) registerAuditExport() {
	log := s.deps.Audit
	operation := op(ScopeRead, "audit-export", http.MethodGet, "/api/audit/export", "The log as JSON lines, or as OpenTelemetry traces in JSON lines")
	huma.Register(s.api, operation, func(_ context.Context, in *auditExportIn) (*huma.StreamResponse, error) {
		q := AuditExport{Filter: in.filter(), Format: in.Format, Rows: in.Rows, Content: in.Content}
		name := map[string]string{"jsonl": "moeca-audit.jsonl", "otlp": "moeca-traces.jsonl"}[in.Format]
		return s.download(name, "application/jsonl", func(ctx context.Context, w io.Writer) error {
			err := log.Export(ctx, w, q)
			if errors.Is(err, ErrAuditIncomplete) {
				return nil // the file says so
			}
			return err
		}), nil
	})
}

// download streams a file. An error before the first byte is an error like
// others; one after it ends the answer without its end, which every client of
// HTTP notices.
func (s *Server) download(name, mediaType string, write func(context.Context, io.Writer) error) *huma.StreamResponse {
	return &huma.StreamResponse{Body: func(ctx huma.Context) {
		out := &lateHeader{ctx: ctx, name: name, mediaType: mediaType}
		err := write(ctx.Context(), out)
		switch {
		case err == nil:
			out.begin()
		case !out.begun:
			p := s.problemOf(err).(*Problem)
			ctx.SetHeader("Content-Type", p.ContentType(""))
			ctx.SetStatus(p.Status)
			_ = json.NewEncoder(ctx.BodyWriter()).Encode(p)
		default:
			s.deps.Logger.Error("download broke off", "name", name, "error", err)
			panic(http.ErrAbortHandler)
		}
	}}
}

// lateHeader writes the header with the first byte.
type lateHeader struct {
	ctx             huma.Context
	name, mediaType string
	begun           bool
}

func (l *lateHeader) begin() {
	if l.begun {
		return
	}
	l.begun = true
	l.ctx.SetHeader("Content-Type", l.mediaType)
	l.ctx.SetHeader("Content-Disposition", mime.FormatMediaType("attachment", map[string]string{"filename": l.name}))
	l.ctx.SetHeader("X-Content-Type-Options", "nosniff")
	l.ctx.SetStatus(http.StatusOK)
}

// Write implements io.Writer.
func (l *lateHeader) Write(p []byte) (int, error) {
	l.begin()
	return l.ctx.BodyWriter().Write(p)
}
