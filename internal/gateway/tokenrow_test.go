package gateway

import (
	"bytes"
	"net/http"
	"strings"
	"testing"

	"moeca/internal/audit"
	"moeca/internal/session"
)

// TestNoRowHoldsAToken: who writes a token into a path or a model's name does not
// leave it to whoever reads the log while the session lives.
func TestNoRowHoldsAToken(t *testing.T) {
	r := newRig(t, Limits{}, session.Scope{})
	for _, path := range []string{"/" + r.token + "/x", "/anthropic/" + r.token, "/anthropic/v1/" + strings.ToUpper(r.token), "/anthropic/v1/messages/" + r.token + "?x=" + r.token} {
		resp, _ := r.do(http.DefaultClient, "POST", "http://"+r.addr+path, smallBody, "X-Moeca-Session", r.token)
		if resp.StatusCode < 400 {
			t.Errorf("%s: %d", path, resp.StatusCode)
		}
	}
	named := strings.Replace(smallBody, `"model":"`, `"model":"`+r.token, 1)
	if named == smallBody {
		t.Fatal("the body names no model")
	}
	r.do(http.DefaultClient, "POST", "http://"+r.addr+"/anthropic/v1/messages", named, "X-Moeca-Session", r.token)
	r.denials(4)
	seen := 0
	for _, row := range r.all() {
		if strings.Contains(row.Target+row.Model, session.TokenPrefix+"redacted") {
			seen++
		}
		row.Request, row.Response = nil, nil
		raw, err := audit.Encode(nil, &row)
		if err != nil {
			t.Fatal(err)
		}
		if bytes.Contains(bytes.ToLower(raw), []byte(r.token)) {
			t.Errorf("row %d of %s has a token: %s %s", row.Seq, row.Kind, row.Target, row.Model)
		}
	}
	if seen < 4 {
		t.Errorf("%d rows say that one was there", seen)
	}
}
