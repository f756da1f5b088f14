package gatewayapi

import "moeca/internal/session"

// SessionState is an entry of GET /v1/sessions: who the session is, all that it
// may do, and what it drew from its own budget.
type SessionState struct {
	session.Session
	Spent    session.Budget `json:"spent"`
	Reserved session.Budget `json:"reserved"` // by calls under way
}
