package admin

import (
	"net/http"
	"strings"
	"testing"

	"moeca/internal/audit"
	"moeca/internal/gateway"
)

func TestRetentionIsARowFirst(t *testing.T) {
	d := newDesk(t)
	if _, body := d.do("GET", "/v1/retention", ""); !strings.Contains(body, `"days":30`) {
		t.Errorf("nobody has said anything: %s", body)
	}
	for body, want := range map[string]int{
		`{"days":7}`: 200, `{"days":0}`: 200, `{"days":3650}`: 200,
		`{"days":-1}`: 400, `{"days":3651}`: 400, `{"days":1.5}`: 400, `{"days":"7"}`: 400, `{"day":7}`: 400, ``: 400,
	} {
		before := len(d.log.rows)
		status, answer := d.do("PUT", "/v1/retention", body)
		row := d.log.rows[before]
		action, _ := row.Attr("action")
		if status != want || len(d.log.rows) != before+1 || want == 200 != (row.Kind == audit.KindAdmin && action == gateway.ActionRetention) {
			t.Errorf("%s: %d %s, row %+v", body, status, answer, row)
		}
		if want == 200 && !strings.Contains(answer, body[1:len(body)-1]) {
			t.Errorf("%s is answered %s", body, answer)
		}
	}
	d.log.down = http.ErrServerClosed
	_, before := d.do("GET", "/v1/retention", "")
	if status, _ := d.do("PUT", "/v1/retention", `{"days":1}`); status != http.StatusServiceUnavailable {
		t.Errorf("a log that is down: %d", status)
	}
	if _, after := d.do("GET", "/v1/retention", ""); after != before {
		t.Errorf("changed without a row: %s", after)
	}
}
