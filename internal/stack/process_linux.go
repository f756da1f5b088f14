package stack

import "syscall"

// serviceAttr makes a service die with the host, so that kill -9 of the host
// leaves nothing behind, and keeps terminal signals from it.
func serviceAttr() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGTERM}
}
