package main

import (
	"bytes"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"moeca/internal/handoff"
)

// asAgent makes the test binary the program under test.
const asAgent = "as-moeca-agent"

func TestMain(m *testing.M) {
	if len(os.Args) == 2 && os.Args[1] == asAgent {
		os.Exit(run())
	}
	os.Exit(m.Run())
}

const path = "PATH=/usr/local/bin:/usr/bin:/bin"

// process is the agent as a process, of an ordinary user.
type process struct {
	cmd    *exec.Cmd
	stdin  io.WriteCloser
	events *handoff.Reader
	stderr bytes.Buffer
	tree   string
}

func start(t *testing.T) *process {
	t.Helper()
	// Not t.TempDir: its parent is closed to other users.
	dir, err := os.MkdirTemp("", "moeca-agent")
	must(t, err)
	t.Cleanup(func() { os.RemoveAll(dir) })
	must(t, os.Chmod(dir, 0o755))
	p := &process{tree: filepath.Join(dir, "tree")}
	must(t, os.MkdirAll(p.tree, 0o777))
	must(t, os.Chmod(p.tree, 0o777))
	program := filepath.Join(dir, "agent")
	self, err := os.ReadFile("/proc/self/exe")
	must(t, err)
	must(t, os.WriteFile(program, self, 0o755))

	p.cmd = exec.Command(program, asAgent)
	p.cmd.Env = []string{"HOST_SECRET=canary"}
	p.cmd.Stderr = &p.stderr
	if os.Getuid() == 0 {
		p.cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65532, Gid: 65532}}
	}
	p.stdin, err = p.cmd.StdinPipe()
	must(t, err)
	out, err := p.cmd.StdoutPipe()
	must(t, err)
	must(t, p.cmd.Start())
	t.Cleanup(func() { _ = p.cmd.Process.Kill() })
	p.events = handoff.NewReader(out, handoff.Limits{})
	if e, err := p.events.Next(); err != nil || e.Type != handoff.EventReady {
		t.Fatalf("first event %+v, %v, %s", e, err, p.stderr.String())
	}
	return p
}

func (p *process) order(t *testing.T, c handoff.Command, env ...string) {
	t.Helper()
	must(t, handoff.EncodeOrder(p.stdin, handoff.WorkOrder{
		Version: 1, Kind: handoff.KindCommand, Tree: p.tree, Env: env, Command: &c,
	}))
}

// end reads to the last event and returns the output, the last event and the
// exit code of the process.
func (p *process) end(t *testing.T) (output string, done handoff.Event, code int) {
	t.Helper()
	for {
		e, err := p.events.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		must(t, err)
		if e.Type == handoff.EventOutput {
			output += e.Text
		}
		done = e
	}
	err := p.cmd.Wait()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	code = p.cmd.ProcessState.ExitCode()
	if done.Type != handoff.EventDone || done.Code != code {
		t.Errorf("exit code %d, last event %+v, stderr %s", code, done, p.stderr.String())
	}
	return output, done, code
}

func shell(t *testing.T, script string, timeout int) (output string, done handoff.Event, code int) {
	t.Helper()
	p := start(t)
	p.order(t, handoff.Command{Argv: []string{"sh", "-c", script}, TimeoutSeconds: timeout}, path)
	return p.end(t)
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// attack tries to write into a process of the same user, and prints what worked.
const attack = `
attack() {
	for fd in 0 1 2 3 4 5 6 7 8 9 10 11 12; do
		(echo '{"type":"done","text":"forged"}' > /proc/$1/fd/$fd) 2>/dev/null && echo "$2 fd $fd"
	done
	(: 3<> /proc/$1/mem) 2>/dev/null && (exec 3<> /proc/$1/mem) 2>/dev/null && echo "$2 mem"
	cat /proc/$1/environ > /dev/null 2>&1 && echo "$2 environ"
	ls /proc/$1/fd/ > /dev/null 2>&1 && echo "$2 fds"
	readlink /proc/$1/exe > /dev/null 2>&1 && echo "$2 exe"
	ls /proc/$1/root/ > /dev/null 2>&1 && echo "$2 root"
	ls /proc/$1/cwd/ > /dev/null 2>&1 && echo "$2 cwd"
}
`

func TestAChildCannotTouchItsParent(t *testing.T) {
	out, done, code := shell(t, attack+`
sleep 20 & attack $! sibling
attack $PPID parent
kill $!
`, 15)
	if code != 0 || done.Text == "forged" {
		t.Errorf("exit code %d, done %+v", code, done)
	}
	for _, probe := range []string{"mem", "environ", "fds", "exe", "root"} {
		if !strings.Contains(out, "sibling "+probe+"\n") {
			t.Errorf("the probe of %s does not work against an ordinary process, so it proves nothing:\n%s", probe, out)
		}
	}
	if strings.Contains(out, "parent") {
		t.Errorf("reached the parent:\n%s", out)
	}
}

func TestAChildGetsNothingOfOurs(t *testing.T) {
	out, _, code := shell(t, `ls /proc/$$/fd | tr '\n' ' '; cat; env`, 10)
	want := "0 1 2 "
	if code != 0 || !strings.HasPrefix(out, want) {
		t.Errorf("exit code %d, descriptors %q", code, out)
	}
	if strings.Contains(out, "canary") || !strings.Contains(out, path+"\n") {
		t.Errorf("environment:\n%s", out)
	}
}

func TestExitCodes(t *testing.T) {
	tests := map[string]struct {
		script  string
		timeout int
		code    int
		cause   string
	}{
		"success":                    {"true", 0, 0, ""},
		"failure":                    {"exit 3", 0, 3, handoff.CauseCommand},
		"killed":                     {"kill -9 $$", 0, 137, handoff.CauseCommand},
		"out of time":                {"sleep 30", 1, 124, handoff.CauseTimeout},
		"a leftover keeps the pipe":  {"setsid sleep 4 & exit 5", 0, 5, handoff.CauseCommand},
		"a leftover in the group":    {"sleep 30 & exit 0", 0, 0, ""},
		"success when asked to stop": {"trap 'exit 0' TERM; sleep 30 & wait", 1, 124, handoff.CauseTimeout},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			_, done, code := shell(t, tt.script, tt.timeout)
			if code != tt.code || done.Cause != tt.cause || done.Error != (tt.cause != "") {
				t.Errorf("code %d, done %+v", code, done)
			}
		})
	}
}

func TestWhatCannotBeRun(t *testing.T) {
	tests := map[string]struct {
		command handoff.Command
		env     []string
		code    int
	}{
		"not in PATH":                 {handoff.Command{Argv: []string{"moeca-no-such-program"}}, []string{path}, 127},
		"no PATH":                     {handoff.Command{Argv: []string{"sh"}}, nil, 127},
		"PATH of the tree":            {handoff.Command{Argv: []string{"tool"}}, []string{"PATH=.:"}, 127},
		"a missing file":              {handoff.Command{Argv: []string{"./missing"}}, nil, 127},
		"not executable":              {handoff.Command{Argv: []string{"./text"}}, nil, 126},
		"a directory":                 {handoff.Command{Argv: []string{"/"}}, nil, 126},
		"no program format":           {handoff.Command{Argv: []string{"./tool"}}, nil, 126},
		"a directory out of the tree": {handoff.Command{Argv: []string{"sh"}, Dir: "../"}, []string{path}, 2},
		"a directory through a link":  {handoff.Command{Argv: []string{"sh"}, Dir: "out"}, []string{path}, 2},
		"a file as directory":         {handoff.Command{Argv: []string{"sh"}, Dir: "text"}, []string{path}, 2},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			p := start(t)
			must(t, os.WriteFile(filepath.Join(p.tree, "text"), nil, 0o644))
			must(t, os.WriteFile(filepath.Join(p.tree, "tool"), []byte("\x00\x01"), 0o755))
			must(t, os.Symlink("/", filepath.Join(p.tree, "out")))
			p.order(t, tt.command, tt.env...)
			if _, done, code := p.end(t); code != tt.code || done.Cause != handoff.CauseOrder {
				t.Errorf("code %d, done %+v", code, done)
			}
		})
	}
}

func TestTermIsPassedOn(t *testing.T) {
	p := start(t)
	p.order(t, handoff.Command{Argv: []string{"sh", "-c", "trap 'echo got TERM; exit 0' TERM; echo up; sleep 30 & wait"}}, path)
	for {
		e, err := p.events.Next()
		must(t, err)
		if e.Text == "up\n" {
			break
		}
	}
	must(t, p.cmd.Process.Signal(syscall.SIGTERM))
	out, done, code := p.end(t)
	if code != 143 || done.Cause != handoff.CauseStopped || !strings.Contains(out, "got TERM") {
		t.Errorf("code %d, done %+v, output %q", code, done, out)
	}
}

func TestTermEndsAProcessWithoutAnOrder(t *testing.T) {
	p := start(t)
	must(t, p.cmd.Process.Signal(syscall.SIGTERM))
	if _, done, code := p.end(t); code != 2 || done.Cause != handoff.CauseOrder {
		t.Errorf("code %d, done %+v", code, done)
	}
}

func TestOrphansAreCollected(t *testing.T) {
	out, _, code := shell(t, `
( (exit 0) & (exit 1) & )
i=0
while grep -qs "^State:.Z" $(grep -ls "^PPid:.$PPID\$" /proc/[0-9]*/status) /dev/null && [ $i -lt 100 ]; do i=$((i+1)); sleep 0.1; done
[ $i -lt 100 ] && echo collected
`, 30)
	if code != 0 || !strings.Contains(out, "collected") {
		t.Errorf("code %d: %s", code, out)
	}
}

func TestAFloodIsBoundedAndItsEndIsKept(t *testing.T) {
	began := time.Now()
	out, _, code := shell(t, `head -c 12000000 /dev/zero | tr '\0' x; echo; echo the end; exit 4`, 0)
	if code != 4 || !strings.HasSuffix(out, "\nthe end\n") || len(out) > 9<<20 || len(out) < 6<<20 {
		t.Errorf("code %d, %d bytes in %s", code, len(out), time.Since(began))
	}
}

func TestOutputIsPassedOnAsItIs(t *testing.T) {
	out, _, _ := shell(t, `printf 'a\033[31m\000b\r\n{"type":"done"}\n'; printf '\303'; sleep 0.2; printf '\251\377end' >&2`, 0)
	if want := "a\x1b[31m\x00b\r\n{\"type\":\"done\"}\né\uFFFDend"; out != want {
		t.Errorf("%q, want %q", out, want)
	}
}
