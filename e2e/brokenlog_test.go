package e2e

import (
	"encoding/json"
	"errors"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"moeca/internal/audit"
	"moeca/internal/board"
	"moeca/internal/hostapi"
)

// TestABrokenLogWaitsForAPerson changes a byte of the log of a host that is not
// running. The host starts and says where; nothing is forwarded; what is before
// the damage can be read; a program cannot decide and a person can. Then the
// broken log lies whole beside the new one, whose first row names it, and work
// goes on.
func TestABrokenLogWaitsForAPerson(t *testing.T) {
	for _, driver := range []string{"native", "docker"} {
		t.Run(driver, func(t *testing.T) {
			needDriver(t, driver)
			dir := shortDir(t)
			s := serve(t, dir, driver)
			repo := s.addRepo(smallRepo(t, dir), nil)
			lineScript := script(t, "Done.", map[string]any{"text": "I write.", "calls": []any{
				call("write_file", map[string]any{"path": "line.txt", "content": "a line\n"}),
			}})
			s.runTask(repo, "Before", lineScript)
			s.stop()

			segment := filepath.Join(dir, "data", "audit", "seg-000001.log")
			raw, err := os.ReadFile(segment)
			if err != nil {
				t.Fatal(err)
			}
			raw[len(raw)*3/4] ^= 1
			if err := os.WriteFile(segment, raw, 0o600); err != nil {
				t.Fatal(err)
			}
			s = serve(t, dir, driver)
			broken := mustBeBroken(t, s, repo, lineScript)
			mustReadPrefix(t, s, dir, broken)

			program := s.as(s.programToken())
			if status, body := program.try("POST", "/api/audit/restart", hostapi.LogRestart{Row: broken.Row, File: broken.File}); status != http.StatusForbidden {
				t.Errorf("a program restarts the log: %d %s", status, body)
			}
			if status, body := s.try("POST", "/api/audit/restart", hostapi.LogRestart{Row: broken.Row + 1, File: broken.File}); status != http.StatusConflict {
				t.Errorf("a decision about another damage: %d %s", status, body)
			}
			for name, answer := range map[string]string{"nothing": "\n", "yes": "yes\n", "another row": "restart the log at row 0\n"} {
				if out, code := typed(t, dir, answer, "audit", "restart", "--keep"); code == 0 || !strings.Contains(out, "nothing was changed") {
					t.Errorf("restarting with %s: exit %d\n%s", name, code, out)
				}
			}
			if out, code := typed(t, dir, "restart the log at row "+strconv.FormatInt(broken.Row, 10)+"\n", "audit", "restart", "--keep"); code != 0 {
				t.Fatalf("restart: exit %d\n%s\nhost:\n%s", code, out, s.stderr.String())
			}
			mustGoOn(t, s, dir, broken, raw)
			task := s.runTask(repo, "After", lineScript)
			if task.Status != board.StatusReviewing {
				t.Errorf("a task in the new log is %s: %s", task.Status, task.Cause)
			}
			mustVerify(t, s)
			if out, code := typed(t, dir, "x\n", "audit", "restart", "--keep"); code == 0 {
				t.Errorf("a log that is whole was restarted:\n%s", out)
			}
			s.stop()
			s = serve(t, dir, driver)
			mustGoOn(t, s, dir, broken, raw)
			mustVerify(t, s)
		})
	}
}

func mustBeBroken(t *testing.T, s *server, repo board.Repo, script string) hostapi.LogBroken {
	t.Helper()
	var st hostapi.Status
	s.call("GET", "/api/status", nil, &st)
	b := st.Gateway.Broken
	if st.Gateway.OK || b == nil || b.File != "seg-000001.log" || b.Row < 2 || b.Rows != b.Row-1 || b.Cause == "" {
		t.Fatalf("status: %+v %+v", st.Gateway, b)
	}
	var task board.Task
	s.call("POST", "/api/tasks", board.NewTask{RepoID: repo.ID, Title: "Meanwhile", Detail: part(script)}, &task)
	var run board.Run
	s.call("POST", "/api/tasks/"+task.ID+"/run", nil, &run)
	eventually(t, time.Minute, "the end of the run", func() bool {
		s.call("GET", "/api/runs/"+run.ID, nil, &run)
		return finished(run.Status)
	})
	if run.Status == board.StatusDone || !strings.Contains(run.Cause, "moeca audit restart") {
		t.Errorf("a run on a broken log ended %s: %s", run.Status, run.Cause)
	}
	return *b
}

// mustReadPrefix reads the rows before the damage with and without the host.
func mustReadPrefix(t *testing.T, s *server, dir string, b hostapi.LogBroken) {
	t.Helper()
	var page hostapi.AuditPage
	s.call("GET", "/api/audit?limit=500&order=oldest", nil, &page)
	if int64(len(page.Items)) != b.Rows || page.Problem == "" {
		t.Errorf("%d rows can be read of %d, problem %q", len(page.Items), b.Rows, page.Problem)
	}
	var report hostapi.VerifyReport
	s.call("POST", "/api/audit/verify", nil, &report)
	if report.OK || report.FirstBroken != b.Row || report.Records != b.Rows {
		t.Errorf("verify: %+v", report)
	}
	out, err := command(t, dir, "audit", "verify").Output()
	if err == nil || !strings.Contains(string(out), "BROKEN at row "+strconv.FormatInt(b.Row, 10)) {
		t.Errorf("moeca audit verify: %v\n%s", err, out)
	}
	out, err = command(t, dir, "audit", "export", "--rows", "-o", "-").Output()
	var exit *exec.ExitError // it wrote what can be read, and says that this is not all
	if !errors.As(err, &exit) || exit.ExitCode() != 4 || int64(strings.Count(string(out), "\n")) < b.Rows {
		t.Errorf("export of the intact rows: %v, %d lines for %d rows", err, strings.Count(string(out), "\n"), b.Rows)
	}
}

// mustGoOn checks what is left after a restart of the log.
func mustGoOn(t *testing.T, s *server, dir string, b hostapi.LogBroken, segment []byte) {
	t.Helper()
	var st hostapi.Status
	s.call("GET", "/api/status", nil, &st)
	f := st.Gateway.Follows
	if !st.Gateway.OK || st.Gateway.Broken != nil || f == nil || f.Row != b.Row || f.Rows != b.Rows || f.At.IsZero() {
		t.Fatalf("status: %+v, follows %+v", st.Gateway, f)
	}
	kept := filepath.Join(dir, "data", f.Kept)
	if now, err := os.ReadFile(filepath.Join(kept, "seg-000001.log")); err != nil || string(now) != string(segment) {
		t.Errorf("the broken log is not kept as it was: %v", err)
	}
	if _, err := os.Stat(filepath.Join(kept, "host.head")); err != nil {
		t.Errorf("what the host had seen of it is not kept: %v", err)
	}
	var page hostapi.AuditPage
	s.call("GET", "/api/audit?limit=1&order=oldest", nil, &page)
	if len(page.Items) != 1 || page.Items[0].Kind != "system" || page.Items[0].Subject != "restarted" || page.Items[0].Actor != "person" {
		t.Fatalf("the first row: %+v", page.Items)
	}
	var first audit.Predecessor
	if err := json.Unmarshal([]byte(page.Items[0].Detail), &first); err != nil || first.Broken.Row != b.Row || first.Rows != b.Rows || first.Log == "" || first.Kept != f.Kept {
		t.Errorf("the first row says %s, %v", page.Items[0].Detail, err)
	}
}
