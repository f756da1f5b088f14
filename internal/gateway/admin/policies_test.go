package admin

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"moeca/internal/audit"
	"moeca/internal/gateway/gatewayapi"
)

func TestPolicyChangesAreRowsBeforeTheyTakeEffect(t *testing.T) {
	d := newDesk(t)
	if w := d.call("GET", "/v1/policies/jira", ""); w.Code != 200 || strings.TrimSpace(w.Body.String()) != "{}" {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	w := d.call("PATCH", "/v1/policies/jira", `{"writes":[{"method":"POST","path":"/rest/api/3/issue/*/comment"}]}`)
	if w.Code != 200 || len(d.policies.Get("jira").Writes) != 1 {
		t.Fatalf("%d %s", w.Code, w.Body)
	}
	last := d.log.rows[len(d.log.rows)-1]
	if last.Kind != audit.KindAdmin || last.Subject != "jira" || !strings.Contains(string(last.Detail), "/rest/api/3/issue/*/comment") || last.Attrs[0].Value != "policy.patch" {
		t.Errorf("row %+v", last)
	}
	d.call("PATCH", "/v1/policies/jira", `{"branch_prefixes":["bot/"]}`)
	var p gatewayapi.Policy
	w = d.call("GET", "/v1/policies/jira", "")
	if err := json.Unmarshal(w.Body.Bytes(), &p); err != nil || len(p.Writes) != 1 || len(p.BranchPrefixes) != 1 {
		t.Errorf("a patch dropped another field: %s", w.Body)
	}
	if w = d.call("GET", "/v1/policies", ""); !strings.Contains(w.Body.String(), `"jira":{`) {
		t.Errorf("%s", w.Body)
	}
	d.log.down = errors.New("disk full")
	if w = d.call("PATCH", "/v1/policies/jira", `{"writes":[]}`); w.Code != 503 || len(d.policies.Get("jira").Writes) != 1 {
		t.Errorf("an unrecorded change took effect: %d %s", w.Code, w.Body)
	}
	d.log.down, d.log.broken = nil, errors.New("sync failed")
	if w = d.call("PATCH", "/v1/policies/jira", `{"writes":[]}`); w.Code != 503 || len(d.policies.Get("jira").Writes) != 1 {
		t.Errorf("a change took effect before its row was durable: %d %s", w.Code, w.Body)
	}
}

func TestPoliciesThatCannotBeMeantAreRefused(t *testing.T) {
	d := newDesk(t)
	for _, body := range []string{
		`{"writes":[{"method":"ANY","path":"/x"}]}`, `{"writes":[{"path":"/x"}]}`, `{"allow_merge":true}`, `{"branch_prefixes":[""]}`,
		`{"forbidden":[{"operation":"a","effect":"maybe"}]}`, `[]`, `{}{}`,
	} {
		if w := d.call("PATCH", "/v1/policies/github", body); w.Code != 400 {
			t.Errorf("%s: %d %s", body, w.Code, w.Body)
		}
	}
	if len(d.policies.All()) != 0 {
		t.Error("a refused policy took effect")
	}
}

// A word that is mistyped would forbid nothing, and nobody would be told.
func TestRuleForAnOperationTheProviderDoesNotHaveIsRefused(t *testing.T) {
	d := newDesk(t)
	if w := d.call("PUT", "/v1/providers/hub", `{"kind":"github"}`); w.Code != 200 {
		t.Fatalf("%d %s", w.Code, w.Body)
	}
	rows := len(d.log.rows)
	for _, body := range []string{`{"forbidden":[{"operation":"GITHUB.comment","effect":"block"}]}`, `{"writes":[{"operation":"github.reveiw"}]}`} {
		if w := d.call("PATCH", "/v1/policies/hub", body); w.Code != 400 || !strings.Contains(w.Body.String(), "github.review") {
			t.Errorf("%s: %d %s", body, w.Code, w.Body)
		}
	}
	for _, r := range d.log.rows[rows:] {
		if r.Kind == audit.KindAdmin {
			t.Errorf("a refused rule is recorded as a change: %+v", r)
		}
	}
	if w := d.call("PATCH", "/v1/policies/hub", `{"forbidden":[{"operation":"github.comment","effect":"block"}]}`); w.Code != 200 {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}

func TestShippedRulesAreToldForKnownUpstreamsOnly(t *testing.T) {
	d := newDesk(t)
	if w := d.call("PUT", "/v1/providers/hub", `{"kind":"github"}`); w.Code != 200 {
		t.Fatalf("%d %s", w.Code, w.Body)
	}
	var got gatewayapi.Shipped
	w := d.call("GET", "/v1/policies/hub/shipped", "")
	if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil || got.Kind != "github" || len(got.Operations) < 10 || len(got.ProtectedRefs) != 3 {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	if w = d.call("GET", "/v1/policies/nobody/shipped", ""); w.Code != 404 {
		t.Errorf("an unknown upstream: %d %s", w.Code, w.Body)
	}
}

func TestPolicyThatAddsNothingIsNotKept(t *testing.T) {
	d := newDesk(t)
	d.call("PATCH", "/v1/policies/jira", `{"branch_prefixes":["bot/"]}`)
	if w := d.call("PATCH", "/v1/policies/jira", `{"branch_prefixes":[]}`); w.Code != 200 || len(d.policies.All()) != 0 {
		t.Errorf("%d %s, %d kept", w.Code, w.Body, len(d.policies.All()))
	}
}
