//go:build unix

package stack

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// ErrUntrusted means that somebody else could replace a directory we would put
// keys, sockets or images in.
var ErrUntrusted = errors.New("another user of this machine could replace it")

// trusted makes dir if it is missing and refuses it unless nobody but this user
// and root can change any directory on the way to it. Checking the last
// directory is not enough: who owns its parent can rename it away afterwards
// and put another one in its place.
//
// Each directory must belong to this user or to root. One that others may write
// in must be sticky, as /tmp is: then nobody can rename what is ours, and the
// next directory must be ours. The real path is returned.
func trusted(dir string, mode os.FileMode) (string, error) {
	if err := os.MkdirAll(dir, mode); err != nil {
		return "", err
	}
	real, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return "", err
	}
	if real, err = filepath.Abs(real); err != nil {
		return "", err
	}
	shared := false
	for _, step := range ancestors(real) {
		info, err := os.Lstat(step)
		if err != nil {
			return "", err
		}
		if shared, err = trustedStep(step, info, shared); err != nil {
			return "", err
		}
	}
	if shared {
		return "", fmt.Errorf("%s: %w: everybody may write in it; choose a directory of your own", real, ErrUntrusted)
	}
	return real, nil
}

// trustedStep judges one directory. inShared says that its parent is one in
// which everybody may make entries; the answer says the same of this one.
func trustedStep(step string, info os.FileInfo, inShared bool) (shared bool, err error) {
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok || !info.IsDir() {
		return false, fmt.Errorf("%s: %w: it is no directory", step, ErrUntrusted)
	}
	us := uint32(os.Getuid())
	switch open := info.Mode().Perm()&0o022 != 0; {
	case stat.Uid != us && stat.Uid != 0:
		return false, fmt.Errorf("%s: %w: it belongs to uid %d; choose a directory of your own", step, ErrUntrusted, stat.Uid)
	case inShared && stat.Uid != us && us != 0:
		return false, fmt.Errorf("%s: %w: it belongs to root and lies where everybody may write; choose a directory of your own", step, ErrUntrusted)
	case open && info.Mode()&os.ModeSticky == 0:
		return false, fmt.Errorf("%s: %w: its group or everybody may write in it; run `chmod go-w %s`, or choose another directory", step, ErrUntrusted, step)
	default:
		return open, nil
	}
}

// ancestors lists an absolute path's directories from the root down to it.
func ancestors(path string) []string {
	steps := []string{string(filepath.Separator)}
	for _, part := range strings.Split(strings.Trim(path, string(filepath.Separator)), string(filepath.Separator)) {
		if part != "" {
			steps = append(steps, filepath.Join(steps[len(steps)-1], part))
		}
	}
	return steps
}
