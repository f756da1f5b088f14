package gateway

import (
	"encoding/json"
	"net/http"

	"moeca/internal/gateway/gate"
	"moeca/internal/gateway/gatewayapi"
	"moeca/internal/gateway/upstream"
)

// A refusal is answered in the shape of errors of the dialect that was spoken,
// so that an unmodified client raises its own error type and shows our words.
// Whatever the shape, gate, reason and message are in it as gatewayapi.Error
// has them; only git, which shows plain text to its user, gets no JSON.

// kind is the dialect of the route, known or only asked for.
func (x *exchange) kind() string {
	if x.req.Upstream.Kind != "" || x.r.URL == nil {
		return x.req.Upstream.Kind
	}
	name, rest := gate.SplitRoute(x.r.URL.EscapedPath())
	u, _ := x.g.o.Upstreams.Get(name)
	if placed, _, ok := u.Select(rest); ok {
		return placed.Kind
	}
	return u.Kind
}

// errorAnswer is the content type and the body of a denial.
func errorAnswer(kind string, d gate.Decision) (contentType string, body []byte) {
	if kind == upstream.KindGit {
		return "text/plain; charset=utf-8", []byte(sentence(d) + "\n")
	}
	return "application/json", errorBody(kind, d)
}

// sentence is what a client shows of a denial: who refused, and why.
func sentence(d gate.Decision) string {
	return "moeca gateway, " + d.Gate + "/" + d.Reason + ": " + d.Message
}

func errorBody(kind string, d gate.Decision) []byte {
	b, err := json.Marshal(errorValue(kind, d))
	if err != nil { // strings only: cannot happen, and must not be an empty answer
		return []byte(`{"error":{"gate":"gateway","reason":"failed","message":"refused"}}`)
	}
	return append(b, '\n')
}

func errorValue(kind string, d gate.Decision) any {
	plain := gatewayapi.ErrorBody{Gate: d.Gate, Reason: d.Reason, Message: d.Message}
	said := plain
	said.Message = sentence(d)
	switch kind {
	case upstream.KindAnthropic:
		return anthropicError{Type: "error", Error: typedError{Type: anthropicType(d.Status), ErrorBody: said}}
	case upstream.KindOpenAI:
		return openAIError{openAIErrorBody{Type: openAIType(d.Status), Code: d.Gate + "/" + d.Reason, ErrorBody: said}}
	case upstream.KindGemini:
		return geminiError{geminiErrorBody{
			Code: d.Status, Status: canonicalStatus(d.Status), ErrorBody: said,
			Details: []errorInfo{{"type.googleapis.com/google.rpc.ErrorInfo", d.Reason, "moeca", map[string]string{"gate": d.Gate}}},
		}}
	case upstream.KindGitHub:
		return gitHubError{said.Message, "urn:moeca:gate:" + d.Gate + ":" + d.Reason, plain}
	case upstream.KindJira:
		return jiraError{[]string{said.Message}, map[string]string{}, plain}
	case upstream.KindNotion:
		return notionError{"error", d.Status, notionCode(d.Status), said.Message, plain}
	}
	return gatewayapi.Error{Error: plain}
}

type typedError struct {
	Type string `json:"type"`
	gatewayapi.ErrorBody
}

type anthropicError struct {
	Type  string     `json:"type"`
	Error typedError `json:"error"`
}

type openAIError struct {
	Error openAIErrorBody `json:"error"`
}

type openAIErrorBody struct {
	Type  string  `json:"type"`
	Param *string `json:"param"`
	Code  string  `json:"code"`
	gatewayapi.ErrorBody
}

type geminiError struct {
	Error geminiErrorBody `json:"error"`
}

type geminiErrorBody struct {
	Code    int         `json:"code"`
	Status  string      `json:"status"`
	Details []errorInfo `json:"details"`
	gatewayapi.ErrorBody
}

type errorInfo struct {
	Type     string            `json:"@type"`
	Reason   string            `json:"reason"`
	Domain   string            `json:"domain"`
	Metadata map[string]string `json:"metadata"`
}

type gitHubError struct {
	Message          string               `json:"message"`
	DocumentationURL string               `json:"documentation_url"`
	Error            gatewayapi.ErrorBody `json:"error"`
}

type jiraError struct {
	Messages []string             `json:"errorMessages"`
	Errors   map[string]string    `json:"errors"`
	Error    gatewayapi.ErrorBody `json:"error"`
}

type notionError struct {
	Object  string               `json:"object"`
	Status  int                  `json:"status"`
	Code    string               `json:"code"`
	Message string               `json:"message"`
	Error   gatewayapi.ErrorBody `json:"error"`
}

func anthropicType(status int) string {
	switch status {
	case http.StatusBadRequest:
		return "invalid_request_error"
	case http.StatusUnauthorized:
		return "authentication_error"
	case http.StatusPaymentRequired:
		return "billing_error"
	case http.StatusForbidden:
		return "permission_error"
	case http.StatusNotFound:
		return "not_found_error"
	case http.StatusRequestEntityTooLarge:
		return "request_too_large"
	case http.StatusTooManyRequests:
		return "rate_limit_error"
	case http.StatusGatewayTimeout:
		return "timeout_error"
	}
	return "api_error"
}

func openAIType(status int) string {
	switch {
	case status == http.StatusPaymentRequired:
		return "insufficient_quota"
	case status == http.StatusTooManyRequests:
		return "rate_limit_error"
	case status >= 500:
		return "server_error"
	}
	return "invalid_request_error"
}

// canonicalStatus is the name Google's clients know a status by.
func canonicalStatus(status int) string {
	switch status {
	case http.StatusBadRequest, http.StatusRequestEntityTooLarge, http.StatusUnsupportedMediaType:
		return "INVALID_ARGUMENT"
	case http.StatusUnauthorized:
		return "UNAUTHENTICATED"
	case http.StatusForbidden:
		return "PERMISSION_DENIED"
	case http.StatusNotFound:
		return "NOT_FOUND"
	case http.StatusPaymentRequired, http.StatusTooManyRequests:
		return "RESOURCE_EXHAUSTED"
	case http.StatusServiceUnavailable, http.StatusBadGateway:
		return "UNAVAILABLE"
	case http.StatusGatewayTimeout:
		return "DEADLINE_EXCEEDED"
	}
	return "INTERNAL"
}

func notionCode(status int) string {
	switch status {
	case http.StatusUnauthorized:
		return "unauthorized"
	case http.StatusForbidden:
		return "restricted_resource"
	case http.StatusNotFound:
		return "object_not_found"
	case http.StatusTooManyRequests:
		return "rate_limited"
	case http.StatusBadRequest, http.StatusRequestEntityTooLarge:
		return "validation_error"
	}
	return "service_unavailable"
}
