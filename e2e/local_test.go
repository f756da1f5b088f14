package e2e

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"moeca/internal/board"
	"moeca/internal/hostapi"
	"moeca/internal/llm/scripted"
)

// TestAgentUsesAModelServerOnLoopback runs a task on a server of the user's own
// that listens on this machine's loopback, by both drivers. Under Docker the
// gateway is in a container that cannot reach loopback, and the host relays.
func TestAgentUsesAModelServerOnLoopback(t *testing.T) {
	for _, driver := range []string{"native", "docker"} {
		t.Run(driver, func(t *testing.T) {
			needDriver(t, driver)
			const key = "local-key-0123456789"
			var calls, strange atomic.Int64
			model := scripted.New(key, 0)
			stub := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				calls.Add(1)
				if !strings.HasPrefix(r.URL.Path, "/v1/") {
					strange.Add(1)
				}
				model.ServeHTTP(w, r)
			}))
			defer stub.Close()
			dir := shortDir(t)
			s := serve(t, dir, driver)
			s.call("PUT", "/api/providers/mine", map[string]any{
				"kind": "anthropic", "local": true, "base_url": stub.URL, "auth_header": "x-api-key", "models": []string{"scripted-1"},
			}, nil)
			var result hostapi.ProviderTest
			s.call("POST", "/api/providers/mine/test", nil, &result)
			if result.Class != "no-key" {
				t.Errorf("without its key: %+v", result)
			}
			s.call("PUT", "/api/providers/mine/secret", map[string]string{"value": "wrong-key-0123456789"}, nil)
			s.call("POST", "/api/providers/mine/test", nil, &result)
			if result.Class != "key" {
				t.Errorf("with a wrong key: %+v", result)
			}
			s.call("PUT", "/api/providers/mine/secret", map[string]string{"value": key}, nil)
			s.call("POST", "/api/providers/mine/test", nil, &result)
			if !result.OK {
				t.Errorf("with its key: %+v", result)
			}
			var models hostapi.ProviderModels
			s.call("GET", "/api/providers/mine/models", nil, &models)
			if len(models.Models) != 1 || models.Models[0] != "scripted-1" {
				t.Errorf("models %q", models.Models)
			}
			before := calls.Load()
			var task board.Task
			s.call("POST", "/api/tasks", board.NewTask{
				RepoID: s.addRepo(smallRepo(t, dir), nil).ID, Title: "On my own server", Provider: "mine", Model: "scripted-1",
				Detail: "Improve the description of this project.",
			}, &task)
			var run board.Run
			s.call("POST", "/api/tasks/"+task.ID+"/run", nil, &run)
			eventually(t, 3*time.Minute, "the run", func() bool {
				s.call("GET", "/api/runs/"+run.ID, nil, &run)
				return finished(run.Status)
			})
			if run.Status != board.StatusDone || calls.Load() == before || strange.Load() != 0 {
				t.Errorf("%s (%s), %d calls, %d of them strange\n%s", run.Status, run.Cause, calls.Load()-before, strange.Load(), s.logs(run.ID))
			}
		})
	}
}
