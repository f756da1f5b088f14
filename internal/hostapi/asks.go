package hostapi

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"moeca/internal/gateway/gatewayapi"
)

// Asks are requests that the gateway holds until a person has answered. They
// live as long as the gateway; the answer is a row of the log before the request
// goes on.
type Asks interface {
	List(ctx context.Context) ([]gatewayapi.Ask, error)
	Answer(ctx context.Context, id string, allow bool) (gatewayapi.AskAnswered, error)
}

type answerIn struct {
	ID   string `path:"id" maxLength:"64"`
	Body struct {
		Allow bool `json:"allow" doc:"true lets exactly this request go on; false refuses it"`
	}
}

func (s *Server) registerAsks() {
	a := s.deps.Asks
	huma.Register(s.api, op(ScopeRead, "list-asks", http.MethodGet, "/api/asks", "Requests that wait for a person, oldest first"),
		func(ctx context.Context, _ *struct{}) (*body[[]gatewayapi.Ask], error) {
			list, err := a.List(ctx)
			if list == nil {
				list = []gatewayapi.Ask{}
			}
			return answer(s, list, err)
		})
	// The scope is that of an approval: to let a request out is the same kind of
	// word, and no program may speak it (I15).
	huma.Register(s.api, op(ScopeApprove, "answer-ask", http.MethodPost, "/api/asks/{id}", "Allow or refuse a request that waits"),
		func(ctx context.Context, in *answerIn) (*body[gatewayapi.AskAnswered], error) {
			answered, err := a.Answer(ctx, in.ID, in.Body.Allow)
			return answer(s, answered, err)
		})
}
