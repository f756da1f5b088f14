package gateway

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"moeca/internal/audit"
	"moeca/internal/gateway/gate"
	"moeca/internal/gateway/gatewayapi"
	"moeca/internal/session"
)

// denied is how many refusals a row stands for.
func denied(row audit.Record) int {
	n, counted := row.Attr("count")
	if !counted {
		return 1
	}
	count, _ := strconv.Atoi(n)
	return count
}

// denials returns the refusal rows once they stand for want refusals.
func (r *rig) denials(want int) (rows []audit.Record) {
	r.t.Helper()
	for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(5 * time.Millisecond) {
		n := 0
		rows = rows[:0]
		for _, row := range r.all() {
			if row.Kind == audit.KindRefusal {
				rows = append(rows, row)
				n += denied(row)
			}
		}
		if n == want {
			return rows
		}
		if n > want || time.Now().After(deadline) {
			r.t.Fatalf("rows of %d refusals, want %d: %+v", n, want, rows)
		}
	}
}

func (r *rig) until(what string, done func() bool) {
	r.t.Helper()
	for deadline := time.Now().Add(20 * time.Second); !done(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(deadline) {
			r.t.Fatal(what)
		}
	}
}

// A loop of requests over the rate, each with a megabyte, leaves a few rows.
func TestRefusalsInALoopDoNotFillTheDisk(t *testing.T) {
	r := newRig(t, Limits{ModelPerSecond: 1e-9, ModelBurst: 1, ToolPerSecond: 1, ToolBurst: 1}, session.Scope{})
	noise := strings.Repeat("x", 1<<20)
	r.post("/anthropic/v1/messages", smallBody)
	before := len(r.logBytes())
	const n = 60
	for range n {
		if resp, body := r.post("/anthropic/v1/messages", noise); resp.StatusCode != http.StatusTooManyRequests {
			t.Fatalf("%d %s", resp.StatusCode, body)
		}
	}
	r.g.Revoke(t.Context(), r.sandbox.ID)
	rows := r.denials(n)
	if len(rows) != 21 || denied(rows[20]) != n-20 {
		t.Errorf("%d rows of %d refusals", len(rows), n)
	}
	last := rows[20]
	if last.Attribution.Session != r.sandbox.ID || last.Actor != audit.ActorAgent || last.Gate != "rate" || last.Upstream != "anthropic" {
		t.Errorf("counted row %+v", last)
	}
	for _, key := range []string{"first", "last"} {
		if at, _ := last.Attr(key); at == "" {
			t.Errorf("the counted row does not say when the %s was", key)
		}
	}
	if grown := len(r.logBytes()) - before; grown > 64<<10 {
		t.Errorf("the log grew by %d bytes", grown)
	}
}

func TestCountedRefusalsSurviveAnEndOfTheGateway(t *testing.T) {
	r := newRig(t, Limits{DenialRows: 1}, session.Scope{})
	for range 5 {
		r.post("/nowhere", "")
		r.do(http.DefaultClient, "GET", "http://"+r.addr+"/x", "")
	}
	r.g.Close(t.Context())
	if rows := r.denials(10); len(rows) != 4 {
		t.Errorf("%d rows: %+v", len(rows), rows)
	}
}

// While the log is down a counted refusal is not answered as if it were fine.
func TestCountedRefusalNeedsALogToo(t *testing.T) {
	r := newRig(t, Limits{DenialRows: 1}, session.Scope{})
	r.post("/nowhere", "")
	r.log.set(func(l *faultLog) { l.down = audit.ErrFull })
	if resp, body := r.post("/nowhere", ""); resp.StatusCode != http.StatusServiceUnavailable {
		t.Errorf("%d %s", resp.StatusCode, body)
	}
	r.log.set(func(l *faultLog) { l.down = nil })
}

func TestSessionThatIsRefusedTooOftenIsEnded(t *testing.T) {
	r := newRig(t, Limits{SessionDenials: 30}, session.Scope{})
	for range 31 {
		if resp, _ := r.post("/nowhere", ""); resp.StatusCode != http.StatusNotFound {
			t.Fatal(resp.StatusCode)
		}
	}
	r.ended(r.sandbox.ID, ActionExpel, OverDenials)
	if _, err := os.Lstat(r.sock); !os.IsNotExist(err) {
		t.Errorf("its socket is there: %v", err)
	}
	r.denials(31)
	resp, body := r.do(http.DefaultClient, "POST", "http://"+r.addr+"/anthropic/v1/messages", smallBody, "X-Moeca-Session", r.token)
	if resp.StatusCode != http.StatusOK {
		t.Errorf("another session is ended with it: %d %s", resp.StatusCode, body)
	}
}

func TestSessionWithTooManyRecordsIsEnded(t *testing.T) {
	r := newRig(t, Limits{SessionRecords: 6}, session.Scope{})
	for range 4 { // the last may be cut
		resp, err := r.overSocket().Post("http://g/anthropic/v1/messages", "application/json", strings.NewReader(smallBody))
		if err == nil {
			_, _ = io.Copy(io.Discard, resp.Body)
			_ = resp.Body.Close()
		}
	}
	r.ended(r.sandbox.ID, ActionExpel, OverRecords)
	r.rows(audit.KindOutcome, 4)
}

// ended waits for the row of a session's end and the end itself.
func (r *rig) ended(id, action, over string) {
	r.t.Helper()
	r.until("no row of the end of the session", func() bool {
		for _, row := range r.all() {
			did, _ := row.Attr("action")
			why, _ := row.Attr("over")
			if row.Kind == audit.KindAdmin && row.Subject == id && did == action && why == over && row.Attribution.Session == id {
				return bytes.Contains(row.Detail, []byte(`"tokens":`))
			}
		}
		return false
	})
	if l, ok := r.g.enter(id); ok {
		l.leave()
		r.t.Error("the session is live")
	}
}

// Beyond its quota a session's bodies are in the log by their commitments.
func TestBodiesBeyondTheQuotaAreCommitments(t *testing.T) {
	r := newRig(t, Limits{SessionKept: 5000}, session.Scope{})
	r.answers(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, strings.Repeat("a", 1000)) })
	for range 5 {
		if resp, body := r.post("/tool/x", strings.Repeat("q", 1000)); resp.StatusCode != http.StatusOK {
			t.Fatalf("%d %s", resp.StatusCode, body)
		}
	}
	var stored int64
	for _, row := range append(r.rows(audit.KindIntent, 5), r.rows(audit.KindOutcome, 5)...) {
		for _, b := range []*audit.BodyRef{row.Request, row.Response} {
			if b == nil {
				continue
			}
			stored += b.Stored
			if b.Size != 1000 || b.Truncated != (b.Stored < b.Size) || b.Commitment == (audit.Hash{}) {
				t.Errorf("%+v", b)
			}
		}
	}
	if stored > 5000 || stored < 4000 {
		t.Errorf("%d bytes kept of a quota of 5000", stored)
	}
}

func TestStrangersLeaveNothingOfTheirOwn(t *testing.T) {
	r := newRig(t, Limits{DenialSeconds: 1}, session.Scope{})
	const n = 40
	for i := range n {
		resp, body := r.do(http.DefaultClient, "POST", fmt.Sprintf("http://%s/chosen-text-%d", r.addr, i), "chosen-body", "X-Chosen", "chosen-header")
		if resp.StatusCode != http.StatusUnauthorized || !resp.Close {
			t.Fatalf("%d %s", resp.StatusCode, body)
		}
	}
	rows := r.denials(n)
	if len(rows) > 8 {
		t.Errorf("%d rows", len(rows))
	}
	for _, row := range rows {
		if row.Actor != 0 || row.Target != "" || row.Method != "" || row.Request != nil || row.Attribution != (audit.Attribution{}) || row.Reason != gate.ReasonNoSession {
			t.Errorf("%+v", row)
		}
	}
	if bytes.Contains(r.logBytes(), []byte("chosen")) {
		t.Error("the log holds what a stranger wrote")
	}
}

func TestExpiredSessionLeavesARow(t *testing.T) {
	r := newRig(t, Limits{}, session.Scope{})
	dir := filepath.Join(r.dir, "brief")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	m, err := r.g.Mint(gatewayapi.MintRequest{Scope: session.Scope{Upstreams: []string{"tool"}, Run: "run-7"}, TTL: 1, SocketDir: dir})
	if err != nil {
		t.Fatal(err)
	}
	if err := m.Serve(); err != nil {
		t.Fatal(err)
	}
	r.ended(m.Session.ID, ActionExpired, "")
}
