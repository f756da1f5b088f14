//go:build !linux

package stack

import "syscall"

// serviceAttr keeps terminal signals from a service. Where the kernel knows no
// parent-death signal, the service watches its parent's pid itself.
func serviceAttr() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true}
}
