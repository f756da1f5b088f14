package gateway

import (
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"moeca/internal/audit"
	"moeca/internal/gateway/gatewayapi"
	"moeca/internal/session"
)

const geminiBody = `{"contents":[{"parts":[{"text":"hello"}]}],"generationConfig":{"maxOutputTokens":100}}`

// Providers take more from a query than their documents say: Google's servers
// read a method, headers (so a key of the caller's own) and the body from it.
func TestQueriesOfModelCalls(t *testing.T) {
	r := newRig(t, Limits{}, session.Scope{Grants: []string{session.GrantState, session.GrantFiles}})
	for _, refused := range []string{
		"/gemini/v1beta/models/g:generateContent?$httpHeaders=x-goog-api-key:mine",
		"/gemini/v1beta/models/g:generateContent?%24httpHeaders=x-goog-api-key%3Amine",
		"/gemini/v1beta/models/g:generateContent?$httpMethod=DELETE",
		"/gemini/v1beta/models/g:generateContent?$req=%7B%7D&$ct=application/json",
		"/gemini/v1beta/models/g:generateContent?alt=proto",
		"/gemini/v1beta/models/g:generateContent?alt=sse&alt=json",
		"/gemini/v1beta/models/g:streamGenerateContent?ALT=sse",
		"/gemini/v1beta/models/g:generateContent?$alt=json%3Benum-encoding=int",
		"/gemini/v1beta/models/g:generateContent?callback=f",
		"/gemini/v1beta/models/g:generateContent?fields=candidates",
		"/gemini/v1beta/models/g:generateContent?$fields=candidates",
		"/gemini/v1beta/models/g:generateContent?upload_protocol=raw",
		"/anthropic/v1/messages?betas=files-api-2025-04-14",
		"/anthropic/v1/messages?_method=DELETE",
		"/openai/v1/responses?background=true",
	} {
		path, _, _ := strings.Cut(strings.TrimPrefix(refused, "/"), "/")
		body := map[string]string{"gemini": geminiBody, "anthropic": smallBody, "openai": `{"model":"gpt-5","input":"x","store":false}`}[path]
		resp, got := r.post(refused, body)
		if resp.StatusCode != http.StatusBadRequest || !strings.Contains(got, "target/query") {
			t.Errorf("%s: %d %.200s", refused, resp.StatusCode, got)
		}
	}
	if n := len(r.calls()); n != 0 {
		t.Errorf("%d calls reached the upstream", n)
	}
	r.answers(func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("Content-Type", "application/json") })
	for _, passed := range []string{"/gemini/v1beta/models/g:streamGenerateContent?alt=sse", "/gemini/v1beta/models/g:generateContent?key=dropped&alt=json", "/anthropic/v1/messages?beta=true"} {
		body := geminiBody
		if strings.HasPrefix(passed, "/anthropic") {
			body = smallBody
		}
		if resp, got := r.post(passed, body); resp.StatusCode != 200 {
			t.Errorf("%s: %d %s", passed, resp.StatusCode, got)
		}
	}
	for _, passed := range []string{
		"/gemini/v1beta/models?pageSize=1000&pageToken=x", "/anthropic/v1/models?limit=1000&after_id=a&before_id=b",
		"/openai/v1/models?limit=2&after=x&order=asc", "/openai/v1/responses/r?stream=true&starting_after=3&include[]=message.output_text.logprobs",
	} {
		if resp, got := r.do(r.overSocket(), "GET", "http://g"+passed, ""); resp.StatusCode != 200 {
			t.Errorf("%s: %d %s", passed, resp.StatusCode, got)
		}
	}
}

// I3: what writes is durable before it leaves, whatever its method is.
func TestAWriteByGetWaitsForTheRecord(t *testing.T) {
	r := newRig(t, Limits{}, session.Scope{})
	setPolicy(t, r.policies, "tool", gatewayapi.PolicyPatch{Writes: &[]gatewayapi.OperationRule{{Operation: "custom.action"}}})
	held, queued := make(chan struct{}), make(chan struct{}, 8)
	r.log.set(func(l *faultLog) { l.held, l.queued = held, func(audit.Record) { queued <- struct{}{} } })
	done := make(chan int, 1)
	go func() {
		resp, _ := r.do(r.overSocket(), "GET", "http://g/tool/x?action=delete", "")
		done <- resp.StatusCode
	}()
	<-queued
	select {
	case <-done:
		t.Error("answered before the record was durable")
	case <-time.After(100 * time.Millisecond):
	}
	if n := len(r.calls()); n != 0 {
		t.Errorf("%d calls reached the upstream before the record was durable", n)
	}
	close(held)
	<-done
}

// A caller that asks for an answer in parts could read a key in halves.
func TestAnAnswerInPartsIsNotAskedForWithAKey(t *testing.T) {
	r := newRig(t, Limits{}, session.Scope{})
	answer := "echo: " + theKey + " end"
	r.answers(func(w http.ResponseWriter, req *http.Request) {
		w.Header().Set("Content-Type", "text/plain")
		http.ServeContent(w, req, "", time.Time{}, strings.NewReader(answer))
	})
	var got strings.Builder
	for _, part := range []string{"bytes=0-15", "bytes=16-"} {
		_, body := r.do(r.overSocket(), "GET", "http://g/tool/x", "", "Range", part, "If-Range", `"a"`)
		got.WriteString(body)
	}
	if strings.Contains(got.String(), theKey) {
		t.Error("the key was read in halves")
	}
	for _, call := range r.calls() {
		if call.Header.Get("Range")+call.Header.Get("If-Range") != "" {
			t.Error("a part was asked for")
		}
	}
}

// A server that does not expect a body reads it as the next request, on a
// connection that it shares with other sessions.
func TestAReadCarriesNoBody(t *testing.T) {
	r := newRig(t, Limits{}, session.Scope{})
	const hidden = "GET /v1/files HTTP/1.1\r\nHost: x\r\n\r\n"
	for _, path := range []string{"/anthropic/v1/models", "/openai/v1/models", "/gemini/v1beta/models", "/tool/x"} {
		for _, method := range []string{"GET", "HEAD"} {
			resp, body := r.do(r.overSocket(), method, "http://g"+path, hidden)
			if resp.StatusCode != http.StatusBadRequest && resp.StatusCode != http.StatusForbidden {
				t.Errorf("%s %s: %d %s", method, path, resp.StatusCode, body)
			}
		}
	}
	if n := len(r.calls()); n != 0 {
		t.Errorf("%d reads with a body reached the upstream", n)
	}
}

// A key in characters of two bytes is no key to a filter.
func TestAnswersInOtherCharactersAreRefusedWithAKey(t *testing.T) {
	r := newRig(t, Limits{}, session.Scope{})
	wide := strings.Join(strings.Split(theKey, ""), "\x00") + "\x00"
	for _, kind := range []string{"text/plain; charset=utf-16le", "application/json; charset=\"UTF-16\"", "text/html;charset=IBM037", "text/plain; charset=utf-7", "text/plain; charset=utf-16; charset=utf-8"} {
		r.answers(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", kind)
			_, _ = io.WriteString(w, wide)
		})
		resp, body := r.do(r.overSocket(), "GET", "http://g/tool/x", "", "Accept-Charset", "utf-16")
		if resp.StatusCode != http.StatusBadGateway || strings.Contains(body, wide) {
			t.Errorf("%s: %d %q", kind, resp.StatusCode, body)
		}
	}
	for _, kind := range []string{"text/plain; charset=utf-8", "text/plain; charset=iso-8859-1", "text/plain", ""} {
		r.answers(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", kind)
			_, _ = io.WriteString(w, "x")
		})
		if resp, body := r.do(r.overSocket(), "GET", "http://g/tool/x", ""); resp.StatusCode != 200 {
			t.Errorf("%s: %d %q", kind, resp.StatusCode, body)
		}
	}
	for _, call := range r.calls() {
		if call.Header.Get("Accept-Charset") != "" {
			t.Error("other characters were asked for")
		}
	}
}
