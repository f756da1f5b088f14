package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/tidwall/gjson"

	"moeca/internal/board"
)

// TestKilledHostLosesNothing kills the host in the middle of a run, at several
// points, and starts it again: the work so far is a commit, no sandbox is left,
// the task says what happened, and a second attempt runs through.
func TestKilledHostLosesNothing(t *testing.T) {
	for _, driver := range []string{"native", "docker"} {
		t.Run(driver, func(t *testing.T) {
			needDriver(t, driver)
			dir := shortDir(t)
			repo := smallRepo(t, dir)
			s := serve(t, dir, driver)
			added := s.addRepo(repo, nil)

			var task board.Task
			s.call("POST", "/api/tasks", board.NewTask{RepoID: added.ID, Title: "Work slowly", Detail: part(slowScript(t))}, &task)
			var run board.Run
			s.call("POST", "/api/tasks/"+task.ID+"/run", nil, &run)
			eventually(t, time.Minute, "the agent's first file", func() bool {
				return strings.Contains(s.logs(run.ID), "kept.txt")
			})
			// The first file is there and the model is thinking about the second.
			tree := filepath.Join(dir, "data", "trees")
			eventually(t, time.Minute, "kept.txt in the tree", func() bool {
				found, err := filepath.Glob(filepath.Join(tree, "*", "kept.txt"))
				return err == nil && len(found) == 1
			})
			s.kill()

			s = serve(t, dir, driver)
			mustHaveNoSandbox(t, dir)
			s.call("GET", "/api/runs/"+run.ID, nil, &run)
			if run.Status != board.StatusFailed || run.Cause == "" {
				t.Errorf("the run is %s (%q), want failed with a cause", run.Status, run.Cause)
			}
			s.call("GET", "/api/tasks/"+task.ID, nil, &task)
			if task.Column != board.ColumnNeeds || task.Cause == "" {
				t.Errorf("the task is %s in %s (%q), want a person to be asked", task.Status, task.Column, task.Cause)
			}
			if task.Attempt == nil || task.Attempt.HeadOID == "" {
				t.Fatalf("no commit was kept: %+v", task.Attempt)
			}
			if got := git(t, repo, "show", task.Attempt.HeadOID+":kept.txt"); got != "written before the crash" {
				t.Errorf("the kept commit has %q", got)
			}
			if refs := git(t, repo, "for-each-ref", "--contains", task.Attempt.HeadOID); refs == "" {
				t.Error("no ref holds the kept commit")
			}
			mustVerify(t, s)
			mustRunAgain(t, s, task)
		})
	}
}

// slowScript writes a file, thinks long enough to be killed, and goes on.
func slowScript(t *testing.T) string {
	return script(t, "Done slowly.",
		map[string]any{"text": "first", "calls": []any{
			call("write_file", map[string]any{"path": "kept.txt", "content": "written before the crash\n"}),
		}},
		map[string]any{"text": "second", "delay_ms": 8000, "calls": []any{
			call("write_file", map[string]any{"path": "late.txt", "content": "late\n"}),
		}},
	)
}

// mustHaveNoSandbox looks for processes that still see a tree of this data
// directory, and for containers that were given one.
func mustHaveNoSandbox(t *testing.T, dir string) {
	t.Helper()
	trees := filepath.Join(dir, "data", "trees")
	mounts, err := filepath.Glob("/proc/[0-9]*/mountinfo")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range mounts {
		if raw, err := os.ReadFile(file); err == nil && strings.Contains(string(raw), trees) {
			t.Errorf("a process still sees a tree: %s", file)
		}
	}
	out, err := exec.Command("docker", "ps", "-a", "--format", "{{.Names}} {{.Mounts}}", "--no-trunc").Output()
	if err != nil {
		return // no engine
	}
	for line := range strings.Lines(string(out)) {
		if strings.Contains(line, trees) {
			t.Errorf("a container is still there: %s", line)
		}
	}
}

func mustRunAgain(t *testing.T, s *server, task board.Task) {
	t.Helper()
	var run board.Run
	s.call("POST", "/api/tasks/"+task.ID+"/run", nil, &run)
	eventually(t, 2*time.Minute, "the second attempt", func() bool {
		s.call("GET", "/api/runs/"+run.ID, nil, &run)
		return finished(run.Status)
	})
	if run.Status != board.StatusDone {
		t.Fatalf("the second attempt ended %s: %s", run.Status, run.Cause)
	}
	s.call("GET", "/api/tasks/"+task.ID, nil, &task)
	if task.Attempt.Number != 2 || task.Files != 2 {
		t.Errorf("second attempt: number %d with %d files, want 2 with 2", task.Attempt.Number, task.Files)
	}
}

// TestKilledGatewayIsOutlived kills the gateway while the model is thinking: it
// comes back, the session is minted again at the same socket, and the run ends
// well. What was on its way is in the log with an unknown outcome.
func TestKilledGatewayIsOutlived(t *testing.T) {
	for _, driver := range []string{"native", "docker"} {
		t.Run(driver, func(t *testing.T) {
			needDriver(t, driver)
			dir := shortDir(t)
			s := serve(t, dir, driver)
			repo := s.addRepo(smallRepo(t, dir), nil)
			var task board.Task
			s.call("POST", "/api/tasks", board.NewTask{RepoID: repo.ID, Title: "Outlive", Detail: part(slowScript(t))}, &task)
			var run board.Run
			s.call("POST", "/api/tasks/"+task.ID+"/run", nil, &run)
			eventually(t, time.Minute, "the agent's first file", func() bool {
				return strings.Contains(s.logs(run.ID), "kept.txt")
			})
			killGateway(t, s, driver)
			eventually(t, 2*time.Minute, "the run", func() bool {
				s.call("GET", "/api/runs/"+run.ID, nil, &run)
				return finished(run.Status)
			})
			if run.Status != board.StatusDone {
				t.Fatalf("the run ended %s: %s\n%s\nhost:\n%s", run.Status, run.Cause, s.logs(run.ID), s.stderr.String())
			}
			s.call("GET", "/api/tasks/"+task.ID, nil, &task)
			if task.Files != 2 {
				t.Errorf("%d files changed, want 2", task.Files)
			}
			mustVerify(t, s)
			status, rows := s.try("GET", "/api/audit?kind=outcome&limit=500", nil)
			if status != 200 || !strings.Contains(string(rows), `"result":"unknown"`) {
				t.Errorf("no outcome says that it is unknown: %d %s", status, rows)
			}
			if task.Tokens == 0 {
				t.Error("the tokens of the first session are lost")
			}
		})
	}
}

func killGateway(t *testing.T, s *server, driver string) {
	t.Helper()
	if driver == "docker" {
		out, err := exec.Command("docker", "ps", "-q", "--filter", "label=moeca.owner="+s.owner(), "--filter", "label=moeca.kind=service").Output()
		id := strings.TrimSpace(string(out))
		if err != nil || id == "" || strings.Contains(id, "\n") {
			t.Fatalf("the gateway's container is not there alone: %q %v", out, err)
		}
		if out, err := exec.Command("docker", "kill", id).CombinedOutput(); err != nil {
			t.Fatalf("docker kill: %v %s", err, out)
		}
		return
	}
	found, err := filepath.Glob(filepath.Join(s.dir, "r", "*", "g", "endpoints.json"))
	if err != nil || len(found) != 1 {
		t.Fatalf("endpoints of the gateway: %v %v", found, err)
	}
	raw, err := os.ReadFile(found[0])
	if err != nil {
		t.Fatal(err)
	}
	pid := int(gjson.GetBytes(raw, "pid").Int())
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Fatalf("kill %d: %v", pid, err)
	}
}

// owner is the id of the server's data directory.
func (s *server) owner() string {
	raw, err := os.ReadFile(filepath.Join(s.dir, "data", "format.json"))
	if err != nil {
		s.t.Fatal(err)
	}
	return gjson.GetBytes(raw, "id").String()
}
