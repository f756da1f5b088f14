package gateway

import (
	"bytes"
	"encoding/base64"
	"net/http"
	"strings"
	"testing"

	"moeca/internal/audit"
	"moeca/internal/gateway/gate"
	"moeca/internal/gateway/gatewayapi"
	"moeca/internal/gateway/upstream"
	"moeca/internal/session"
)

// TestKeysGoOutAsEachServiceTakesThem also asserts that nothing a caller brings
// travels beside or instead of the key, and that no key is in a row.
func TestKeysGoOutAsEachServiceTakesThem(t *testing.T) {
	r := newRig(t, Limits{}, session.Scope{Upstreams: []string{"github", "jira", "jirapat", "trello", "notion", "aws", "gemini", "fetch"}, Repos: []string{"o/r"}})
	base := r.stub.URL
	define := func(name, kind, key string, edit func(*gatewayapi.ProviderPatch)) {
		p := gatewayapi.ProviderPatch{Kind: &kind, BaseURL: &base}
		if edit != nil {
			edit(&p)
		}
		r.define(name, p, key)
	}
	define("github", upstream.KindGitHub, "ghp_0123456789", func(p *gatewayapi.ProviderPatch) { p.GitURL = &base })
	define("jira", upstream.KindJira, "me@x.example:jiratoken1", nil)
	define("jirapat", upstream.KindJira, "jira-personal-1", nil)
	define("trello", upstream.KindTrello, "trellokey1:trellotoken1", nil)
	define("notion", upstream.KindNotion, "secret_notion1", nil)
	define("aws", upstream.KindSigV4, "AKIDEXAMPLE:awssecret123:awssession1", func(p *gatewayapi.ProviderPatch) {
		p.Auth = &gatewayapi.Auth{Scheme: gatewayapi.SchemeSigV4, Region: "eu-west-1", Service: "s3"}
	})
	basic := func(s string) string { return "Basic " + base64.StdEncoding.EncodeToString([]byte(s)) }
	own := []string{
		"Authorization", "Bearer mine", "Cookie", "a=b", "X-Api-Key", "mine", "X-Goog-Api-Key", "mine", "X-Amz-Date", "mine", "X-Amz-Security-Token", "mine",
		"X-Amz-Content-Sha256", "mine", "X-Amz-Acl", "public-read-mine", "X-Amz-Target", "Operation",
	}
	for name, c := range map[string]struct{ path, authorization string }{
		"github":  {"/github/repos/o/r", "Bearer ghp_0123456789"},
		"git":     {"/github/o/r.git/info/refs?service=git-upload-pack", basic("x-access-token:ghp_0123456789")},
		"jira":    {"/jira/rest/api/3/myself", basic("me@x.example:jiratoken1")},
		"jirapat": {"/jirapat/rest/api/2/myself", "Bearer jira-personal-1"},
		"trello":  {"/trello/1/members/me?key=mine&token=mine&fields=id", `OAuth oauth_consumer_key="trellokey1", oauth_token="trellotoken1"`},
		"notion":  {"/notion/v1/users/me", "Bearer secret_notion1"},
		"aws":     {"/aws/bucket/object?X-Amz-Signature=mine&X-Amz-Expires=9&list-type=2", "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/"},
	} {
		before := len(r.calls())
		resp, body := r.do(r.overSocket(), "GET", "http://gateway"+c.path, "", own...)
		if resp.StatusCode != http.StatusOK {
			t.Errorf("%s: %d %s", name, resp.StatusCode, body)
			continue
		}
		got := r.calls()[before]
		if a := got.Header.Get("Authorization"); a != c.authorization && (name != "aws" || !strings.HasPrefix(a, c.authorization)) {
			t.Errorf("%s: Authorization %q", name, a)
		}
		for header, values := range got.Header {
			if strings.Contains(strings.Join(values, " "), "mine") {
				t.Errorf("%s: the caller's %s travelled: %q", name, header, values)
			}
		}
		if strings.Contains(got.URI, "mine") || strings.Contains(got.URI, "key") {
			t.Errorf("%s: a credential travelled in %s", name, got.URI)
		}
	}
	calls := r.calls()
	for _, c := range calls {
		if strings.Contains(c.URI, "users/me") && c.Header.Get("Notion-Version") == "" {
			t.Error("Notion got no version")
		}
		if strings.Contains(c.URI, "/bucket") && (c.Header.Get("X-Amz-Security-Token") != "awssession1" || c.Header.Get("X-Amz-Target") != "Operation" ||
			c.Header.Get("X-Amz-Acl") != "" || c.Header.Get("X-Amz-Content-Sha256") == "" || !strings.HasSuffix(c.URI, "?list-type=2")) {
			t.Errorf("%s: %v", c.URI, c.Header)
		}
	}
	rows := r.rows(audit.KindOutcome, len(calls))
	disk := r.logBytes()
	for _, secret := range []string{"ghp_0123456789", "jiratoken1", "jira-personal-1", "trellotoken1", "trellokey1", "secret_notion1", "awssecret123", "awssession1"} {
		if bytes.Contains(disk, []byte(secret)) {
			t.Errorf("%s is in the log of %d rows", secret, len(rows))
		}
	}
}

// TestPartsOfAKeyDoNotComeBack: an upstream that echoes its headers.
func TestPartsOfAKeyDoNotComeBack(t *testing.T) {
	r := newRig(t, Limits{}, session.Scope{Upstreams: []string{"trello", "github"}, Repos: []string{"o/r"}})
	base, trello, github := r.stub.URL, upstream.KindTrello, upstream.KindGitHub
	r.define("trello", gatewayapi.ProviderPatch{Kind: &trello, BaseURL: &base}, "trellokey1:trellotoken1")
	r.define("github", gatewayapi.ProviderPatch{Kind: &github, BaseURL: &base, GitURL: &base}, "ghp_0123456789")
	r.answers(func(w http.ResponseWriter, req *http.Request) {
		w.Header().Set("X-Echo", req.Header.Get("Authorization"))
		_, _ = w.Write([]byte("you sent " + req.Header.Get("Authorization")))
	})
	for _, path := range []string{"/trello/1/members/me", "/github/o/r.git/info/refs?service=git-upload-pack", "/github/repos/o/r"} {
		resp, body := r.do(r.overSocket(), "GET", "http://gateway"+path, "")
		for _, secret := range []string{"trellotoken1", "trellokey1", "ghp_0123456789", base64.StdEncoding.EncodeToString([]byte("x-access-token:ghp_0123456789"))} {
			if strings.Contains(body+resp.Header.Get("X-Echo"), secret) {
				t.Errorf("%s: %s came back: %s", path, secret, body)
			}
		}
	}
}

func TestFetchReachesListedHostsOnly(t *testing.T) {
	r := newRig(t, Limits{}, session.Scope{Upstreams: []string{"fetch"}})
	kind, hosts := upstream.KindFetch, []string{"docs.example.com", "*.localtest.example"}
	r.define("fetch", gatewayapi.ProviderPatch{Kind: &kind, Hosts: &hosts}, "")
	for name, c := range map[string]struct {
		method, path, gate, reason string
	}{
		"a host that is not listed": {"GET", "/fetch/evil.example/x", "allowlist", gate.ReasonUnlisted},
		"an address":                {"GET", "/fetch/127.0.0.1/x", "route", gate.ReasonNoHost},
		"metadata":                  {"GET", "/fetch/169.254.169.254/latest", "route", gate.ReasonNoHost},
		"this machine":              {"GET", "/fetch/localhost/x", "route", gate.ReasonNoHost},
		"a port":                    {"GET", "/fetch/docs.example.com:22/x", "route", gate.ReasonNoHost},
		"a user":                    {"GET", "/fetch/docs.example.com@evil.example/x", "route", gate.ReasonNoHost},
		"no host":                   {"GET", "/fetch", "route", gate.ReasonNoHost},
		"a dot segment":             {"GET", "/fetch/docs.example.com/%2e%2e/x", "target", gate.ReasonPath},
	} {
		resp, body := r.do(r.overSocket(), c.method, "http://gateway"+c.path, "")
		if resp.StatusCode < 400 || !strings.Contains(body, `"gate":"`+c.gate+`"`) || !strings.Contains(body, `"reason":"`+c.reason+`"`) {
			t.Errorf("%s: %d %s", name, resp.StatusCode, body)
		}
	}
	if n := len(r.calls()); n != 0 {
		t.Errorf("%d requests went out", n)
	}
}
