//go:build !unix

package image

import (
	"context"
	"errors"
)

func lockFile(context.Context, string, func()) (func(), error) {
	return nil, errors.New("poly cannot be built on this system")
}
