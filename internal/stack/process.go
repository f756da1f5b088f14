package stack

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"time"
)

// process is a service of the host that runs as its own process. It is started
// again when it dies, until stop is called.
type process struct {
	name   string
	argv   []string
	logTo  string // file its output goes to
	logger *slog.Logger
	ready  func(context.Context) error // polled after every start
	onUp   func(context.Context) error // after ready, also after a restart

	cancel context.CancelFunc
	done   chan struct{}

	mu  sync.Mutex
	pid int
}

// Pauses between a service's death and its next start, growing with each early
// death.
const (
	firstPause = 100 * time.Millisecond
	lastPause  = 5 * time.Second
	startLimit = 20 * time.Second
)

// start runs the process and returns when it is ready.
func (p *process) start(ctx context.Context) error {
	cmd, err := p.spawn()
	if err != nil {
		return err
	}
	exited := make(chan error, 1)
	go func() { exited <- cmd.Wait() }()
	if err := p.awaitReady(ctx, exited); err != nil {
		_ = cmd.Process.Kill()
		return err
	}
	run, cancel := context.WithCancel(context.WithoutCancel(ctx))
	p.cancel, p.done = cancel, make(chan struct{})
	go p.supervise(run, cmd, exited)
	return nil
}

// stop ends the process: TERM, then KILL.
func (p *process) stop() {
	if p.cancel == nil {
		return
	}
	p.cancel()
	<-p.done
}

func (p *process) spawn() (*exec.Cmd, error) {
	out, err := os.OpenFile(p.logTo, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", p.name, err)
	}
	defer out.Close()
	cmd := exec.Command(p.argv[0], p.argv[1:]...)
	cmd.Env = []string{} // a service gets nothing of the host's environment
	cmd.Dir = "/"
	cmd.Stdout, cmd.Stderr = out, out
	cmd.SysProcAttr = serviceAttr()
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start %s: %w", p.name, err)
	}
	p.mu.Lock()
	p.pid = cmd.Process.Pid
	p.mu.Unlock()
	return cmd, nil
}

// awaitReady polls until the service answers, dies, or takes too long.
func (p *process) awaitReady(ctx context.Context, exited chan error) error {
	ctx, cancel := context.WithTimeout(ctx, startLimit)
	defer cancel()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for {
		err := p.ready(ctx)
		if err == nil {
			if p.onUp != nil {
				return p.onUp(ctx)
			}
			return nil
		}
		select {
		case exit := <-exited:
			return fmt.Errorf("%s ended while it started (%v); its log is %s: %s", p.name, exit, p.logTo, lastLine(p.logTo))
		case <-ctx.Done():
			return fmt.Errorf("%s did not become ready: %w; its log is %s", p.name, err, p.logTo)
		case <-tick.C:
		}
	}
}

// supervise waits for the process and starts it again until ctx ends.
func (p *process) supervise(ctx context.Context, cmd *exec.Cmd, exited chan error) {
	defer close(p.done)
	pause := firstPause
	for {
		select {
		case <-ctx.Done():
			terminate(cmd, exited)
			return
		case err := <-exited:
			p.logger.Error("service ended", "service", p.name, "error", err)
		}
		for {
			select {
			case <-ctx.Done():
				return
			case <-time.After(pause):
			}
			var err error
			if cmd, err = p.spawn(); err == nil {
				exited = make(chan error, 1)
				go func(c *exec.Cmd, done chan error) { done <- c.Wait() }(cmd, exited)
				if err = p.awaitReady(ctx, exited); err == nil {
					pause = firstPause
					p.logger.Info("service is back", "service", p.name)
					break
				}
				_ = cmd.Process.Kill()
			}
			p.logger.Error("service cannot be started", "service", p.name, "error", err)
			pause = min(2*pause, lastPause)
		}
	}
}

// termGrace is how long a service may take to end by itself.
const termGrace = 5 * time.Second

func terminate(cmd *exec.Cmd, exited chan error) {
	_ = cmd.Process.Signal(syscall.SIGTERM)
	select {
	case <-exited:
	case <-time.After(termGrace):
		_ = cmd.Process.Kill()
		<-exited
	}
}

// lastLine returns the end of a log for an error message.
func lastLine(file string) string {
	raw, err := os.ReadFile(file)
	if err != nil {
		return ""
	}
	raw = raw[max(0, len(raw)-500):]
	return string(raw)
}
