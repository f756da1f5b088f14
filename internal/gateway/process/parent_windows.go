package process

import (
	"context"
	"os"
)

// watchParent returns when ctx ends or the process is gone.
func watchParent(ctx context.Context, pid int) {
	parent, err := os.FindProcess(pid)
	if err != nil {
		return
	}
	gone := make(chan struct{})
	go func() { // ends with the parent or with this process
		_, _ = parent.Wait()
		close(gone)
	}()
	select {
	case <-ctx.Done():
	case <-gone:
	}
}
