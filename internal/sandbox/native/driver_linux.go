package native

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"sync"

	"moeca/internal/sandbox"
)

// Driver runs sandboxes on this machine.
type Driver struct {
	o   Options
	log *slog.Logger

	mu      sync.Mutex // guards what follows; held during the trial
	proved  bool       // a trial sandbox was built once
	cgroups *cgroups   // nil until looked for
}

// New returns a driver. It looks at nothing yet.
func New(o Options) *Driver {
	log := o.Logger
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	return &Driver{o: o, log: log}
}

// Name is "native".
func (d *Driver) Name() string { return "native" }

// Ensure makes the policy's image available.
func (d *Driver) Ensure(ctx context.Context, policy sandbox.Policy) (sandbox.Image, error) {
	root, err := d.o.Images.For(ctx, policy.Name, d.o.Progress)
	if err != nil {
		return sandbox.Image{}, fmt.Errorf("native: image of policy %s: %w", policy.Name, err)
	}
	return root.Image(root.RootDir), nil
}

// Unenforced says which limits this machine does not let the driver enforce as
// they read, and what holds instead. Empty when all hold.
func (d *Driver) Unenforced() []string {
	return d.controllers().missing()
}

// controllers finds the writable cgroups once.
func (d *Driver) controllers() *cgroups {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.cgroups == nil {
		d.cgroups = findCgroups("/proc/self", os.Getpid())
	}
	return d.cgroups
}

// Prepare checks the specification against this machine and claims the
// sandbox's name and cgroup.
func (d *Driver) Prepare(ctx context.Context, spec sandbox.Spec) (sandbox.Sandbox, error) {
	b, err := d.prepare(spec)
	if err != nil {
		return nil, fmt.Errorf("native: prepare %s: %w", spec.ID, err)
	}
	return b, nil
}

func (d *Driver) prepare(spec sandbox.Spec) (*box, error) {
	if err := d.checkIdentity(spec); err != nil {
		return nil, err
	}
	if err := sandbox.CheckSources(spec); err != nil {
		return nil, err
	}
	root, err := d.o.Images.Lookup(spec.Image.Digest)
	if err != nil {
		return nil, err
	}
	if root.RootDir != spec.Image.Ref {
		return nil, fmt.Errorf("image %s is at %s, the specification says %s", spec.Image.Digest, root.RootDir, spec.Image.Ref)
	}
	group := d.controllers().group(spec)
	state := state{ID: spec.ID, Owner: spec.Owner, Cgroups: group.dirs()}
	if err := d.claim(state); err != nil {
		return nil, err
	}
	if err := group.create(spec); err != nil {
		d.forget(state)
		return nil, err
	}
	return newBox(d, spec, stageConfig(spec, root, group), group, state), nil
}

// checkIdentity refuses a uid this process cannot give a sandbox.
func (d *Driver) checkIdentity(spec sandbox.Spec) error {
	if spec.UID <= 0 || spec.GID <= 0 {
		return fmt.Errorf("uid %d gid %d: a sandbox never runs as root", spec.UID, spec.GID)
	}
	uid, gid := os.Getuid(), os.Getgid()
	if uid != 0 && (spec.UID != uid || spec.GID != gid) {
		return fmt.Errorf("uid %d gid %d: a host that runs as uid %d gid %d can only give a sandbox its own", spec.UID, spec.GID, uid, gid)
	}
	return nil
}
