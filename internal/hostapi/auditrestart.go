package hostapi

import (
	"context"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"moeca/internal/board"
)

// LogBroken says where the log is broken: rows before it can be read, nothing is
// forwarded, and a person decides.
type LogBroken struct {
	Row    int64  `json:"row"` // first row that is damaged, missing or out of place
	File   string `json:"file"`
	Offset int64  `json:"offset"`
	Cause  string `json:"cause"`
	Rows   int64  `json:"rows"` // intact rows
}

// LogFollows says that the log began in the place of a broken one.
type LogFollows struct {
	At   time.Time `json:"at"`
	Kept string    `json:"kept"` // directory of the broken one, beside that of the log
	Rows int64     `json:"rows"` // its intact rows
	Row  int64     `json:"row"`  // where it was broken
}

// LogRestart is a person's decision: the broken log is kept whole, and another
// one begins. Row and File are the damage the person was shown.
type LogRestart struct {
	Row  int64  `json:"row" minimum:"1"`
	File string `json:"file" maxLength:"128"`
}

// LogRestarted says what was kept and where.
type LogRestarted struct {
	Kept string `json:"kept"`          // directory the broken log is kept in
	Log  string `json:"log,omitempty"` // its id
	Rows int64  `json:"rows"`          // its intact rows
	Head string `json:"head"`          // hash of the last of them
}

func (s *Server) registerAuditRestart() {
	huma.Register(s.api, op(ScopeApprove, "restart-audit", http.MethodPost, "/api/audit/restart", "Keep a broken log whole and begin another one"),
		func(ctx context.Context, in *struct{ Body LogRestart }) (*body[LogRestarted], error) {
			if s.deps.RestartLog == nil {
				return nil, s.problemOf(&board.Error{Kind: board.Unavailable, Code: "audit_restart", Message: "a log is restarted by the host, and none runs here", Next: "start moeca"})
			}
			out, err := s.deps.RestartLog(ctx, in.Body)
			return answer(s, out, err)
		})
}
