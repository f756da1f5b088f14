//go:build !linux

package native

import (
	"context"
	"errors"
	"runtime"

	"moeca/internal/sandbox"
)

// errNotLinux is the only answer of this driver elsewhere.
var errNotLinux = errors.New("native: sandboxes by namespaces need Linux, this is " + runtime.GOOS + "; install a container engine and use the docker driver")

// Init does nothing here.
func Init() {}

// Driver is unusable on this system and says so.
type Driver struct{}

// New returns a driver that is not usable.
func New(Options) *Driver { return &Driver{} }

// Name is "native".
func (d *Driver) Name() string { return "native" }

// Usable says why not.
func (d *Driver) Usable(context.Context) error { return errNotLinux }

// Unenforced lists nothing: there are no limits.
func (d *Driver) Unenforced() []string { return nil }

// Ensure refuses.
func (d *Driver) Ensure(context.Context, sandbox.Policy) (sandbox.Image, error) {
	return sandbox.Image{}, errNotLinux
}

// Prepare refuses.
func (d *Driver) Prepare(context.Context, sandbox.Spec) (sandbox.Sandbox, error) {
	return nil, errNotLinux
}

// Sweep finds nothing.
func (d *Driver) Sweep(context.Context, string, []string) (int, error) { return 0, nil }
