package gateway

import (
	"bufio"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"testing"
	"time"

	"moeca/internal/audit"
	"moeca/internal/gateway/gate"
	"moeca/internal/gateway/gatewayapi"
	"moeca/internal/netguard"
	"moeca/internal/session"
)

func patch(kind, base *string, header string) gatewayapi.ProviderPatch {
	return gatewayapi.ProviderPatch{Kind: kind, BaseURL: base, Auth: &gatewayapi.Auth{Header: header}}
}

func dial(t *testing.T, network, addr string) net.Conn {
	t.Helper()
	c, err := net.Dial(network, addr)
	if err != nil {
		t.Fatal(err)
	}
	_ = c.SetDeadline(time.Now().Add(20 * time.Second))
	return c
}

func TestRawProtocolTricks(t *testing.T) {
	r := newRig(t, Limits{}, session.Scope{})
	cases := map[string]string{
		"raw bytes":               "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n",
		"SSH":                     "SSH-2.0-OpenSSH_9.6\r\n\r\n",
		"CONNECT":                 "CONNECT api.anthropic.com:443 HTTP/1.1\r\nHost: api.anthropic.com:443\r\n\r\n",
		"absolute form":           "GET http://169.254.169.254/latest HTTP/1.1\r\nHost: g\r\n\r\n",
		"absolute form, our path": "GET http://g/tool/x HTTP/1.1\r\nHost: g\r\n\r\n",
		"asterisk":                "OPTIONS * HTTP/1.1\r\nHost: g\r\n\r\n",
		"upgrade h2c":             "GET /tool/x HTTP/1.1\r\nHost: g\r\nConnection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQAoAAAAAIAAAAA\r\n\r\n",
		"upgrade websocket":       "GET /tool/x HTTP/1.1\r\nHost: g\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\r\n",
		"upgrade without token":   "GET /tool/x HTTP/1.1\r\nHost: g\r\nUpgrade: h2c\r\n\r\n",
		"HTTP/2 preface":          "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
		"HTTP/1.0":                "GET /tool/x HTTP/1.0\r\nHost: g\r\n\r\n",
		"HTTP/0.9":                "GET /tool/x\r\n\r\n",
		"two equal lengths":       "POST /tool/x HTTP/1.1\r\nHost: g\r\nContent-Length: 2\r\nContent-Length: 2\r\n\r\n{}",
		"two lengths":             "POST /tool/x HTTP/1.1\r\nHost: g\r\nContent-Length: 2\r\nContent-Length: 0\r\n\r\n{}",
		"length list":             "POST /tool/x HTTP/1.1\r\nHost: g\r\nContent-Length: 2, 2\r\n\r\n{}",
		"signed length":           "POST /tool/x HTTP/1.1\r\nHost: g\r\nContent-Length: +2\r\n\r\n{}",
		"length and chunked":      "POST /tool/x HTTP/1.1\r\nHost: g\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
		"chunked and length":      "POST /tool/x HTTP/1.1\r\nHost: g\r\nTransfer-Encoding: chunked\r\nContent-Length: 4\r\n\r\n0\r\n\r\n",
		"encoding twice":          "POST /tool/x HTTP/1.1\r\nHost: g\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
		"encoding list":           "POST /tool/x HTTP/1.1\r\nHost: g\r\nTransfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n",
		"chunk size junk":         "POST /tool/x HTTP/1.1\r\nHost: g\r\nTransfer-Encoding: chunked\r\n\r\n0x2\r\n{}\r\n0\r\n\r\n",
		"folded header":           "GET /tool/x HTTP/1.1\r\nHost: g\r\nX-A: b\r\n X-Api-Key: c\r\n\r\n",
		"folded with tab":         "GET /tool/x HTTP/1.1\r\nHost: g\r\nX-A: b\r\n\tc\r\n\r\n",
		"blank before colon":      "GET /tool/x HTTP/1.1\r\nHost: g\r\nX-A : b\r\n\r\n",
		"bare LF":                 "GET /tool/x HTTP/1.1\nHost: g\n\n",
		"bare CR in a value":      "GET /tool/x HTTP/1.1\r\nHost: g\r\nX-A: b\rX-B: c\r\n\r\n",
		"NUL in a value":          "GET /tool/x HTTP/1.1\r\nHost: g\r\nX-A: b\x00\r\n\r\n",
		"two hosts":               "GET /tool/x HTTP/1.1\r\nHost: g\r\nHost: h\r\n\r\n",
		"no host":                 "GET /tool/x HTTP/1.1\r\n\r\n",
		"backslash path":          "GET /tool/a\\b HTTP/1.1\r\nHost: g\r\n\r\n",
		"control in path":         "GET /tool/a\x01b HTTP/1.1\r\nHost: g\r\n\r\n",
		"trailer":                 "POST /tool/x HTTP/1.1\r\nHost: g\r\nTransfer-Encoding: chunked\r\nTrailer: X-Api-Key\r\n\r\n0\r\nX-Api-Key: a\r\n\r\n",
		"compressed body":         "POST /tool/x HTTP/1.1\r\nHost: g\r\nContent-Encoding: gzip\r\nContent-Length: 2\r\n\r\n{}",
		"lower case method":       "get /tool/x HTTP/1.1\r\nHost: g\r\n\r\n",
	}
	for name, text := range cases {
		before := len(r.all())
		answer := r.raw("unix", r.sock, text)
		if !strings.HasPrefix(answer, "4") && !strings.HasPrefix(answer, "505") && !strings.HasPrefix(answer, "501") {
			t.Errorf("%s: answered %.80q", name, answer)
		}
		refusals := r.waitRefusals(before)
		if len(refusals) != 1 || refusals[0].Attribution.Session != r.sandbox.ID {
			t.Errorf("%s: %d refusal rows %+v", name, len(refusals), refusals)
		}
	}
	if n := len(r.calls()); n != 0 {
		t.Fatalf("%d tricks reached the upstream: %+v", n, r.calls())
	}
	r.rows(audit.KindIntent, 0)
}

// waitRefusals returns the refusal rows after the first n rows, once there is
// one; rows of connections that failed come when the connection ends.
func (r *rig) waitRefusals(n int) []audit.Record {
	deadline := time.Now().Add(10 * time.Second)
	for {
		if all := r.all(); len(all) > n || time.Now().After(deadline) {
			return all[min(n, len(all)):]
		}
		time.Sleep(2 * time.Millisecond)
	}
}

func TestSmuggledSecondRequestIsJudgedByItself(t *testing.T) {
	r := newRig(t, Limits{}, session.Scope{Upstreams: []string{"tool"}})
	c := dial(t, "unix", r.sock)
	defer c.Close()
	fmt.Fprint(c, "POST /tool/a HTTP/1.1\r\nHost: g\r\nContent-Length: 2\r\n\r\n{}POST /openai/v1/x HTTP/1.1\r\nHost: g\r\nContent-Length: 0\r\n\r\n")
	br := bufio.NewReader(c)
	for _, want := range []int{200, 403} {
		resp, err := http.ReadResponse(br, nil)
		if err != nil || resp.StatusCode != want {
			t.Fatalf("%v %v, want %d", resp, err, want)
		}
		_, _ = io.Copy(io.Discard, resp.Body)
	}
	chunked := dial(t, "unix", r.sock)
	defer chunked.Close()
	fmt.Fprint(chunked, "POST /tool/a HTTP/1.1\r\nHost: g\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\nGET /tool/hidden HTTP/1.1\r\nHost: g\r\nContent-Length: 0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n")
	br = bufio.NewReader(chunked)
	resp, err := http.ReadResponse(br, nil)
	if err != nil || resp.StatusCode != 200 || !resp.Close {
		t.Fatalf("%v %v: a chunked request must end its connection", resp, err)
	}
	_, _ = io.Copy(io.Discard, resp.Body)
	if _, err := http.ReadResponse(br, nil); err == nil {
		t.Fatal("a request behind a chunked body was answered")
	}
	for _, call := range r.calls() {
		if call.URI != "/a" {
			t.Errorf("upstream got %s", call.URI)
		}
	}
}

func TestAnswerNeverCarriesTheKeyBack(t *testing.T) {
	r := newRig(t, Limits{}, session.Scope{})
	half := len(theKey) / 2
	r.answers(func(w http.ResponseWriter, _ *http.Request) {
		h := w.Header()
		h.Set("X-Echo", "Bearer "+theKey)
		h.Set("X-"+theKey, "1")
		h.Set("Location", "https://evil.example.com/?k="+theKey)
		h.Add("Set-Cookie", "k="+theKey)
		h.Set("Www-Authenticate", "Basic realm="+theKey)
		h.Set("Access-Control-Allow-Origin", "*")
		h.Set("X-Moeca-Session", "forged")
		h.Set("Trailer", "X-Late")
		h.Set("Content-Type", "text/plain")
		w.WriteHeader(http.StatusFound)
		_, _ = io.WriteString(w, "echo "+theKey+" and "+theKey[:half])
		_ = http.NewResponseController(w).Flush()
		_, _ = io.WriteString(w, theKey[half:]+" end")
		h.Set("X-Late", theKey)
		h.Set(http.TrailerPrefix+"X-Later", theKey)
	})
	for _, client := range []string{"unix", "tcp"} {
		text := fmt.Sprintf("GET /tool/x HTTP/1.1\r\nHost: %s\r\nX-Moeca-Session: %s\r\nConnection: close\r\n\r\n", r.addr, r.token)
		addr := r.sock
		if client == "tcp" {
			addr = r.addr
		}
		c := dial(t, client, addr)
		_, _ = io.WriteString(c, text)
		all, err := io.ReadAll(c)
		_ = c.Close()
		answer := string(all)
		if err != nil || !strings.HasPrefix(answer, "HTTP/1.1 302") || !strings.Contains(answer, "echo *") || !strings.Contains(answer, " end") {
			t.Fatalf("%s: %v %q", client, err, answer)
		}
		for _, leak := range []string{theKey, strings.ToLower(theKey), "Location", "Set-Cookie", "Www-Authenticate", "evil.example.com", "forged", "Access-Control", "X-Late"} {
			if strings.Contains(answer, leak) {
				t.Errorf("%s: answer carries %q: %q", client, leak, answer)
			}
		}
	}
	if len(r.calls()) != 2 {
		t.Errorf("%d calls: a redirect was followed", len(r.calls()))
	}
	r.rows(audit.KindOutcome, 2)
	if strings.Contains(string(r.logBytes()), theKey) {
		t.Error("the log holds the key")
	}
}

func TestEncodedAnswerIsDecodedOrRefused(t *testing.T) {
	r := newRig(t, Limits{}, session.Scope{})
	const answer = `{"usage":{"input_tokens":10,"output_tokens":20},"echo":"` + theKey + `"}`
	for encoding, decoded := range map[string]bool{"gzip": true, "GZIP": true, "identity, gzip": true, "gzip, br": false, "deflate": false, "zstd": false} {
		r.answers(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Encoding", encoding)
			w.Header().Set("Content-Type", "application/json")
			w.Header().Set("Etag", "of the encoded bytes")
			z := gzip.NewWriter(w)
			_, _ = io.WriteString(z, answer)
			_ = z.Close()
		})
		resp, body := r.post("/anthropic/v1/messages", smallBody)
		if !decoded {
			if resp.StatusCode != 502 || !strings.Contains(body, ReasonEncoding) {
				t.Errorf("%s: %d %s", encoding, resp.StatusCode, body)
			}
			continue
		}
		if resp.StatusCode != 200 || len(body) != len(answer) || strings.Contains(body, theKey) || resp.Header.Get("Content-Encoding") != "" || resp.Header.Get("Etag") != "" {
			t.Errorf("%s: %d %v %s", encoding, resp.StatusCode, resp.Header, body)
		}
	}
	for _, out := range r.rows(audit.KindOutcome, 6) {
		if out.Reason == ReasonEncoding && out.Result == audit.ResultUpstreamError {
			continue
		}
		if out.Usage.Input != 10 || out.Usage.Output != 20 || out.Result != audit.ResultOK {
			t.Errorf("%+v", out)
		}
	}
}

const frames = 6

// stream sends SSE frames, each when told to.
func stream(next <-chan struct{}) http.HandlerFunc {
	return func(w http.ResponseWriter, req *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		rc := http.NewResponseController(w)
		for i := range frames {
			select {
			case <-next:
			case <-req.Context().Done():
				return
			}
			switch i {
			case 0:
				fmt.Fprint(w, "data: {\"type\":\"message_start\",\"message\":{\"usage\":{\"input_tokens\":5,\"output_tokens\":1}}}\n\n")
			case frames - 2:
				fmt.Fprint(w, "data: {\"type\":\"message_delta\",\"usage\":{\"output_tokens\":7}}\n\n")
			case frames - 1:
				fmt.Fprint(w, "data: {\"type\":\"message_stop\"}\n\n")
			default:
				fmt.Fprintf(w, "data: {\"type\":\"ping\",\"n\":%d}\n\n", i)
			}
			_ = rc.Flush()
		}
	}
}

func (r *rig) openStream(ctx context.Context) (*bufio.Reader, io.Closer) {
	r.t.Helper()
	req, _ := http.NewRequestWithContext(ctx, "POST", "http://g/anthropic/v1/messages", strings.NewReader(smallBody))
	resp, err := r.overSocket().Do(req)
	if err != nil {
		r.t.Fatal(err)
	}
	return bufio.NewReader(resp.Body), resp.Body
}

// Each frame arrives before the next one is sent: nothing is held back.
func TestFramesPassOneByOne(t *testing.T) {
	r := newRig(t, Limits{}, session.Scope{})
	next := make(chan struct{}, 1)
	r.answers(stream(next))
	next <- struct{}{}
	br, body := r.openStream(t.Context())
	defer body.Close()
	for i := range frames {
		line, err := br.ReadString('\n')
		if err != nil || !strings.HasPrefix(line, "data: ") {
			t.Fatalf("frame %d: %q %v", i, line, err)
		}
		_, _ = br.ReadString('\n')
		if i < frames-1 {
			next <- struct{}{}
		}
	}
	out := r.rows(audit.KindOutcome, 1)[0]
	if out.Result != audit.ResultOK || out.Usage.Input != 5 || out.Usage.Output != 7 {
		t.Fatalf("%+v", out)
	}
}

func TestHangUpAtEachFrameIsAnOutcome(t *testing.T) {
	for at := range frames {
		t.Run(fmt.Sprint(at), func(t *testing.T) {
			r := newRig(t, Limits{}, session.Scope{})
			next := make(chan struct{}, frames)
			r.answers(stream(next))
			for range at + 1 {
				next <- struct{}{}
			}
			ctx, hangUp := context.WithCancel(t.Context())
			br, body := r.openStream(ctx)
			for range at + 1 {
				if _, err := br.ReadString('\n'); err != nil {
					t.Fatal(err)
				}
				_, _ = br.ReadString('\n')
			}
			hangUp()
			_ = body.Close()
			out := r.rows(audit.KindOutcome, 1)[0]
			left := r.left()
			bound := int64(len(smallBody)) + 4096 + 100
			switch {
			case at < frames-1 && (out.Result != audit.ResultClientGone || left != 2_000_000-bound):
				t.Fatalf("%+v, %d left", out, left)
			case at == frames-1 && left != 2_000_000-12:
				t.Fatalf("usage was seen, yet %d are left", left)
			}
		})
	}
}

func TestRevokeCutsTheStream(t *testing.T) {
	r := newRig(t, Limits{}, session.Scope{})
	next := make(chan struct{}, 1)
	r.answers(stream(next))
	next <- struct{}{}
	br, body := r.openStream(t.Context())
	defer body.Close()
	if _, err := br.ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	got, ok := r.g.Revoke(t.Context(), r.sandbox.ID)
	if bound := int64(len(smallBody)) + 4096 + 100; !ok || got.Tokens != bound {
		t.Fatalf("%+v: an unfinished stream costs its reservation", got)
	}
	if _, err := io.ReadAll(br); err == nil {
		t.Fatal("the stream ended as if it were whole")
	}
	if out := r.rows(audit.KindOutcome, 1)[0]; out.Result != audit.ResultCut {
		t.Fatalf("%+v", out)
	}
}

func TestUpstreamTooSlowIsCut(t *testing.T) {
	r := newRig(t, Limits{IdleSeconds: 1}, session.Scope{})
	r.answers(stream(nil))
	resp, body := r.post("/tool/x", "{}")
	if resp.StatusCode != 200 && resp.StatusCode != 504 {
		t.Fatalf("%d %s", resp.StatusCode, body)
	}
	if out := r.rows(audit.KindOutcome, 1)[0]; out.Result != audit.ResultCut || out.Reason != ReasonTimeout {
		t.Fatalf("%+v", out)
	}
}

func TestUpstreamThatBreaksOff(t *testing.T) {
	r := newRig(t, Limits{}, session.Scope{})
	r.answers(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "100")
		_, _ = io.WriteString(w, "half")
	})
	resp, err := r.overSocket().Post("http://g/anthropic/v1/messages", "application/json", strings.NewReader(smallBody))
	if err != nil {
		t.Fatal(err)
	}
	_, err = io.ReadAll(resp.Body)
	_ = resp.Body.Close()
	if err == nil {
		t.Fatal("half an answer looks whole")
	}
	out := r.rows(audit.KindOutcome, 1)[0]
	if out.Result != audit.ResultUpstreamError || !out.Response.Truncated {
		t.Fatalf("%+v %+v", out, out.Response)
	}
	r.stub.Close()
	dead, body := r.post("/tool/x", "{}")
	if dead.StatusCode != 502 || !strings.Contains(body, ReasonUnreachable) {
		t.Fatalf("%d %s", dead.StatusCode, body)
	}
	r.rows(audit.KindOutcome, 2)
}

type panics struct{ after bool }

func (p panics) RoundTrip(req *http.Request) (*http.Response, error) {
	if !p.after {
		panic("boom " + theKey)
	}
	return &http.Response{StatusCode: 200, Header: http.Header{}, Body: panicBody{}, Request: req, ContentLength: -1}, nil
}

type panicBody struct{}

func (panicBody) Read([]byte) (int, error) { panic("boom") }
func (panicBody) Close() error             { return nil }

func TestPanicInTheProxyIsAnOutcome(t *testing.T) {
	for name, after := range map[string]bool{"before the answer": false, "inside the answer": true} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, Limits{}, session.Scope{})
			r.g.transport = panics{after}
			resp, err := r.overSocket().Post("http://g/tool/x", "application/json", strings.NewReader("{}"))
			if err == nil {
				b, _ := io.ReadAll(resp.Body)
				_ = resp.Body.Close()
				if !after && (resp.StatusCode != 500 || strings.Contains(string(b), theKey)) {
					t.Errorf("%d %s", resp.StatusCode, b)
				}
			}
			if out := r.rows(audit.KindOutcome, 1)[0]; out.Result != audit.ResultPanic {
				t.Fatalf("%+v", out)
			}
		})
	}
}

// A name that is public when it is judged and private when it is dialled is
// refused by the dialer; the outcome names the gate.
func TestDialTimeRefusalIsAnOutcome(t *testing.T) {
	r := newRig(t, Limits{}, session.Scope{Upstreams: []string{"bound"}})
	kind, base := "custom", "https://rebind.example.com"
	r.define("bound", patch(&kind, &base, ""), "")
	r.g.transport = refusing{}
	resp, body := r.do(r.overSocket(), "GET", "http://g/bound/x", "")
	if resp.StatusCode != 403 || !strings.Contains(body, gate.ReasonAddress) {
		t.Fatalf("%d %s", resp.StatusCode, body)
	}
	if out := r.rows(audit.KindOutcome, 1)[0]; out.Gate != "address" || out.Status != 403 {
		t.Fatalf("%+v", out)
	}
}

// refusing dials as the transport would after the name was rebound.
type refusing struct{}

func (refusing) RoundTrip(req *http.Request) (*http.Response, error) {
	_, err := netguard.New(netguard.Options{Resolver: rebound{}}).DialContext(req.Context(), "tcp", req.URL.Host+":443")
	return nil, err
}

type rebound struct{}

func (rebound) LookupNetIP(context.Context, string, string) ([]netip.Addr, error) {
	return []netip.Addr{netip.MustParseAddr("127.0.0.1")}, nil
}
