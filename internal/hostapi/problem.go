package hostapi

import (
	"errors"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"moeca/internal/board"
)

// Problem is the one error document of the API (RFC 9457) with a stable code
// and, where there is one, the next thing a person can do.
type Problem struct {
	Type   string        `json:"type,omitempty"`
	Title  string        `json:"title"`
	Status int           `json:"status"`
	Detail string        `json:"detail,omitempty"`
	Code   string        `json:"code"`
	Next   string        `json:"next,omitempty"`
	Errors []FieldDetail `json:"errors,omitempty"`
}

// FieldDetail says which field of a request is wrong.
type FieldDetail struct {
	Location string `json:"location"`
	Message  string `json:"message"`
}

// Error implements error.
func (p *Problem) Error() string { return p.Detail }

// GetStatus implements huma.StatusError.
func (p *Problem) GetStatus() int { return p.Status }

// ContentType makes huma answer with the problem media type.
func (p *Problem) ContentType(string) string { return "application/problem+json" }

// statusOf is the one place where kinds of error meet HTTP.
var statusOf = map[board.Kind]int{
	board.NotFound:    http.StatusNotFound,
	board.Invalid:     http.StatusUnprocessableEntity,
	board.Conflict:    http.StatusConflict,
	board.Locked:      http.StatusLocked,
	board.Unavailable: http.StatusServiceUnavailable,
	board.Forbidden:   http.StatusForbidden,
}

// problemOf turns an error of the domain into an answer. The text of an error
// nobody planned for stays in the host's log.
func (s *Server) problemOf(err error) error {
	if err == nil {
		return nil
	}
	var known *board.Error
	if errors.As(err, &known) {
		if status, ok := statusOf[known.Kind]; ok {
			return &Problem{
				Title: http.StatusText(status), Status: status,
				Code: known.Code, Detail: known.Message, Next: known.Next,
			}
		}
	}
	var problem *Problem
	if errors.As(err, &problem) {
		return problem
	}
	s.deps.Logger.Error("request failed", "error", err)
	return &Problem{
		Title: "Internal Server Error", Status: http.StatusInternalServerError, Code: "internal",
		Detail: "moeca met an error it did not expect; nothing was changed",
		Next:   "see the host's log for the cause, and try again",
	}
}

// newProblem replaces huma's own error document.
func newProblem(status int, message string, errs ...error) huma.StatusError {
	p := &Problem{Title: http.StatusText(status), Status: status, Code: codeOf(status), Detail: message}
	for _, err := range errs {
		var detail huma.ErrorDetailer
		if errors.As(err, &detail) {
			d := detail.ErrorDetail()
			p.Errors = append(p.Errors, FieldDetail{Location: d.Location, Message: d.Message})
		} else if err != nil {
			p.Errors = append(p.Errors, FieldDetail{Message: err.Error()})
		}
	}
	return p
}

func codeOf(status int) string {
	switch status {
	case http.StatusUnauthorized:
		return "unauthorized"
	case http.StatusForbidden:
		return "forbidden"
	case http.StatusNotFound:
		return "not_found"
	case http.StatusUnprocessableEntity, http.StatusBadRequest:
		return "invalid"
	case http.StatusRequestEntityTooLarge:
		return "too_large"
	}
	return "error"
}
