package gateway

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"moeca/internal/gateway/gate"
	"moeca/internal/gateway/gatewayapi"
	"moeca/internal/gateway/upstream"
	"moeca/internal/session"
)

// TestErrorsOfEveryKindSayWhoRefusedAndWhy goes over every kind and status: the
// dialect's own fields are filled, and ours are beside them.
func TestErrorsOfEveryKindSayWhoRefusedAndWhy(t *testing.T) {
	field := func(v any, path ...string) any {
		for _, p := range path {
			m, ok := v.(map[string]any)
			if !ok {
				return nil
			}
			v = m[p]
		}
		return v
	}
	for _, kind := range upstream.Kinds() {
		for _, status := range []int{400, 401, 402, 403, 404, 413, 415, 429, 500, 502, 503, 504} {
			d := gate.Deny(status, "the-reason", "add it to the scope")
			d.Gate = "allowlist"
			contentType, body := errorAnswer(kind, d)
			if kind == upstream.KindGit {
				if !strings.HasPrefix(contentType, "text/plain") || !strings.Contains(string(body), "allowlist/the-reason: add it to the scope") {
					t.Errorf("git: %s %s", contentType, body)
				}
				continue
			}
			var ours gatewayapi.Error
			var v any
			if err := json.Unmarshal(body, &ours); err != nil || json.Unmarshal(body, &v) != nil {
				t.Fatalf("%s: %v in %s", kind, err, body)
			}
			if ours.Error.Gate != "allowlist" || ours.Error.Reason != "the-reason" || !strings.Contains(ours.Error.Message, "add it to the scope") {
				t.Errorf("%s: %s", kind, body)
			}
			var message, code any
			switch kind {
			case upstream.KindAnthropic:
				message, code = field(v, "error", "message"), field(v, "error", "type")
			case upstream.KindOpenAI:
				message, code = field(v, "error", "message"), field(v, "error", "type")
				if field(v, "error", "code") != "allowlist/the-reason" || !strings.Contains(string(body), `"param":null`) {
					t.Errorf("openai: %s", body)
				}
			case upstream.KindGemini:
				message, code = field(v, "error", "message"), field(v, "error", "status")
				if field(v, "error", "code") != float64(status) {
					t.Errorf("gemini: %s", body)
				}
			case upstream.KindGitHub:
				message, code = field(v, "message"), field(v, "documentation_url")
			case upstream.KindNotion:
				message, code = field(v, "message"), field(v, "code")
			case upstream.KindJira:
				list, _ := field(v, "errorMessages").([]any)
				if len(list) == 1 {
					message, code = list[0], "x"
				}
			default:
				message, code = "moeca gateway, allowlist/the-reason: add it to the scope", "x"
			}
			if text, _ := message.(string); text != "moeca gateway, allowlist/the-reason: add it to the scope" {
				t.Errorf("%s %d: message %v in %s", kind, status, message, body)
			}
			if text, _ := code.(string); text == "" {
				t.Errorf("%s %d: no code in %s", kind, status, body)
			}
		}
	}
}

// TestEarlyRefusalsHaveTheShapeToo: before a route is known, its name tells.
func TestEarlyRefusalsHaveTheShapeToo(t *testing.T) {
	r := newRig(t, Limits{}, session.Scope{Upstreams: []string{"openai", "github"}})
	base, kind := r.stub.URL, upstream.KindGitHub
	r.define("github", gatewayapi.ProviderPatch{Kind: &kind, BaseURL: &base, GitURL: &base}, theKey)
	for path, want := range map[string]string{
		"/openai/v1/chat/completions":                         `"param":null`,
		"/gemini/v1beta/models/g:generateContent":             `"status":"UNAUTHENTICATED"`,
		"/github/repos/o/r":                                   `"documentation_url":"urn:moeca:gate:session:no-session"`,
		"/github/o/r.git/info/refs?service=git-upload-pack":   "moeca gateway, session/no-session: ",
		"/openai/v1/realtime?model=gpt-realtime&intent=speak": `"code":"session/no-session"`,
	} {
		resp, body := r.do(http.DefaultClient, "GET", "http://"+r.addr+path, "")
		if resp.StatusCode != http.StatusUnauthorized || !strings.Contains(body, want) {
			t.Errorf("%s: %d %s", path, resp.StatusCode, body)
		}
	}
	resp, body := r.do(r.overSocket(), "GET", "http://gateway/openai/v1/realtime?model=gpt-realtime", "")
	if resp.StatusCode != http.StatusForbidden || !strings.Contains(body, `"code":"capability/realtime"`) || !strings.Contains(body, "request endpoints") {
		t.Errorf("realtime: %d %s", resp.StatusCode, body)
	}
	status := r.raw("unix", r.sock, "GET /openai/v1/realtime HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\nSec-WebSocket-Version: 13\r\n\r\n")
	if !strings.HasPrefix(status, "400") || !strings.Contains(status, "WebSocket") || !strings.Contains(status, `"code":"protocol/upgrade"`) {
		t.Errorf("a WebSocket: %s", status)
	}
}
