package policy

import (
	"slices"
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

// What no rule opens is said to a person who looks for a rule, with the reason
// that a refusal gives.
func TestWhatIsNeverPermittedIsShown(t *testing.T) {
	const push = "application/x-git-receive-pack-request"
	for name, in := range map[string]Input{
		"a merge":                jsonInput(upstream.KindGitHub, "PUT", "/repos/o/n/pulls/1/merge", "{}"),
		"an approval":            jsonInput(upstream.KindGitHub, "POST", "/repos/o/n/pulls/1/reviews", `{"event":"APPROVE"}`),
		"a hook":                 jsonInput(upstream.KindGitHub, "POST", "/repos/o/n/hooks", "{}"),
		"a check":                jsonInput(upstream.KindGitHub, "POST", "/repos/o/n/check-runs", "{}"),
		"a release":              jsonInput(upstream.KindGitHub, "POST", "/repos/o/n/releases", "{}"),
		"a repository by number": jsonInput(upstream.KindGitHub, "GET", "/repositories/1", ""),
		"a forced update":        jsonInput(upstream.KindGitHub, "PATCH", "/repos/o/n/git/refs/heads/moeca/x", `{"sha":"x","force":true}`),
		"a push that deletes":    gitInput("POST", "/o/n.git/git-receive-pack", push, pkt(oidA+" "+zero+" refs/heads/moeca/x"+caps)),
		"a fetch that posts":     jsonInput(upstream.KindFetch, "POST", "/x", "{}"),
		"a token in the body":    jsonInput(upstream.KindTrello, "POST", "/1/cards", `{"token":"x"}`),
		"a method in the body":   jsonInput(upstream.KindCustom, "POST", "/x", `{"_method":"DELETE"}`),
	} {
		ops, err := Parse(in)
		if err != nil || len(ops) != 1 || ops[0].Never == "" {
			t.Errorf("%s: %+v, %v", name, ops, err)
			continue
		}
		shown := func(n gatewayapi.ShippedNever) bool { return n.Why == ops[0].Never && n.What != "" }
		if !slices.ContainsFunc(ShippedBy(in.Kind).Never, shown) {
			t.Errorf("%s is refused because %q, and %s shows no such thing", name, ops[0].Never, in.Kind)
		}
	}
}
