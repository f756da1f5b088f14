package audit

import (
	"errors"
	"io"
	"os"

	"golang.org/x/sys/windows"
)

func lockFile(name string) (io.Closer, error) {
	f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	const flags = windows.LOCKFILE_EXCLUSIVE_LOCK | windows.LOCKFILE_FAIL_IMMEDIATELY
	err = windows.LockFileEx(windows.Handle(f.Fd()), flags, 0, 1, 0, new(windows.Overlapped))
	if err == nil {
		return f, nil
	}
	f.Close()
	if errors.Is(err, windows.ERROR_LOCK_VIOLATION) {
		return nil, ErrLocked
	}
	return nil, &os.PathError{Op: "LockFileEx", Path: name, Err: err}
}
