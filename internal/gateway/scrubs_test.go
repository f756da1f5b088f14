package gateway

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"moeca/internal/audit"
	"moeca/internal/gateway/gatewayapi"
	"moeca/internal/gateway/upstream"
	"moeca/internal/netguard"
	"moeca/internal/secret"
	"moeca/internal/session"
)

const theBasic = "ann@example.com:ATATT3xFfGF0-jira/token"

// carriers are the ways an upstream was seen to echo what it was sent, and
// some that nobody does by accident.
func carriers(key string) map[string]string {
	std, url := base64.StdEncoding, base64.URLEncoding
	var percent, unit strings.Builder
	for i := range len(key) {
		fmt.Fprintf(&percent, "%%%02X", key[i])
		fmt.Fprintf(&unit, `\u%04x`, key[i])
	}
	text, _ := json.Marshal("Bearer " + key)
	return map[string]string{
		"raw":          "Bearer " + key,
		"json":         string(text),
		"base64":       std.EncodeToString([]byte(key)),
		"base64 of it": std.EncodeToString([]byte("Bearer " + key)),
		"offset two":   url.EncodeToString([]byte("k=" + key + "!")),
		"hex":          hex.EncodeToString([]byte(key)),
		"HEX":          strings.ToUpper(hex.EncodeToString([]byte(key))),
		"percent":      percent.String(),
		"unit":         unit.String(),
		"half percent": key[:len(key)/2] + percent.String()[3*(len(key)/2):],
		"slashes":      strings.ReplaceAll(std.EncodeToString([]byte(key+"\xff\xff\xff")), "/", `\/`),
	}
}

var percentEscape = regexp.MustCompile("%[0-9a-fA-F]{2}")

// readable says whether text gives the key to who decodes it.
func readable(text, key string) bool {
	decoded := strings.NewReplacer(`\/`, "/", `\u00`, "%").Replace(text)
	decoded = percentEscape.ReplaceAllStringFunc(decoded, func(s string) string {
		b, _ := hex.DecodeString(s[1:])
		return string(b)
	})
	lower := hex.EncodeToString([]byte(key))
	for _, form := range []string{key, lower, strings.ToUpper(lower), base64.RawStdEncoding.EncodeToString([]byte(key))[:len(key)*4/3]} {
		if strings.Contains(text, form) || strings.Contains(decoded, form) {
			return true
		}
	}
	return false
}

func TestNoKeyOfTheGatewayTravelsBackInAnyForm(t *testing.T) {
	r := newRig(t, Limits{}, session.Scope{})
	kind, base := upstream.KindCustom, r.stub.URL
	r.define("jira", gatewayapi.ProviderPatch{Kind: &kind, BaseURL: &base, Auth: &gatewayapi.Auth{Header: "Authorization", Prefix: "Basic "}}, theBasic)
	calls := 0
	for _, key := range []string{theKey, theBasic, "ATATT3xFfGF0-jira/token"} {
		for name, text := range carriers(key) {
			for _, place := range []string{"body", "error", "stream", "header"} {
				r.answers(func(w http.ResponseWriter, _ *http.Request) {
					switch place {
					case "body":
						_, _ = io.WriteString(w, "it was "+text+" end")
					case "error":
						http.Error(w, `{"error":{"message":"bad key `+text+`"}}`, http.StatusUnauthorized)
					case "header":
						w.Header().Set("X-Echo", text)
						_, _ = io.WriteString(w, "*** end")
					case "stream":
						w.Header().Set("Content-Type", "text/event-stream")
						for i := range text {
							_, _ = io.WriteString(w, text[i:i+1])
							if i%7 == 0 {
								_ = http.NewResponseController(w).Flush()
							}
						}
						_, _ = io.WriteString(w, " end\n\n")
					}
				})
				calls++
				resp, body := r.post("/tool/x", "")
				all := fmt.Sprint(resp.Header, body)
				if readable(all, key) || !strings.Contains(all, "***") || !strings.Contains(all, "end") && place != "error" {
					t.Errorf("%s of %s in %s: %s", name, key, place, all)
				}
			}
		}
	}
	for _, row := range r.rows(audit.KindOutcome, calls) {
		if !strings.Contains(fmt.Sprint(row.Attrs), "scrubbed") {
			t.Fatalf("the row does not say that a key came back: %+v", row)
		}
	}
	if log := string(r.logBytes()); readable(log, theKey) || readable(log, theBasic) {
		t.Error("the log holds a key")
	}
}

func TestStatusTextAndTrailersDoNotCarryAKey(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			_, _ = c.Read(make([]byte, 4096))
			_, _ = fmt.Fprintf(c, "HTTP/1.1 200 %s\r\nTransfer-Encoding: chunked\r\nTrailer: X-%s\r\nX-%s: 1\r\nX-Fold: a\r\n %s\r\n\r\n3;ext=%s\r\nabc\r\n0\r\nX-Late: %s\r\n\r\n",
				theKey, theKey, hex.EncodeToString([]byte(theKey)), theKey, theKey, theKey)
			_ = c.Close()
		}
	}()
	r := newRig(t, Limits{}, session.Scope{})
	kind, base := upstream.KindCustom, "http://"+l.Addr().String()
	r.define("tool", gatewayapi.ProviderPatch{Kind: &kind, BaseURL: &base}, theKey)
	c := dial(t, "unix", r.sock)
	defer c.Close()
	_, _ = io.WriteString(c, "GET /tool/x HTTP/1.1\r\nHost: gateway\r\nConnection: close\r\n\r\n")
	all, err := io.ReadAll(c)
	answer := string(all)
	if err != nil || !strings.HasPrefix(answer, "HTTP/1.1 200 OK\r\n") || !strings.Contains(answer, "abc") {
		t.Fatalf("%q, %v", answer, err)
	}
	if readable(strings.ToLower(answer), theKey) {
		t.Errorf("the answer carries the key: %q", answer)
	}
}

func TestSetOfKeysFollowsTheUpstreams(t *testing.T) {
	set := upstream.NewSet(netguard.New(netguard.Options{}), nil)
	kind, base := upstream.KindCustom, "https://api.example.com"
	put := func(name, key string) {
		c, err := set.PlanPut(name, gatewayapi.ProviderPatch{Kind: &kind, BaseURL: &base})
		if err == nil {
			err = c.Apply()
		}
		if err == nil {
			if c, err = set.PlanKey(name, key); err == nil {
				err = c.Apply()
			}
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	var s scrubs
	put("a", "key-of-a-1")
	first := s.get(set, secret.New("key-of-a-1"))
	if first.String("key-of-a-1 key-of-b-1") != "********** key-of-b-1" || s.get(set, secret.New("key-of-a-1")) != first {
		t.Error("wrong set, or built twice")
	}
	put("b", "key-of-b-1")
	put("a", "key-of-a-2")
	if got := s.get(set, secret.New("key-of-b-1")).String("key-of-a-2 key-of-b-1"); strings.Contains(got, "key") {
		t.Error(got)
	}
	// A request that carried the old key is still under way.
	if got := s.get(set, secret.New("key-of-a-1")).String("key-of-a-1 key-of-a-2 key-of-b-1"); strings.Contains(got, "key") {
		t.Error(got)
	}
}

// BenchmarkScrubHeaders is what the filter adds to an answer before its body.
func BenchmarkScrubHeaders(b *testing.B) {
	var s scrubs
	set := upstream.NewSet(netguard.New(netguard.Options{}), nil)
	key := secret.New(theKey)
	h := http.Header{}
	for i := range 20 {
		h.Set(fmt.Sprintf("Anthropic-Ratelimit-Tokens-Reset-%d", i), "2031-05-06T07:08:09Z req_011CSHoEeqs5C35K2UUqR7Fy")
	}
	b.ReportAllocs()
	for b.Loop() {
		scrubHeaders(h, s.get(set, key).Filter())
	}
}
