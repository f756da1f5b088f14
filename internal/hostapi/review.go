package hostapi

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"moeca/internal/board"
)

func (s *Server) registerReview() {
	b := s.deps.Board
	huma.Register(s.api, op(ScopeRead, "task-review", http.MethodGet, "/api/tasks/{id}/review", "What an approval would be about, computed now"),
		func(ctx context.Context, in *TaskID) (*body[board.Review], error) {
			review, err := b.Review(ctx, in.ID)
			return answer(s, review, err)
		})
	huma.Register(s.api, op(ScopeWork, "run-ci", http.MethodPost, "/api/tasks/{id}/ci", "Run the CI gate on the result tree"),
		func(ctx context.Context, in *TaskID) (*body[board.CI], error) {
			ci, err := b.RunCI(ctx, in.ID)
			return answer(s, ci, err)
		})
	type approveIn struct {
		TaskID
		Body board.ApproveRequest
	}
	huma.Register(s.api, op(ScopeApprove, "approve-task", http.MethodPost, "/api/tasks/{id}/approve", "Approve exactly what was shown"),
		func(ctx context.Context, in *approveIn) (*body[board.Approval], error) {
			approval, err := b.Approve(ctx, in.ID, in.Body, actorOf(ctx))
			return answer(s, approval, err)
		})
	huma.Register(s.api, op(ScopeMerge, "merge-task", http.MethodPost, "/api/tasks/{id}/merge", "Land the approved result on the target branch"),
		func(ctx context.Context, in *TaskID) (*body[board.Merged], error) {
			merged, err := b.Merge(ctx, in.ID, actorOf(ctx))
			return answer(s, merged, err)
		})
	huma.Register(s.api, also(op(ScopeMerge, "approve-and-merge-task", http.MethodPost, "/api/tasks/{id}/approve-and-merge", "Approve exactly what was shown and land it, in one step"), ScopeApprove),
		func(ctx context.Context, in *approveIn) (*body[Landed], error) {
			approval, merged, err := b.ApproveAndMerge(ctx, in.ID, in.Body, actorOf(ctx))
			return answer(s, Landed{Approval: approval, Merged: merged}, err)
		})
}
