package gateway

import (
	"bytes"
	"encoding/json"
	"net/http"

	"moeca/internal/gateway/gate"
	"moeca/internal/gateway/usage"
)

// cutShort ends a stream whose reservation is used up: it becomes the denial of
// the outcome, and the bytes that tell the caller in the words of its dialect;
// last is the byte before them. The upstream is let go when the body is closed,
// right after.
func (x *exchange) cutShort(last byte) []byte {
	d := gate.Deny(http.StatusPaymentRequired, gate.ReasonUsedUp,
		"the answer grew beyond the %d tokens that were set aside for it and was cut; ask for less at once, or raise the budget", x.spend.lease.Tokens)
	d.Gate = gate.NameBudget
	x.denial = d
	m := x.answer.meter
	body := bytes.TrimSpace(errorBody(x.req.Upstream.Kind, d))
	switch {
	case m.Array():
		return append(append([]byte(",\n"), body...), "]\n"...)
	case x.spend.dialect == usage.Anthropic:
		return event(last, "error", body)
	case x.spend.dialect == usage.Responses:
		return event(last, "error", responsesError(d, m.Sequence()+1))
	}
	return event(last, "", body)
}

// event is one server-sent event. It begins by ending the one before, of which
// the last line is there and the empty line is not. Strict clients take no more
// than one of these. A line that ended in CR may have lost the LF to it.
func event(last byte, name string, data []byte) []byte {
	out := []byte("\n")
	if last == '\r' {
		out = []byte("\n\n")
	}
	if name != "" {
		out = append(append(append(out, "event: "...), name...), '\n')
	}
	out = append(append(out, "data: "...), data...)
	return append(out, "\n\n"...)
}

// responsesError is the error event of the Responses dialect.
func responsesError(d gate.Decision, sequence int64) []byte {
	b, err := json.Marshal(map[string]any{
		"type": "error", "code": d.Gate + "/" + d.Reason, "message": "moeca gateway, " + d.Gate + "/" + d.Reason + ": " + d.Message,
		"param": nil, "sequence_number": sequence,
	})
	if err != nil { // strings only: cannot happen, and must not be an empty event
		return []byte(`{"type":"error","code":"budget","message":"cut","param":null}`)
	}
	return b
}
