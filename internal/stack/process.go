package stack

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"
)

// service is a part of the host that runs on its own: a process, or a
// container. It is started again when it dies, until stop is called.
type service struct {
	name   string
	launch func(context.Context) (unit, error)
	logTo  string // file its output goes to
	logger *slog.Logger
	ready  func(context.Context) error // polled after every start
	onUp   func(context.Context) error // after ready, also after a restart

	cancel     context.CancelFunc
	done       chan struct{}
	interludes chan interlude
}

// interlude is something to be done while the service does not run.
type interlude struct {
	do   func() error
	done chan error // gets one value when the service is up again
}

// unit is one life of a service. exited gives one value when it has ended; end
// ends it and waits for that.
type unit struct {
	exited chan error
	end    func()
}

// Pauses between a service's death and its next start, growing with each early
// death.
const (
	firstPause = 100 * time.Millisecond
	lastPause  = 5 * time.Second
	startLimit = 30 * time.Second
)

// start launches the service and returns when it is ready.
func (s *service) start(ctx context.Context) error {
	u, err := s.up(ctx)
	if err != nil {
		return err
	}
	life, cancel := context.WithCancel(context.WithoutCancel(ctx))
	s.cancel, s.done, s.interludes = cancel, make(chan struct{}), make(chan interlude)
	go s.supervise(life, u)
	return nil
}

// stop ends the service: TERM, then KILL.
func (s *service) stop() {
	if s.cancel == nil {
		return
	}
	s.cancel()
	<-s.done
}

// between ends the service, does what is given, and starts it again, also where
// that failed.
func (s *service) between(ctx context.Context, do func() error) error {
	i := interlude{do: do, done: make(chan error, 1)}
	select {
	case s.interludes <- i:
	case <-s.done:
		return fmt.Errorf("%s has ended", s.name)
	case <-ctx.Done():
		return ctx.Err()
	}
	select {
	case err := <-i.done:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// up launches one unit and waits until it is ready.
func (s *service) up(ctx context.Context) (unit, error) {
	from := logSize(s.logTo)
	u, err := s.launch(ctx)
	if err != nil {
		return unit{}, fmt.Errorf("start %s: %w", s.name, err)
	}
	if err := s.awaitReady(ctx, u, from); err != nil {
		u.end()
		return unit{}, err
	}
	return u, nil
}

// awaitReady polls until the unit answers, dies, or takes too long.
func (s *service) awaitReady(ctx context.Context, u unit, logFrom int64) error {
	ctx, cancel := context.WithTimeout(ctx, startLimit)
	defer cancel()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for {
		err := s.ready(ctx)
		if err == nil {
			if s.onUp != nil {
				return s.onUp(ctx)
			}
			return nil
		}
		select {
		case exit := <-u.exited:
			u.exited <- exit // for end
			return fmt.Errorf("%s ended while it started (%v); its log is %s: %s", s.name, exit, s.logTo, logEnd(s.logTo, logFrom))
		case <-ctx.Done():
			return fmt.Errorf("%s did not become ready: %w; its log is %s", s.name, err, s.logTo)
		case <-tick.C:
		}
	}
}

// supervise waits for the unit's end and starts the next, until ctx ends.
func (s *service) supervise(ctx context.Context, u unit) {
	defer close(s.done)
	for {
		told := func() {}
		select {
		case <-ctx.Done():
			u.end()
			return
		case i := <-s.interludes:
			u.end()
			err := i.do()
			told = func() { i.done <- err }
		case err := <-u.exited:
			u.exited <- err
			u.end()
			s.logger.Error("service ended", "service", s.name, "error", err)
		}
		next, ok := s.restart(ctx)
		told()
		if !ok {
			return
		}
		u = next
	}
}

// restart tries until a unit is up; false means that ctx ended first.
func (s *service) restart(ctx context.Context) (unit, bool) {
	for pause := firstPause; ; pause = min(2*pause, lastPause) {
		select {
		case <-ctx.Done():
			return unit{}, false
		case <-time.After(pause):
		}
		u, err := s.up(ctx)
		if err == nil {
			s.logger.Info("service is back", "service", s.name)
			return u, true
		}
		s.logger.Error("service cannot be started", "service", s.name, "error", err)
	}
}

// termGrace is how long a service may take to end by itself.
const termGrace = 5 * time.Second

// program launches argv as a process that gets nothing of the host's
// environment and whose output goes to a file.
func program(logTo string, argv ...string) func(context.Context) (unit, error) {
	return func(context.Context) (unit, error) {
		out, err := os.OpenFile(logTo, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
		if err != nil {
			return unit{}, err
		}
		defer out.Close()
		cmd := exec.Command(argv[0], argv[1:]...)
		cmd.Env, cmd.Dir = []string{}, "/"
		cmd.Stdout, cmd.Stderr = out, out
		cmd.SysProcAttr = serviceAttr()
		if err := cmd.Start(); err != nil {
			return unit{}, err
		}
		u := unit{exited: make(chan error, 1)}
		go func() { u.exited <- cmd.Wait() }()
		u.end = func() { terminate(cmd, u.exited) }
		return u, nil
	}
}

func terminate(cmd *exec.Cmd, exited chan error) {
	if cmd.Process.Signal(syscall.SIGTERM) != nil {
		return // it has ended
	}
	select {
	case <-exited:
	case <-time.After(termGrace):
		_ = cmd.Process.Kill()
		<-exited
	}
}

// logEnd returns, for an error message, the end of what a log holds after an
// offset: what an earlier start said there is not why this one failed.
func logEnd(file string, from int64) string {
	raw, err := os.ReadFile(file)
	if err != nil || int64(len(raw)) <= from {
		return ""
	}
	raw = raw[from:]
	return strings.TrimSpace(string(raw[max(0, len(raw)-500):]))
}

// logSize is where the next start's words will begin.
func logSize(file string) int64 {
	info, err := os.Stat(file)
	if err != nil {
		return 0
	}
	return info.Size()
}
