package admin

import (
	"encoding/json"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"moeca/internal/audit"
	"moeca/internal/gateway/gatewayapi"
)

func TestRepositoryIsAskedThroughEveryGateAndReadStrictly(t *testing.T) {
	var answer atomic.Pointer[string]
	var status atomic.Int64
	status.Store(200)
	var seen atomic.Pointer[string]
	d, _ := probed(t, func(w http.ResponseWriter, r *http.Request) {
		seen.Store(&r.RequestURI)
		w.WriteHeader(int(status.Load()))
		_, _ = w.Write([]byte(*answer.Load()))
	})
	ask := func(upstream, name string) (int, string) {
		w := d.call("GET", "/v1/providers/"+upstream+"/repository?name="+name, "")
		return w.Code, w.Body.String()
	}
	good := `{"id":1296269,"node_id":"R_kgDOABPHjQ","full_name":"Octo/Hello.World","default_branch":"trunk","owner":{"id":7}}`
	answer.Store(&good)
	code, body := ask("github", "octo/Hello.World")
	var repo gatewayapi.Repository
	if err := json.Unmarshal([]byte(body), &repo); err != nil || code != 200 || repo != (gatewayapi.Repository{FullName: "Octo/Hello.World", ID: 1296269, DefaultBranch: "trunk"}) {
		t.Fatalf("%d %s", code, body)
	}
	if *seen.Load() != "/repos/octo/Hello.World" {
		t.Errorf("asked %s", *seen.Load())
	}
	intents := 0
	for _, row := range d.log.rows {
		if row.Kind == audit.KindIntent && row.Upstream == "github" && row.Actor == audit.ActorService {
			intents++
		}
	}
	if intents != 1 {
		t.Errorf("%d intents", intents)
	}
	for name, text := range map[string]string{
		"no object": `[]`, "an id twice": `{"id":1,"id":2,"full_name":"octo/Hello.World","default_branch":"m"}`,
		"an id in another case":    `{"ID":1,"full_name":"octo/Hello.World","default_branch":"m"}`,
		"an id as text":            `{"id":"1","full_name":"octo/Hello.World","default_branch":"m"}`,
		"an id with a fraction":    `{"id":1.5,"full_name":"octo/Hello.World","default_branch":"m"}`,
		"an id as a power":         `{"id":1e3,"full_name":"octo/Hello.World","default_branch":"m"}`,
		"no id":                    `{"full_name":"octo/Hello.World","default_branch":"m"}`,
		"an id of zero":            `{"id":0,"full_name":"octo/Hello.World","default_branch":"m"}`,
		"a negative id":            `{"id":-3,"full_name":"octo/Hello.World","default_branch":"m"}`,
		"an id beyond any":         `{"id":9223372036854775808,"full_name":"octo/Hello.World","default_branch":"m"}`,
		"another repository":       `{"id":1,"full_name":"octo/other","default_branch":"m"}`,
		"no default branch":        `{"id":1,"full_name":"octo/Hello.World"}`,
		"data behind":              good + "{}",
		"a key in two cases":       `{"id":1,"Id":2,"full_name":"octo/Hello.World","default_branch":"m"}`,
		"a name that is no string": `{"id":1,"full_name":7,"default_branch":"m"}`,
	} {
		answer.Store(&text)
		if code, body := ask("github", "octo/Hello.World"); code != http.StatusBadGateway || !strings.Contains(body, "unclear-answer") {
			t.Errorf("%s: %d %s", name, code, body)
		}
	}
	for upstreamStatus, want := range map[int]int{404: 404, 301: 404, 401: 502, 500: 502} {
		status.Store(int64(upstreamStatus))
		if code, body := ask("github", "octo/Hello.World"); code != want {
			t.Errorf("%d: %d %s", upstreamStatus, code, body)
		}
	}
	for _, name := range []string{"", "octo", "octo/", "/x", "octo/..", "../x", "octo/x/y", "octo/x%2Fy", "octo/x%20y", "./x", "octo/.", strings.Repeat("a", 101) + "/x"} {
		if code, _ := ask("github", name); code != http.StatusBadRequest {
			t.Errorf("%q: %d", name, code)
		}
	}
	if code, _ := ask("jira", "octo/x"); code != http.StatusBadRequest {
		t.Errorf("of a tracker: %d", code)
	}
	if code, _ := ask("nowhere", "octo/x"); code != http.StatusNotFound {
		t.Errorf("of nothing: %d", code)
	}
}
