package native

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"moeca/internal/sandbox"
)

// Usable builds one empty sandbox and says why that did not work, and what to
// do about it. Success is remembered.
func (d *Driver) Usable(ctx context.Context) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.proved {
		return nil
	}
	if err := d.trial(ctx); err != nil {
		return fmt.Errorf("native: sandboxes by namespaces do not work here: %w%s", err, advice("/proc", err))
	}
	d.proved = true
	return nil
}

// trial goes through everything the stage does but executing an agent.
func (d *Driver) trial(ctx context.Context) error {
	if err := os.MkdirAll(d.o.StateDir, 0o700); err != nil {
		return err
	}
	root, err := os.MkdirTemp(d.o.StateDir, "trial-*")
	if err != nil {
		return err
	}
	defer os.RemoveAll(root)
	for _, dir := range []string{"dev", "proc", "tmp"} {
		if err := os.Mkdir(filepath.Join(root, dir), 0o755); err != nil {
			return err
		}
	}
	c := config{Root: root, UID: os.Getuid(), GID: os.Getgid(), SetGroups: os.Getuid() == 0}
	if c.SetGroups {
		c.UID, c.GID = sandbox.UserUID, sandbox.UserGID
	}
	p, err := newPipes()
	if err != nil {
		return err
	}
	defer p.close()
	s, err := startStage(c, p)
	if err != nil {
		return err
	}
	err = s.configure(ctx, c)
	if err != nil {
		s.signal(unix.SIGKILL)
	}
	code, waitErr := s.wait()
	p.drained()
	if err = errors.Join(err, waitErr); err == nil && code != 0 {
		err = fmt.Errorf("the trial ended with code %d", code)
	}
	return err
}

// knob is a kernel setting that forbids what the driver needs.
type knob struct {
	file, forbids string // below /proc
	what, fix     string
}

func knobs() []knob {
	return []knob{
		{"sys/user/max_user_namespaces", "0", "user namespaces are switched off", "sudo sysctl -w user.max_user_namespaces=15000"},
		{"sys/kernel/unprivileged_userns_clone", "0", "user namespaces are reserved for root", "sudo sysctl -w kernel.unprivileged_userns_clone=1"},
		{
			"sys/kernel/apparmor_restrict_unprivileged_userns", "1", "AppArmor restricts user namespaces of normal users",
			"sudo sysctl -w kernel.apparmor_restrict_unprivileged_userns=0, or add an AppArmor profile with userns for the moeca binary",
		},
	}
}

// advice names what most likely forbids namespaces and what to do.
func advice(proc string, err error) string {
	if _, e := os.Lstat(filepath.Join(proc, "self/ns/user")); e != nil {
		return "\nthis kernel has no user namespaces; use a container engine instead"
	}
	for _, k := range knobs() {
		value, e := os.ReadFile(filepath.Join(proc, k.file))
		if e == nil && strings.TrimSpace(string(value)) == k.forbids {
			return fmt.Sprintf("\n%s (%s is %s); allow them with: %s; or use a container engine", k.what, k.file, k.forbids, k.fix)
		}
	}
	if strings.Contains(err.Error(), unix.ENOSYS.Error()) {
		return "\nthis kernel is too old: Linux 5.12 or newer is needed; or use a container engine"
	}
	return "\nuse a container engine instead, or run outside of a container that masks /proc"
}
