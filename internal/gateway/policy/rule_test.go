package policy

import (
	"testing"

	"moeca/internal/gateway/gatewayapi"
)

func TestForbiddenPathsInEverySpelling(t *testing.T) {
	rule := func(method, path string) gatewayapi.OperationRule {
		return gatewayapi.OperationRule{Method: method, Path: path}
	}
	for name, c := range map[string]struct {
		rule         gatewayapi.OperationRule
		method, path string
		want         bool
	}{
		"as it is":                     {rule("DELETE", "/projects/*"), "DELETE", "/projects/1", true},
		"a slash at the end":           {rule("DELETE", "/projects/*"), "DELETE", "/projects/1/", true},
		"capitals":                     {rule("DELETE", "/projects/*"), "DELETE", "/Projects/1", true},
		"capitals in the rule":         {rule("DELETE", "/Projects/all"), "DELETE", "/projects/ALL", true},
		"an extension":                 {rule("POST", "/admin/reset"), "POST", "/admin/reset.json", true},
		"an extension of the rule":     {rule("POST", "/admin/reset.do"), "POST", "/admin/reset.do", true},
		"a blank at the end":           {rule("POST", "/admin/reset"), "POST", "/admin/reset ", true},
		"wide letters":                 {rule("POST", "/admin/reset"), "POST", "/\uff41dmin/reset", true},
		"a Kelvin sign":                {rule("POST", "/kill"), "POST", "/\u212aill", true},
		"HEAD for GET":                 {rule("GET", "/secret"), "HEAD", "/secret", true},
		"the rest":                     {rule("POST", "/admin/**"), "POST", "/ADMIN/a/b/", true},
		"another path":                 {rule("POST", "/admin/reset"), "POST", "/admin/resets", false},
		"another method":               {rule("POST", "/admin/reset"), "PUT", "/admin/reset", false},
		"GET for HEAD":                 {rule("HEAD", "/secret"), "GET", "/secret", false},
		"more than the rule":           {rule("DELETE", "/projects/*"), "DELETE", "/projects/1/tags", false},
		"nothing where one must stand": {rule("DELETE", "/projects/*"), "DELETE", "/projects/", false},
		"the top":                      {rule("GET", "/"), "GET", "/", true},
		"an operation by name":         {gatewayapi.OperationRule{Operation: "custom.write"}, "POST", "/x", true},
		"another operation":            {gatewayapi.OperationRule{Operation: "custom.action"}, "POST", "/x", false},
	} {
		if got := Covers(c.rule, c.method, c.path, Operation{Name: "custom.write"}); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
	for _, spelled := range []string{"/admin/reset/", "/Admin/reset", "/admin/reset.json"} {
		if Permits(rule("POST", "/admin/reset"), "POST", spelled, Operation{Name: "custom.write"}) {
			t.Errorf("a rule that permits takes %s too", spelled)
		}
	}
}
