package admin

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"moeca/internal/audit"
	"moeca/internal/gateway/gatewayapi"
)

// auditDesk is a desk with a log on the disk that holds one exchange of a run.
func auditDesk(t *testing.T) (d *desk, log *audit.Log, dir string) {
	dir = filepath.Join(t.TempDir(), "audit")
	log, err := audit.Open(dir, audit.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { log.Close() })
	c := audit.NewCapture(1 << 10)
	if _, err := c.Write([]byte("a question")); err != nil {
		t.Fatal(err)
	}
	p, err := log.Queue(audit.Record{Kind: audit.KindIntent, Attribution: audit.Attribution{Run: "r1"}}, c.Body(), nil)
	if err == nil {
		err = p.Wait(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
	d = newDesk(t)
	d.serve(log)
	return d, log, dir
}

func (d *desk) serve(a Audit) {
	d.o.Audit = a
	d.h = New(d.o)
}

func TestCheckpointIsSignedOnRequest(t *testing.T) {
	d, log, dir := auditDesk(t)
	seq, _ := log.Head()
	w := d.call("GET", "/v1/checkpoint", "")
	var got gatewayapi.Checkpoint
	if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil || w.Code != 200 || got.Size < seq {
		t.Fatalf("%d %s, %v", w.Code, w.Body, err)
	}
	c, err := audit.ParseCheckpoint(got.Text)
	if err != nil || c.Verify(got.Vkey) != nil || c.Origin != got.Origin || c.Size != got.Size || c.Root.String() != got.Root {
		t.Fatalf("%+v, %v", c, err)
	}
	if rep, err := audit.Verify(t.Context(), dir, audit.VerifyOptions{Held: &c}); err != nil || !rep.OK {
		t.Errorf("%+v, %v", rep, err)
	}
}

func TestEraseThroughTheAdminListener(t *testing.T) {
	d, _, dir := auditDesk(t)
	for body, reason := range map[string]string{
		`{"actor":"person"}`:                        "selection",
		`{"actor":"person","run":"r1","task":"t"}`:  "selection",
		`{"actor":"agent","run":"r1"}`:              "actor",
		`{"run":"r1"}`:                              "actor",
		`{"actor":"person","run":"r1","all":true}`:  "invalid-body",
		`{"actor":"person","before":"yesterday"}`:   "invalid-body",
		`{"actor":"person","run":"r1"}{"run":"r2"}`: "invalid-body",
	} {
		if w := d.call("POST", "/v1/erase", body); w.Code != http.StatusBadRequest || !strings.Contains(w.Body.String(), `"`+reason+`"`) {
			t.Errorf("%s: %d %s", body, w.Code, w.Body)
		}
	}
	w := d.call("POST", "/v1/erase", `{"actor":"person","run":"r1","reason":"asked to"}`)
	var got gatewayapi.Erased
	if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil || w.Code != 200 || got.Bodies != 1 || got.Row == 0 {
		t.Fatalf("%d %s, %v", w.Code, w.Body, err)
	}
	rep, err := audit.Verify(t.Context(), dir, audit.VerifyOptions{Bodies: true})
	if err != nil || !rep.OK || rep.Erased != 1 {
		t.Errorf("%+v, %v", rep, err)
	}
}

// deadlines notes what a handler makes of its connection's.
type deadlines struct {
	*httptest.ResponseRecorder
	written []time.Time
}

func (d *deadlines) SetWriteDeadline(t time.Time) error {
	d.written = append(d.written, t)
	return nil
}

// Overwriting a month of contents takes longer than the listener gives an answer.
func TestAnErasureIsAnsweredHoweverLongItTakes(t *testing.T) {
	d, _, _ := auditDesk(t)
	r := httptest.NewRequest("POST", "/v1/erase", strings.NewReader(`{"actor":"person","run":"r1"}`))
	r.Header.Set("Authorization", "Bearer tok")
	w := &deadlines{ResponseRecorder: httptest.NewRecorder()}
	d.h.ServeHTTP(w, r)
	if w.Code != http.StatusOK || len(w.written) != 1 || !w.written[0].IsZero() {
		t.Errorf("%d %s, write deadlines %v", w.Code, w.Body, w.written)
	}
}

// badAudit fails as a log does that cannot be written, or in the middle.
type badAudit struct{ begun bool }

var errDisk = errors.New("input/output error")

func (badAudit) Checkpoint(context.Context) (audit.Checkpoint, error) {
	return audit.Checkpoint{}, errDisk
}
func (badAudit) Vkey() string { return "" }
func (b badAudit) Erase(context.Context, audit.Erasure) (audit.Erased, error) {
	if b.begun {
		return audit.Erased{Row: 7}, errDisk
	}
	return audit.Erased{}, errDisk
}

func TestAuditTroubleIsSaid(t *testing.T) {
	for _, begun := range []bool{false, true} {
		d := newDesk(t)
		d.serve(badAudit{begun})
		if w := d.call("GET", "/v1/checkpoint", ""); w.Code != http.StatusServiceUnavailable {
			t.Errorf("%d %s", w.Code, w.Body)
		}
		w := d.call("POST", "/v1/erase", `{"actor":"host","run":"r1"}`)
		if begun && (w.Code != http.StatusInternalServerError || !strings.Contains(w.Body.String(), "carries on")) || !begun && w.Code != http.StatusServiceUnavailable {
			t.Errorf("begun %v: %d %s", begun, w.Code, w.Body)
		}
	}
}
