package audit

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// syncData is fdatasync: it also writes the size where it grew, and skips the
// times.
func syncData(f *os.File) error {
	return onFD(f, "fdatasync", func(fd int) error {
		for {
			if err := unix.Fdatasync(fd); err != unix.EINTR {
				return err
			}
		}
	})
}

func syncDir(d *os.File) error { return d.Sync() }

func allocate(f *os.File, end int64) error {
	return onFD(f, "fallocate", func(fd int) error {
		for {
			err := unix.Fallocate(fd, unix.FALLOC_FL_KEEP_SIZE, 0, end)
			switch err {
			case unix.EINTR:
				continue
			case unix.EOPNOTSUPP, unix.ENOSYS:
				return errors.ErrUnsupported
			}
			return err
		}
	})
}

func onFD(f *os.File, op string, do func(fd int) error) error {
	c, err := f.SyscallConn()
	if err != nil {
		return err
	}
	var opErr error
	if err := c.Control(func(fd uintptr) { opErr = do(int(fd)) }); err != nil {
		return err
	}
	if opErr != nil {
		return &os.PathError{Op: op, Path: f.Name(), Err: opErr}
	}
	return nil
}
