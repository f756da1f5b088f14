package gateway

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"moeca/internal/audit"
	"moeca/internal/gateway/gatewayapi"
	"moeca/internal/gateway/upstream"
	"moeca/internal/session"
)

// says is an upstream that answers every request with these bytes and ends the
// connection.
func says(t *testing.T, answer string) (base string) {
	t.Helper()
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
			go func() {
				defer c.Close()
				if req, err := http.ReadRequest(bufio.NewReader(c)); err == nil {
					_, _ = io.Copy(io.Discard, req.Body)
					_, _ = io.WriteString(c, answer)
				}
			}()
		}
	}()
	return "http://" + l.Addr().String()
}

// Whatever an upstream says, the caller gets one whole answer or a connection
// that broke, nothing of the key, and the log one outcome.
func TestUpstreamsThatSpeakOddly(t *testing.T) {
	ok := func(headers, body string) string { return "HTTP/1.1 200 OK\r\n" + headers + "\r\n" + body }
	for name, c := range map[string]struct {
		answer string
		status int // 0: any, or none
	}{
		"a key for a reason":             {"HTTP/1.1 200 " + theKey + "\r\nContent-Length: 2\r\n\r\n{}", 200},
		"a status below any":             {"HTTP/1.1 099 x\r\nContent-Length: 2\r\n\r\n{}", 502},
		"no status":                      {"HTTP/1.1 000 x\r\nContent-Length: 2\r\n\r\n{}", 502},
		"an informational status at end": {"HTTP/1.1 199 x\r\n\r\n", 502},
		"a switch of protocols":          {"HTTP/1.1 101 x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n" + theKey, 502},
		"a status beyond any":            {"HTTP/1.1 999 x\r\nContent-Length: 2\r\n\r\n{}", 999},
		"hints with a key":               {"HTTP/1.1 103 Early Hints\r\nLink: </" + theKey + ">; rel=preload\r\nX-Hint: " + theKey + "\r\n\r\n" + ok("Content-Length: 2\r\n", "{}"), 200},
		"hints without end":              {strings.Repeat("HTTP/1.1 103 Early Hints\r\nX-A: b\r\n\r\n", 50), 502},
		"no HTTP":                        {"SSH-2.0-OpenSSH " + theKey + "\r\n", 502},
		"nothing":                        {"", 502},
		"half a head":                    {"HTTP/1.1 200 OK\r\nX-A: " + theKey, 502},
		"HTTP/1.0 until the end":         {"HTTP/1.0 200 OK\r\nContent-Type: text/plain\r\n\r\n" + theKey, 200},
		"a length and chunks":            {ok("Content-Length: 2\r\nTransfer-Encoding: chunked\r\n", "2\r\n{}\r\n0\r\n\r\n"), 200},
		"two lengths":                    {ok("Content-Length: 2\r\nContent-Length: 3\r\n", "{}"), 502},
		"a length below nothing":         {ok("Content-Length: -2\r\n", "{}"), 502},
		"an unknown framing":             {ok("Transfer-Encoding: zebra\r\n", "{}"), 502},
		"chunks of junk":                 {ok("Transfer-Encoding: chunked\r\n", "zz\r\n{}\r\n"), 0},
		"chunks that end early":          {ok("Transfer-Encoding: chunked\r\n", "5\r\n{}"), 0},
		"a chunk that is a key":          {ok("Transfer-Encoding: chunked\r\n", "8;x="+theKey+"\r\n"+theKey[:8]+"\r\n"+fmt.Sprintf("%x\r\n%s\r\n0\r\n\r\n", len(theKey)-8, theKey[8:])), 200},
		"a key in a trailer":             {ok("Transfer-Encoding: chunked\r\nTrailer: X-Key\r\n", "2\r\n{}\r\n0\r\nX-Key: "+theKey+"\r\n\r\n"), 200},
		"a key in a length":              {ok("Content-Length: "+theKey+"\r\n", "{}"), 502},
		"a key in a folded header":       {ok("Content-Length: 2\r\nX-A: "+theKey[:9]+"\r\n "+theKey[9:]+"\r\n", "{}"), 0},
		"a head beyond any":              {ok("X-A: "+strings.Repeat("a", 300<<10)+"\r\n", ""), 502},
		"headers without end":            {"HTTP/1.1 200 OK\r\n" + strings.Repeat("A: b\r\n", 100_000), 502},
		"a body behind no content":       {"HTTP/1.1 204 x\r\nContent-Length: 30\r\n\r\n" + theKey, 0},
		"a second answer behind it":      {ok("Content-Length: 2\r\n", "{}HTTP/1.1 200 OK\r\n\r\n"+theKey), 200},
		"headers of the gateway":         {ok("Content-Length: 2\r\nX-Moeca-Session: a\r\nConnection: X-Moeca-Session\r\nProxy-Authenticate: Basic\r\n", "{}"), 200},
		"a broken encoding":              {ok("Content-Encoding: gzip\r\nContent-Length: 2\r\n", "{}"), 0},
		"an encoding of nothing":         {ok("Content-Encoding: gzip\r\nContent-Length: 0\r\n", ""), 200},
		"a control in a header":          {ok("Content-Length: 2\r\nX-A: a\x01b\r\n", "{}"), 0},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, Limits{}, session.Scope{Upstreams: []string{"odd"}})
			kind, base := upstream.KindCustom, says(t, c.answer)
			r.define("odd", gatewayapi.ProviderPatch{Kind: &kind, BaseURL: &base, Auth: &gatewayapi.Auth{Header: "X-Tool-Key"}}, theKey)
			conn := dial(t, "unix", r.sock)
			defer conn.Close()
			_, _ = io.WriteString(conn, "GET /odd/x HTTP/1.1\r\nHost: g\r\nConnection: close\r\n\r\n")
			all, _ := io.ReadAll(conn)
			status := 0
			resp, err := http.ReadResponse(bufio.NewReader(strings.NewReader(string(all))), nil)
			if err == nil {
				status = resp.StatusCode
				body, berr := io.ReadAll(resp.Body)
				if berr == nil && c.status == 502 && !strings.Contains(string(body), `"gate":"upstream"`) {
					t.Errorf("%s is no answer of the gateway", body)
				}
			}
			if c.status != 0 && status != c.status {
				t.Errorf("status %d, want %d: %.200q", status, c.status, all)
			}
			for _, leak := range []string{theKey, theKey[:12], "X-Moeca-Session", "Proxy-Authenticate", "X-Hint"} {
				if strings.Contains(string(all), leak) {
					t.Errorf("the caller got %q: %.300q", leak, all)
				}
			}
			if strings.Contains(string(r.logBytes()), theKey) {
				t.Error("the log holds the key")
			}
			out := r.rows(audit.KindOutcome, 1)[0]
			if c.status == 502 && out.Result == audit.ResultOK {
				t.Errorf("%+v", out)
			}
		})
	}
}
