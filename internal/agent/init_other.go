//go:build !linux

package agent

import (
	"errors"
	"os"
)

// Channel is the pair of streams to the controller.
type Channel struct {
	In, Out *os.File
}

// Harden fails: a sandbox is always Linux, whatever the host is.
func Harden() (Channel, error) {
	return Channel{}, errors.New("agent: this program runs in a Linux sandbox only")
}

func loopbackUp() error { return errors.ErrUnsupported }

// reaper has nothing to collect where the process is never pid 1.
type reaper struct{}

func newReaper() *reaper { return &reaper{} }

func (*reaper) start(begin func() (pid int, err error)) error {
	_, err := begin()
	return err
}

func (*reaper) done(int) {}

func (*reaper) reap() {}
