package agent

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"moeca/internal/handoff"
)

// Exit codes besides those of a command, as shells use them.
const (
	ExitFailed     = 1   // the agent ended without success
	ExitOrder      = 2   // no usable work order
	ExitTimeout    = 124 // the command ran out of time
	ExitCannotRun  = 126 // found, but not to be run
	ExitNotFound   = 127
	ExitSignalBase = 128 // + number of the signal
)

// drainGrace is how long output still in the pipe is read after a command's end.
const drainGrace = time.Second

// runCommand runs the order's command and returns its exit code and, unless it
// succeeded, a cause.
func (a *agent) runCommand(ctx context.Context) outcome {
	c := a.order.Command
	cmd, code, err := a.build(c)
	if err != nil {
		return outcome{code: code, cause: handoff.CauseOrder, text: err.Error()}
	}
	run := ctx
	if c.TimeoutSeconds > 0 {
		var cancel context.CancelFunc
		run, cancel = context.WithTimeout(ctx, time.Duration(c.TimeoutSeconds)*time.Second)
		defer cancel()
	}
	state, err := a.supervise(run, cmd)
	switch {
	case err != nil:
		return outcome{code: startCode(err), cause: handoff.CauseOrder, text: err.Error()}
	case ctx.Err() != nil:
		return outcome{
			code: ExitSignalBase + int(syscall.SIGTERM), cause: handoff.CauseStopped,
			text: "The command was stopped.",
		}
	case run.Err() != nil:
		return outcome{
			code: ExitTimeout, cause: handoff.CauseTimeout,
			text: fmt.Sprintf("%s ran longer than %d s and was ended.", c.Argv[0], c.TimeoutSeconds),
		}
	}
	return commandOutcome(c.Argv[0], state)
}

func commandOutcome(name string, state *os.ProcessState) outcome {
	if ws, ok := state.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
		return outcome{
			code: ExitSignalBase + int(ws.Signal()), cause: handoff.CauseCommand,
			text: fmt.Sprintf("%s was ended by signal %d (%s).", name, ws.Signal(), ws.Signal()),
		}
	}
	if code := state.ExitCode(); code != 0 {
		return outcome{
			code: code, cause: handoff.CauseCommand,
			text: fmt.Sprintf("%s ended with exit code %d.", name, code),
		}
	}
	return outcome{text: name + " ended with exit code 0."}
}

// build resolves the program in the environment and directory of the order,
// never in ours.
func (a *agent) build(c *handoff.Command) (*exec.Cmd, int, error) {
	dir := a.order.Tree
	if c.Dir != "" {
		info, err := a.tree.Stat(filepath.FromSlash(c.Dir))
		if err != nil {
			return nil, ExitOrder, fmt.Errorf("agent: directory of the command: %w", err)
		}
		if !info.IsDir() {
			return nil, ExitOrder, fmt.Errorf("agent: directory of the command: %q is not a directory", c.Dir)
		}
		dir = filepath.Join(dir, filepath.FromSlash(c.Dir))
	}
	program, code, err := lookUp(c.Argv[0], dir, a.order.Env)
	if err != nil {
		return nil, code, err
	}
	env := a.order.Env
	if env == nil {
		env = []string{} // nil would mean our own
	}
	return &exec.Cmd{
		Path: program, Args: c.Argv, Env: env, Dir: dir,
		SysProcAttr: &syscall.SysProcAttr{Setpgid: true},
	}, 0, nil
}

// lookUp finds a program as execvp would.
func lookUp(name, dir string, env []string) (program string, code int, err error) {
	if strings.Contains(name, "/") {
		if !filepath.IsAbs(name) {
			name = filepath.Join(dir, name)
		}
		code, err := runnable(name)
		return name, code, err
	}
	var path string
	for _, kv := range env {
		if v, ok := strings.CutPrefix(kv, "PATH="); ok {
			path = v
		}
	}
	code, err = ExitNotFound, fmt.Errorf("agent: run %s: not found in PATH %q", name, path)
	for _, d := range filepath.SplitList(path) {
		if !filepath.IsAbs(d) {
			continue // an entry relative to the tree would run the tree's programs
		}
		candidate := filepath.Join(d, name)
		switch c, e := runnable(candidate); {
		case e == nil:
			return candidate, 0, nil
		case c == ExitCannotRun:
			code, err = c, e
		}
	}
	return "", code, err
}

func runnable(path string) (code int, err error) {
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		return ExitNotFound, fmt.Errorf("agent: run %s: not found", path)
	}
	if err != nil {
		return ExitCannotRun, fmt.Errorf("agent: run %s: %w", path, err)
	}
	if !info.Mode().IsRegular() || info.Mode()&0o111 == 0 {
		return ExitCannotRun, fmt.Errorf("agent: run %s: not an executable file", path)
	}
	return 0, nil
}

func startCode(err error) int {
	if errors.Is(err, fs.ErrNotExist) {
		return ExitNotFound
	}
	return ExitCannotRun
}

// supervise runs cmd to its end and passes its output on. When ctx ends first
// the process group gets TERM, then KILL. The error is that of starting it.
func (a *agent) supervise(ctx context.Context, cmd *exec.Cmd) (*os.ProcessState, error) {
	out, closeChild, err := childPipes(cmd)
	if err != nil {
		return nil, err
	}
	defer out.Close()
	err = a.reaper.start(func() (int, error) {
		if err := cmd.Start(); err != nil {
			return 0, err
		}
		return cmd.Process.Pid, nil
	})
	closeChild()
	if err != nil {
		return nil, fmt.Errorf("agent: start %s: %w", cmd.Path, err)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		// Its error repeats what ProcessState says.
		_ = cmd.Wait()
		a.reaper.done(cmd.Process.Pid)
	}()
	drained := make(chan struct{})
	go func() {
		defer close(drained)
		a.stream(out)
	}()
	endGroup(ctx, cmd.Process.Pid, a.cfg.Grace, ended)
	// Whatever the command left in its group is over too, and a process that
	// left the group does not keep the stage by holding the pipe.
	_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
	_ = out.SetReadDeadline(time.Now().Add(drainGrace))
	<-drained
	return cmd.ProcessState, nil
}

// endGroup waits for ended; when ctx is done first, it ends the group.
func endGroup(ctx context.Context, pgid int, termGrace time.Duration, ended <-chan struct{}) {
	select {
	case <-ended:
		return
	case <-ctx.Done():
	}
	_ = syscall.Kill(-pgid, syscall.SIGTERM)
	grace := time.NewTimer(termGrace)
	defer grace.Stop()
	select {
	case <-ended:
		return
	case <-grace.C:
	}
	_ = syscall.Kill(-pgid, syscall.SIGKILL)
	<-ended
}

// childPipes gives cmd an empty input and one pipe for both outputs, and
// returns our end of it.
func childPipes(cmd *exec.Cmd) (out *os.File, closeChild func(), err error) {
	stdin, w, err := os.Pipe()
	if err != nil {
		return nil, nil, fmt.Errorf("agent: make a pipe: %w", err)
	}
	w.Close()
	out, stdout, err := os.Pipe()
	if err != nil {
		stdin.Close()
		return nil, nil, fmt.Errorf("agent: make a pipe: %w", err)
	}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = stdin, stdout, stdout
	return out, func() { stdin.Close(); stdout.Close() }, nil
}
