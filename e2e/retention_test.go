package e2e

import (
	"encoding/json"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"moeca/internal/audit"
	"moeca/internal/gateway/gatewayapi"
	"moeca/internal/hostapi"
)

// TestOldContentsAreErased starts a host on a log that holds contents of two
// months, and of an hour ago: the old ones are gone from the disk and from the
// index, the new ones are there, every row is, and rows of the log say what was
// erased and why. The setting is a person's.
func TestOldContentsAreErased(t *testing.T) {
	needDriver(t, "native")
	dir := shortDir(t)
	old, fresh := "a-content-of-two-months-ago", "a-content-of-an-hour-ago"
	oldLog(t, dir, old, fresh)
	s := serve(t, dir, "native")
	var state hostapi.AuditPage
	eventually(t, time.Minute, "the sweep", func() bool {
		s.call("GET", "/api/audit?kind=system&limit=50", nil, &state)
		return len(state.Items) > 0 && state.Items[0].Subject == "erased"
	})
	said := state.Items[1]
	var erasure audit.Erasure
	if err := json.Unmarshal([]byte(said.Detail), &erasure); err != nil || said.Subject != "erase" || said.Actor != "host" || erasure.Select.Before == nil || !strings.Contains(erasure.Reason, "30 days") {
		t.Errorf("the row of the sweep: %+v", said)
	}
	data := filepath.Join(dir, "data")
	if has, kept := filesWith(t, data, old), filesWith(t, data, fresh); has != 0 || kept == 0 {
		t.Errorf("files on the disk with old contents: %d, with new ones: %d", has, kept)
	}
	for text, want := range map[string]int{old: 0, fresh: 1} {
		var page hostapi.AuditPage
		if s.call("GET", "/api/audit?kind=intent&q="+text, nil, &page); len(page.Items) != want {
			t.Errorf("%d rows are found by %s", len(page.Items), text)
		}
	}
	mustVerify(t, s)

	program := s.as(s.programToken())
	if status, body := program.try("PUT", "/api/audit/retention", gatewayapi.Retention{Days: 1}); status != http.StatusForbidden {
		t.Errorf("a program sets the retention: %d %s", status, body)
	}
	if out, code := typed(t, dir, "yes\n", "audit", "retention", "--days", "7"); code == 0 {
		t.Errorf("set without the sentence:\n%s", out)
	}
	if out, code := typed(t, dir, "keep contents for 7 days\n", "audit", "retention", "--days", "7"); code != 0 || !strings.Contains(out, "7 days") {
		t.Errorf("exit %d\n%s", code, out)
	}
	for _, bad := range []string{"0", "-1", "x", "4000"} {
		if err := command(t, dir, "audit", "retention", "--days", bad).Run(); err == nil {
			t.Errorf("--days %s was taken", bad)
		}
	}
	s.stop()
	s = serve(t, dir, "native")
	var now gatewayapi.Retention
	if s.call("GET", "/api/audit/retention", nil, &now); now.Days != 7 {
		t.Errorf("after a restart contents are kept for %d days", now.Days)
	}
	if out, err := command(t, dir, "audit", "retention", "--days", "off").Output(); err != nil || !strings.Contains(string(out), "for ever") {
		t.Errorf("off: %v\n%s", err, out)
	}
}

// oldLog makes a log with contents of two months and of an hour ago.
func oldLog(t *testing.T, dir, old, fresh string) {
	t.Helper()
	at := time.Now().AddDate(0, -2, 0)
	l, err := audit.Open(filepath.Join(dir, "data", "audit"), audit.Options{Now: func() time.Time { return at }})
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{old, fresh} {
		p, err := l.Queue(audit.Record{Kind: audit.KindIntent, Upstream: "x", Method: "POST"}, audit.CaptureOf([]byte(text), 1<<20), nil)
		if err == nil {
			_, err = l.Queue(audit.Record{Kind: audit.KindOutcome, Ref: p.Seq(), Result: audit.ResultOK}, nil, audit.CaptureOf([]byte(text), 1<<20))
		}
		if err != nil {
			t.Fatal(err)
		}
		at = time.Now().Add(-time.Hour)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
}
