// Package docker runs sandboxes, and the service containers of the gateway
// zone, in a container engine. It is the only package that talks to one, and it
// does so over the engine's API, never through a command line.
//
// # Life of a sandbox
//
//	Ensure   the policy's image is in the engine, its layers are exactly ours
//	Prepare  create, read back what the engine made of it, refuse any difference
//	Attach   streams joined before anything runs
//	Start    pid 1 runs and waits for its order on stdin, holding nothing
//	Release  the order goes in
//	Wait     the engine says when it ended and whether memory was the cause
//	Remove   nothing of it is left
//
// # Never trust flags
//
// Engines ignore options they do not know, and their configuration can add some.
// What was created is therefore compared, field by field, with what was asked
// for (verify.go); one difference or one warning and the container is removed
// again. The image is named by id, and its layers by the hash of our own
// content, so that a tag somebody moved is noticed.
//
// # Ownership
//
// Everything is labelled with its owner, the data directory. [Driver.Sweep] and
// the clean-up of services remove only what carries that label and checks it
// again on each answer, since an engine that ignores a filter answers with
// everybody's containers.
//
// A Driver and its sandboxes are safe for concurrent use. Nothing here retries
// for ever, sleeps or reads the environment. What this package does not do: the
// one-network-per-run mode for engines that cannot share sockets, remote
// engines, and engines that map users (rootless, userns-remap); [Driver.Usable]
// says so.
package docker

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"sync"

	"github.com/moby/moby/client"

	"moeca/internal/sandbox"
	"moeca/internal/sandbox/image"
)

// DefaultHost is where an engine listens when nothing else is said.
const DefaultHost = client.DefaultDockerHost

// Options configure a Driver. The zero value of each field but Images works.
type Options struct {
	// Images makes and finds root file systems. Without it only services run.
	Images *image.Store
	// Progress is told what takes long, building and loading poly; nil is silent.
	Progress func(string)
	// Host is the engine's address, unix:///path. Empty means DefaultHost.
	Host string
	// Epoch marks what this life of the host made. Empty means a random one.
	Epoch string
}

// Driver implements sandbox.Driver.
type Driver struct {
	api   *client.Client
	store *image.Store
	tell  func(string)
	host  string
	epoch string

	mu     sync.Mutex
	engine *engine           // what Usable learned; nil until it succeeded
	images map[string]string // content digest → image id that Ensure checked

	loading  sync.Mutex // one image goes into the engine at a time
	services sync.Mutex // one service starts or ends at a time, with its network
}

var _ sandbox.Driver = (*Driver)(nil)

// New returns a driver. It does not talk to the engine yet; Usable does.
func New(o Options) (*Driver, error) {
	host := o.Host
	if host == "" {
		host = DefaultHost
	}
	api, err := client.New(client.WithHost(host), client.WithUserAgent("moeca"))
	if err != nil {
		return nil, fmt.Errorf("docker: engine address %q: %w (use unix:///path/to/docker.sock)", host, err)
	}
	epoch := o.Epoch
	if epoch == "" {
		epoch = rand.Text()
	}
	tell := o.Progress
	if tell == nil {
		tell = func(string) {}
	}
	return &Driver{api: api, store: o.Images, tell: tell, host: host, epoch: epoch, images: map[string]string{}}, nil
}

// Name is "docker".
func (d *Driver) Name() string { return "docker" }

// Close gives idle connections back. Sandboxes keep running.
func (d *Driver) Close() error { return d.api.Close() }

// Usable says why this engine cannot be used, in a sentence with a next step,
// or nil. The answer is asked for each time; only success is remembered for the
// other methods.
func (d *Driver) Usable(ctx context.Context) error {
	_, err := d.probe(ctx)
	return err
}

// ready returns what the engine is, asking it the first time.
func (d *Driver) ready(ctx context.Context) (*engine, error) {
	d.mu.Lock()
	known := d.engine
	d.mu.Unlock()
	if known != nil {
		return known, nil
	}
	return d.probe(ctx)
}

// Prepare creates the sandbox and reads it back. What it made of a specification
// that was not applied exactly is removed before it returns.
func (d *Driver) Prepare(ctx context.Context, spec sandbox.Spec) (sandbox.Sandbox, error) {
	e, err := d.ready(ctx)
	if err != nil {
		return nil, err
	}
	if err := d.check(spec); err != nil {
		return nil, fmt.Errorf("docker: sandbox %s: %w", spec.ID, err)
	}
	asked := sandboxRequest(spec, d.epoch, e.cpus)
	id, err := d.create(ctx, asked)
	if err != nil {
		return nil, fmt.Errorf("docker: create sandbox %s: %w", spec.ID, err)
	}
	return newBox(d.api, id, spec), nil
}

// check refuses a specification that did not come from NewSpec as it is, or
// whose image is not the one Ensure looked at.
func (d *Driver) check(s sandbox.Spec) error {
	if s.UID <= 0 || s.GID <= 0 {
		return fmt.Errorf("uid %d gid %d: a sandbox never runs as root", s.UID, s.GID)
	}
	d.mu.Lock()
	id := d.images[s.Image.Digest]
	d.mu.Unlock()
	if id == "" || id != s.Image.Ref {
		return fmt.Errorf("image %s (%s) was not ensured by this driver; ensure the policy's image first", s.Image.Digest, s.Image.Ref)
	}
	return sandbox.CheckSources(s)
}

// create makes a container and compares it with what was asked for. On any
// error nothing is left of it.
func (d *Driver) create(ctx context.Context, asked client.ContainerCreateOptions) (string, error) {
	made, err := d.api.ContainerCreate(ctx, asked)
	if err != nil {
		return "", d.explain(err)
	}
	err = func() error {
		if len(made.Warnings) > 0 {
			return fmt.Errorf("%w: %q", ErrNotAsAsked, made.Warnings)
		}
		got, err := d.api.ContainerInspect(ctx, made.ID, client.ContainerInspectOptions{})
		if err != nil {
			return fmt.Errorf("read it back: %w", d.explain(err))
		}
		return compare(asked, got.Container)
	}()
	if err != nil {
		return "", errors.Join(err, remove(context.WithoutCancel(ctx), d.api, made.ID))
	}
	return made.ID, nil
}
