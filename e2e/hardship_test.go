package e2e

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"moeca/internal/board"
	"moeca/internal/hostapi"
	"moeca/internal/testreq"
)

// TestFullDiskStopsTraffic gives the log a disk of its own that is nearly full:
// once a row cannot be written, nothing is forwarded, the person is told why,
// and what was recorded and done before is kept.
func TestFullDiskStopsTraffic(t *testing.T) {
	needDriver(t, "native")
	if os.Geteuid() != 0 {
		testreq.Need(t, "root", errors.New("a small file system can only be mounted by root"))
	}
	dir := shortDir(t)
	repo := smallRepo(t, dir)
	commitBigFiles(t, repo)
	log := filepath.Join(dir, "data", "audit")
	if err := os.MkdirAll(log, 0o700); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("mount", "-t", "tmpfs", "-o", "size=48m", "tmpfs", log).CombinedOutput(); err != nil {
		testreq.Need(t, "native", errors.New(string(out)))
	}
	t.Cleanup(func() { _ = exec.Command("umount", "-l", log).Run() })
	s := serve(t, dir, "native")
	added := s.addRepo(repo, nil)

	var task board.Task
	s.call("POST", "/api/tasks", board.NewTask{RepoID: added.ID, Title: "Fill the disk", Detail: part(fillScript(t))}, &task)
	var run board.Run
	s.call("POST", "/api/tasks/"+task.ID+"/run", nil, &run)
	eventually(t, time.Minute, "the agent's first file", func() bool {
		return strings.Contains(s.logs(run.ID), "kept.txt")
	})
	fill(t, filepath.Join(log, "filler"))
	eventually(t, 2*time.Minute, "the run", func() bool {
		s.call("GET", "/api/runs/"+run.ID, nil, &run)
		return finished(run.Status)
	})
	if run.Status != board.StatusFailed {
		t.Fatalf("the run ended %s although its requests could not be recorded", run.Status)
	}
	if text := run.Cause + s.logs(run.ID); !strings.Contains(text, "log") {
		t.Errorf("the cause does not name the log: %s", run.Cause)
	}
	var st hostapi.Status
	s.call("GET", "/api/status", nil, &st)
	if st.Gateway.OK || st.Gateway.Cause == "" {
		t.Errorf("the status strip says the gateway is well: %+v", st.Gateway)
	}
	s.call("GET", "/api/tasks/"+task.ID, nil, &task)
	if task.Attempt == nil || task.Attempt.HeadOID == "" || task.Attempt.HeadOID == task.Attempt.BaseOID {
		t.Errorf("the work before the disk was full is lost: %+v", task.Attempt)
	}
	mustVerify(t, s)
}

// fillScript writes a file and then reads large ones until the log cannot hold
// the requests any more: each carries the whole conversation.
func fillScript(t *testing.T) string {
	steps := []map[string]any{{"text": "first", "calls": []any{
		call("write_file", map[string]any{"path": "kept.txt", "content": "written before the disk was full\n"}),
	}}}
	for i := range bigFiles {
		delay := 0
		if i == 0 {
			delay = 3000 // time to fill the disk
		}
		steps = append(steps, map[string]any{"text": "more", "delay_ms": delay, "calls": []any{
			call("read_file", map[string]any{"path": bigFile(i)}),
		}})
	}
	return script(t, "Filled.", steps...)
}

// fill takes all that is left of a file system.
func fill(t *testing.T, file string) {
	t.Helper()
	f, err := os.Create(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for chunk := make([]byte, 1<<20); len(chunk) > 0; {
		if _, err := f.Write(chunk); err != nil {
			chunk = chunk[:len(chunk)/2]
		}
	}
}

// bigFiles of 12 kB each: the conversation then outgrows what the log has
// allocated ahead (6 MiB) before it outgrows the session's token budget.
const bigFiles = 38

func bigFile(i int) string { return fmt.Sprintf("big-%02d.txt", i) }

// commitBigFiles adds what fillScript reads.
func commitBigFiles(t *testing.T, repo string) {
	for i := range bigFiles {
		text := strings.Repeat(fmt.Sprintf("line of file %d, long enough to matter\n", i), 300)
		if err := os.WriteFile(filepath.Join(repo, bigFile(i)), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	git(t, repo, "add", ".")
	git(t, repo, "commit", "-q", "-m", "Big files")
}

// TestWithoutUserNamespaces takes them away the way a hardened machine does:
// doctor says so and what to do, and the native driver refuses to start.
func TestWithoutUserNamespaces(t *testing.T) {
	needDriver(t, "native")
	dir := shortDir(t)
	inside := func(args string) (string, int) {
		cmd := exec.Command("unshare", "--user", "--map-root-user", "sh", "-c",
			"echo 0 > /proc/sys/user/max_user_namespaces && exec "+filepath.Join(bin(t), "moeca")+" "+args)
		cmd.Env = command(t, dir).Env
		out, err := cmd.CombinedOutput()
		var exit *exec.ExitError
		if err != nil && !errors.As(err, &exit) {
			testreq.Need(t, "native", err)
		}
		return string(out), cmd.ProcessState.ExitCode()
	}
	out, _ := inside("doctor --json --driver native")
	usable := gjsonString(out, `drivers.#(name=="native").usable`)
	why := gjsonString(out, `drivers.#(name=="native").why`)
	if usable != "false" || !strings.Contains(why, "user namespace") {
		t.Errorf("doctor says usable=%s, why %q\n%s", usable, why, out)
	}
	out, code := inside("repo list --driver native")
	if code != 3 || !strings.Contains(out, "user namespace") {
		t.Errorf("exit %d: %s", code, out)
	}
}
