package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"moeca/internal/audit"
	"moeca/internal/gateway/gate"
	"moeca/internal/gateway/gatewayapi"
	"moeca/internal/session"
)

func askRule() gatewayapi.ForbiddenRule {
	return gatewayapi.ForbiddenRule{OperationRule: gatewayapi.OperationRule{Operation: "custom.write"}, Effect: gatewayapi.EffectAsk}
}

// asking is a rig whose tool asks before each write.
func asking(t *testing.T, limits Limits) *rig {
	t.Helper()
	r := newRig(t, limits, session.Scope{Agent: "coder"})
	setPolicy(t, r.policies, "tool", gatewayapi.PolicyPatch{Forbidden: &[]gatewayapi.ForbiddenRule{askRule()}})
	return r
}

type answered struct {
	status int
	body   string
	err    error
}

// send posts in the background.
func (r *rig) send(ctx context.Context, body string) <-chan answered {
	out := make(chan answered, 1)
	go func() {
		req, _ := http.NewRequestWithContext(ctx, "POST", "http://g/tool/things?a=1&token=hidden", strings.NewReader(body))
		resp, err := r.overSocket().Do(req)
		if err != nil {
			out <- answered{err: err}
			return
		}
		defer resp.Body.Close()
		b, err := io.ReadAll(resp.Body)
		out <- answered{resp.StatusCode, string(b), err}
	}()
	return out
}

// waiting returns the asks once there are n.
func (r *rig) waiting(n int) []gatewayapi.Ask {
	r.t.Helper()
	list := r.g.Asks(r.t.Context(), "", 0)
	for len(list.Asks) != n {
		next := r.g.Asks(r.t.Context(), list.Cursor, 20*time.Second)
		if next.Cursor == list.Cursor {
			r.t.Fatalf("%d requests wait, want %d", len(list.Asks), n)
		}
		list = next
	}
	return list.Asks
}

func attr(r audit.Record, key string) string {
	for _, a := range r.Attrs {
		if a.Key == key {
			return a.Value
		}
	}
	return ""
}

func TestRequestGoesOnOnceAPersonAllowsIt(t *testing.T) {
	r := asking(t, Limits{TotalSeconds: 3600})
	reply := r.send(t.Context(), `{"title":"what an agent wrote"}`)
	a := r.waiting(1)[0]
	if len(r.calls()) != 0 || len(r.rows(audit.KindIntent, 0)) != 0 {
		t.Fatal("something of a request that waits went out or was recorded as sent")
	}
	want := gatewayapi.Ask{
		ID: a.ID, Session: r.sandbox.ID, Run: "run-1", Stage: "stage-1", Task: "task-1", Agent: "coder", Upstream: "tool", Method: "POST",
		Target: r.stub.URL + "/things?a=1", Operations: []string{"custom.write"}, Rule: askRule().OperationRule,
		Body: `{"title":"what an agent wrote"}`, BodyBytes: 31, AskedAt: a.AskedAt, ExpiresAt: a.AskedAt.Add(10 * time.Minute),
	}
	if got, _ := json.Marshal(a); string(got) != mustJSON(want) || len(a.ID) != 32 {
		t.Errorf("asked\n%s, want\n%s", got, mustJSON(want))
	}
	// The row of the answer is durable before the request goes on.
	held := make(chan struct{})
	queued := make(chan audit.Record, 8)
	r.log.set(func(l *faultLog) { l.held, l.queued = held, func(rec audit.Record) { queued <- rec } })
	said := make(chan int64, 1)
	go func() {
		seq, err := r.g.AnswerAsk(a.ID, true)
		if err != nil {
			t.Error(err)
		}
		said <- seq
	}()
	row := <-queued
	if _, err := r.g.AnswerAsk(a.ID, false); !errors.Is(err, ErrAskAnswered) {
		t.Errorf("a second answer meanwhile: %v", err)
	}
	if len(r.calls()) != 0 || len(r.g.Asks(t.Context(), "", 0).Asks) != 1 {
		t.Error("the request went on before the answer was durable")
	}
	close(held)
	seq := <-said
	if got := <-reply; got.status != 200 {
		t.Fatalf("%+v", got)
	}
	admin := r.rows(audit.KindAdmin, 1)[0]
	if admin.Seq != seq || admin.Actor != audit.ActorPerson || admin.Subject != a.ID || attr(admin, "action") != ActionAskAllow ||
		admin.Attribution.Session != r.sandbox.ID || admin.Attribution.Task != "task-1" || row.Subject != a.ID || strings.Contains(string(admin.Detail), "what an agent wrote") {
		t.Errorf("row of the answer: %+v %s", admin, admin.Detail)
	}
	in := r.rows(audit.KindIntent, 1)[0]
	if attr(in, AttrAsked) != a.ID || in.Seq <= seq || attr(r.rows(audit.KindOutcome, 1)[0], AttrAsked) != a.ID {
		t.Errorf("intent %+v", in)
	}
	if len(r.calls()) != 1 || len(r.rows(audit.KindRefusal, 0)) != 0 {
		t.Errorf("%d calls", len(r.calls()))
	}
	if _, err := r.g.AnswerAsk(a.ID, false); !errors.Is(err, ErrAskAnswered) || !strings.Contains(err.Error(), "allowed it") {
		t.Errorf("a second answer: %v", err)
	}
	if _, err := r.g.AnswerAsk("0123", true); !errors.Is(err, ErrAskUnknown) {
		t.Errorf("an answer to nothing: %v", err)
	}
}

func mustJSON(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(b)
}

func TestWhatEndsAnAskIsOneRefusal(t *testing.T) {
	for name, c := range map[string]struct {
		limits Limits
		end    func(t *testing.T, r *rig, a gatewayapi.Ask, hangUp func())
		gate   string
		reason string
		told   bool
		late   error
	}{
		"a person refuses": {end: func(t *testing.T, r *rig, a gatewayapi.Ask, _ func()) {
			if _, err := r.g.AnswerAsk(a.ID, false); err != nil {
				t.Error(err)
			}
			if row := r.rows(audit.KindAdmin, 1)[0]; attr(row, "action") != ActionAskRefuse || row.Actor != audit.ActorPerson {
				t.Errorf("%+v", row)
			}
		}, reason: gate.ReasonRefused, told: true, late: ErrAskAnswered},
		"nobody answers":      {limits: Limits{AskSeconds: 1}, end: func(*testing.T, *rig, gatewayapi.Ask, func()) {}, reason: gate.ReasonNoAnswer, told: true, late: ErrAskEnded},
		"the caller hangs up": {end: func(_ *testing.T, _ *rig, _ gatewayapi.Ask, hangUp func()) { hangUp() }, reason: gate.ReasonCancelled, late: ErrAskEnded},
		"the session is revoked": {end: func(t *testing.T, r *rig, _ gatewayapi.Ask, _ func()) {
			r.g.Revoke(t.Context(), r.sandbox.ID)
		}, reason: ReasonEnded, late: ErrAskEnded},
		"the gateway ends": {end: func(t *testing.T, r *rig, _ gatewayapi.Ask, _ func()) {
			r.g.Close(t.Context())
		}, reason: ReasonEnded, late: ErrAskEnded},
		"the rule blocks meanwhile": {end: func(t *testing.T, r *rig, a gatewayapi.Ask, _ func()) {
			block := askRule()
			block.Effect = gatewayapi.EffectBlock
			setPolicy(t, r.policies, "tool", gatewayapi.PolicyPatch{Forbidden: &[]gatewayapi.ForbiddenRule{block}})
			_, _ = r.g.AnswerAsk(a.ID, true)
		}, reason: gate.ReasonForbidden, told: true, late: ErrAskAnswered},
		"another rule asks meanwhile": {end: func(t *testing.T, r *rig, a gatewayapi.Ask, _ func()) {
			other := askRule()
			other.OperationRule = gatewayapi.OperationRule{Method: "POST", Path: "/things"}
			setPolicy(t, r.policies, "tool", gatewayapi.PolicyPatch{Forbidden: &[]gatewayapi.ForbiddenRule{other}})
			_, _ = r.g.AnswerAsk(a.ID, true)
		}, reason: gate.ReasonChanged, told: true, late: ErrAskAnswered},
		"the write is permitted no more": {end: func(t *testing.T, r *rig, a gatewayapi.Ask, _ func()) {
			setPolicy(t, r.policies, "tool", gatewayapi.PolicyPatch{Writes: &[]gatewayapi.OperationRule{}})
			_, _ = r.g.AnswerAsk(a.ID, true)
		}, gate: "write", reason: gate.ReasonNoRule, told: true, late: ErrAskAnswered},
		"the upstream moves meanwhile": {end: func(t *testing.T, r *rig, a gatewayapi.Ask, _ func()) {
			base := r.stub.URL + "/elsewhere"
			r.define("tool", gatewayapi.ProviderPatch{BaseURL: &base, Auth: &gatewayapi.Auth{Header: "X-Tool-Key"}}, theKey)
			_, _ = r.g.AnswerAsk(a.ID, true)
		}, reason: gate.ReasonChanged, told: true, late: ErrAskAnswered},
		"the upstream is removed meanwhile": {end: func(t *testing.T, r *rig, a gatewayapi.Ask, _ func()) {
			c, err := r.set.PlanDelete("tool")
			if err != nil || c.Apply() != nil {
				t.Error(err)
			}
			_, _ = r.g.AnswerAsk(a.ID, true)
		}, gate: "route", reason: gate.ReasonNoRoute, told: true, late: ErrAskAnswered},
	} {
		t.Run(name, func(t *testing.T) {
			r := asking(t, c.limits)
			ctx, hangUp := context.WithCancel(t.Context())
			defer hangUp()
			reply := r.send(ctx, "{}")
			a := r.waiting(1)[0]
			c.end(t, r, a, hangUp)
			got := <-reply
			if c.told != (got.err == nil) || c.told && !strings.Contains(got.body, c.reason) {
				t.Errorf("the caller was told %+v", got)
			}
			row := r.rows(audit.KindRefusal, 1)[0]
			if c.gate == "" {
				c.gate = "forbidden"
			}
			if row.Gate != c.gate || row.Reason != c.reason || attr(row, AttrAsked) != a.ID || row.Attribution.Session != r.sandbox.ID || row.Target == "" {
				t.Errorf("row %+v", row)
			}
			if _, err := r.g.AnswerAsk(a.ID, true); !errors.Is(err, c.late) {
				t.Errorf("a late answer: %v", err)
			}
			if len(r.calls()) != 0 || len(r.rows(audit.KindIntent, 0)) != 0 || len(r.g.Asks(t.Context(), "", 0).Asks) != 0 {
				t.Errorf("%d calls went out", len(r.calls()))
			}
		})
	}
}

// Of a session that may have four requests at once, two may wait for a person.
func TestAsksLeaveRoomForOtherRequests(t *testing.T) {
	r := asking(t, Limits{SessionConns: 4})
	replies := []<-chan answered{r.send(t.Context(), "{}"), r.send(t.Context(), "{}")}
	asks := r.waiting(2)
	if got := <-r.send(t.Context(), "{}"); got.status != 403 || !strings.Contains(got.body, gate.ReasonManyAsks) {
		t.Errorf("a third: %+v", got)
	}
	if resp, body := r.post("/anthropic/v1/messages", smallBody); resp.StatusCode != 200 {
		t.Errorf("%d %s", resp.StatusCode, body)
	}
	for _, a := range asks {
		if _, err := r.g.AnswerAsk(a.ID, true); err != nil {
			t.Error(err)
		}
	}
	for _, reply := range replies {
		if got := <-reply; got.status != 200 {
			t.Errorf("%+v", got)
		}
	}
}

// A rule that is removed while the person thinks is no reason to refuse what the
// person allows.
func TestRuleRemovedMeanwhile(t *testing.T) {
	r := asking(t, Limits{})
	reply := r.send(t.Context(), "{}")
	a := r.waiting(1)[0]
	setPolicy(t, r.policies, "tool", gatewayapi.PolicyPatch{Forbidden: &[]gatewayapi.ForbiddenRule{}})
	if _, err := r.g.AnswerAsk(a.ID, true); err != nil {
		t.Fatal(err)
	}
	if got := <-reply; got.status != 200 {
		t.Fatalf("%+v", got)
	}
}

func TestAnswerThatCannotBeRecordedIsNone(t *testing.T) {
	r := asking(t, Limits{})
	reply := r.send(t.Context(), "{}")
	a := r.waiting(1)[0]
	r.log.set(func(l *faultLog) { l.down = audit.ErrFull })
	if _, err := r.g.AnswerAsk(a.ID, true); !errors.Is(err, audit.ErrFull) {
		t.Fatalf("%v", err)
	}
	if len(r.calls()) != 0 || len(r.waiting(1)) != 1 {
		t.Fatal("the request did not wait on")
	}
	r.log.set(func(l *faultLog) { l.down = nil })
	if _, err := r.g.AnswerAsk(a.ID, true); err != nil {
		t.Fatal(err)
	}
	if got := <-reply; got.status != 200 {
		t.Fatalf("%+v", got)
	}
}

func TestAnswerToARequestThatLeavesMeanwhile(t *testing.T) {
	r := asking(t, Limits{})
	ctx, hangUp := context.WithCancel(t.Context())
	reply := r.send(ctx, "{}")
	a := r.waiting(1)[0]
	held, queued := make(chan struct{}), make(chan struct{}, 8)
	r.log.set(func(l *faultLog) { l.held, l.queued = held, func(audit.Record) { queued <- struct{}{} } })
	said := make(chan error, 1)
	go func() { _, err := r.g.AnswerAsk(a.ID, true); said <- err }()
	<-queued
	hangUp()
	<-reply
	r.waiting(0)
	close(held)
	if err := <-said; !errors.Is(err, ErrAskEnded) {
		t.Errorf("the person is told %v", err)
	}
	if row := r.rows(audit.KindRefusal, 1)[0]; row.Reason != gate.ReasonCancelled || len(r.calls()) != 0 {
		t.Errorf("%+v, %d calls", row, len(r.calls()))
	}
}

func TestAsksOfOneSessionAreBounded(t *testing.T) {
	r := asking(t, Limits{})
	var replies []<-chan answered
	for i := range maxSessionAsks {
		replies = append(replies, r.send(t.Context(), "{}"))
		r.waiting(i + 1)
	}
	if got := <-r.send(t.Context(), "{}"); got.status != 403 || !strings.Contains(got.body, gate.ReasonManyAsks) {
		t.Errorf("one more: %+v", got)
	}
	// What needs no person goes on, of this session and of others.
	if resp, body := r.post("/anthropic/v1/messages", smallBody); resp.StatusCode != 200 {
		t.Errorf("%d %s", resp.StatusCode, body)
	}
	for _, a := range r.waiting(maxSessionAsks) {
		if _, err := r.g.AnswerAsk(a.ID, false); err != nil {
			t.Error(err)
		}
	}
	for _, reply := range replies {
		if got := <-reply; got.status != 403 {
			t.Errorf("%+v", got)
		}
	}
	if got := len(r.rows(audit.KindRefusal, maxSessionAsks+1)); got != maxSessionAsks+1 {
		t.Error(got)
	}
}

func TestAsksInAllAreBounded(t *testing.T) {
	s := newAsks(64)
	var first *ask
	for i := range maxAsks {
		a, ok := s.add(gatewayapi.Ask{Session: string(rune('a' + i/maxSessionAsks))}, audit.Attribution{}, 1)
		if !ok {
			t.Fatal(i)
		}
		if first == nil {
			first = a
		}
	}
	if _, ok := s.add(gatewayapi.Ask{Session: "z"}, audit.Attribution{}, 1); ok {
		t.Error("more than all may wait")
	}
	s.leave(first, "x", false)
	if _, ok := s.add(gatewayapi.Ask{Session: "z"}, audit.Attribution{}, maxAskBytes); ok {
		t.Error("more bytes than may be held")
	}
	if _, ok := s.add(gatewayapi.Ask{Session: "z"}, audit.Attribution{}, maxSessionBytes+1); ok {
		t.Error("more bytes than one session may hold")
	}
	if _, ok := s.add(gatewayapi.Ask{Session: "z"}, audit.Attribution{}, 1); !ok {
		t.Error("no place after one left")
	}
	for range 2 * keptAsks {
		for _, a := range s.open {
			s.leave(a, "x", false)
			break
		}
		s.add(gatewayapi.Ask{Session: "z"}, audit.Attribution{}, 1)
	}
	if len(s.ended) != keptAsks {
		t.Errorf("%d ended asks are kept", len(s.ended))
	}
}

func TestListWaitsForAChange(t *testing.T) {
	g := New(Options{})
	list := g.Asks(t.Context(), "", time.Hour)
	if list.Asks == nil || len(list.Asks) != 0 || list.Cursor == "" {
		t.Fatalf("%+v", list)
	}
	if again := g.Asks(t.Context(), list.Cursor, 0); again.Cursor != list.Cursor {
		t.Errorf("%+v", again)
	}
	if other := g.Asks(t.Context(), "another process.1", time.Hour); other.Cursor != list.Cursor {
		t.Errorf("%+v", other)
	}
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	if got := g.Asks(gone, list.Cursor, time.Hour); got.Cursor != list.Cursor {
		t.Errorf("%+v", got)
	}
	next := make(chan gatewayapi.Asks)
	wait := func(after string) { go func() { next <- g.Asks(t.Context(), after, time.Hour) }() }
	wait(list.Cursor)
	a, _ := g.asks.add(gatewayapi.Ask{Session: "s"}, audit.Attribution{}, 0)
	list = <-next
	if len(list.Asks) != 1 || list.Asks[0].ID != a.ID {
		t.Fatalf("%+v", list)
	}
	wait(list.Cursor)
	g.asks.leave(a, "x", false)
	if list = <-next; len(list.Asks) != 0 {
		t.Fatalf("%+v", list)
	}
	wait(list.Cursor)
	g.asks.close()
	<-next
	if _, ok := g.asks.add(gatewayapi.Ask{Session: "s"}, audit.Attribution{}, 0); ok {
		t.Error("a gateway that ends asks")
	}
	g.Asks(t.Context(), g.Asks(t.Context(), "", 0).Cursor, time.Hour)
}
