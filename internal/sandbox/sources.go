package sandbox

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
)

// errNotBuilt refuses a specification that NewSpec did not make.
var errNotBuilt = errors.New("sandbox: the specification lacks hardening; only NewSpec makes one")

// CheckSources looks at the bind sources of s on this machine: each must be a
// directory whose path holds no symbolic link, so that what was checked is what
// is mounted, and a writable tree must belong to the sandbox's uid, or its
// files would end up with another owner. A specification that was not made by
// NewSpec is refused before anything is looked at. Drivers call it in Prepare.
func CheckSources(s Spec) error {
	if s.UID <= 0 || s.GID <= 0 || s.LogLimit <= 0 || s.Timeout <= 0 || !reflect.DeepEqual(s.Hardening, hardening()) {
		return errNotBuilt
	}
	for _, m := range s.Mounts() {
		if err := checkSource(m); err != nil {
			return fmt.Errorf("sandbox: mount %s on %s: %w", m.Source, m.Target, err)
		}
	}
	if s.ReadTree {
		return nil
	}
	uid, err := ownerOf(s.TreeDir)
	if err != nil {
		return fmt.Errorf("sandbox: owner of %s: %w", s.TreeDir, err)
	}
	if uid != s.UID {
		return fmt.Errorf("sandbox: tree %s belongs to uid %d and the sandbox runs as uid %d; give the tree to that uid first", s.TreeDir, uid, s.UID)
	}
	return nil
}

func checkSource(m Mount) error {
	info, err := os.Lstat(m.Source)
	if err != nil {
		return err
	}
	if !info.IsDir() {
		return fmt.Errorf("not a directory: %s", info.Mode().Type())
	}
	real, err := filepath.EvalSymlinks(m.Source)
	if err != nil {
		return err
	}
	if real != m.Source {
		return fmt.Errorf("its path goes through a symbolic link; use %s", real)
	}
	return nil
}
