package gateway

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"sync/atomic"
	"testing"

	"moeca/internal/audit"
	"moeca/internal/gateway/gatewayapi"
	"moeca/internal/gateway/upstream"
	"moeca/internal/session"
)

// hangingUp is an upstream that answers the first request of each connection
// and takes the second one without a word. It counts what it took, and how many
// were marked as ones that may be repeated.
func hangingUp(t *testing.T) (base string, taken, marked *atomic.Int64) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	taken, marked = new(atomic.Int64), new(atomic.Int64)
	take := func(c net.Conn) {
		defer c.Close()
		br := bufio.NewReader(c)
		for i := range 2 {
			req, err := http.ReadRequest(br)
			if err != nil {
				return
			}
			_, _ = io.Copy(io.Discard, req.Body)
			taken.Add(1)
			if req.Header.Get("Idempotency-Key")+req.Header.Get("X-Idempotency-Key") == "again" {
				marked.Add(1)
			}
			if i == 0 {
				_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}")
			}
		}
	}
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go take(c)
		}
	}()
	return "http://" + l.Addr().String(), taken, marked
}

// A key for idempotency tells a transport that it may send a request again. One
// reservation and one row then stand for calls that are billed each.
func TestARequestIsSentOnceWhateverItsHeadersSay(t *testing.T) {
	for _, name := range []string{"", "Idempotency-Key", "X-Idempotency-Key", "idempotency-key"} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, Limits{}, session.Scope{Upstreams: []string{"fragile"}})
			base, taken, marked := hangingUp(t)
			kind := upstream.KindAnthropic
			r.define("fragile", gatewayapi.ProviderPatch{Kind: &kind, BaseURL: &base, Auth: &gatewayapi.Auth{Header: "x-api-key"}}, theKey)
			header := []string{}
			if name != "" {
				header = append(header, name, "again")
			}
			if resp, body := r.post("/fragile/v1/messages", smallBody, header...); resp.StatusCode != 200 {
				t.Fatalf("%d %s", resp.StatusCode, body)
			}
			resp, body := r.post("/fragile/v1/messages", smallBody, header...)
			if resp.StatusCode != http.StatusBadGateway || taken.Load() != 2 {
				t.Fatalf("answered %d %s; the upstream took %d requests for two", resp.StatusCode, body, taken.Load())
			}
			if name != "" && marked.Load() != 2 {
				t.Errorf("%d requests carried the key", marked.Load())
			}
			r.rows(audit.KindOutcome, 2)
		})
	}
}
