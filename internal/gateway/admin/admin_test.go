package admin

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"moeca/internal/audit"
	"moeca/internal/gateway"
	"moeca/internal/gateway/gatewayapi"
	"moeca/internal/gateway/policy"
	"moeca/internal/gateway/upstream"
	"moeca/internal/netguard"
	"moeca/internal/session"
)

// memoryLog keeps rows in memory; down makes Queue fail, broken makes Wait fail.
type memoryLog struct {
	mu           sync.Mutex
	rows         []audit.Record
	down, broken error
}

type memoryRow struct {
	seq int64
	err error
}

func (r memoryRow) Wait(context.Context) error { return r.err }
func (r memoryRow) Seq() int64                 { return r.seq }
func (r memoryRow) Hash() audit.Hash           { return audit.Hash{} }

func (l *memoryLog) Queue(r audit.Record, _, _ *audit.Body) (gateway.Row, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.down != nil {
		return nil, l.down
	}
	l.rows = append(l.rows, r)
	return memoryRow{int64(len(l.rows)), l.broken}, nil
}

func (l *memoryLog) Hurry()     {}
func (l *memoryLog) Err() error { return errors.Join(l.down, l.broken) }

type desk struct {
	log      *memoryLog
	set      *upstream.Set
	policies *policy.Set
	sessions *session.Table
	o        Options
	h        http.Handler
}

func newDesk(t *testing.T) *desk {
	d := &desk{log: &memoryLog{}, policies: policy.NewSet()}
	guard := netguard.New(netguard.Options{})
	d.set, d.sessions = upstream.NewSet(guard, nil), session.NewTable(nil)
	logger := slog.New(slog.DiscardHandler)
	g := gateway.New(gateway.Options{Policies: d.policies, Log: d.log, Sessions: d.sessions, Upstreams: d.set, Guard: guard, SocketGID: -1})
	t.Cleanup(func() { g.Close(context.Background()) })
	d.o = Options{
		Gateway: g, Log: d.log, Sessions: d.sessions, Upstreams: d.set, Policies: d.policies, TokenHash: sha256.Sum256([]byte("tok")), Logger: logger,
		Health: func() gatewayapi.Health { return gatewayapi.Health{OK: true} },
	}
	d.h = New(d.o)
	return d
}

func (d *desk) call(method, path, body string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, path, strings.NewReader(body))
	r.Header.Set("Authorization", "Bearer tok")
	w := httptest.NewRecorder()
	d.h.ServeHTTP(w, r)
	return w
}

func TestChangeWithoutItsRowIsNoChange(t *testing.T) {
	for name, fail := range map[string]func(*memoryLog){
		"queue fails": func(l *memoryLog) { l.down = errors.New("disk full") },
		"sync fails":  func(l *memoryLog) { l.broken = errors.New("input/output error") },
	} {
		d := newDesk(t)
		if w := d.call("PUT", "/v1/providers/a", `{"base_url":"https://a.example"}`); w.Code != 200 {
			t.Fatal(w.Body)
		}
		w := d.call("POST", "/v1/sessions", `{"scope":{"upstreams":["a"]},"ttl_seconds":60,"with_token":true}`)
		var m gatewayapi.MintResponse
		if err := json.Unmarshal(w.Body.Bytes(), &m); err != nil || m.Token == "" {
			t.Fatal(w.Body)
		}
		fail(d.log)
		for _, c := range [][3]string{
			{"PUT", "/v1/providers/b", `{"base_url":"https://b.example"}`},
			{"PATCH", "/v1/providers/a", `{"base_url":"https://evil.example"}`},
			{"PUT", "/v1/providers/a/secret", `{"value":"sk-12345678"}`},
			{"DELETE", "/v1/providers/a", ``},
			{"POST", "/v1/sessions", `{"scope":{},"ttl_seconds":60,"with_token":true}`},
		} {
			if w := d.call(c[0], c[1], c[2]); w.Code != http.StatusServiceUnavailable || strings.Contains(w.Body.String(), session.TokenPrefix) {
				t.Errorf("%s: %s %s: %d %s", name, c[0], c[1], w.Code, w.Body)
			}
		}
		list := d.set.List()
		if len(list) != 1 || list[0].BaseURL != "https://a.example" || list[0].Secret.HasSecret || len(d.sessions.Live()) != 1 {
			t.Errorf("%s: something changed: %+v, %d sessions", name, list, len(d.sessions.Live()))
		}
		// Ending a session is the exception: it must not depend on the disk.
		if w := d.call("DELETE", "/v1/sessions/"+m.ID, ""); w.Code != http.StatusServiceUnavailable {
			t.Errorf("%s: revoke: %d", name, w.Code)
		}
		if _, err := d.sessions.ByToken(m.Token); err == nil {
			t.Errorf("%s: a session outlived its revocation", name)
		}
	}
}

func TestRowsOfChangesHoldNoSecret(t *testing.T) {
	d := newDesk(t)
	d.call("PUT", "/v1/providers/a", `{"base_url":"https://a.example"}`)
	d.call("PUT", "/v1/providers/a/secret", `{"value":"sk-very-secret-1"}`)
	d.call("PUT", "/v1/providers/a/secret", `{"value":"sk-very-secret-2","x":1}`)
	d.call("PUT", "/v1/providers/a/secret", `{"value":["sk-very-secret-3"]}`)
	w := d.call("POST", "/v1/sessions", `{"scope":{"run":"r"},"ttl_seconds":60,"with_token":true}`)
	var m gatewayapi.MintResponse
	_ = json.Unmarshal(w.Body.Bytes(), &m)
	b, _ := json.Marshal(d.log.rows)
	for _, r := range d.log.rows {
		b = append(b, r.Detail...)
	}
	if bytes.Contains(b, []byte("very-secret")) || bytes.Contains(b, []byte(m.Token)) {
		t.Fatalf("%s", b)
	}
	if last := d.log.rows[len(d.log.rows)-1]; last.Attribution.Session != m.ID || last.Attribution.Run != "r" || last.Actor != audit.ActorHost {
		t.Errorf("%+v", last)
	}
}

func TestBodiesAreOneKnownValue(t *testing.T) {
	d := newDesk(t)
	for name, body := range map[string]string{
		"nothing": "", "not JSON": "x", "an unknown field": `{"base_url":"https://a.example","keyy":1}`, "two values": `{"base_url":"https://a.example"}{}`,
		"an array": `[]`, "a wrong type": `{"base_url":1}`, "too much": `{"base_url":"` + strings.Repeat("x", 2<<20) + `"}`,
	} {
		w := d.call("PUT", "/v1/providers/a", body)
		if w.Code != http.StatusBadRequest || strings.Contains(w.Body.String(), "keyy") {
			t.Errorf("%s: %d %s", name, w.Code, w.Body)
		}
	}
	if len(d.set.List()) != 0 || len(d.log.rows) != 7 {
		t.Errorf("%d providers, %d rows", len(d.set.List()), len(d.log.rows))
	}
	if w := d.call("GET", "/v2/health", ""); w.Code != http.StatusNotFound {
		t.Errorf("%d", w.Code)
	}
}

func TestBearerComparesTheWholeToken(t *testing.T) {
	d := newDesk(t)
	for _, value := range []string{"", "tok", "Bearer", "Bearer ", "Bearer to", "Bearer tok ", "Bearer  tok", "bearer tok", "Basic tok", "Bearer tok2"} {
		r := httptest.NewRequest("GET", "/v1/health", nil)
		r.Header.Set("Authorization", value)
		w := httptest.NewRecorder()
		d.h.ServeHTTP(w, r)
		if w.Code != http.StatusUnauthorized {
			t.Errorf("%q: %d", value, w.Code)
		}
	}
	if last := d.log.rows[len(d.log.rows)-1]; last.Kind != audit.KindRefusal || last.Gate != "admin" || last.Reason != "credential" {
		t.Errorf("%+v", last)
	}
}
