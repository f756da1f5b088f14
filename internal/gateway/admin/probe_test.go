package admin

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"moeca/internal/audit"
	"moeca/internal/gateway/gatewayapi"
	"moeca/internal/gateway/upstream"
)

// probed is a desk with one provider of each kind, all at one stub.
func probed(t *testing.T, answer http.HandlerFunc) (*desk, *httptest.Server) {
	d := newDesk(t)
	stub := httptest.NewServer(answer)
	t.Cleanup(stub.Close)
	for _, kind := range upstream.Kinds() {
		body := fmt.Sprintf(`{"kind":%q,"base_url":%q}`, kind, stub.URL)
		switch kind {
		case upstream.KindRAG:
			body = `{"kind":"rag","base_url":"unix:/nowhere/x.sock"}`
		case upstream.KindFetch:
			body = `{"kind":"fetch","hosts":["example.com"]}`
		case upstream.KindSigV4:
			body = fmt.Sprintf(`{"kind":"sigv4","base_url":%q,"auth":{"scheme":"sigv4","region":"r","service":"s"}}`, stub.URL)
		}
		if w := d.call("PUT", "/v1/providers/"+kind, body); w.Code != http.StatusOK {
			t.Fatalf("%s: %s", kind, w.Body)
		}
		if kind != upstream.KindRAG && kind != upstream.KindFetch {
			d.call("PUT", "/v1/providers/"+kind+"/secret", `{"value":"id-12345678:secret-123"}`)
		}
	}
	return d, stub
}

func (d *desk) test(t *testing.T, name string) gatewayapi.TestResult {
	t.Helper()
	w := d.call("POST", "/v1/providers/"+name+"/test", "")
	var r gatewayapi.TestResult
	if err := json.Unmarshal(w.Body.Bytes(), &r); err != nil || w.Code != http.StatusOK {
		t.Fatalf("%s: %d %s", name, w.Code, w.Body)
	}
	return r
}

func TestTestCallSaysWhatIsWrong(t *testing.T) {
	var status atomic.Int64
	var asked atomic.Pointer[string]
	d, stub := probed(t, func(w http.ResponseWriter, r *http.Request) {
		uri := r.Method + " " + r.RequestURI
		asked.Store(&uri)
		w.WriteHeader(int(status.Load()))
		_, _ = w.Write([]byte(`{"data":[]}`))
	})
	for kind, want := range map[string]string{
		"anthropic": "GET /v1/models?limit=1000", "openai": "GET /v1/models", "gemini": "GET /v1beta/models?pageSize=1000", "github": "GET /rate_limit",
		"jira": "GET /rest/api/2/myself", "trello": "GET /1/members/me?fields=id", "notion": "GET /v1/users/me", "sigv4": "GET /", "custom": "GET /",
	} {
		for code, class := range map[int]string{
			200: gatewayapi.TestOK, 401: gatewayapi.TestKey, 403: gatewayapi.TestKey, 429: gatewayapi.TestRate, 500: gatewayapi.TestFault, 404: gatewayapi.TestPath,
		} {
			if code == 404 && (kind == "custom" || kind == "sigv4") {
				class = gatewayapi.TestOK
			}
			status.Store(int64(code))
			r := d.test(t, kind)
			if r.Class != class || r.OK != (class == gatewayapi.TestOK) || r.Status != code || r.Message == "" {
				t.Errorf("%s %d: %+v", kind, code, r)
			}
			if got := *asked.Load(); got != want {
				t.Errorf("%s was asked %s", kind, got)
			}
		}
	}
	for _, kind := range []string{"git", "rag", "fetch"} {
		if r := d.test(t, kind); r.Class != gatewayapi.TestNone || r.OK {
			t.Errorf("%s: %+v", kind, r)
		}
	}
	d.call("PUT", "/v1/providers/openai/secret", `{"value":""}`)
	if r := d.test(t, "openai"); r.Class != gatewayapi.TestNoKey || !strings.Contains(r.Message, "set-key") {
		t.Errorf("without a key: %+v", r)
	}
	stub.Close()
	if r := d.test(t, "anthropic"); r.Class != gatewayapi.TestUnreachable || r.OK {
		t.Errorf("without a server: %+v", r)
	}
	if w := d.call("POST", "/v1/providers/nobody/test", ""); w.Code != http.StatusNotFound {
		t.Errorf("%d", w.Code)
	}
	if live := d.sessions.Live(); len(live) != 0 {
		t.Errorf("%d sessions are left", len(live))
	}
}

func TestModelsAreAskedOnceAMinuteAndAfterAChange(t *testing.T) {
	var asked atomic.Int64
	d, _ := probed(t, func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		if strings.HasPrefix(r.URL.Path, "/v1beta") {
			_, _ = w.Write([]byte(`{"models":[{"name":"models/g-2"},{"name":"models/g-1"},{"name":"bad\nname"}]}`))
			return
		}
		_, _ = w.Write([]byte(`{"data":[{"id":"m-2"},{"id":"m-1"},{"id":"m-1"},{"id":""},{"id":"` + strings.Repeat("x", 300) + `"}]}`))
	})
	list := func(name string) []string {
		t.Helper()
		var m gatewayapi.Models
		if w := d.call("GET", "/v1/providers/"+name+"/models", ""); w.Code != http.StatusOK || json.Unmarshal(w.Body.Bytes(), &m) != nil {
			t.Fatalf("%s: %d %s", name, w.Code, w.Body)
		}
		return m.Models
	}
	if got := list("openai"); !slices.Equal(got, []string{"m-1", "m-2"}) {
		t.Errorf("openai: %q", got)
	}
	if got := list("gemini"); !slices.Equal(got, []string{"g-1", "g-2"}) {
		t.Errorf("gemini: %q", got)
	}
	list("openai")
	if n := asked.Load(); n != 2 {
		t.Errorf("asked %d times, want 2", n)
	}
	d.call("PATCH", "/v1/providers/openai", `{"models":["x"]}`)
	list("openai")
	if n := asked.Load(); n != 3 {
		t.Errorf("asked %d times after a change, want 3", n)
	}
	if w := d.call("GET", "/v1/providers/github/models", ""); w.Code != http.StatusBadRequest {
		t.Errorf("models of a tool: %d", w.Code)
	}
}

// TestHostCallsAreRowsLikeAnyOther: what was asked for, what went out, how it
// ended; by a service, with no key in it, and the key counts as used.
func TestHostCallsAreRowsLikeAnyOther(t *testing.T) {
	d, _ := probed(t, func(w http.ResponseWriter, r *http.Request) {
		_, _ = w.Write([]byte(`{"data":[],"sent":"` + r.Header.Get("X-Api-Key") + `"}`))
	})
	before := len(d.log.rows)
	d.test(t, "anthropic")
	rows := d.log.rows[before:]
	if len(rows) != 3 || rows[0].Kind != audit.KindAdmin || rows[1].Kind != audit.KindIntent || rows[2].Kind != audit.KindOutcome {
		t.Fatalf("%+v", rows)
	}
	if rows[1].Actor != audit.ActorService || rows[1].Upstream != "anthropic" || rows[1].Attribution.Session == "" || rows[2].Status != http.StatusOK {
		t.Errorf("%+v", rows[1:])
	}
	raw, _ := json.Marshal(rows)
	if strings.Contains(string(raw), "secret-123") {
		t.Errorf("a key is in the rows: %s", raw)
	}
	for _, p := range d.set.List() {
		if (p.Secret.LastUsed != nil) != (p.Name == "anthropic") {
			t.Errorf("%s: last used %v", p.Name, p.Secret.LastUsed)
		}
	}
	d.log.mu.Lock()
	d.log.down = http.ErrServerClosed
	d.log.mu.Unlock()
	if w := d.call("POST", "/v1/providers/anthropic/test", ""); w.Code != http.StatusServiceUnavailable {
		t.Errorf("a call without a row: %d", w.Code)
	}
}
