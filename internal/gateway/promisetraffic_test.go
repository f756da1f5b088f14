package gateway

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// upstreamOf is every upstream there is.
type upstreamOf struct{ w *world }

// RoundTrip implements http.RoundTripper: from here on the upstream has seen it.
func (u upstreamOf) RoundTrip(r *http.Request) (*http.Response, error) {
	w := u.w
	var body []byte
	if r.Body != nil {
		body, _ = io.ReadAll(r.Body)
		_ = r.Body.Close()
	}
	id := promiseID.FindString(r.URL.Path + string(body))
	known, durable := w.durable(id)
	switch {
	case !known:
		w.t.Errorf("the upstream saw %s %s (%q), which is not in the log", r.Method, r.URL.Path, id)
	case !durable && strings.Contains(r.URL.Path, "/items/") && r.Method != http.MethodGet:
		w.t.Errorf("the upstream saw the write %s before its intent was durable", id)
	}
	w.mu.Lock()
	w.sent[id]++
	w.mu.Unlock()
	trouble := troubleOf(id)
	switch trouble {
	case "proxy panics":
		w.event(trouble)
		panic("the proxy")
	case "upstream unreachable":
		w.event(trouble)
		return nil, errors.New("no route")
	case "upstream waits":
		<-r.Context().Done()
		return nil, r.Context().Err()
	}
	w.mu.Lock()
	w.events["answered"]++
	w.mu.Unlock()
	answer := messageAnswer
	header := http.Header{"Content-Type": {"application/json"}}
	if trouble == "streams" {
		header.Set("Content-Type", "text/event-stream")
		answer = strings.Repeat("event: ping\ndata: {\"type\":\"ping\"}\n\n", 5)
	}
	return &http.Response{
		StatusCode: http.StatusOK, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Header: header, ContentLength: -1, Request: r,
		Body: &troubledBody{w: w, trouble: trouble, rest: strings.NewReader(answer)},
	}, nil
}

// troubledBody is an answer that may not come to its end.
type troubledBody struct {
	w       *world
	trouble string
	rest    io.Reader
	read    int
}

func (b *troubledBody) Read(p []byte) (int, error) {
	if b.read++; b.read > 2 {
		switch b.trouble {
		case "body panics":
			b.w.event(b.trouble)
			panic("the body")
		case "upstream cut":
			b.w.event(b.trouble)
			return 0, io.ErrUnexpectedEOF
		}
	}
	return b.rest.Read(p[:min(len(p), 40)])
}

func (b *troubledBody) Close() error { return nil }

// caller is one that may hang up or be reset. It tells the model of the first
// byte it gets.
type caller struct {
	callWriter
	w     *world
	id    string
	hang  func() // called at the byte at which it hangs up
	after int
	reset bool
	got   int
}

// WriteHeader implements http.ResponseWriter: the first byte of an answer.
func (c *caller) WriteHeader(status int) {
	if c.status != 0 {
		return
	}
	c.callWriter.WriteHeader(status)
	known, durable := c.w.durable(c.id)
	switch {
	case known && !durable && status != http.StatusServiceUnavailable:
		c.w.t.Errorf("%s is answered %d before its intent is durable", c.id, status)
	case !known && status < 400:
		c.w.t.Errorf("%s is answered %d and is not in the log", c.id, status)
	case status == http.StatusServiceUnavailable:
		c.w.event("log down")
	case status >= 400 && !known:
		c.w.event("refused")
	}
}

// Write implements http.ResponseWriter.
func (c *caller) Write(p []byte) (int, error) {
	c.WriteHeader(http.StatusOK)
	c.got += len(p)
	if c.after > 0 && c.got >= c.after {
		if c.hang(); c.reset {
			return 0, errors.New("connection reset by peer")
		}
	}
	return len(p), nil
}

// troubles of a request; the empty one is none. The id of a request names it.
var troubles = []string{
	"", "", "", "", "streams", "streams", "gate panics", "proxy panics", "body panics", "upstream unreachable", "upstream cut", "upstream waits",
	"caller gone", "caller reset", "caller gone before", "refused", "refused write",
}

func troubleOf(id string) string {
	if m := promiseID.FindStringSubmatch(id); m != nil {
		if n, err := strconv.Atoi(m[1]); err == nil {
			return troubles[n]
		}
	}
	return ""
}

// connect makes a request over a connection of its own and breaks it off at any
// byte of request or answer, in one of the ways in which connections end.
func (w *world) connect(rng *rand.Rand) {
	id := fmt.Sprintf("id-%dt0", w.next.Add(1))
	c, err := net.Dial("tcp", w.addr)
	if err != nil {
		w.t.Error(err)
		return
	}
	defer c.Close()
	if rng.IntN(2) == 0 {
		_ = c.(*net.TCPConn).SetLinger(0) // closing it is a reset
		w.event("connection reset")
	}
	_ = c.SetDeadline(time.Now().Add(20 * time.Second))
	ask := "GET /tool/items/" + id + " HTTP/1.1\r\nHost: " + w.addr + "\r\nConnection: close\r\nX-Moeca-Session: " + w.token + "\r\n\r\n"
	if rng.IntN(2) == 0 {
		ask = strings.Replace(ask, "GET", "POST", 1)
		ask = strings.Replace(ask, "\r\n\r\n", "\r\nContent-Length: 2\r\n\r\n{}", 1)
	}
	if rng.IntN(4) == 0 {
		ask = ask[:rng.IntN(len(ask))]
		_, _ = io.WriteString(c, ask)
		w.event("request broken off")
		return
	}
	if _, err := io.WriteString(c, ask); err != nil || rng.IntN(4) == 0 {
		return
	}
	got := make([]byte, 16)
	n, err := io.ReadFull(c, got)
	if n == 0 {
		return // the age ended, or the log
	}
	known, durable := w.durable(id)
	if status := string(got[:n]); err == nil && !strings.Contains(status, " 503 ") && (!known || !durable) && strings.Contains(status, " 200 ") {
		w.t.Errorf("%s is answered %q over a connection: in the log %v, durable %v", id, status, known, durable)
	}
	_, _ = io.CopyN(io.Discard, c, rng.Int64N(400))
	w.event("answer broken off")
}

// request makes one, of a random kind with a random trouble.
func (w *world) request(rng *rand.Rand) {
	if rng.IntN(8) == 0 {
		w.connect(rng)
		return
	}
	n := rng.IntN(len(troubles))
	id, trouble := fmt.Sprintf("id-%dt%d", w.next.Add(1), n), troubles[n]
	method, target, body := "GET", "/tool/items/"+id, ""
	switch rng.IntN(3) {
	case 0:
		method, body = "POST", "{}"
	case 1:
		method, target = "POST", "/anthropic/v1/messages"
		body = strings.Replace(smallBody, "hello", id, 1)
	}
	switch trouble {
	case "refused":
		target = "/nowhere/items/" + id
	case "refused write":
		method, target, body = "DELETE", "/tool/items/"+id, ""
	}
	ctx, hang := context.WithCancel(context.Background())
	defer hang()
	c := &caller{callWriter: callWriter{header: http.Header{}}, w: w, id: id, hang: hang}
	switch trouble {
	case "caller gone", "caller reset":
		c.after, c.reset = 1+rng.IntN(100), trouble == "caller reset"
		w.event(trouble)
	case "caller gone before":
		if rng.IntN(2) == 0 {
			hang()
		}
		fallthrough
	case "upstream waits":
		timer := time.AfterFunc(time.Duration(rng.IntN(1500))*time.Microsecond, hang)
		defer timer.Stop()
	case "gate panics":
		w.event(trouble)
	}
	r, err := ownRequest(ctx, w.session.ID, target)
	if err != nil {
		w.t.Error(err)
		return
	}
	r.Method = method
	if body != "" {
		r.Body, r.ContentLength = io.NopCloser(bytes.NewReader([]byte(body))), int64(len(body))
		r.Header.Set("Content-Type", "application/json")
	}
	r.Header.Set("X-Trouble", trouble)
	defer func() {
		if p := recover(); p != nil && p != http.ErrAbortHandler {
			w.t.Errorf("%s: the gateway panicked: %v", id, p)
		}
	}()
	w.g.serve(c, r)
}
