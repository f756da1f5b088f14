package policy

import (
	"strings"
	"testing"

	"moeca/internal/gateway/gatewayapi"
	"moeca/internal/gateway/upstream"
)

// What a person is shown as shipped is what Parse decides, route by route.
func TestShippedIsWhatParseSays(t *testing.T) {
	bodies := map[string]string{
		"github.create-branch":              `{"ref":"refs/heads/moeca/x","sha":"x"}`,
		"github.create-pull-request":        `{"head":"moeca/x"}`,
		"github.create-pull-request-across": `{"head":"evil:moeca/x"}`,
		"github.review":                     `{"event":"COMMENT"}`,
		"github.update-ref":                 `{"sha":"x"}`,
		"github.commit-contents":            `{"branch":"moeca/x"}`,
	}
	for _, kind := range upstream.Kinds() {
		checked := 0
		for _, op := range ShippedBy(kind).Operations {
			if op.Name == "" || op.Routes == nil {
				t.Errorf("%s: %+v", kind, op)
			}
			for _, route := range op.Routes {
				method, path, ok := strings.Cut(route, " /")
				if !ok || path == "graphql" || strings.HasPrefix(op.Name, "git.") {
					continue // tested by their own tables
				}
				body := ""
				if method != "GET" && method != "DELETE" {
					if body = bodies[op.Name]; body == "" {
						body = "{}"
					}
				}
				path = strings.NewReplacer("**", "heads/moeca/x", "*", "1").Replace(path)
				got, err := Parse(jsonInput(kind, method, "/"+path, body))
				if dismissed(op, route) {
					continue
				}
				if err != nil || len(got) != 1 || got[0].Name != op.Name || got[0].Read != op.Read || got[0].Shipped != op.Permitted || got[0].Never != "" {
					t.Errorf("%s %s of %s: %+v, %v", method, path, op.Name, got, err)
				}
				checked++
			}
		}
		if kind == upstream.KindGitHub && checked < 20 {
			t.Errorf("only %d routes of %s were checked", checked, kind)
		}
	}
}

// dismissed: a review is one operation, of which some routes are for a person.
func dismissed(op gatewayapi.ShippedOperation, route string) bool {
	return op.Name == "github.review" && (strings.HasPrefix(route, "DELETE") || strings.HasSuffix(route, "dismissals"))
}
