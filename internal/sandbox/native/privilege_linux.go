package native

import (
	"errors"
	"fmt"
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"

	"moeca/internal/sandbox"
)

// setupCaps is what building the sandbox takes, as a normal user. They are
// capabilities in the stage's own user namespace.
func setupCaps() []uintptr {
	return []uintptr{unix.CAP_SYS_ADMIN, unix.CAP_NET_ADMIN, unix.CAP_SETPCAP}
}

// dropPrivileges leaves the calling thread with the sandbox's uid and nothing
// else: no capability in any set, none to be had by executing a file.
func dropPrivileges(c config) error {
	for capability := uintptr(0); ; capability++ {
		err := unix.Prctl(unix.PR_CAPBSET_DROP, capability, 0, 0, 0)
		if errors.Is(err, unix.EINVAL) && capability > 0 {
			break // the kernel's last capability
		}
		if err != nil {
			return fmt.Errorf("bounding set: %w", err)
		}
	}
	const noRoot = 1<<0 | 1<<1 | 1<<2 | 1<<3 // NOROOT, NO_SETUID_FIXUP, both locked
	if err := unix.Prctl(unix.PR_SET_SECUREBITS, noRoot, 0, 0, 0); err != nil {
		return fmt.Errorf("securebits: %w", err)
	}
	if err := setIdentity(c); err != nil {
		return err
	}
	if err := unix.Prctl(unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0); err != nil {
		return fmt.Errorf("ambient set: %w", err)
	}
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var none [2]unix.CapUserData
	if err := unix.Capset(&header, &none[0]); err != nil {
		return fmt.Errorf("capabilities: %w", err)
	}
	return unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
}

// setIdentity changes this thread's groups, gid and uid by direct calls: the
// runtime's wrappers would change every thread, which exec makes pointless.
func setIdentity(c config) error {
	if c.SetGroups {
		var list *uint32
		groups := make([]uint32, len(c.Groups)+1)
		for i, g := range c.Groups {
			groups[i] = uint32(g)
		}
		list = &groups[0]
		if _, _, e := unix.RawSyscall(unix.SYS_SETGROUPS, uintptr(len(c.Groups)), uintptr(unsafe.Pointer(list)), 0); e != 0 {
			return fmt.Errorf("groups %v: %w", c.Groups, e)
		}
	}
	gid, uid := uintptr(c.GID), uintptr(c.UID)
	if _, _, e := unix.RawSyscall(unix.SYS_SETRESGID, gid, gid, gid); e != 0 {
		return fmt.Errorf("gid %d: %w", c.GID, e)
	}
	if _, _, e := unix.RawSyscall(unix.SYS_SETRESUID, uid, uid, uid); e != 0 {
		return fmt.Errorf("uid %d: %w", c.UID, e)
	}
	return nil
}

// filterCalls installs the allow-list on this thread.
func filterCalls() error {
	raw, err := sandbox.SeccompBPF(runtime.GOARCH)
	if err != nil {
		return err
	}
	filter := make([]unix.SockFilter, len(raw))
	for i, in := range raw {
		filter[i] = unix.SockFilter{Code: in.Op, Jt: in.Jt, Jf: in.Jf, K: in.K}
	}
	program := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	_, _, e := unix.RawSyscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, 0, uintptr(unsafe.Pointer(&program)))
	runtime.KeepAlive(filter)
	if e != 0 {
		return e
	}
	return nil
}
