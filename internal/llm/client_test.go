package llm_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"moeca/internal/llm"
	"moeca/internal/llm/anthropic"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const whole = `{"id":"m","type":"message","role":"assistant","model":"x","content":[{"type":"text","text":"hi"}],"stop_reason":"end_turn","usage":{"input_tokens":1,"output_tokens":2}}`

// answers serves one answer after the other, and the last one for ever.
type answers struct {
	asked atomic.Int64
	list  []func(w http.ResponseWriter)
}

func (a *answers) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	n := int(a.asked.Add(1))
	a.list[min(n, len(a.list))-1](w)
}

func status(code int, header, body string) func(http.ResponseWriter) {
	return func(w http.ResponseWriter) {
		if k, v, ok := strings.Cut(header, ": "); ok {
			w.Header().Set(k, v)
		}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(code)
		fmt.Fprint(w, body)
	}
}

func client(t *testing.T, h http.Handler) *llm.Client {
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	c := &llm.Client{
		HTTP: &http.Client{Transport: &http.Transport{}}, Base: s.URL, Dialect: anthropic.Dialect{},
		Retry: llm.Retry{Attempts: 3, Base: 1, Max: time.Second},
	}
	t.Cleanup(c.HTTP.CloseIdleConnections)
	return c
}

var request = llm.Request{Model: "x", MaxTokens: 1, Messages: []llm.Message{{Role: llm.RoleUser, Parts: []llm.Part{{Kind: llm.KindText, Text: "hi"}}}}}

func TestWhatIsAskedAgain(t *testing.T) {
	typed := func(kind string) string { return `{"type":"error","error":{"type":"` + kind + `","message":"m"}}` }
	gate := func(name string) string {
		return `{"error":{"gate":"` + name + `","reason":"because","message":"m"}}`
	}
	cut := func(w http.ResponseWriter) {
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprint(w, "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{}}\n\n")
	}
	overloaded := func(w http.ResponseWriter) {
		cut(w)
		fmt.Fprint(w, "event: error\ndata: "+typed("overloaded_error")+"\n\n")
	}
	tests := map[string]struct {
		first func(http.ResponseWriter)
		class llm.Class // empty: asked again, and answered
		gate  string
	}{
		"429":                           {first: status(429, "", typed("rate_limit_error"))},
		"529":                           {first: status(529, "", typed("overloaded_error"))},
		"503 without a body":            {first: status(503, "", "")},
		"500 of the gateway":            {first: status(500, "", gate("log"))},
		"429 of the rate gate":          {first: status(429, "Retry-After: 0", gate("rate"))},
		"a stream that broke off":       {first: cut},
		"an error inside a stream":      {first: overloaded},
		"a message that broke off":      {first: status(200, "", whole[:40])},
		"400":                           {first: status(400, "", typed("invalid_request_error")), class: llm.ClassRequest},
		"401":                           {first: status(401, "", typed("authentication_error")), class: llm.ClassAuth},
		"403 of a gate":                 {first: status(403, "", gate("write")), class: llm.ClassDenied, gate: "write"},
		"402 of the budget":             {first: status(402, "", gate("budget")), class: llm.ClassDenied, gate: "budget"},
		"404 of the route":              {first: status(404, "", gate("route")), class: llm.ClassDenied, gate: "route"},
		"a Retry-After that is too far": {first: status(429, "Retry-After: 3600", ""), class: llm.ClassRate},
		"an answer that is HTML":        {first: func(w http.ResponseWriter) { w.Header().Set("Content-Type", "text/html") }, class: llm.ClassAnswer},
		"an answer that is no message":  {first: status(200, "", `{"type":"list"}`), class: llm.ClassAnswer},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			a := &answers{list: []func(http.ResponseWriter){tt.first, status(200, "", whole)}}
			resp, err := client(t, a).Complete(t.Context(), request)
			if tt.class == "" {
				if err != nil || resp.Text() != "hi" || a.asked.Load() != 2 {
					t.Errorf("%v after %d requests", err, a.asked.Load())
				}
				return
			}
			var e *llm.Error
			if !errors.As(err, &e) || e.Class != tt.class || e.Gate != tt.gate || a.asked.Load() != 1 {
				t.Errorf("%#v after %d requests", err, a.asked.Load())
			}
		})
	}
}

func TestPatienceEnds(t *testing.T) {
	a := &answers{list: []func(http.ResponseWriter){status(529, "", "")}}
	c := client(t, a)
	notes := 0
	c.Notify = func(*llm.Error, int, time.Duration) { notes++ }
	_, err := c.Complete(t.Context(), request)
	if err == nil || a.asked.Load() != 3 || notes != 2 {
		t.Errorf("%v after %d requests, %d notes", err, a.asked.Load(), notes)
	}
}

func TestAnAnswerWithoutAnEndIsEnded(t *testing.T) {
	a := &answers{list: []func(http.ResponseWriter){func(w http.ResponseWriter) {
		w.Header().Set("Content-Type", "text/event-stream")
		for range 1000 {
			if _, err := fmt.Fprint(w, strings.Repeat(": filler\n", 1000)); err != nil {
				return
			}
		}
	}}}
	c := client(t, a)
	c.MaxAnswer = 100_000
	_, err := c.Complete(t.Context(), request)
	var e *llm.Error
	if !errors.As(err, &e) || e.Class != llm.ClassAnswer || a.asked.Load() != 1 {
		t.Errorf("%v after %d requests", err, a.asked.Load())
	}
}

func TestASilentAnswerIsEndedAndAskedAgain(t *testing.T) {
	var asked atomic.Int64
	c := client(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if asked.Add(1) == 1 {
			w.Header().Set("Content-Type", "text/event-stream")
			w.(http.Flusher).Flush()
			<-r.Context().Done()
			return
		}
		status(200, "", whole)(w)
	}))
	c.Idle = 100 * time.Millisecond
	if _, err := c.Complete(t.Context(), request); err != nil || asked.Load() != 2 {
		t.Errorf("%v after %d requests", err, asked.Load())
	}
}

func TestCancellingEndsAWait(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	c := client(t, &answers{list: []func(http.ResponseWriter){status(529, "", "")}})
	c.Retry = llm.Retry{Base: time.Hour, Max: time.Hour}
	c.Notify = func(*llm.Error, int, time.Duration) { cancel() }
	if _, err := c.Complete(ctx, request); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

func TestRetryAfter(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for in, want := range map[string]time.Duration{
		"": 0, "2": 2 * time.Second, "0.5": 500 * time.Millisecond, "-1": 0, "NaN": 0, "x": 0, "1e300": 24 * time.Hour,
		"Fri, 02 Jan 2026 03:04:15 GMT": 10 * time.Second, "Fri, 02 Jan 2026 03:04:00 GMT": 0,
	} {
		if got := llm.RetryAfter(http.Header{"Retry-After": {in}}, now); got != want {
			t.Errorf("%q: %s, want %s", in, got, want)
		}
	}
}
