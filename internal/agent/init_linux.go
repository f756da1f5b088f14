package agent

import (
	"errors"
	"fmt"
	"os"
	"sync"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Channel is the pair of streams to the controller, on descriptors that no
// child inherits.
type Channel struct {
	In, Out *os.File
}

// Harden prepares the process to run as pid 1 beside hostile children and
// returns the channel that was on descriptors 0 and 1. It must be called before
// anything is started, and once.
func Harden() (Channel, error) {
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
		return Channel{}, fmt.Errorf("agent: make the process undumpable: %w", err)
	}
	if err := unix.Setrlimit(unix.RLIMIT_CORE, &unix.Rlimit{}); err != nil {
		return Channel{}, fmt.Errorf("agent: switch core dumps off: %w", err)
	}
	// Orphans of commands come to us, also where we are not pid 1.
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return Channel{}, fmt.Errorf("agent: become the reaper: %w", err)
	}
	in, err := moveAway(0, "order")
	if err != nil {
		return Channel{}, err
	}
	out, err := moveAway(1, "events")
	if err != nil {
		return Channel{}, err
	}
	if err := detachStandard(); err != nil {
		return Channel{}, err
	}
	return Channel{In: in, Out: out}, closeOnExec()
}

func moveAway(fd int, name string) (*os.File, error) {
	moved, err := unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, 3)
	if err != nil {
		return nil, fmt.Errorf("agent: move the %s channel away from descriptor %d: %w", name, fd, err)
	}
	return os.NewFile(uintptr(moved), name), nil
}

// detachStandard puts the ends of dead pipes on descriptors 0 and 1, so that
// nothing started by mistake without pipes of its own reaches the channel. The
// image need not have a /dev/null.
func detachStandard() error {
	var p [2]int
	if err := unix.Pipe2(p[:], unix.O_CLOEXEC); err != nil {
		return fmt.Errorf("agent: make a pipe: %w", err)
	}
	defer unix.Close(p[0])
	defer unix.Close(p[1])
	if err := unix.Dup3(p[0], 0, unix.O_CLOEXEC); err != nil {
		return fmt.Errorf("agent: detach descriptor 0: %w", err)
	}
	// A read end: writing to descriptor 1 fails instead of blocking.
	if err := unix.Dup3(p[0], 1, unix.O_CLOEXEC); err != nil {
		return fmt.Errorf("agent: detach descriptor 1: %w", err)
	}
	return nil
}

// closeOnExec marks whatever the driver left open.
func closeOnExec() error {
	err := unix.CloseRange(3, ^uint(0)>>1, unix.CLOSE_RANGE_CLOEXEC)
	if err == nil {
		return nil
	}
	var lim unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &lim); err != nil {
		return fmt.Errorf("agent: read the descriptor limit: %w", err)
	}
	for fd := 3; uint64(fd) < min(lim.Cur, 1<<16); fd++ {
		_, err := unix.FcntlInt(uintptr(fd), unix.F_SETFD, unix.FD_CLOEXEC)
		if err != nil && !errors.Is(err, unix.EBADF) {
			return fmt.Errorf("agent: mark descriptor %d close-on-exec: %w", fd, err)
		}
	}
	return nil
}

// reaper collects children that nobody else waits for. The commands we started
// are left to their own Wait, which needs their exit status.
type reaper struct {
	mu   sync.Mutex
	mine map[int]bool // pids that have a Wait
}

func newReaper() *reaper { return &reaper{mine: map[int]bool{}} }

// start runs begin, which starts a process, and keeps the reaper from it.
func (r *reaper) start(begin func() (pid int, err error)) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	pid, err := begin()
	if err == nil {
		r.mine[pid] = true
	}
	return err
}

// done says that the Wait of pid has returned.
func (r *reaper) done(pid int) {
	r.mu.Lock()
	delete(r.mine, pid)
	r.mu.Unlock()
	r.reap()
}

// reap collects every zombie that is not ours. It stops at one of ours: its
// Wait is about to return, and done comes back here.
func (r *reaper) reap() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for {
		pid := zombie()
		if pid <= 0 || r.mine[pid] {
			return
		}
		if _, err := unix.Wait4(pid, nil, unix.WNOHANG, nil); err != nil {
			return
		}
	}
}

// zombie returns the pid of a child that has ended, without collecting it; 0 or
// less when there is none.
func zombie() int {
	var info unix.Siginfo
	for {
		err := unix.Waitid(unix.P_ALL, 0, &info, unix.WEXITED|unix.WNOHANG|unix.WNOWAIT, nil)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil {
			return -1
		}
		// si_pid is the first member of the union, which follows three ints and
		// is aligned to a pointer.
		offset := (3*unsafe.Sizeof(int32(0)) + unsafe.Sizeof(uintptr(0)) - 1) &^ (unsafe.Sizeof(uintptr(0)) - 1)
		return int(*(*int32)(unsafe.Add(unsafe.Pointer(&info), offset)))
	}
}
