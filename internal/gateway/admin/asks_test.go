package admin

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"moeca/internal/audit"
	"moeca/internal/gateway/gatewayapi"
)

// asked is a desk with a session whose request waits for a person, and the
// client the host uses.
func asked(t *testing.T) (*desk, *gatewayapi.Client, gatewayapi.Ask, <-chan int) {
	t.Helper()
	d := newDesk(t)
	stub := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	t.Cleanup(stub.Close)
	for _, c := range [][3]string{
		{"PUT", "/v1/providers/tool", fmt.Sprintf(`{"base_url":%q}`, stub.URL)},
		{"PATCH", "/v1/policies/tool", `{"writes":[{"operation":"custom.write"}],"forbidden":[{"operation":"custom.write","effect":"ask"}]}`},
	} {
		if w := d.call(c[0], c[1], c[2]); w.Code != http.StatusOK {
			t.Fatal(w.Body)
		}
	}
	dir := t.TempDir()
	if w := d.call("POST", "/v1/sessions", fmt.Sprintf(`{"scope":{"run":"r","upstreams":["tool"]},"ttl_seconds":60,"socket_dir":%q}`, dir)); w.Code != http.StatusCreated {
		t.Fatal(w.Body)
	}
	status := make(chan int, 1)
	go func() {
		c, err := net.Dial("unix", filepath.Join(dir, "gateway.sock"))
		if err != nil {
			t.Error(err)
			return
		}
		defer c.Close()
		fmt.Fprint(c, "POST /tool/x HTTP/1.1\r\nHost: g\r\nContent-Length: 2\r\n\r\n{}")
		resp, err := http.ReadResponse(bufio.NewReader(c), nil)
		if err != nil {
			status <- 0 // no answer
			return
		}
		resp.Body.Close()
		status <- resp.StatusCode
	}()
	socket := filepath.Join(t.TempDir(), "admin.sock")
	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	srv := &http.Server{Handler: d.h, ReadTimeout: 30 * time.Second}
	go func() { _ = srv.Serve(l) }()
	t.Cleanup(func() { _ = srv.Close() })
	client := gatewayapi.NewClient(socket, "tok")
	t.Cleanup(client.Close)
	list := gatewayapi.Asks{}
	for range 2 { // before it, and once it waits
		if list, err = client.Asks(t.Context(), list.Cursor, 20*time.Second); err != nil {
			t.Fatal(err)
		}
		if len(list.Asks) > 0 {
			break
		}
	}
	if len(list.Asks) != 1 {
		t.Fatalf("%d requests wait", len(list.Asks))
	}
	return d, client, list.Asks[0], status
}

func TestPersonAnswersOnce(t *testing.T) {
	d, client, a, status := asked(t)
	if a.Run != "r" || a.Upstream != "tool" || a.Rule.Operation != "custom.write" {
		t.Errorf("%+v", a)
	}
	got, err := client.AnswerAsk(t.Context(), a.ID, true)
	if err != nil || got.ID != a.ID || !got.Allow || got.Seq == 0 {
		t.Fatalf("%+v, %v", got, err)
	}
	if s := <-status; s != http.StatusOK {
		t.Errorf("the request ended with %d", s)
	}
	d.log.mu.Lock()
	row := d.log.rows[got.Seq-1]
	d.log.mu.Unlock()
	if row.Actor != audit.ActorPerson || row.Subject != a.ID {
		t.Errorf("%+v", row)
	}
	_, err = client.AnswerAsk(t.Context(), a.ID, false)
	if e := answerOf(t, err); e.Status != http.StatusConflict || e.Body.Reason != gatewayapi.AskReasonAnswered || !strings.Contains(e.Body.Message, "allowed") {
		t.Errorf("%+v", e)
	}
	_, err = client.AnswerAsk(t.Context(), "nothing", true)
	if e := answerOf(t, err); e.Status != http.StatusNotFound || e.Body.Reason != gatewayapi.AskReasonUnknown {
		t.Errorf("%+v", e)
	}
}

func answerOf(t *testing.T, err error) *gatewayapi.StatusError {
	t.Helper()
	e, ok := err.(*gatewayapi.StatusError)
	if !ok {
		t.Fatalf("%v", err)
	}
	return e
}

func TestNobodyElseAnswers(t *testing.T) {
	d, client, a, status := asked(t)
	for body, want := range map[string]int{
		`{"allow":true}`:                                 http.StatusForbidden,
		`{"allow":true,"actor":"agent"}`:                 http.StatusForbidden,
		`{"allow":true,"actor":"Person"}`:                http.StatusForbidden,
		`{"allow":"true","actor":"person"}`:              http.StatusBadRequest,
		`{"allow":true,"actor":"person","for":"always"}`: http.StatusBadRequest,
	} {
		if w := d.call("POST", "/v1/asks/"+a.ID, body); w.Code != want {
			t.Errorf("%s: %d %s", body, w.Code, w.Body)
		}
	}
	for _, wait := range []string{"-1", "31", "x", "1.5"} {
		if w := d.call("GET", "/v1/asks?wait="+wait, ""); w.Code != http.StatusBadRequest {
			t.Errorf("wait %s: %d", wait, w.Code)
		}
	}
	d.log.mu.Lock()
	d.log.down = audit.ErrFull
	d.log.mu.Unlock()
	_, err := client.AnswerAsk(t.Context(), a.ID, true)
	if e := answerOf(t, err); e.Status != http.StatusServiceUnavailable {
		t.Errorf("%+v", e)
	}
	d.log.mu.Lock()
	d.log.down = nil
	d.log.mu.Unlock()
	w := d.call("GET", "/v1/asks", "")
	var list gatewayapi.Asks
	if err := json.Unmarshal(w.Body.Bytes(), &list); err != nil || len(list.Asks) != 1 {
		t.Fatalf("%s", w.Body)
	}
	if _, err := client.AnswerAsk(t.Context(), a.ID, false); err != nil {
		t.Fatal(err)
	}
	if s := <-status; s != http.StatusForbidden {
		t.Errorf("the request ended with %d", s)
	}
}

func TestPollTellsOfASessionThatEnds(t *testing.T) {
	d, client, a, status := asked(t)
	list, err := client.Asks(t.Context(), "", 0)
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan gatewayapi.Asks)
	go func() {
		next, err := client.Asks(context.WithoutCancel(t.Context()), list.Cursor, 30*time.Second)
		if err != nil {
			t.Error(err)
		}
		ended <- next
	}()
	if w := d.call("DELETE", "/v1/sessions/"+a.Session, ""); w.Code != http.StatusOK {
		t.Fatal(w.Body)
	}
	if next := <-ended; len(next.Asks) != 0 {
		t.Errorf("%+v", next)
	}
	<-status
	_, err = client.AnswerAsk(t.Context(), a.ID, true)
	if e := answerOf(t, err); e.Status != http.StatusConflict || e.Body.Reason != gatewayapi.AskReasonEnded {
		t.Errorf("%+v", e)
	}
}
