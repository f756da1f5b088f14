package native

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"

	"moeca/internal/sandbox"
)

// Descriptors the stage starts with, beside 0, 1 and 2.
const (
	configFD = 3
	statusFD = 4
)

// Init must be the first call in main and in TestMain of every program that
// uses this package. In the re-executed stage it never returns: it builds the
// sandbox and becomes the agent, or reports why not and exits. In any other
// process it does nothing.
func Init() {
	if len(os.Args) == 0 || os.Args[0] != initName || os.Getpid() != 1 {
		return
	}
	// Namespaces, credentials and filters belong to threads; the one that made
	// them executes the agent.
	runtime.LockOSThread()
	err := becomeSandbox()
	if err != nil {
		status := os.NewFile(statusFD, "status")
		fmt.Fprint(status, err)
		status.Close()
		os.Exit(126)
	}
	os.Exit(0)
}

// becomeSandbox returns nil only for a trial.
func becomeSandbox() error {
	c, err := readConfig()
	if err != nil {
		return err
	}
	steps := []struct {
		what string
		do   func(config) error
	}{
		{"die with the host", dieWithHost},
		{"leave the host's cgroup view", func(config) error { return unix.Unshare(unix.CLONE_NEWCGROUP) }},
		{"build the file system", buildRoot},
		{"name the host", nameHost},
		{"bring lo up", func(config) error { return loopbackUp() }},
		{"start a session", newSession},
		{"drop privileges", dropPrivileges},
		{"die with the host", dieWithHost}, // a change of uid clears it
		{"close inherited descriptors", closeInherited},
		{"filter system calls", func(config) error { return filterCalls() }},
		// Last: they are meant for the agent, and this program may need more.
		{"set limits", setLimits},
	}
	for _, s := range steps {
		if err := s.do(c); err != nil {
			return fmt.Errorf("%s: %w", s.what, err)
		}
	}
	if c.Exec == "" {
		return nil
	}
	err = syscall.Exec(c.Exec, []string{c.Exec}, nil)
	if errors.Is(err, unix.EACCES) {
		return fmt.Errorf("execute %s: %w; is the data directory on a file system mounted noexec?", c.Exec, err)
	}
	return fmt.Errorf("execute %s: %w", c.Exec, err)
}

// readConfig waits for the host. An end without configuration means that the
// host is gone.
func readConfig() (config, error) {
	var c config
	f := os.NewFile(configFD, "config")
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, 1<<20))
	if err != nil {
		return c, fmt.Errorf("read configuration: %w", err)
	}
	if err := json.Unmarshal(data, &c); err != nil {
		return c, fmt.Errorf("read configuration: %w", err)
	}
	return c, nil
}

func dieWithHost(config) error {
	return unix.Prctl(unix.PR_SET_PDEATHSIG, uintptr(unix.SIGKILL), 0, 0, 0)
}

func nameHost(config) error {
	if err := unix.Sethostname([]byte(sandbox.Hostname)); err != nil {
		return err
	}
	return unix.Setdomainname([]byte("(none)"))
}

// loopbackUp raises lo, the only interface of a new network namespace.
func loopbackUp() error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	req, err := unix.NewIfreq("lo")
	if err != nil {
		return err
	}
	if err := unix.IoctlIfreq(fd, unix.SIOCGIFFLAGS, req); err != nil {
		return err
	}
	req.SetUint16(req.Uint16() | unix.IFF_UP)
	return unix.IoctlIfreq(fd, unix.SIOCSIFFLAGS, req)
}

func setLimits(c config) error {
	for resource, value := range c.Limits {
		// The syscall package restores the file limit it found at start-up on
		// exec, unless the limit was set through it.
		if err := syscall.Setrlimit(resource, &syscall.Rlimit{Cur: value, Max: value}); err != nil {
			return fmt.Errorf("resource %d to %d: %w", resource, value, err)
		}
	}
	unix.Umask(0o022)
	return nil
}

// newSession detaches from the host's terminal, if there was one.
func newSession(config) error {
	if _, err := unix.Setsid(); err != nil && !errors.Is(err, unix.EPERM) {
		return err // EPERM: pid 1 leads its session already
	}
	return nil
}

func closeInherited(config) error {
	return unix.CloseRange(3, ^uint(0)>>1&0xffffffff, unix.CLOSE_RANGE_CLOEXEC)
}
