package docker

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"slices"
	"strings"
	"syscall"

	"github.com/containerd/errdefs"
	"github.com/moby/moby/api/types/system"
	"github.com/moby/moby/client"
	"github.com/moby/moby/client/pkg/versions"
)

// minimumAPI is the oldest engine API whose containers were tried with every
// option we ask for (engine 20.10).
const minimumAPI = "1.41"

// ErrUnusable is in the chain of every error that says this engine cannot run
// sandboxes, whatever is tried again.
var ErrUnusable = errors.New("the container engine cannot be used")

// engine is what we need to know of an engine that can be used.
type engine struct {
	api  string // negotiated version
	cpus int
}

// probe asks the engine what it is. A success is remembered.
func (d *Driver) probe(ctx context.Context) (*engine, error) {
	if err := d.reach(ctx); err != nil {
		return nil, err
	}
	ping, err := d.api.Ping(ctx, client.PingOptions{NegotiateAPIVersion: true})
	if err != nil {
		return nil, d.explain(err)
	}
	if ping.APIVersion == "" || versions.LessThan(ping.APIVersion, minimumAPI) {
		return nil, unusable("the engine at %s speaks API %q and %s is needed: update it to Docker 20.10 or newer, or use the native driver", d.host, ping.APIVersion, minimumAPI)
	}
	info, err := d.api.Info(ctx, client.InfoOptions{})
	if err != nil {
		return nil, fmt.Errorf("docker: ask the engine what it is: %w", d.explain(err))
	}
	if err := capable(info.Info); err != nil {
		return nil, err
	}
	e := &engine{api: d.api.ClientVersion(), cpus: info.Info.NCPU}
	d.mu.Lock()
	d.engine = e
	d.mu.Unlock()
	return e, nil
}

// reach dials the engine's socket, because the client hides which of the three
// usual reasons keeps a person out.
func (d *Driver) reach(ctx context.Context) error {
	path, ok := strings.CutPrefix(d.host, "unix://")
	if !ok {
		return unusable("the engine at %s is not on this machine's own socket, so a sandbox cannot be given its gateway socket: set a unix:// address, or use the native driver", d.host)
	}
	var dialer net.Dialer
	conn, err := dialer.DialContext(ctx, "unix", path)
	switch {
	case err == nil:
		return conn.Close()
	case errors.Is(err, fs.ErrPermission):
		return unusable("this user may not use the container engine at %s: run `sudo usermod -aG docker $USER` and log in again, or use the native driver", path)
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ECONNREFUSED):
		return unusable("no container engine runs at %s: start it (`sudo systemctl start docker`, or scripts/setup), or use the native driver", path)
	}
	return fmt.Errorf("docker: reach the engine at %s: %w", path, err)
}

// capable refuses an engine that could not enforce the limits, or whose view of
// files and users is not this machine's.
func capable(i system.Info) error {
	switch {
	case i.OSType != "linux":
		return unusable("the engine runs %s containers: switch it to Linux containers", i.OSType)
	case strings.Contains(i.OperatingSystem, "Docker Desktop"):
		return unusable("Docker Desktop runs containers in a virtual machine, which cannot share the gateway's socket: use the native driver, or an engine of this machine's own")
	case hasOption(i.SecurityOptions, "rootless"), hasOption(i.SecurityOptions, "userns"):
		return unusable("the engine maps users (rootless or userns-remap), so a tree in the sandbox would belong to somebody else: use an engine that does not, or the native driver")
	case !hasOption(i.SecurityOptions, "seccomp"):
		return unusable("the engine runs without seccomp: use a kernel and an engine built with it")
	case !i.MemoryLimit || !i.PidsLimit || !i.CPUCfsQuota:
		return unusable("the engine cannot limit memory, processes and cpu here: enable these cgroup controllers, or use the native driver")
	case !i.SwapLimit:
		return unusable("the engine cannot limit swap here, so a sandbox could take more memory than its limit: boot with swapaccount=1, or use the native driver")
	case hasOption(i.SecurityOptions, "selinux"):
		return unusable("the engine labels files (SELinux), so a sandbox could not open its tree: run the engine without --selinux-enabled, or use the native driver")
	case i.NCPU < 1:
		return unusable("the engine reports no cpu")
	}
	return nil
}

// hasOption finds name in security options, which look like "name=seccomp,profile=default".
func hasOption(options []string, name string) bool {
	return slices.ContainsFunc(options, func(o string) bool {
		first, _, _ := strings.Cut(o, ",")
		return first == "name="+name
	})
}

// explain adds a next step to the errors an engine gives when it is gone, full
// or out of addresses.
func (d *Driver) explain(err error) error {
	switch text := err.Error(); {
	case client.IsErrConnectionFailed(err):
		return fmt.Errorf("%w (is the engine at %s still running?)", err, d.host)
	case strings.Contains(text, "no space left on device"):
		return fmt.Errorf("%w (free space on the engine's disk, for instance with `docker system df` and `docker image prune`)", err)
	case strings.Contains(text, "non-overlapping IPv4 address pool"), strings.Contains(text, "all predefined address pools"):
		return fmt.Errorf("%w (remove networks nobody uses with `docker network prune`, or give the engine more default-address-pools)", err)
	}
	return err
}

func unusable(format string, args ...any) error {
	return fmt.Errorf("docker: %w: %s", ErrUnusable, fmt.Sprintf(format, args...))
}

// remove deletes a container whatever its state. One that is gone, or that
// somebody else is removing, is what was wanted.
func remove(ctx context.Context, api *client.Client, id string) error {
	_, err := api.ContainerRemove(ctx, id, client.ContainerRemoveOptions{Force: true, RemoveVolumes: true})
	if err == nil || errdefs.IsNotFound(err) || errdefs.IsConflict(err) {
		return nil
	}
	return fmt.Errorf("docker: remove container %.12s: %w", id, err)
}
