package stack

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"moeca/images"
	"moeca/internal/sandbox"
	"moeca/internal/sandbox/docker"
	"moeca/internal/sandbox/image"
	"moeca/internal/sandbox/native"
)

// ErrMissing means that something moeca cannot do without is not there. The
// text says what and how to get it.
var ErrMissing = errors.New("something needed is missing")

// openImages returns the image store of a data directory. The build files of
// poly are written out of this binary, so that it alone is enough.
func openImages(o Options, dir string) (*image.Store, error) {
	// Whoever could replace an image would decide what a gate says.
	dir, err := trusted(dir, 0o700)
	if err != nil {
		return nil, fmt.Errorf("images: %w", err)
	}
	if o.Cache != "" {
		if o.Cache, err = trusted(o.Cache, 0o755); err != nil {
			return nil, fmt.Errorf("image cache: %w; it can be set with --cache", err)
		}
	}
	build := filepath.Join(dir, "build-poly")
	if err := writeOut(images.Poly, "poly", build); err != nil {
		return nil, fmt.Errorf("image build files: %w", err)
	}
	return image.New(image.Options{
		Dir: dir, Cache: o.Cache, AgentBinary: filepath.Join(o.Bin, "moeca-agent"), PolyBuild: build,
	}), nil
}

// writeOut copies an embedded directory, replacing what differs.
func writeOut(from fs.FS, top, dir string) error {
	return fs.WalkDir(from, top, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(top, name)
		if err != nil {
			return err
		}
		to := filepath.Join(dir, rel)
		if d.IsDir() {
			return os.MkdirAll(to, 0o755)
		}
		content, err := fs.ReadFile(from, name)
		if err != nil {
			return err
		}
		if old, err := os.ReadFile(to); err == nil && string(old) == string(content) {
			return nil
		}
		mode := fs.FileMode(0o644)
		if filepath.Ext(name) == ".sh" {
			mode = 0o755
		}
		return writeFile(to, content, mode)
	})
}

// drivers are the two ways to run a sandbox on this machine.
type drivers struct {
	docker *docker.Driver
	native *native.Driver
}

func newDrivers(o Options, store *image.Store, state string) (drivers, error) {
	d, err := docker.New(docker.Options{Images: store, Host: o.DockerHost})
	if err != nil {
		return drivers{}, fmt.Errorf("%w: %w", ErrMissing, err)
	}
	return drivers{d, native.New(native.Options{Images: store, StateDir: state, Logger: o.Logger})}, nil
}

// choose picks the driver: Docker where an engine answers, else native, unless
// one was asked for by name.
func (d drivers) choose(ctx context.Context, want string) (sandbox.Driver, string, error) {
	dockerErr, nativeErr := d.docker.Usable(ctx), error(nil)
	switch {
	case want == "docker" && dockerErr != nil:
		return nil, "", fmt.Errorf("%w: the docker driver cannot be used: %w", ErrMissing, dockerErr)
	case want != "native" && dockerErr == nil:
		return d.docker, "", nil
	}
	if nativeErr = d.native.Usable(ctx); nativeErr == nil {
		note := ""
		if want == "auto" {
			note = "no container engine is used: " + dockerErr.Error()
		}
		return d.native, note, nil
	}
	if want == "native" {
		return nil, "", fmt.Errorf("%w: the native driver cannot be used: %w", ErrMissing, nativeErr)
	}
	return nil, "", fmt.Errorf("%w: no sandbox driver can be used; docker: %w; native: %w", ErrMissing, dockerErr, nativeErr)
}

// others are the usable drivers that were not chosen. An earlier life of the
// host may have used one, and what it left there is swept too.
func (d drivers) others(ctx context.Context, chosen sandbox.Driver) []sandbox.Driver {
	var rest []sandbox.Driver
	for _, driver := range []sandbox.Driver{d.docker, d.native} {
		if driver != chosen && driver.Usable(ctx) == nil {
			rest = append(rest, driver)
		}
	}
	return rest
}

// BuildImage makes the image of a policy without starting anything else, and
// returns its digest. Images are shared by every data directory through
// Options.Cache.
func BuildImage(ctx context.Context, o Options, policy string, progress func(string)) (string, error) {
	store, err := openImages(o, filepath.Join(o.Data, "images"))
	if err != nil {
		return "", err
	}
	root, err := store.For(ctx, policy, progress)
	if err != nil {
		return "", err
	}
	return root.Digest, nil
}
