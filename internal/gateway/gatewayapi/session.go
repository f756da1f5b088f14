package gatewayapi

import (
	"context"
	"net/http"

	"moeca/internal/session"
)

// SessionState is an entry of GET /v1/sessions: who the session is, all that it
// may do, and what it drew from its own budget.
type SessionState struct {
	session.Session
	Spent    session.Budget `json:"spent"`
	Reserved session.Budget `json:"reserved"` // by calls under way
}

// SessionStates lists the live sessions with what each has drawn, oldest first.
func (c *Client) SessionStates(ctx context.Context) ([]SessionState, error) {
	var s []SessionState
	return s, c.c.call(ctx, http.MethodGet, "/v1/sessions", nil, &s)
}
