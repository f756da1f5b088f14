// Package anthropic is the Anthropic Messages dialect of package llm: version
// 2023-06-01 of POST /v1/messages, whole and streamed.
//
// Encoding marks up to four prefixes for the provider's prompt cache: tools,
// system text, and the last two messages of the user. A conversation that grows
// by a turn so finds its own beginning again.
//
// Decoding is strict about the shape of an answer and about its end: a stream
// without message_stop, a block that was never closed, or a tool input that is
// not a JSON object is an error. It is lenient about what it does not know:
// events, blocks and fields that a later version adds are passed over.
//
// A Dialect is a value without state, safe for concurrent use.
package anthropic

import (
	"encoding/json"
	"fmt"
	"io"
	"mime"
	"net/http"

	"moeca/internal/llm"
)

// Version is the value of the anthropic-version header.
const Version = "2023-06-01"

// Dialect implements llm.Dialect.
type Dialect struct{}

var _ llm.Dialect = Dialect{}

// Path is the same for every model.
func (Dialect) Path(string) string { return "/v1/messages" }

// Header sets the two headers of the wire format.
func (Dialect) Header(h http.Header) {
	h.Set("Content-Type", "application/json")
	h.Set("Anthropic-Version", Version)
}

// Decode reads a whole message or an event stream.
func (Dialect) Decode(contentType string, body io.Reader) (*llm.Response, error) {
	kind, _, err := mime.ParseMediaType(contentType)
	if err != nil {
		kind = contentType
	}
	switch kind {
	case "text/event-stream":
		return decodeStream(body)
	case "application/json":
		return decodeMessage(body)
	}
	return nil, &llm.Error{Class: llm.ClassAnswer, Message: fmt.Sprintf("the answer is of type %q", contentType)}
}

// errorBody is the error shape. Gate and Reason are the gateway's addition; in
// its bare shape they stand in the same place.
type errorBody struct {
	Error struct {
		Type    string `json:"type"`
		Message string `json:"message"`
		Gate    string `json:"gate"`
		Reason  string `json:"reason"`
	} `json:"error"`
}

// maxMessage bounds what an error passes on of somebody else's text.
const maxMessage = 2000

// DecodeError reads an error body in the dialect's shape or the gateway's. A
// body in neither is quoted.
func (Dialect) DecodeError(status int, body []byte) *llm.Error {
	var b errorBody
	if json.Unmarshal(body, &b) != nil || b.Error.Message == "" && b.Error.Type == "" && b.Error.Gate == "" {
		return &llm.Error{Class: llm.ClassOf(status, ""), Status: status, Message: clip(string(body))}
	}
	return &llm.Error{
		Class: classOf(status, b), Status: status, Type: clip(b.Error.Type),
		Message: clip(b.Error.Message), Gate: clip(b.Error.Gate), Reason: clip(b.Error.Reason),
	}
}

// classOf goes by the type where the status says nothing, as in a stream.
func classOf(status int, b errorBody) llm.Class {
	if status != 0 && status != http.StatusOK {
		return llm.ClassOf(status, b.Error.Gate)
	}
	if b.Error.Gate != "" {
		return llm.ClassDenied
	}
	switch b.Error.Type {
	case "rate_limit_error":
		return llm.ClassRate
	case "overloaded_error":
		return llm.ClassOverloaded
	case "api_error", "timeout_error":
		return llm.ClassServer
	case "authentication_error", "permission_error":
		return llm.ClassAuth
	}
	return llm.ClassRequest
}

func clip(s string) string {
	if len(s) > maxMessage {
		s = s[:maxMessage] + "…"
	}
	return s
}

var stops = map[string]llm.Stop{
	"end_turn":                      llm.StopEnd,
	"tool_use":                      llm.StopTools,
	"max_tokens":                    llm.StopMaxTokens,
	"model_context_window_exceeded": llm.StopContext,
	"refusal":                       llm.StopRefusal,
	"pause_turn":                    llm.StopPause,
	"stop_sequence":                 llm.StopSequence,
}

func stopOf(reason string) (llm.Stop, string) {
	if s, ok := stops[reason]; ok {
		return s, ""
	}
	return llm.StopUnknown, clip(reason)
}
