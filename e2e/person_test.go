package e2e

import (
	"bytes"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/creack/pty"

	"moeca/internal/board"
	"moeca/internal/stack"
)

// TestPersonApprovesAtATerminal drives approval and merge on the command line
// the way a person does: a terminal, a typed sentence. Anything else changes
// nothing.
func TestPersonApprovesAtATerminal(t *testing.T) {
	needDriver(t, "native")
	dir := shortDir(t)
	repo := smallRepo(t, dir)
	s := serve(t, dir, "native")
	added := s.addRepo(repo, nil)
	task := s.runTask(added, "Write a line", script(t, "Done.", map[string]any{"text": "I write.", "calls": []any{
		call("write_file", map[string]any{"path": "line.txt", "content": "a line\n"}),
	}}))
	before := git(t, repo, "rev-parse", "main")
	result := s.review(task.ID).Preview.ResultTree[:10]

	for name, answer := range map[string]string{
		"nothing": "\n", "yes": "yes\n", "another result": "approve 0000000000\n", "a prefix": "approve " + result[:5] + "\n",
	} {
		if out, code := typed(t, dir, answer, "task", "approve", task.ID, "--ack", "no_ci"); code == 0 || !strings.Contains(out, "nothing was changed") {
			t.Errorf("approving with %s: exit %d\n%s", name, code, out)
		}
	}
	if out, code := typed(t, dir, "approve "+result+"\n", "task", "approve", task.ID); code == 0 {
		t.Errorf("approved without acknowledging that there is no CI:\n%s", out)
	}
	if r := s.review(task.ID); r.Approval != nil {
		t.Fatalf("there is an approval already: %+v", r.Approval)
	}
	if out, code := typed(t, dir, "approve "+result+"\n", "task", "approve", task.ID, "--ack", "no_ci"); code != 0 {
		t.Fatalf("approve: exit %d\n%s", code, out)
	}
	if out, code := typed(t, dir, "no\n", "task", "merge", task.ID); code == 0 || git(t, repo, "rev-parse", "main") != before {
		t.Errorf("merged without the sentence: exit %d\n%s", code, out)
	}
	if out, code := typed(t, dir, "merge into main\n", "task", "merge", task.ID); code != 0 {
		t.Fatalf("merge: exit %d\n%s", code, out)
	}
	if git(t, repo, "rev-parse", "main") == before || git(t, repo, "show", "main:line.txt") != "a line" {
		t.Error("main does not hold the change")
	}
	mustVerify(t, s)
}

// typed runs moeca on a terminal and types one answer when it is asked.
func typed(t *testing.T, dir, answer string, args ...string) (out string, code int) {
	t.Helper()
	cmd := command(t, dir, args...)
	terminal, err := pty.Start(cmd)
	if err != nil {
		t.Fatal(err)
	}
	defer terminal.Close()
	var text bytes.Buffer
	done := make(chan struct{})
	go func() {
		defer close(done)
		asked := false
		for buf := make([]byte, 4096); ; {
			n, err := terminal.Read(buf)
			text.Write(buf[:n])
			if !asked && strings.Contains(text.String(), "to go on: ") {
				asked = true
				_, _ = io.WriteString(terminal, answer)
			}
			if err != nil {
				return
			}
		}
	}()
	limit := time.AfterFunc(time.Minute, func() { _ = cmd.Process.Kill() })
	defer limit.Stop()
	_ = cmd.Wait()
	<-done
	return text.String(), cmd.ProcessState.ExitCode()
}

// TestProgramsTokenIsNoPerson uses the ready file's token, which is what CI,
// scripts and other programs get.
func TestProgramsTokenIsNoPerson(t *testing.T) {
	needDriver(t, "native")
	dir := shortDir(t)
	ready := filepath.Join(dir, "ready.json")
	s := serve(t, dir, "native", "--ready-file", ready)
	raw, err := os.ReadFile(ready)
	if err != nil {
		t.Fatal(err)
	}
	var e stack.Endpoints
	if err := json.Unmarshal(raw, &e); err != nil || e.Token == "" || e.PID != s.cmd.Process.Pid || e.URL != s.base || e.Gateway == "" || e.Admin == "" {
		t.Fatalf("ready file: %v %s", err, raw)
	}
	if info, err := os.Stat(ready); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("ready file: %v %v", info.Mode(), err)
	}
	repo := s.addRepo(smallRepo(t, dir), nil)
	task := s.runTask(repo, "Write", script(t, "Done.", map[string]any{"text": "w", "calls": []any{
		call("write_file", map[string]any{"path": "w.txt", "content": "w\n"}),
	}}))
	r := s.review(task.ID)
	s.person = e.Token
	for path, in := range map[string]any{
		"/api/tasks/" + task.ID + "/approve": board.ApproveRequest{Head: r.Preview.Head, TargetOID: r.Preview.TargetOID, ResultTree: r.Preview.ResultTree, Acks: r.Acks},
		"/api/tasks/" + task.ID + "/merge":   nil,
		"/api/auth/launch":                   nil,
	} {
		if status, body := s.try("POST", path, in); status != 403 {
			t.Errorf("POST %s with a program's token: %d %s", path, status, body)
		}
	}
	if status, body := s.try("PUT", "/api/providers/anthropic/secret", map[string]string{"value": "sk-x"}); status != 403 {
		t.Errorf("set a key with a program's token: %d %s", status, body)
	}
	// What green means, and where work lands, are a person's to say.
	if status, body := s.try("PATCH", "/api/repos/"+repo.ID, map[string]any{"ci": board.Gate{Policy: "base", Argv: []string{"/bin/true"}}}); status != 403 {
		t.Errorf("change the gate with a program's token: %d %s", status, body)
	}
	if status, _ := s.try("GET", "/api/tasks", nil); status != 200 {
		t.Errorf("a program cannot list tasks: %d", status)
	}
	out, err := exec.Command(filepath.Join(bin(t), "moeca-verify"), filepath.Join(dir, "data", "audit")).CombinedOutput()
	if err != nil {
		t.Errorf("moeca-verify: %v %s", err, out)
	}
}
