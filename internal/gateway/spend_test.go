package gateway

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"moeca/internal/audit"
	"moeca/internal/gateway/budget"
	"moeca/internal/gateway/gate"
	"moeca/internal/gateway/gatewayapi"
	"moeca/internal/gateway/price"
	"moeca/internal/session"
)

const pricedBody = `{"model":"claude-sonnet-4-5","max_tokens":100,"messages":[{"role":"user","content":"hello"}]}`

// aCent is a cent in 1e-9 USD.
const aCent = 10_000_000

func TestMoneyIsReservedAndSettledExactly(t *testing.T) {
	r := newRig(t, Limits{}, session.Scope{Budget: session.Budget{CostNano: 100 * aCent}})
	for _, c := range []struct {
		path, body, answer string
		cost               int64 // 1e-9 USD
	}{
		{"/anthropic/v1/messages", strings.Replace(pricedBody, "hello", strings.Repeat("hello ", 500), 1), `{"usage":{"input_tokens":1000,"output_tokens":200,"cache_read_input_tokens":5000,"cache_creation":{"ephemeral_5m_input_tokens":100,"ephemeral_1h_input_tokens":100}}}`, 3_000_000 + 3_000_000 + 1_500_000 + 375_000 + 600_000},
		{"/openai/v1/chat/completions", `{"model":"gpt-4.1","max_tokens":500,"messages":[]}`, `{"usage":{"prompt_tokens":1000,"completion_tokens":100,"prompt_tokens_details":{"cached_tokens":400},"completion_tokens_details":{"reasoning_tokens":60}}}`, 600*2000 + 400*500 + 100*8000},
		{"/openai/v1/responses", `{"model":"gpt-5-mini","max_output_tokens":500,"store":false,"input":"x"}`, `{"status":"completed","usage":{"input_tokens":1000,"output_tokens":100,"input_tokens_details":{"cached_tokens":400},"output_tokens_details":{"reasoning_tokens":60}}}`, 600*250 + 400*25 + 100*2000},
		{"/gemini/v1beta/models/gemini-2.5-pro:generateContent", `{"contents":[{"parts":[{"text":"x"}]}],"generationConfig":{"maxOutputTokens":500}}`, `{"candidates":[{"finishReason":"STOP"}],"usageMetadata":{"promptTokenCount":1000,"cachedContentTokenCount":400,"candidatesTokenCount":40,"thoughtsTokenCount":60,"totalTokenCount":1100}}`, 600*1250 + 400*125 + 100*10_000},
	} {
		r.answers(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, c.answer)
		})
		before := len(r.all())
		if resp, body := r.post(c.path, c.body); resp.StatusCode != 200 {
			t.Fatalf("%s: %d %s", c.path, resp.StatusCode, body)
		}
		rows := r.outcomesAfter(before)
		if rows[0].CostNano != c.cost {
			t.Errorf("%s: cost %d, want %d", c.path, rows[0].CostNano, c.cost)
		}
	}
	var all int64
	for _, out := range r.rows(audit.KindOutcome, 4) {
		all += out.CostNano
	}
	if got, _ := r.g.Revoke(t.Context(), r.sandbox.ID); got.Cost != all {
		t.Errorf("settled %d of %d", got.Cost, all)
	}
}

// outcomesAfter waits for an outcome behind the first n rows.
func (r *rig) outcomesAfter(n int) (out []audit.Record) {
	r.t.Helper()
	for deadline := time.Now().Add(20 * time.Second); len(out) == 0; {
		if time.Now().After(deadline) {
			r.t.Fatal("no outcome")
		}
		for _, rec := range r.all()[n:] {
			if rec.Kind == audit.KindOutcome {
				out = append(out, rec)
			}
		}
	}
	return out
}

func TestMoneyThatDoesNotSuffice(t *testing.T) {
	r := newRig(t, Limits{}, session.Scope{Budget: session.Budget{CostNano: aCent}})
	for name, c := range map[string]struct {
		body   string
		status int
		reason string
	}{
		"a model without a price": {smallBody, 403, gate.ReasonNoPrice},
		"a faster tariff":         {strings.Replace(pricedBody, "{", `{"service_tier":"priority",`, 1), 403, gate.ReasonNoPrice},
		"more than is left":       {strings.Replace(pricedBody, "100", "5000", 1), 402, gate.ReasonExhausted},
	} {
		resp, body := r.post("/anthropic/v1/messages", c.body)
		if resp.StatusCode != c.status || !strings.Contains(body, "budget/"+c.reason) {
			t.Errorf("%s: %d %s", name, resp.StatusCode, body)
		}
	}
	r.rows(audit.KindRefusal, 3)
	if len(r.calls()) != 0 {
		t.Error("a refused call went upstream")
	}
	_, token, _ := r.mint(session.Scope{Upstreams: []string{"anthropic"}, Budget: session.Budget{CostNano: -1}}, false)
	resp, body := r.do(http.DefaultClient, "POST", "http://"+r.addr+"/anthropic/v1/messages", smallBody, "X-Api-Key", token)
	if resp.StatusCode != 402 {
		t.Fatalf("a session without money: %d %s", resp.StatusCode, body)
	}
}

// I6 in money: fifty calls at once on what fits a few.
func TestParallelCallsNeverOverspendMoney(t *testing.T) {
	r := newRig(t, Limits{}, session.Scope{})
	r.g.ledger.Limit(budget.Provider, "anthropic", budget.Amount{Tokens: budget.Unlimited, Cost: 10 * aCent})
	var spent, passed int64
	var mu sync.Mutex
	r.answers(func(w http.ResponseWriter, _ *http.Request) {
		mu.Lock()
		spent += 4000*3000 + 100*15_000
		passed++
		mu.Unlock()
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"usage":{"input_tokens":4000,"output_tokens":100}}`)
	})
	var wg sync.WaitGroup
	for i := range 50 {
		wg.Go(func() {
			resp, body := r.post("/anthropic/v1/messages", pricedBody)
			if resp.StatusCode != 200 && resp.StatusCode != 402 {
				t.Errorf("call %d: %d %s", i, resp.StatusCode, body)
			}
		})
	}
	wg.Wait()
	r.rows(audit.KindOutcome, int(passed))
	if spent > 10*aCent || passed == 0 {
		t.Fatalf("%d calls, %d of %d spent", passed, spent, 10*aCent)
	}
	for _, s := range r.g.Budgets() {
		if s.Scope == gatewayapi.BudgetProvider && s.Spent.CostNano != spent {
			t.Errorf("%+v, spent %d", s, spent)
		}
	}
}

// Each dialect's stream that does not end by itself is ended in its own words,
// between two frames.
func TestStreamOverItsReservationIsCut(t *testing.T) {
	const gem = `{"contents":[{"parts":[{"text":"x"}]}],"generationConfig":{"maxOutputTokens":10}}`
	for name, c := range map[string]struct {
		path, body, media, frame, between string
		check                             func(last map[string]any) bool
	}{
		"anthropic": {
			"/anthropic/v1/messages", strings.Replace(pricedBody, "100", "10", 1), "text/event-stream",
			"event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"delta\":{\"type\":\"text_delta\",\"text\":\" and so on\"}}\n\n", "",
			func(last map[string]any) bool { return last["type"] == "error" && last["error"] != nil },
		},
		"chat": {
			"/openai/v1/chat/completions", `{"model":"gpt-4.1","stream":true,"max_tokens":10,"messages":[]}`, "text/event-stream",
			"data: {\"choices\":[{\"delta\":{\"content\":\" and so on\"}}]}\r\n\r\n", "",
			func(last map[string]any) bool { return last["error"] != nil },
		},
		"responses": {
			"/openai/v1/responses", `{"model":"gpt-5","stream":true,"max_output_tokens":10,"store":false,"input":"x"}`, "text/event-stream",
			"event: response.output_text.delta\ndata: {\"type\":\"response.output_text.delta\",\"sequence_number\":7,\"delta\":\" and so on\"}\n\n", "",
			func(last map[string]any) bool {
				return last["type"] == "error" && last["code"] == "budget/"+gate.ReasonUsedUp && last["sequence_number"] == 8.0
			},
		},
		"gemini": {
			"/gemini/v1beta/models/gemini-2.5-pro:streamGenerateContent?alt=sse", gem, "text/event-stream",
			"data: {\"candidates\":[{\"content\":{\"parts\":[{\"text\":\" and so on\"}]}}],\"usageMetadata\":{\"promptTokenCount\":5000}}\n\n", "",
			func(last map[string]any) bool { return last["error"] != nil },
		},
		"gemini array": {
			"/gemini/v1beta/models/gemini-2.5-pro:streamGenerateContent", gem, "application/json",
			"{\"candidates\":[{\"content\":{\"parts\":[{\"text\":\" and ] so on\"}]}}]}", "\n,\r\n",
			func(last map[string]any) bool { return last["error"] != nil },
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, Limits{}, session.Scope{})
			gone := make(chan struct{})
			r.answers(func(w http.ResponseWriter, req *http.Request) {
				defer close(gone)
				w.Header().Set("Content-Type", c.media)
				w.Header().Set("Content-Length", "100000000")
				if c.between != "" {
					_, _ = io.WriteString(w, "[")
				}
				for i := 0; req.Context().Err() == nil && i < 1_000_000; i++ {
					if i > 0 {
						_, _ = io.WriteString(w, c.between)
					}
					if _, err := io.WriteString(w, c.frame); err != nil {
						return
					}
				}
			})
			resp, body := r.post(c.path, c.body)
			if resp.StatusCode != 200 {
				t.Fatal(resp.StatusCode, body)
			}
			<-gone // the upstream was let go
			frames := parseFrames(t, c.media, body)
			if last := frames[len(frames)-1]; !c.check(last) || !strings.Contains(body, gate.ReasonUsedUp) {
				t.Errorf("ends with %v", last)
			}
			out := r.rows(audit.KindOutcome, 1)[0]
			in := r.rows(audit.KindIntent, 1)[0]
			reserved, _ := in.Attr(audit.AttrReserved)
			charged, _ := out.Attr(audit.AttrCharged)
			var a, b int64
			_, _ = fmt.Sscan(reserved, &a)
			_, _ = fmt.Sscan(charged, &b)
			if out.Result != audit.ResultCut || out.Gate != gate.NameBudget || out.Reason != gate.ReasonUsedUp || b < a || b > a+1000 {
				t.Errorf("reserved %s, charged %s, %+v", reserved, charged, out)
			}
		})
	}
}

// parseFrames reads a stream as a strict client does: each event has one data
// line that is whole JSON.
func parseFrames(t *testing.T, media, body string) (frames []map[string]any) {
	t.Helper()
	if media == "application/json" {
		if err := json.Unmarshal([]byte(body), &frames); err != nil {
			t.Fatalf("no array: %v, ends with %q", err, body[max(0, len(body)-300):])
		}
		return frames
	}
	for _, event := range strings.Split(strings.ReplaceAll(body, "\r\n", "\n"), "\n\n") {
		if event == "" {
			continue
		}
		data := 0
		for _, line := range strings.Split(event, "\n") {
			text, ok := strings.CutPrefix(line, "data: ")
			if !ok {
				continue
			}
			data++
			var frame map[string]any
			if err := json.Unmarshal([]byte(text), &frame); err != nil {
				t.Fatalf("broken frame %q: %v", line, err)
			}
			frames = append(frames, frame)
		}
		if data != 1 {
			t.Fatalf("event with %d data lines: %q", data, event)
		}
	}
	return frames
}

// I6: a caller that hangs up after any frame of any dialect pays what the answer
// said until then, if it said all of it, and else the whole reservation.
func TestHangUpAtEachFrameOfEachDialect(t *testing.T) {
	const gem = "/gemini/v1beta/models/gemini-2.5-pro:streamGenerateContent?alt=sse"
	for _, c := range []struct {
		file, path, body string
		used             int64 // by the whole recording
	}{
		{"messages.sse", "/anthropic/v1/messages", strings.Replace(pricedBody, "{", `{"tools":[{"type":"web_search_20250305","name":"web_search","max_uses":2}],"cache_control":{"type":"ephemeral"},`, 1), 2025 + 70 + 15},
		{"chat.sse", "/openai/v1/chat/completions", `{"model":"gpt-4o-mini","stream":true,"max_tokens":100,"messages":[]}`, 29},
		{"chat-without-usage.sse", "/openai/v1/chat/completions", `{"model":"gpt-4o-mini","stream":true,"max_tokens":100,"messages":[]}`, -1},
		{"responses.sse", "/openai/v1/responses", `{"model":"gpt-5","stream":true,"store":false,"max_output_tokens":100,"input":"x"}`, 48},
		{"gemini.sse", gem, `{"contents":[{"parts":[{"text":"x"}]}],"generationConfig":{"maxOutputTokens":100}}`, -1}, // has no last frame but its end
	} {
		t.Run(c.file, func(t *testing.T) {
			recording, err := os.ReadFile(filepath.Join("usage", "testdata", c.file))
			if err != nil {
				t.Fatal(err)
			}
			frames := strings.SplitAfter(string(recording), "\n\n")
			r := newRig(t, Limits{}, session.Scope{Grants: []string{session.GrantWebSearch}, Budget: session.Budget{Tokens: 100_000_000}})
			var sum, whole, known int64
			for n := range len(frames) {
				r.answers(func(w http.ResponseWriter, req *http.Request) {
					w.Header().Set("Content-Type", "text/event-stream")
					_, _ = io.WriteString(w, strings.Join(frames[:n], ""))
					_ = http.NewResponseController(w).Flush()
					<-req.Context().Done()
				})
				resp, err := r.overSocket().Post("http://g"+c.path, "application/json", strings.NewReader(c.body))
				if err != nil {
					t.Fatal(err)
				}
				if _, err := io.ReadFull(resp.Body, make([]byte, len(strings.Join(frames[:n], "")))); err != nil {
					t.Fatal(err)
				}
				_ = resp.Body.Close()
				out := r.rows(audit.KindOutcome, n+1)[n]
				charged, unknown := out.Attr(audit.AttrCharged)
				if reserved, _ := r.rows(audit.KindIntent, n+1)[n].Attr(audit.AttrReserved); unknown && charged != reserved || out.Result != audit.ResultClientGone {
					t.Errorf("after %d of %d frames: charged %q of %q, %+v", n, len(frames), charged, reserved, out)
				}
				if unknown {
					whole++
					_, _ = fmt.Sscan(charged, &known)
					sum += known
				} else {
					if got := out.Usage.Input + out.Usage.Output + out.Usage.CacheRead + out.Usage.CacheWrite5m + out.Usage.CacheWrite1h; got != c.used {
						t.Errorf("after %d of %d frames: %d tokens, want %d", n, len(frames), got, c.used)
					}
					sum += c.used
				}
			}
			if got, _ := r.g.Revoke(t.Context(), r.sandbox.ID); got.Tokens != sum {
				t.Errorf("settled %d, rows say %d", got.Tokens, sum)
			}
			if whole == 0 || c.used < 0 != (whole == int64(len(frames))) {
				t.Errorf("%d of %d hang-ups were unknown", whole, len(frames))
			}
		})
	}
}

// A budget that outlives the session makes the intent durable before egress, so
// that no crash forgets a call that may be billed.
func TestLastingBudgetIsDurableBeforeEgress(t *testing.T) {
	r := newRig(t, Limits{}, session.Scope{})
	r.g.ledger.Limit(budget.Day, "", budget.Amount{Tokens: 1_000_000, Cost: budget.Unlimited})
	held, queued := make(chan struct{}), make(chan struct{}, 8)
	r.log.set(func(l *faultLog) { l.held, l.queued = held, func(audit.Record) { queued <- struct{}{} } })
	done := make(chan int, 1)
	go func() {
		resp, _ := r.post("/anthropic/v1/messages", smallBody)
		done <- resp.StatusCode
	}()
	<-queued
	select {
	case <-done:
		t.Fatal("answered before the record was durable")
	case <-time.After(100 * time.Millisecond):
	}
	if n := len(r.calls()); n != 0 {
		t.Fatalf("%d calls reached the upstream before the record was durable", n)
	}
	close(held)
	if s := <-done; s != 200 || len(r.calls()) != 1 {
		t.Fatalf("status %d, %d calls", s, len(r.calls()))
	}
	r.rows(audit.KindOutcome, 1)
}

// again is a gateway that reads the log of the rig as one that starts does.
func (r *rig) again() *Gateway {
	r.t.Helper()
	prices, err := price.NewTable()
	if err != nil {
		r.t.Fatal(err)
	}
	g := New(Options{Log: r.log, Prices: prices, Upstreams: r.set})
	reader, err := audit.OpenReader(filepath.Join(r.dir, "audit"))
	if err != nil {
		r.t.Fatal(err)
	}
	defer reader.Close()
	last, err := reader.Refresh()
	if err != nil {
		r.t.Fatal(err)
	}
	if err := g.Restore(reader.Range(1, last)); err != nil {
		r.t.Fatal(err)
	}
	return g
}

func TestBudgetsSurviveARestart(t *testing.T) {
	r := newRig(t, Limits{}, session.Scope{})
	stuck := make(chan struct{})
	answer := func(body string, status int) {
		r.answers(func(w http.ResponseWriter, req *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(status)
			_, _ = io.WriteString(w, body)
			if body == "" {
				_ = http.NewResponseController(w).Flush()
				close(stuck)
				<-req.Context().Done()
			}
		})
	}
	answer(`{"usage":{"input_tokens":1000,"output_tokens":10}}`, 200)
	_, _ = r.post("/anthropic/v1/messages", pricedBody) // known
	answer(`{}`, 200)
	_, _ = r.post("/anthropic/v1/messages", pricedBody) // unknown: the whole reservation
	answer(`{}`, 429)
	_, _ = r.post("/anthropic/v1/messages", pricedBody) // free
	answer("", 200)
	go func() { // under way when the process dies
		resp, err := r.overSocket().Post("http://g/anthropic/v1/messages", "application/json", bytes.NewReader([]byte(pricedBody)))
		if err == nil {
			_, _ = io.Copy(io.Discard, resp.Body)
			_ = resp.Body.Close()
		}
	}()
	<-stuck
	r.rows(audit.KindOutcome, 3)
	bound := int64(len(pricedBody)) + 4096 + 100
	boundCost := (bound-100)*3000 + 100*15_000
	want := session.Budget{Tokens: 1010 + 2*bound, CostNano: 1000*3000 + 10*15_000 + 2*boundCost}
	got := map[string]session.Budget{}
	for _, s := range r.again().Budgets() {
		got[s.Scope+s.ID] = s.Spent
	}
	if got["day"] != want || got["provideranthropic"] != want || len(got) != 2 {
		t.Errorf("%+v, want %+v", got, want)
	}
	if _, ok := r.g.Revoke(t.Context(), r.sandbox.ID); !ok { // the process did not die after all
		t.Fatal("no session")
	}
	r.rows(audit.KindOutcome, 4)
	for _, s := range r.again().Budgets() {
		if s.Spent != want {
			t.Errorf("%+v after the end, want %+v", s, want)
		}
	}
}

// A person is told which budget to raise: the row of the refusal names it.
func TestRefusalNamesTheBudgetThatHadNoRoom(t *testing.T) {
	for want, scope := range map[string]session.Scope{
		"task tokens":    {TaskBudget: &session.Budget{Tokens: 10}},
		"task money":     {TaskBudget: &session.Budget{CostNano: 1}},
		"run tokens":     {RunBudget: &session.Budget{Tokens: -1}}, // nothing at all: refused before it is reserved
		"session tokens": {Budget: session.Budget{Tokens: 10}},
	} {
		r := newRig(t, Limits{}, scope)
		if resp, body := r.post("/anthropic/v1/messages", pricedBody); resp.StatusCode != 402 {
			t.Fatalf("%s: %d %s", want, resp.StatusCode, body)
		}
		if got, _ := r.rows(audit.KindRefusal, 1)[0].Attr(AttrShort); got != want {
			t.Errorf("short of %q, want %q", got, want)
		}
	}
}
