package gateway

import (
	"net/http"
	"testing"
	"time"

	"moeca/internal/audit"
	"moeca/internal/session"
)

const urlBody = `{"model":"claude-x","max_tokens":10,"messages":[{"role":"user","content":[{"type":"image","source":{"type":"url","url":"https://x.example/?q"}}]}]}`

// TestGrantedCapabilityIsDurableBeforeItLeaves: what a provider fetches cannot
// be undone by withholding the answer.
func TestGrantedCapabilityIsDurableBeforeItLeaves(t *testing.T) {
	r := newRig(t, Limits{}, session.Scope{Grants: []string{session.GrantURL}})
	held, queued := make(chan struct{}), make(chan struct{}, 8)
	r.log.set(func(l *faultLog) { l.held, l.queued = held, func(audit.Record) { queued <- struct{}{} } })
	done := make(chan int, 1)
	go func() {
		resp, _ := r.post("/anthropic/v1/messages", urlBody)
		done <- resp.StatusCode
	}()
	<-queued
	select {
	case <-done:
		t.Fatal("answered before the row was durable")
	case <-time.After(100 * time.Millisecond):
	}
	if n := len(r.calls()); n != 0 {
		t.Errorf("%d calls left before the row was durable", n)
	}
	close(held)
	if status := <-done; status != http.StatusOK {
		t.Errorf("status %d", status)
	}
}

func TestGrantsOpenWhatTheyNameAndNothingElse(t *testing.T) {
	r := newRig(t, Limits{}, session.Scope{Grants: []string{session.GrantFiles, session.GrantBatches, session.GrantState, session.GrantBeta + "files-api-2025-04-14"}})
	for _, c := range []struct {
		name, method, path, body string
		status                   int
	}{
		{"a list of files", "GET", "/anthropic/v1/files", "", 200},
		{"an upload", "POST", "/anthropic/v1/files", "any bytes", 200},
		{"a deletion", "DELETE", "/anthropic/v1/files/f", "", 200},
		{"results of a batch", "GET", "/anthropic/v1/messages/batches/b/results", "", 200},
		{"a new batch, which has no bound", "POST", "/anthropic/v1/messages/batches", "{}", 403},
		{"a stored answer", "GET", "/openai/v1/responses/r", "", 200},
		{"an assistant, which has none either", "POST", "/openai/v1/assistants", "{}", 403},
		{"a URL", "POST", "/anthropic/v1/messages", urlBody, 403},
		{"administration", "GET", "/openai/v1/organization/projects", "", 403},
	} {
		resp, body := r.do(r.overSocket(), c.method, "http://gateway"+c.path, c.body, "anthropic-beta", "files-api-2025-04-14")
		if resp.StatusCode != c.status {
			t.Errorf("%s: %d %s", c.name, resp.StatusCode, body)
		}
	}
	resp, body := r.do(r.overSocket(), "GET", "http://gateway/anthropic/v1/files", "", "anthropic-beta", "files-api-2025-04-14,mcp-client-2025-11-20")
	if resp.StatusCode != http.StatusForbidden {
		t.Errorf("a beta nobody granted: %d %s", resp.StatusCode, body)
	}
}
