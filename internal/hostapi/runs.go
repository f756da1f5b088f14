package hostapi

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"moeca/internal/board"
)

// RunID names a run in a path.
type RunID struct {
	ID string `path:"id" maxLength:"64"`
}

type logsIn struct {
	RunID
	After int64 `query:"after" minimum:"0" doc:"sequence of the last line already held"`
	Limit int   `query:"limit" minimum:"1" maximum:"2000" default:"500"`
}

// LogPage is a page of a run's log, oldest first. Next is the After of the
// following page.
type LogPage struct {
	Items []board.LogLine `json:"items"`
	Next  int64           `json:"next"`
	Ended bool            `json:"ended"` // no line follows
}

func (s *Server) registerRuns() {
	b := s.deps.Board
	huma.Register(s.api, op(ScopeRead, "get-run", http.MethodGet, "/api/runs/{id}", "One run with its stages"),
		func(ctx context.Context, in *RunID) (*body[board.Run], error) {
			run, err := b.Run(ctx, in.ID)
			return answer(s, run, err)
		})
	huma.Register(s.api, op(ScopeRead, "run-logs", http.MethodGet, "/api/runs/{id}/logs", "What the agent said; claimed by the agent, not measured"),
		func(ctx context.Context, in *logsIn) (*body[LogPage], error) {
			page, err := b.Logs(ctx, in.ID, in.After, in.Limit)
			if page.Lines == nil {
				page.Lines = []board.LogLine{}
			}
			return answer(s, LogPage{Items: page.Lines, Next: page.Next, Ended: page.Ended}, err)
		})
	huma.Register(s.api, op(ScopeWork, "stop-run", http.MethodPost, "/api/runs/{id}/stop", "Stop everything the run started; its work so far is kept"),
		func(ctx context.Context, in *RunID) (*body[board.Run], error) {
			run, err := b.StopRun(ctx, in.ID)
			return answer(s, run, err)
		})
}
