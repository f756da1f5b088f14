package gateway

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"moeca/internal/audit"
	"moeca/internal/gateway/gate"
	"moeca/internal/session"
)

func TestUpstreamSeesTheKeyAndNothingOfTheCaller(t *testing.T) {
	r := newRig(t, Limits{}, session.Scope{})
	for name, header := range map[string][]string{
		"session header": {"X-Moeca-Session", r.token},
		"anthropic slot": {"X-Api-Key", r.token},
		"bearer":         {"Authorization", "Bearer " + r.token},
		"lower bearer":   {"Authorization", "bearer " + r.token},
		"google slot":    {"X-Goog-Api-Key", r.token},
		"in many places": {
			"X-Api-Key", r.token, "X-Custom", "x" + r.token, "Cookie", "a=b", "Proxy-Authorization", "Basic eDp5", "X-Forwarded-For", "1.2.3.4",
			"Forwarded", "for=1.2.3.4", "Via", "1.1 x", "X-Real-Ip", "1.2.3.4", "X-Moeca-Run", "other", "Private-Token", "glpat", "X-Amz-Security-Token", "x",
			"X-Http-Method-Override", "DELETE", "X-Auth-Email", "a@b", "Dpop", "eyJ", "Cf-Access-Jwt-Assertion", "eyJ", "Ocp-Apim-Subscription-Key", "sk-azure",
			"X-Functions-Key", "sk-f", "X-Ms-Client-Principal", "eyJ", "X-Ssl-Client-Cert", "eyJ",
		},
		"removed by connection": {"Authorization", "Bearer " + r.token, "X-Api-Key", "sk-mine", "Connection", "x-api-key, close"},
		"own key beside it":     {"X-Moeca-Session", r.token, "X-Api-Key", "sk-agents-own-account", "Authorization", "Bearer sk-other", "X-Goog-Api-Key", "AIza"},
	} {
		before := len(r.calls())
		resp, body := r.do(http.DefaultClient, "POST", "http://"+r.addr+"/anthropic/v1/messages?beta=true&key=sk-query&access_token=t&api%5Fkey=z&apiSecret=s&subscription-key=k&page=2&before_id=n", smallBody, header...)
		if resp.StatusCode != 200 || body != messageAnswer {
			t.Fatalf("%s: %d %s", name, resp.StatusCode, body)
		}
		calls := r.calls()
		if len(calls) != before+1 {
			t.Fatalf("%s: %d calls", name, len(calls)-before)
		}
		got := calls[before]
		if v := got.Header["X-Api-Key"]; len(v) != 1 || v[0] != theKey {
			t.Errorf("%s: upstream got key %q", name, v)
		}
		if got.URI != "/v1/messages?beta=true&page=2&before_id=n" || string(got.Body) != smallBody {
			t.Errorf("%s: upstream got %s %s", name, got.URI, got.Body)
		}
		if got.Header.Get("Accept-Encoding") != "identity" {
			t.Errorf("%s: accepts %q", name, got.Header.Get("Accept-Encoding"))
		}
		dump := fmt.Sprint(got.Header, got.URI)
		for _, leak := range []string{r.token, r.client.ID, session.TokenPrefix, "Cookie", "Forwarded", "1.2.3.4", "sk-", "Authorization", "X-Moeca", "Private-Token", "Amz", "Override", "X-Auth", "AIza", "eyJ"} {
			if strings.Contains(strings.ReplaceAll(dump, theKey, ""), leak) {
				t.Errorf("%s: upstream sees %q: %s", name, leak, dump)
			}
		}
	}
	r.rows(audit.KindOutcome, 8)
	if log := r.logBytes(); bytes.Contains(log, []byte(theKey)) || bytes.Contains(log, []byte(r.token)) || bytes.Contains(log, []byte("sk-query")) {
		t.Error("the log holds a credential")
	}
}

func TestAttributionComesFromTheSocket(t *testing.T) {
	r := newRig(t, Limits{}, session.Scope{})
	other, token, _ := r.mint(session.Scope{Upstreams: []string{"anthropic"}}, false)
	resp, body := r.post("/anthropic/v1/messages", smallBody, "X-Moeca-Session", token, "X-Api-Key", token, "X-Moeca-Run", "run-9")
	if resp.StatusCode != 200 {
		t.Fatal(body)
	}
	out := r.rows(audit.KindOutcome, 1)[0]
	if out.Attribution.Session != r.sandbox.ID || out.Attribution.Session == other.ID || out.Attribution.Run != "run-1" {
		t.Fatalf("%+v", out.Attribution)
	}
}

func TestRowsTellWhatHappened(t *testing.T) {
	r := newRig(t, Limits{}, session.Scope{})
	if resp, body := r.post("/anthropic/v1/messages", smallBody); resp.StatusCode != 200 {
		t.Fatal(body)
	}
	in, out := r.rows(audit.KindIntent, 1)[0], r.rows(audit.KindOutcome, 1)[0]
	if in.Target != r.stub.URL+"/v1/messages" || in.Method != "POST" || in.Upstream != "anthropic" || in.Model != "claude-x" || in.Source != audit.SourceGateway {
		t.Errorf("intent %+v", in)
	}
	want := audit.Usage{Input: 10, Output: 20}
	if out.Ref != in.Seq || out.Result != audit.ResultOK || out.Status != 200 || out.Usage != want || out.BytesOut != int64(len(messageAnswer)) || out.BytesIn != int64(len(smallBody)) {
		t.Errorf("outcome %+v", out)
	}
	reader, err := audit.OpenReader(r.dir + "/audit")
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	req, err := reader.Body(in.Request)
	if err != nil || string(req) != smallBody {
		t.Errorf("request body %q, %v", req, err)
	}
	resp, err := reader.Body(out.Response)
	if err != nil || string(resp) != messageAnswer {
		t.Errorf("response body %q, %v", resp, err)
	}
	if left := r.left(); left != 2_000_000-30 {
		t.Errorf("%d tokens left", left)
	}
}

// TestTheLogIsWrittenWhileTheUpstreamWorks: the committer is woken when the
// request has left, and not by who waits for the answer.
func TestTheLogIsWrittenWhileTheUpstreamWorks(t *testing.T) {
	r := newRig(t, Limits{}, session.Scope{})
	hurried := make(chan struct{}, 64)
	r.log.set(func(l *faultLog) { l.hurried = func() { hurried <- struct{}{} } })
	r.answers(func(w http.ResponseWriter, _ *http.Request) {
		<-hurried
		_, _ = io.WriteString(w, "{}")
	})
	if resp, body := r.post("/anthropic/v1/messages", smallBody); resp.StatusCode != 200 {
		t.Fatalf("%d %s", resp.StatusCode, body)
	}
}

// I3: the upstream answers while the intent is not durable; not one byte of
// the answer may reach the caller.
func TestNoAnswerBeforeTheIntentIsDurable(t *testing.T) {
	r := newRig(t, Limits{}, session.Scope{})
	held, worked := make(chan struct{}), make(chan struct{})
	r.log.set(func(l *faultLog) { l.held = held })
	r.answers(func(w http.ResponseWriter, req *http.Request) {
		w.Header().Set("X-Early", "hint")
		w.WriteHeader(http.StatusEarlyHints)
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, "data: first\n\n")
		_ = http.NewResponseController(w).Flush()
		close(worked)
	})
	first := make(chan byte, 1)
	go func() {
		c := dial(t, "unix", r.sock)
		defer c.Close()
		fmt.Fprintf(c, "POST /anthropic/v1/messages HTTP/1.1\r\nHost: g\r\nContent-Length: %d\r\n\r\n%s", len(smallBody), smallBody)
		b := make([]byte, 1)
		if n, _ := c.Read(b); n == 1 {
			first <- b[0]
		}
		close(first)
	}()
	<-worked // the upstream worked and answered: reads and inference overlap the commit
	select {
	case b := <-first:
		t.Fatalf("the caller got %q before the record was durable", b)
	case <-time.After(150 * time.Millisecond):
	}
	close(held)
	if b, ok := <-first; !ok || b != 'H' {
		t.Fatal("no answer after the record was durable")
	}
	r.rows(audit.KindOutcome, 1)
}

func TestWriteWaitsForTheRecordBeforeEgress(t *testing.T) {
	r := newRig(t, Limits{}, session.Scope{})
	held, queued := make(chan struct{}), make(chan struct{}, 8)
	r.log.set(func(l *faultLog) { l.held, l.queued = held, func(audit.Record) { queued <- struct{}{} } })
	done := make(chan int, 1)
	go func() {
		resp, _ := r.post("/tool/issues", `{}`)
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
}

func TestLogDownStopsTraffic(t *testing.T) {
	r := newRig(t, Limits{}, session.Scope{})
	r.log.set(func(l *faultLog) { l.down = errors.New("disk full") })
	for _, path := range []string{"/anthropic/v1/messages", "/tool/x", "/nowhere"} {
		resp, body := r.post(path, smallBody)
		if resp.StatusCode != 503 || !strings.Contains(body, ReasonLogDown) {
			t.Errorf("%s: %d %s", path, resp.StatusCode, body)
		}
	}
	if n := len(r.calls()); n != 0 {
		t.Fatalf("%d calls went upstream without a record", n)
	}
	if left := r.left(); left != 2_000_000 {
		t.Errorf("%d left: a call that never left cost something", left)
	}
	for err, hint := range map[error]string{audit.ErrFull: "free disk space", audit.ErrBacklog: "too slow", io.ErrUnexpectedEOF: "restart"} {
		r.log.set(func(l *faultLog) { l.down = fmt.Errorf("audit: queue: %w", err) })
		if _, body := r.post("/anthropic/v1/messages", smallBody); !strings.Contains(body, hint) {
			t.Errorf("%v: the answer does not say what to do: %s", err, body)
		}
	}
	r.log.set(func(l *faultLog) { l.down = nil })
}

func TestEachDenialIsExactlyOneRow(t *testing.T) {
	r := newRig(t, Limits{BodyBytes: 1 << 10}, session.Scope{Upstreams: []string{"anthropic", "tool", "keyless", "private"}})
	kind, base, private := "custom", r.stub.URL, "https://10.0.0.7/"
	r.define("keyless", patch(&kind, &base, "X-Key"), "")
	r.define("private", patch(&kind, &private, ""), "")
	big := strings.Repeat("x", 2<<10)
	cases := []struct {
		name, method, path, body, gate, reason string
		status                                 int
	}{
		{"unknown upstream", "GET", "/nowhere/x", "", "route", gate.ReasonNoRoute, 404},
		{"no upstream", "GET", "/", "", "route", gate.ReasonNoRoute, 404},
		{"escaped upstream", "GET", "/%74ool/x", "", "route", gate.ReasonNoRoute, 404},
		{"upper case upstream", "GET", "/Tool/x", "", "route", gate.ReasonNoRoute, 404},
		{"large body", "POST", "/tool/x", big, "body", gate.ReasonTooLarge, 413},
		{"dot segments", "POST", "/tool/repos/../x", "", "target", gate.ReasonPath, 400},
		{"escaped dots", "POST", "/tool/%2e%2e/x", "", "target", gate.ReasonPath, 400},
		{"escaped slash", "POST", "/tool/a%2fb", "", "target", gate.ReasonPath, 400},
		{"escaped escape", "POST", "/tool/a%252fb", "", "target", gate.ReasonPath, 400},
		{"doubled slash", "POST", "/tool//x", "", "target", gate.ReasonPath, 400},
		{"parameters", "POST", "/tool/a;b", "", "target", gate.ReasonPath, 400},
		{"query with semicolon", "GET", "/tool/a?x;y", "", "target", gate.ReasonQuery, 400},
		{"odd method", "PROPFIND", "/tool/a", "", "target", gate.ReasonMethod, 400},
		{"not granted", "POST", "/openai/v1/chat/completions", smallBody, "allowlist", gate.ReasonNotGranted, 403},
		{"private address", "GET", "/private/x", "", "address", gate.ReasonAddress, 403},
		{"no key", "GET", "/keyless/x", "", "key", gate.ReasonNoKey, 403},
		{"unpriced path", "POST", "/anthropic/v1/messages/batches", "{}", "capability", gate.ReasonCapability, 403},
		{"files of the account", "GET", "/anthropic/v1/files", "", "capability", gate.ReasonCapability, 403},
		{"array as body", "POST", "/anthropic/v1/messages", "[]", "capability", gate.ReasonAmbiguous, 400},
		{"doubled key", "POST", "/anthropic/v1/messages", `{"max_tokens":1,"MAX_TOKENS":9}`, "capability", gate.ReasonAmbiguous, 400},
		{"server tool", "POST", "/anthropic/v1/messages", `{"max_tokens":1,"tools":[{"type":"web_search_20250305","name":"web_search"}]}`, "capability", gate.ReasonCapability, 403},
	}
	for i, c := range cases {
		resp, body := r.do(r.overSocket(), c.method, "http://g"+c.path, c.body)
		if resp.StatusCode != c.status || !strings.Contains(body, `"gate":"`+c.gate+`"`) || !strings.Contains(body, `"reason":"`+c.reason+`"`) {
			t.Errorf("%s: %d %s", c.name, resp.StatusCode, body)
		}
		rows := r.rows(audit.KindRefusal, i+1)
		last := rows[len(rows)-1]
		if last.Gate != c.gate || last.Reason != c.reason || last.Status != c.status || last.Attribution.Session != r.sandbox.ID || last.Attribution.Run != "run-1" {
			t.Errorf("%s: row %+v", c.name, last)
		}
	}
	if len(r.calls()) != 0 {
		t.Errorf("%d refused requests reached the upstream", len(r.calls()))
	}
	r.rows(audit.KindIntent, 0)
}

func TestLoopbackListenerRefusesStrangers(t *testing.T) {
	r := newRig(t, Limits{DenialSeconds: 1}, session.Scope{})
	cases := map[string]struct {
		header []string
		host   string
		status int
	}{
		"no token":        {nil, "", 401},
		"wrong token":     {[]string{"X-Api-Key", session.TokenPrefix + strings.Repeat("0", 64)}, "", 401},
		"a real key":      {[]string{"X-Api-Key", theKey}, "", 401},
		"the public id":   {[]string{"X-Moeca-Session", r.client.ID}, "", 401},
		"two tokens":      {[]string{"X-Api-Key", r.token, "X-Moeca-Session", session.TokenPrefix + "x"}, "", 401},
		"rebinding host":  {[]string{"X-Api-Key", r.token}, "evil.example.com", 403},
		"host, no port":   {[]string{"X-Api-Key", r.token}, "127.0.0.1", 403},
		"other port":      {[]string{"X-Api-Key", r.token}, "127.0.0.1:1", 403},
		"foreign origin":  {[]string{"X-Api-Key", r.token, "Origin", "https://evil.example.com"}, "", 403},
		"null origin":     {[]string{"X-Api-Key", r.token, "Origin", "null"}, "", 403},
		"our own origin":  {[]string{"X-Api-Key", r.token, "Origin", "http://" + r.addr}, "", 403},
		"a page's fetch":  {[]string{"X-Api-Key", r.token, "Sec-Fetch-Site", "none"}, "", 403},
		"as it should be": {[]string{"X-Api-Key", r.token}, "", 200},
	}
	for name, c := range cases {
		req, _ := http.NewRequest("POST", "http://"+r.addr+"/anthropic/v1/messages", strings.NewReader(smallBody))
		for i := 0; i+1 < len(c.header); i += 2 {
			req.Header.Add(c.header[i], c.header[i+1])
		}
		if c.host != "" {
			req.Host = c.host
		}
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
		if resp.StatusCode != c.status {
			t.Errorf("%s: %d, want %d", name, resp.StatusCode, c.status)
		}
	}
	for _, row := range r.denials(len(cases) - 1) {
		if row.Attribution != (audit.Attribution{}) || row.Actor != 0 {
			t.Errorf("a refused stranger got an attribution: %+v", row)
		}
	}
	r.rows(audit.KindOutcome, 1)
}

func TestBodyIsForwardedByteForByte(t *testing.T) {
	r := newRig(t, Limits{}, session.Scope{})
	body := "{\"a\":1, \"a\" : 2,\r\n\t\"\\u0041\":\"\xff\x00ü\"}  trailing" + strings.Repeat("z", 3<<20)
	if resp, text := r.post("/tool/x", body, "Content-Type", "application/octet-stream"); resp.StatusCode != 200 {
		t.Fatal(text)
	}
	if got := r.calls()[0]; string(got.Body) != body || got.Header.Get("Content-Length") != fmt.Sprint(len(body)) {
		t.Fatalf("%d bytes of %d arrived, or changed", len(got.Body), len(body))
	}
	if in := r.rows(audit.KindIntent, 1)[0]; !in.Request.Truncated || in.Request.Stored != 1<<20 || in.Request.Size != int64(len(body)) {
		t.Fatalf("captured %+v", in.Request)
	}
}

// I6: fifty calls at once on a budget that fits four.
func TestParallelCallsNeverOverspend(t *testing.T) {
	bound := int64(len(smallBody)) + 4096 + 100
	r := newRig(t, Limits{DenialRows: 50}, session.Scope{Budget: session.Budget{Tokens: 4 * bound}})
	var spent int64
	var mu sync.Mutex
	r.answers(func(w http.ResponseWriter, _ *http.Request) {
		mu.Lock()
		spent += bound
		mu.Unlock()
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"usage":{"input_tokens":%d,"output_tokens":100}}`, bound-100)
	})
	var wg sync.WaitGroup
	var statuses sync.Map
	for i := range 50 {
		wg.Go(func() {
			resp, _ := r.post("/anthropic/v1/messages", smallBody)
			statuses.Store(i, resp.StatusCode)
		})
	}
	wg.Wait()
	passed := 0
	statuses.Range(func(_, s any) bool {
		switch s {
		case 200:
			passed++
		case 402:
		default:
			t.Errorf("status %v", s)
		}
		return true
	})
	if passed != 4 || spent != 4*bound {
		t.Fatalf("%d calls passed, %d of %d spent", passed, spent, 4*bound)
	}
	r.rows(audit.KindRefusal, 46)
	if got, _ := r.g.Revoke(context.Background(), r.sandbox.ID); got.Tokens != spent {
		t.Fatalf("settled %d, spent %d", got.Tokens, spent)
	}
}

func TestUsageNeverSeenCostsTheReservation(t *testing.T) {
	r := newRig(t, Limits{}, session.Scope{})
	bound := int64(len(smallBody)) + 4096 + 100
	left, calls := r.left(), 0
	for name, c := range map[string]struct {
		answer http.HandlerFunc
		cost   int64
	}{
		"no usage":          {func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "{}") }, bound},
		"server error":      {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(500) }, bound},
		"turned away":       {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(429) }, 0},
		"overloaded":        {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(529) }, 0},
		"connection broken": {func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, bound},
	} {
		r.answers(c.answer)
		_, _ = r.post("/anthropic/v1/messages", smallBody)
		calls++
		r.rows(audit.KindOutcome, calls) // settled before its row
		now := r.left()
		if cost := left - now; cost != c.cost {
			t.Errorf("%s: cost %d, want %d", name, cost, c.cost)
		}
		left = now
	}
}

func TestRateAnswersRetryAfter(t *testing.T) {
	r := newRig(t, Limits{ModelPerSecond: 0.1, ModelBurst: 2, ToolPerSecond: 1, ToolBurst: 1}, session.Scope{})
	for i, want := range []int{200, 200, 429} {
		resp, body := r.post("/anthropic/v1/messages", smallBody)
		if resp.StatusCode != want {
			t.Fatalf("call %d: %d %s", i, resp.StatusCode, body)
		}
		if want == 429 && (resp.Header.Get("Retry-After") == "" || !strings.Contains(body, `"type":"rate_limit_error"`)) {
			t.Errorf("%v %s", resp.Header, body)
		}
	}
}

func TestRevokedSessionIsGone(t *testing.T) {
	r := newRig(t, Limits{}, session.Scope{})
	if _, ok := r.g.Revoke(context.Background(), r.sandbox.ID); !ok {
		t.Fatal("not revoked")
	}
	if _, err := os.Lstat(r.sock); !os.IsNotExist(err) {
		t.Fatalf("socket is still there: %v", err)
	}
	if _, err := r.overSocket().Get("http://g/tool/x"); err == nil {
		t.Fatal("the socket still answers")
	}
	r.g.Revoke(context.Background(), r.client.ID)
	resp, _ := r.do(http.DefaultClient, "GET", "http://"+r.addr+"/tool/x", "", "X-Api-Key", r.token)
	if resp.StatusCode != 401 {
		t.Fatalf("a revoked token got %d", resp.StatusCode)
	}
}
