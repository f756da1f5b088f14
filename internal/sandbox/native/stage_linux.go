package native

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"moeca/internal/sandbox"
)

// pipes are the streams between host and stage.
type pipes struct {
	stdin  *os.File // host's ends
	stdout *os.File
	stderr *os.File
	inside [3]*os.File // the stage's ends, closed once it has them

	tail chan string // last bytes of stderr, sent once when it ends
}

func newPipes() (*pipes, error) {
	p := &pipes{tail: make(chan string, 1)}
	var err error
	make := func(ours, theirs **os.File, write bool) {
		if err != nil {
			return
		}
		var r, w *os.File
		if r, w, err = os.Pipe(); err == nil {
			*ours, *theirs = r, w
			if write {
				*ours, *theirs = w, r
			}
		}
	}
	make(&p.stdin, &p.inside[0], true)
	make(&p.stdout, &p.inside[1], false)
	make(&p.stderr, &p.inside[2], false)
	if err != nil {
		p.close()
		return nil, err
	}
	return p, nil
}

// handed closes the stage's ends in this process and starts keeping the end of
// stderr. The goroutine ends when the last process of the sandbox has.
func (p *pipes) handed() {
	for _, f := range p.inside {
		f.Close()
	}
	go func() { p.tail <- keepTail(p.stderr, sandbox.StderrLimit) }()
}

// drained waits for the end of stderr and returns what was kept.
func (p *pipes) drained() string { return <-p.tail }

// close closes what is open. Closing twice does no harm.
func (p *pipes) close() {
	for _, f := range []*os.File{p.stdin, p.stdout, p.stderr, p.inside[0], p.inside[1], p.inside[2]} {
		if f != nil {
			f.Close()
		}
	}
}

// keepTail reads to the end and returns the last n bytes.
func keepTail(r io.Reader, n int) string {
	var kept []byte
	buf := make([]byte, 4096)
	for {
		m, err := r.Read(buf)
		kept = append(kept, buf[:m]...)
		if over := len(kept) - n; over > 0 {
			kept = append(kept[:0], kept[over:]...)
		}
		if err != nil {
			return string(kept)
		}
	}
}

// stage is the process that is, or becomes, pid 1 of a sandbox.
type stage struct {
	process *os.Process
	pid     int
	config  *os.File // write end
	status  *os.File // read end: an error text, or the end at exec
}

// startStage clones the stage. It waits for its configuration.
func startStage(c config, p *pipes) (*stage, error) {
	configR, configW, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	statusR, statusW, err := os.Pipe()
	if err != nil {
		configR.Close()
		configW.Close()
		return nil, err
	}
	process, err := os.StartProcess("/proc/self/exe", []string{initName}, &os.ProcAttr{
		Dir: "/", Env: []string{},
		Files: []*os.File{p.inside[0], p.inside[1], p.inside[2], configFD: configR, statusFD: statusW},
		Sys:   namespaces(c),
	})
	configR.Close()
	statusW.Close()
	if err != nil {
		configW.Close()
		statusR.Close()
		return nil, fmt.Errorf("clone into new namespaces: %w", err)
	}
	p.handed()
	return &stage{process: process, pid: process.Pid, config: configW, status: statusR}, nil
}

// namespaces asks for every namespace but cgroup, which the stage makes itself
// when it is in its cgroup.
func namespaces(c config) *syscall.SysProcAttr {
	attr := &syscall.SysProcAttr{
		Cloneflags: unix.CLONE_NEWUSER | unix.CLONE_NEWNS | unix.CLONE_NEWPID | unix.CLONE_NEWNET | unix.CLONE_NEWIPC | unix.CLONE_NEWUTS,
	}
	one := func(id int) syscall.SysProcIDMap { return syscall.SysProcIDMap{ContainerID: id, HostID: id, Size: 1} }
	attr.UidMappings = []syscall.SysProcIDMap{one(c.UID)}
	attr.GidMappings = []syscall.SysProcIDMap{one(c.GID)}
	if !c.SetGroups {
		attr.AmbientCaps = setupCaps()
		return attr
	}
	attr.UidMappings = append(attr.UidMappings, one(0))
	attr.GidMappings = append(attr.GidMappings, one(0))
	for _, g := range c.Groups {
		if g != c.GID {
			attr.GidMappings = append(attr.GidMappings, one(g))
		}
	}
	attr.GidMappingsEnableSetgroups = true
	return attr
}

// configure sends the configuration and waits until the agent was executed, or
// a trial has passed.
func (s *stage) configure(ctx context.Context, c config) error {
	defer s.status.Close()
	data, err := json.Marshal(c)
	if err != nil {
		return fmt.Errorf("configuration: %w", err)
	}
	_, err = s.config.Write(data)
	if err := errors.Join(err, s.config.Close()); err != nil {
		return fmt.Errorf("send configuration: %w", err)
	}
	stop := context.AfterFunc(ctx, func() { s.status.SetReadDeadline(time.Unix(1, 0)) })
	defer stop()
	problem, err := io.ReadAll(io.LimitReader(s.status, 4096))
	if err != nil {
		return errors.Join(fmt.Errorf("wait for set-up: %w", err), ctx.Err())
	}
	if len(problem) > 0 {
		return fmt.Errorf("set up inside: %s", problem)
	}
	return nil
}

func (s *stage) signal(sig unix.Signal) {
	// An error means that it has ended, which is what signals are sent for.
	_ = s.process.Signal(sig)
}

// wait returns the exit code, 128 + n for signal n.
func (s *stage) wait() (int, error) {
	ended, err := s.process.Wait()
	if err != nil {
		return 0, fmt.Errorf("wait for the sandbox: %w", err)
	}
	if ws, ok := ended.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
		return 128 + int(ws.Signal()), nil
	}
	return ended.ExitCode(), nil
}
