//go:build unix

package process

import (
	"context"
	"errors"
	"os"
	"syscall"
	"time"
)

// watchParent returns when ctx ends or the process is gone. A child knows by
// being adopted, which no reuse of the number can hide; anybody else asks for
// the number.
func watchParent(ctx context.Context, pid int) {
	child := os.Getppid() == pid
	tick := time.NewTicker(500 * time.Millisecond)
	defer tick.Stop()
	for {
		if child && os.Getppid() != pid {
			return
		}
		if !child && errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) {
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}
