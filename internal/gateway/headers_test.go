package gateway

import (
	"net/http"
	"strings"
	"testing"

	"moeca/internal/gateway/upstream"
	"moeca/internal/session"
)

// A server behind CGI or WSGI reads X_Tool_Key as X-Tool-Key.
func TestNoTwinOfTheKeyHeaderTravels(t *testing.T) {
	r := newRig(t, Limits{}, session.Scope{})
	twins := []string{
		"X_Tool_Key", "x_tool-key", "X-Tool_Key", "XToolKey", "X-Tool-Key", "X.Tool.Key", "X_Api_Key", "Auth", "X-Session", "Session-Id", "X-Access",
		"X-Jwt", "X-Amz-Date", "X-Gitlab-Key", "X-User", "Remote-User", "X-Forwarded-User", "X-Stainless_Key", "Te", "X-Anything",
	}
	header := []string{"Accept-Language", "de", "Idempotency-Key", "once", "Mcp-Session-Id", "m1"}
	for _, name := range twins {
		header = append(header, name, "twin")
	}
	if resp, body := r.post("/tool/x", "{}", header...); resp.StatusCode != http.StatusOK {
		t.Fatalf("%d %s", resp.StatusCode, body)
	}
	got := r.calls()[0].Header
	for name, values := range got {
		if strings.Contains(strings.Join(values, " "), "twin") {
			t.Errorf("%s travelled", name)
		}
	}
	if got.Get("X-Tool-Key") != theKey || got.Get("Accept-Language") != "de" || got.Get("Idempotency-Key") != "once" || got.Get("Mcp-Session-Id") != "m1" {
		t.Errorf("upstream got %v", got)
	}
}

func TestHeadersOfEachKind(t *testing.T) {
	for _, kind := range upstream.Kinds() {
		for name, kinds := range map[string]string{
			"content-type":            strings.Join(upstream.Kinds(), " "),
			"range":                   strings.Join(upstream.Kinds(), " "),
			"accept-charset":          "",
			"anthropic-beta":          "anthropic",
			"anthropic-version":       "anthropic",
			"x-stainless-retry-count": "anthropic openai",
			"x-stainless-retry_count": "",
			"openai-beta":             "openai",
			"openai-organization":     "",
			"x-goog-api-client":       "gemini",
			"x-goog-api-key":          "",
			"x-goog-user-project":     "",
			"x-goog-upload-protocol":  "",
			"x-goog-fieldmask":        "",
			"git-protocol":            "git",
			"notion-version":          "notion",
			"x-github-api-version":    "github",
			"x-amz-target":            "sigv4",
			"x-amz-acl":               "",
			"authorization":           "",
			"cookie":                  "",
			"origin":                  "",
			"x-http-method-override":  "",
			"host":                    "",
		} {
			want := strings.Contains(" "+kinds+" ", " "+kind+" ")
			if got := isContentHeader(kind, name); got != want {
				t.Errorf("%s at a %s upstream: passes is %v, want %v", name, kind, got, want)
			}
		}
	}
}
