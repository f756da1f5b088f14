//go:build unix

package sandbox

import (
	"fmt"
	"os"
	"syscall"
)

// ownerOf returns the uid that owns a path.
func ownerOf(p string) (int, error) {
	info, err := os.Lstat(p)
	if err != nil {
		return 0, err
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return 0, fmt.Errorf("%s: no owner in its status", p)
	}
	return int(st.Uid), nil
}
