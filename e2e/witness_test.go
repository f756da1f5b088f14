package e2e

import (
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/tidwall/gjson"

	"moeca/internal/audit"
	"moeca/internal/audit/witnesstest"
	"moeca/internal/board"
	"moeca/internal/gateway/gatewayapi"
	"moeca/internal/hostapi"
)

// TestWitnessesOfTheLog has a file on another volume, the repository and a witness
// of others see the log of a host that works. Then the log's directory is set back
// to an older copy: each of them tells, on the command line and with the verifier
// alone; the host starts no run and merges nothing until a person has removed them.
func TestWitnessesOfTheLog(t *testing.T) {
	needDriver(t, "native")
	dir := shortDir(t)
	repoPath := smallRepo(t, dir)
	s := serve(t, dir, "native")
	repo := s.addRepo(repoPath, nil)
	list := filepath.Join(dir, "volume", "list.txt")
	if err := os.Mkdir(filepath.Dir(list), 0o700); err != nil {
		t.Fatal(err)
	}
	w := witnesstest.New(t)
	var signed gatewayapi.Checkpoint
	s.call("GET", "/api/audit/checkpoint", nil, &signed)
	w.Know(t, signed.Vkey)
	if status, body := s.as(s.programToken()).try("PUT", "/api/audit/witnesses", hostapi.WitnessInput{Kind: "file", Path: list}); status != http.StatusForbidden {
		t.Errorf("a program adds a witness: %d %s", status, body)
	}
	mustRun(t, dir, "audit", "witness", "add", "file", list)
	if out := mustRun(t, dir, "audit", "witness", "add", "url", w.URL, "--key", w.Vkey, "--local"); !strings.Contains(out, "saw ") {
		t.Errorf("the witness was not asked: %s", out)
	}
	if status, _ := s.try("PUT", "/api/audit/witnesses", hostapi.WitnessInput{Kind: "file", Path: filepath.Join(dir, "data", "list.txt")}); status != http.StatusUnprocessableEntity {
		t.Errorf("a list in the data directory: %d", status)
	}
	s.stop()
	logDir, early := filepath.Join(dir, "data", "audit"), filepath.Join(dir, "early")
	if err := os.CopyFS(early, os.DirFS(logDir)); err != nil {
		t.Fatal(err)
	}

	s = serve(t, dir, "native")
	write := script(t, "Done.", map[string]any{"text": "I write.", "calls": []any{call("write_file", map[string]any{"path": "a.txt", "content": "a\n"})}})
	task := s.runTask(repo, "Work", write)
	s.approveAndMerge(task.ID)
	eventually(t, 20*time.Second, "a checkpoint in the repository", func() bool {
		return exec.Command("git", "-C", repoPath, "rev-parse", "-q", "--verify", "refs/moeca/witness").Run() == nil
	})
	var status hostapi.Status
	eventually(t, 20*time.Second, "the status tells of a witness", func() bool {
		s.call("GET", "/api/status", nil, &status)
		return status.Gateway.OK && status.Witness.Kind != "" && status.Witness.At != nil && !status.Witness.Stale
	})
	mustVerify(t, s)
	if out := mustRun(t, dir, "audit", "verify", "--witness", list); strings.Count(out, "agrees with") != 5 {
		t.Errorf("not every witness agrees:\n%s", out)
	}
	mustBundleCosigned(t, s, w, task.ID)
	s.stop()
	note := filepath.Join(dir, "note")
	if err := os.WriteFile(note, []byte(git(t, repoPath, "show", "refs/moeca/witness:checkpoint")+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, file := range []string{list, note} {
		if out, err := exec.Command(filepath.Join(bin(t), "moeca-verify"), logDir, "--head", file).CombinedOutput(); err != nil {
			t.Errorf("moeca-verify --head %s: %v\n%s", file, err, out)
		}
	}

	if err := os.RemoveAll(logDir); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(early, logDir); err != nil {
		t.Fatal(err)
	}
	out, err := command(t, dir, "audit", "verify", "--witness", note).CombinedOutput()
	if err == nil || strings.Count(string(out), "ANOTHER LOG: ") < 4 || !strings.Contains(string(out), "rows were cut off") {
		t.Errorf("the log that was set back: %v\n%s", err, out)
	}
	for _, file := range []string{list, note} {
		if out, err := exec.Command(filepath.Join(bin(t), "moeca-verify"), logDir, "--head", file).CombinedOutput(); err == nil {
			t.Errorf("moeca-verify --head %s says nothing:\n%s", file, out)
		}
	}
	mustStandStill(t, dir, repo, write)
}

// mustBundleCosigned waits until the witness has cosigned what was done for a task:
// its bundle then carries that, and the verifier takes it.
func mustBundleCosigned(t *testing.T, s *server, w *witnesstest.Witness, task string) {
	t.Helper()
	key, err := audit.ParseWitnessKey(w.Vkey)
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	eventually(t, 20*time.Second, "a bundle with a cosignature", func() bool {
		n++
		file := filepath.Join(s.dir, "bundle-"+strconv.Itoa(n))
		mustRun(t, s.dir, "audit", "bundle", "--task", task, "-o", file)
		out, err := exec.Command(filepath.Join(bin(t), "moeca-verify"), file, "--json").CombinedOutput()
		if err != nil {
			t.Fatalf("moeca-verify: %v\n%s", err, out)
		}
		c, err := audit.ParseCheckpoint(gjson.GetBytes(out, "checkpoint").String())
		if err != nil {
			t.Fatal(err)
		}
		_, err = key.Cosigned(c)
		return err == nil
	})
}

// mustStandStill starts the host on a log that is not what was seen of it.
func mustStandStill(t *testing.T, dir string, repo board.Repo, write string) {
	t.Helper()
	s := serve(t, dir, "native")
	var status hostapi.Status
	s.call("GET", "/api/status", nil, &status)
	if status.Gateway.OK || !strings.Contains(status.Gateway.Cause, "cut off") {
		t.Errorf("the status is %+v", status.Gateway)
	}
	var task board.Task
	s.call("POST", "/api/tasks", board.NewTask{RepoID: repo.ID, Title: "More", Detail: part(write)}, &task)
	if code, body := s.try("POST", "/api/tasks/"+task.ID+"/run", nil); code < 400 || !strings.Contains(string(body), "log_not_trusted") {
		t.Errorf("a run begins: %d %s", code, body)
	}
	var found hostapi.VerifyReport
	s.call("POST", "/api/audit/verify", nil, &found)
	if found.OK || found.Problem == "" {
		t.Errorf("the button says %+v", found)
	}
	eventually(t, 20*time.Second, "every witness tells", func() bool {
		n := 0
		for _, w := range s.witnesses() {
			if w.Diverged {
				n++
			}
		}
		return n == 1 // the host's own comes first, and nobody else is told then
	})
	// A person looks, and takes the log as it is: each witness by its name.
	if out, code := typed(t, dir, "yes\n", "audit", "witness", "remove", "host"); code == 0 {
		t.Errorf("forgotten without a word:\n%s", out)
	}
	if out, code := typed(t, dir, "forget host\n", "audit", "witness", "remove", "host"); code != 0 {
		t.Fatalf("exit %d\n%s", code, out)
	}
	for _, w := range s.witnesses() {
		if w.Kind != "host" {
			s.call("DELETE", "/api/audit/witnesses?id="+url.QueryEscape(w.ID), nil, nil)
		}
	}
	if got := s.runTask(repo, "Again", write); got.Status != board.StatusReviewing {
		t.Errorf("the task is %s: %s", got.Status, got.Cause)
	}
}

func (s *server) witnesses() []hostapi.Witness {
	s.t.Helper()
	var list hostapi.WitnessList
	s.call("GET", "/api/audit/witnesses", nil, &list)
	return list.Items
}

// mustRun runs a command that must succeed and returns what it printed.
func mustRun(t *testing.T, dir string, args ...string) string {
	t.Helper()
	out, err := command(t, dir, args...).CombinedOutput()
	if err != nil {
		t.Fatalf("moeca %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return string(out)
}
