package main

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// protectMemory keeps processes of the same user from reading the keys out of
// this one: no ptrace, no /proc/<pid>/mem, no core dump.
func protectMemory() error {
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
		return fmt.Errorf("protect memory: %w", err)
	}
	if err := unix.Setrlimit(unix.RLIMIT_CORE, &unix.Rlimit{}); err != nil {
		return fmt.Errorf("switch off core dumps: %w", err)
	}
	return nil
}
