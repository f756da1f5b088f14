//go:build unix

package secret

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
)

// syncDir makes a rename in dir durable.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// checkMode refuses a file that others can read.
func checkMode(path string, st fs.FileInfo) error {
	if st.Mode().Perm()&0o077 != 0 {
		return fmt.Errorf("%s can be read by other users (mode %04o): run chmod 600 on it and consider its keys known", path, st.Mode().Perm())
	}
	return nil
}
