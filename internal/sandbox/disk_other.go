//go:build !unix

package sandbox

import (
	"errors"
	"io/fs"
)

func allocated(info fs.FileInfo) int64 { return info.Size() }

func freeBytes(string) (int64, error) { return 0, errors.ErrUnsupported }
