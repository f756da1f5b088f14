package e2e

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"moeca/internal/board"
	"moeca/internal/stack"
	"moeca/internal/testreq"
)

// bin is the directory of the built programs.
func bin(t testing.TB) string {
	t.Helper()
	dir, err := filepath.Abs(filepath.Join("..", "bin"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(dir, "moeca")); err != nil {
		t.Fatalf("the programs are not built: %v; run `make build`", err)
	}
	return dir
}

// shortDir is a temporary directory whose path leaves room for sockets.
func shortDir(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("/tmp", "mo")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

// needDriver ends the test where a driver cannot be used on this machine.
func needDriver(t testing.TB, driver string) {
	t.Helper()
	var d struct {
		Drivers []struct {
			Name   string
			Usable bool
			Why    string
		}
	}
	out, _ := command(t, shortDir(t), "doctor", "--json").Output()
	if err := json.Unmarshal(out, &d); err != nil {
		t.Fatalf("doctor --json: %v in %q", err, out)
	}
	for _, have := range d.Drivers {
		if have.Name != driver {
			continue
		}
		var err error
		if !have.Usable {
			err = fmt.Errorf("%s", have.Why)
		}
		testreq.Need(t, driver, err)
		return
	}
	t.Fatalf("doctor does not know the driver %s", driver)
}

// command runs moeca with its own data and runtime directories.
func command(t testing.TB, dir string, args ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command(filepath.Join(bin(t), "moeca"), args...)
	cmd.Env = append(os.Environ(),
		"MOECA_DATA="+filepath.Join(dir, "data"), "MOECA_RUNTIME="+filepath.Join(dir, "r"), "MOECA_NO_KEYCHAIN=1")
	return cmd
}

// server is a running `moeca serve`.
type server struct {
	t      testing.TB
	dir    string
	cmd    *exec.Cmd
	base   string
	person string // bearer of a person, got as a browser gets it
	stderr bytes.Buffer
	ended  chan error
}

// serve starts the host and signs in the way a browser does.
func serve(t testing.TB, dir, driver string, extra ...string) *server {
	t.Helper()
	s := &server{t: t, dir: dir, ended: make(chan error, 1)}
	args := append([]string{"--driver", driver, "serve", "--listen", "127.0.0.1:0", "--gateway-listen", "127.0.0.1:0", "--no-open"}, extra...)
	s.cmd = command(t, dir, args...)
	s.cmd.Stderr = &s.stderr
	out, err := s.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := s.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	line := make(chan string, 1)
	go func() {
		text, _ := bufio.NewReader(out).ReadString('\n')
		line <- text
		_, _ = io.Copy(io.Discard, out)
		s.ended <- s.cmd.Wait()
	}()
	t.Cleanup(s.stop)
	select {
	case text := <-line:
		url, launch, ok := strings.Cut(text[strings.LastIndex(text, " ")+1:], "/#launch=")
		if !ok {
			t.Fatalf("serve printed %q; standard error:\n%s", text, s.stderr.String())
		}
		s.base = url
		s.signIn(strings.TrimSpace(launch))
	case <-time.After(60 * time.Second):
		t.Fatalf("serve did not start; standard error:\n%s", s.stderr.String())
	}
	return s
}

func (s *server) signIn(launch string) {
	s.t.Helper()
	var out struct{ Token string }
	s.call("POST", "/api/auth/exchange", map[string]string{"launch_token": launch}, &out)
	s.person = out.Token
}

// stop ends the host as a person would.
func (s *server) stop() {
	if s.cmd.ProcessState != nil {
		return
	}
	_ = s.cmd.Process.Signal(os.Interrupt)
	select {
	case <-s.ended:
	case <-time.After(30 * time.Second):
		_ = s.cmd.Process.Kill()
		<-s.ended
		s.t.Errorf("the host did not stop when asked; standard error:\n%s", s.stderr.String())
	}
}

// kill ends the host as a crash would.
func (s *server) kill() {
	s.t.Helper()
	if err := s.cmd.Process.Kill(); err != nil {
		s.t.Fatal(err)
	}
	<-s.ended
}

// call uses the API and fails the test on any refusal.
func (s *server) call(method, path string, in, out any) {
	s.t.Helper()
	status, body := s.try(method, path, in)
	if status >= 300 {
		s.t.Fatalf("%s %s: %d %s\nhost:\n%s", method, path, status, body, s.stderr.String())
	}
	if out != nil {
		if err := json.Unmarshal(body, out); err != nil {
			s.t.Fatalf("%s %s: %v in %s", method, path, err, body)
		}
	}
}

// try uses the API and returns what it answered.
func (s *server) try(method, path string, in any) (int, []byte) {
	s.t.Helper()
	var content io.Reader
	if in != nil {
		raw, err := json.Marshal(in)
		if err != nil {
			s.t.Fatal(err)
		}
		content = bytes.NewReader(raw)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, method, s.base+path, content)
	if err != nil {
		s.t.Fatal(err)
	}
	if in != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	if s.person != "" {
		req.Header.Set("Authorization", "Bearer "+s.person)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		s.t.Fatalf("%s %s: %v\nhost:\n%s", method, path, err, s.stderr.String())
	}
	defer res.Body.Close()
	raw, err := io.ReadAll(res.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	return res.StatusCode, raw
}

// as is the same server for another bearer.
func (s *server) as(bearer string) *server {
	return &server{t: s.t, dir: s.dir, cmd: s.cmd, base: s.base, person: bearer, ended: s.ended}
}

// programToken is the token that is handed to programs.
func (s *server) programToken() string {
	s.t.Helper()
	var e stack.Endpoints
	raw, err := os.ReadFile(filepath.Join(s.dir, "data", "run", "endpoints.json"))
	if err == nil {
		err = json.Unmarshal(raw, &e)
	}
	if err != nil || e.Token == "" {
		s.t.Fatalf("%v %s", err, raw)
	}
	return e.Token
}

// eventually polls until done answers true.
func eventually(t testing.TB, limit time.Duration, what string, done func() bool) {
	t.Helper()
	deadline := time.Now().Add(limit)
	for !done() {
		if time.Now().After(deadline) {
			t.Fatalf("%s: not within %v", what, limit)
		}
		time.Sleep(50 * time.Millisecond)
	}
}

// addRepo adds a repository with an optional gate.
func (s *server) addRepo(path string, gate *board.Gate) board.Repo {
	s.t.Helper()
	var repo board.Repo
	in := map[string]any{"path": path}
	if gate != nil {
		in["ci"] = gate
	}
	s.call("POST", "/api/repos", in, &repo)
	return repo
}

// runTask creates a task whose part is script, runs it and waits for its end.
func (s *server) runTask(repo board.Repo, title, script string) board.Task {
	s.t.Helper()
	var task board.Task
	s.call("POST", "/api/tasks", board.NewTask{RepoID: repo.ID, Title: title, Detail: part(script)}, &task)
	var run board.Run
	s.call("POST", "/api/tasks/"+task.ID+"/run", nil, &run)
	eventually(s.t, 3*time.Minute, "run of "+title, func() bool {
		s.call("GET", "/api/runs/"+run.ID, nil, &run)
		return finished(run.Status)
	})
	s.call("GET", "/api/tasks/"+task.ID, nil, &task)
	if run.Status != board.StatusDone {
		s.t.Fatalf("the run ended %s: %s\n%s\nhost:\n%s", run.Status, run.Cause, s.logs(run.ID), s.stderr.String())
	}
	return task
}

func finished(s board.Status) bool {
	return s == board.StatusDone || s == board.StatusFailed || s == board.StatusStopped || s == board.StatusCancelled
}

func (s *server) logs(run string) string {
	_, raw := s.try("GET", "/api/runs/"+run+"/logs?limit=200", nil)
	return string(raw)
}

// runCI runs the gate and waits for its result.
func (s *server) runCI(task string) board.CI {
	s.t.Helper()
	var ci board.CI
	s.call("POST", "/api/tasks/"+task+"/ci", nil, &ci)
	eventually(s.t, 10*time.Minute, "CI of "+task, func() bool {
		ci = s.review(task).CI
		return ci.State != board.CIRunning && ci.State != board.CIPending
	})
	return ci
}

func (s *server) review(task string) board.Review {
	s.t.Helper()
	var r board.Review
	s.call("GET", "/api/tasks/"+task+"/review", nil, &r)
	return r
}

// approveAndMerge does what a person does who acknowledges everything.
func (s *server) approveAndMerge(task string) board.Merged {
	s.t.Helper()
	r := s.review(task)
	var approval board.Approval
	s.call("POST", "/api/tasks/"+task+"/approve", board.ApproveRequest{
		Head: r.Preview.Head, TargetOID: r.Preview.TargetOID, ResultTree: r.Preview.ResultTree, Acks: r.Acks,
	}, &approval)
	var merged board.Merged
	s.call("POST", "/api/tasks/"+task+"/merge", nil, &merged)
	return merged
}

// part wraps a script for the scripted model.
func part(script string) string { return "Play this part:\n\n```moeca-script\n" + script + "\n```\n" }

// script builds a part out of steps.
func script(t testing.TB, final string, steps ...map[string]any) string {
	t.Helper()
	raw, err := json.Marshal(map[string]any{"steps": steps, "final": final})
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

func call(tool string, input map[string]any) map[string]any {
	return map[string]any{"tool": tool, "input": input}
}

// git runs git for a test's own repositories.
func git(t testing.TB, dir string, args ...string) string {
	t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null",
		"GIT_AUTHOR_NAME=Test", "GIT_AUTHOR_EMAIL=test@example.org", "GIT_COMMITTER_NAME=Test", "GIT_COMMITTER_EMAIL=test@example.org")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return strings.TrimSpace(string(out))
}

// smallRepo is a repository with two commits and a clean checkout of main.
func smallRepo(t testing.TB, dir string) string {
	t.Helper()
	repo := filepath.Join(dir, "repo")
	if err := os.MkdirAll(repo, 0o755); err != nil {
		t.Fatal(err)
	}
	git(t, repo, "init", "-q", "-b", "main")
	for i, text := range []string{"first\n", "first\nsecond\n"} {
		if err := os.WriteFile(filepath.Join(repo, "README.md"), []byte("# Small\n\n"+text), 0o644); err != nil {
			t.Fatal(err)
		}
		git(t, repo, "add", ".")
		git(t, repo, "commit", "-q", "-m", fmt.Sprintf("Commit %d", i+1))
	}
	return repo
}
