package hostapi

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"moeca/internal/board"
)

type repoInput struct {
	Path   string      `json:"path" maxLength:"4096" doc:"absolute path of a git repository on this machine"`
	Name   string      `json:"name,omitempty" maxLength:"100"`
	Target string      `json:"target,omitempty" maxLength:"255" doc:"branch that work lands on; detected when empty"`
	CI     *board.Gate `json:"ci,omitempty"`
}

// RepoID names a repository in a path.
type RepoID struct {
	ID string `path:"id" maxLength:"200"`
}

func (s *Server) registerRepos() {
	huma.Register(s.api, op(ScopeRead, "list-repos", http.MethodGet, "/api/repos", "List repositories"),
		func(ctx context.Context, _ *struct{}) (*body[[]board.Repo], error) {
			repos, err := s.deps.Board.ListRepos(ctx)
			if repos == nil {
				repos = []board.Repo{}
			}
			return answer(s, repos, err)
		})
	huma.Register(s.api, op(ScopeRepos, "add-repo", http.MethodPost, "/api/repos", "Add a repository"),
		func(ctx context.Context, in *struct{ Body repoInput }) (*body[board.Repo], error) {
			repo, err := recorded(ctx, s, "repo.add", in.Body.Path, in.Body, func() (board.Repo, error) {
				return s.deps.Board.AddRepo(ctx, in.Body.Path, in.Body.Name, in.Body.Target, in.Body.CI)
			})
			return answer(s, repo, err)
		})
	huma.Register(s.api, op(ScopeRead, "get-repo", http.MethodGet, "/api/repos/{id}", "One repository"),
		func(ctx context.Context, in *RepoID) (*body[board.Repo], error) {
			repo, err := s.deps.Board.Repo(ctx, in.ID)
			return answer(s, repo, err)
		})
	huma.Register(s.api, op(ScopeRepos, "update-repo", http.MethodPatch, "/api/repos/{id}", "Change target branch or CI gate"),
		func(ctx context.Context, in *struct {
			RepoID
			Body board.RepoPatch
		},
		) (*body[board.Repo], error) {
			repo, err := recorded(ctx, s, "repo.change", in.ID, in.Body, func() (board.Repo, error) {
				return s.deps.Board.UpdateRepo(ctx, in.ID, in.Body)
			})
			return answer(s, repo, err)
		})
	huma.Register(s.api, op(ScopeRepos, "remove-repo", http.MethodDelete, "/api/repos/{id}", "Remove a repository from moeca; its files stay"),
		func(ctx context.Context, in *RepoID) (*struct{}, error) {
			_, err := recorded(ctx, s, "repo.remove", in.ID, nil, func() (struct{}, error) {
				return struct{}{}, s.deps.Board.RemoveRepo(ctx, in.ID)
			})
			return nil, s.problemOf(err)
		})
}

// recorded makes a change that decides what an approval will mean: where work
// lands, and what green is. The row that tells of it is durable before the
// change is tried; one that is then refused stays in the log as tried.
func recorded[T any](ctx context.Context, s *Server, action, object string, change any, do func() (T, error)) (T, error) {
	if err := s.deps.Record(ctx, action, object, change); err != nil {
		var none T
		return none, &board.Error{
			Kind: board.Unavailable, Code: "log_unwritable", Err: err,
			Message: "the change cannot be recorded, so it was not made", Next: "see the status strip for what is wrong with the log",
		}
	}
	return do()
}
