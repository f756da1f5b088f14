package agent

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// loopbackUp brings lo up if it is down. In a network namespace of its own it
// starts down; a driver that keeps no capability for us has done it already.
func loopbackUp() error {
	s, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("agent: open a socket: %w", err)
	}
	defer unix.Close(s)
	req, err := unix.NewIfreq("lo")
	if err != nil {
		return fmt.Errorf("agent: name lo: %w", err)
	}
	if err := unix.IoctlIfreq(s, unix.SIOCGIFFLAGS, req); err != nil {
		return fmt.Errorf("agent: read the flags of lo: %w", err)
	}
	if req.Uint16()&unix.IFF_UP != 0 {
		return nil
	}
	req.SetUint16(req.Uint16() | unix.IFF_UP)
	if err := unix.IoctlIfreq(s, unix.SIOCSIFFLAGS, req); err != nil {
		return fmt.Errorf("agent: bring lo up: %w", err)
	}
	return nil
}
