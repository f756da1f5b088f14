//go:build !linux

package audit

import (
	"errors"
	"os"
	"runtime"
)

func syncData(f *os.File) error { return f.Sync() }

// syncDir does nothing on Windows, which journals names and cannot sync a
// directory.
func syncDir(d *os.File) error {
	if runtime.GOOS == "windows" {
		return nil
	}
	return d.Sync()
}

func allocate(*os.File, int64) error { return errors.ErrUnsupported }
