package admin

import (
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"testing"

	"moeca/internal/audit"
	"moeca/internal/gateway"
	"moeca/internal/gateway/gatewayapi"
	"moeca/internal/session"
)

// do is call with the answer as status and text.
func (d *desk) do(method, path, body string) (int, string) {
	w := d.call(method, path, body)
	return w.Code, w.Body.String()
}

func TestBudgetsAndPricesAreRowsFirst(t *testing.T) {
	d := newDesk(t)
	for _, c := range []struct {
		method, path, body string
		status             int
		action, subject    string
	}{
		{"PUT", "/v1/budgets", `{"scope":"day","budget":{"tokens":5000,"cost_nano":70}}`, 200, gateway.ActionBudget, "day"},
		{"PUT", "/v1/budgets", `{"scope":"provider","id":"anthropic","budget":{"cost_nano":-1}}`, 200, gateway.ActionBudget, "provider anthropic"},
		{"PATCH", "/v1/prices", `{"set":[{"kind":"openai","model":"m","input":"1.5","output":"2"}]}`, 200, gateway.ActionPrices, "prices"},
		{"PUT", "/v1/budgets", `{"scope":"day","id":"x","budget":{}}`, 400, "", ""},
		{"PUT", "/v1/budgets", `{"scope":"provider","budget":{}}`, 400, "", ""},
		{"PUT", "/v1/budgets", `{"scope":"run","id":"r","budget":{}}`, 400, "", ""},
		{"PUT", "/v1/budgets", `{"scope":"day","budget":{"tokens":1.5}}`, 400, "", ""},
		{"PATCH", "/v1/prices", `{"set":[{"kind":"openai","model":"m","input":"one"}]}`, 400, "", ""},
		{"PATCH", "/v1/prices", `{"remove":[{"model":"none"}]}`, 400, "", ""},
	} {
		before := len(d.log.rows)
		status, body := d.do(c.method, c.path, c.body)
		if status != c.status {
			t.Fatalf("%s %s: %d %s", c.path, c.body, status, body)
		}
		row := d.log.rows[before]
		action, _ := row.Attr("action")
		if len(d.log.rows) != before+1 || action != c.action || row.Subject != c.subject || c.status == 400 != (row.Kind == audit.KindRefusal) {
			t.Errorf("%s: %+v", c.body, row)
		}
	}
	_, body := d.do("GET", "/v1/budgets", "")
	var states []gatewayapi.BudgetState
	if err := json.Unmarshal([]byte(body), &states); err != nil || len(states) != 2 || states[0].Day == "" {
		t.Fatalf("%s, %v", body, err)
	}
	if *states[0].Limit != (session.Budget{Tokens: 5000, CostNano: 70}) || *states[1].Limit != (session.Budget{Tokens: -1, CostNano: -1}) {
		t.Errorf("%s", body)
	}
	if _, body := d.do("GET", "/v1/prices", ""); !strings.Contains(body, `"input":"1.5"`) {
		t.Error(body)
	}
}

func TestNoBudgetChangesWithoutItsRow(t *testing.T) {
	d := newDesk(t)
	for name, set := range map[string]func(error){"queue": func(err error) { d.log.down = err }, "wait": func(err error) { d.log.broken = err }} {
		set(errors.New("disk full"))
		for path, c := range map[string][2]string{
			"/v1/budgets": {"PUT", `{"scope":"day","budget":{"tokens":1}}`},
			"/v1/prices":  {"PATCH", `{"set":[{"kind":"openai","model":"m","input":"1.5","output":"2"}]}`},
		} {
			if status, body := d.do(c[0], path, c[1]); status != http.StatusServiceUnavailable {
				t.Errorf("%s %s: %d %s", name, path, status, body)
			}
			if _, body := d.do("GET", path, ""); strings.Contains(body, `"limit"`) || strings.Contains(body, `"1.5"`) {
				t.Errorf("%s %s changed: %s", name, path, body)
			}
		}
		set(nil)
	}
}
