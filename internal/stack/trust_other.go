//go:build !unix

package stack

import (
	"errors"
	"os"
	"path/filepath"
)

// ErrUntrusted is never returned where directories have no owner and mode.
var ErrUntrusted = errors.New("another user of this machine could replace it")

// trusted makes dir if it is missing and returns its real path.
func trusted(dir string, mode os.FileMode) (string, error) {
	if err := os.MkdirAll(dir, mode); err != nil {
		return "", err
	}
	return filepath.EvalSymlinks(dir)
}
