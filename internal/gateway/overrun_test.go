package gateway

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"moeca/internal/audit"
	"moeca/internal/gateway/gate"
	"moeca/internal/session"
)

// A thousand answers at once were bounded as 128, and drew the budget below zero.
func TestMoreAnswersThanCanBeBoundedAreRefused(t *testing.T) {
	r := newRig(t, Limits{}, session.Scope{Budget: session.Budget{Tokens: 30_000}})
	for path, body := range map[string]string{
		"/openai/v1/chat/completions":             `{"model":"g","max_tokens":100,"n":1000,"messages":[{"role":"user","content":"x"}]}`,
		"/gemini/v1beta/models/g:generateContent": `{"generationConfig":{"maxOutputTokens":1,"candidateCount":1000},"contents":[]}`,
	} {
		resp, text := r.post(path, body)
		if resp.StatusCode != http.StatusBadRequest || !strings.Contains(text, gate.ReasonUnbounded) {
			t.Errorf("%d %s", resp.StatusCode, text)
		}
	}
	if left := r.left(); left != 30_000 || len(r.calls()) != 0 {
		t.Errorf("%d left, %d calls went out", left, len(r.calls()))
	}
}

// An upstream that bills more than the most the call could use is believed, and
// the session is over.
func TestCallBeyondItsBoundEndsTheSession(t *testing.T) {
	r := newRig(t, Limits{}, session.Scope{})
	r.answers(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"usage":{"input_tokens":10,"output_tokens":100000}}`)
	})
	if resp, body := r.post("/anthropic/v1/messages", smallBody); resp.StatusCode != http.StatusOK || !strings.Contains(body, "100000") {
		t.Fatalf("%d %s", resp.StatusCode, body)
	}
	if by, _ := r.rows(audit.KindOutcome, 1)[0].Attr(AttrOverrun); by == "" {
		t.Error("the outcome is not marked")
	}
	r.ended(r.sandbox.ID, ActionExpel, OverReservation)
}
