package docker

import (
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"sort"
	"strings"

	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/api/types/mount"
	"github.com/moby/moby/client"
)

// ErrNotAsAsked is in the chain of every error that says an engine created
// something else than it was asked for. Old engines ignore options they do not
// know, and a plugin or a daemon default may add some.
var ErrNotAsAsked = errors.New("the engine did not apply what was asked for")

// difference is one field that is not what was asked for.
type difference struct {
	field     string
	want, got any
}

func (d difference) String() string {
	return fmt.Sprintf("%s: asked %v, got %v", d.field, d.want, d.got)
}

// compare reads what the engine says about a created container against what it
// was asked for, field by field. What we leave at zero must have come back as
// zero: a capability, device, port, volume or namespace that nobody asked for
// is a difference like any other. nil means that everything was applied.
func compare(asked client.ContainerCreateOptions, got container.InspectResponse) error {
	if got.Config == nil || got.HostConfig == nil {
		return fmt.Errorf("%w: its answer has no configuration", ErrNotAsAsked)
	}
	c := &comparison{}
	c.identity(asked, got)
	c.process(asked.Config, got.Config)
	c.isolation(asked.HostConfig, got.HostConfig)
	c.resources(asked.HostConfig.Resources, got.HostConfig.Resources)
	c.nothingExtra(asked.HostConfig, got.HostConfig)
	c.mounts(asked.HostConfig.Mounts, got.Mounts)
	c.networks(asked.HostConfig.NetworkMode, got.NetworkSettings)
	return c.err()
}

type comparison struct{ found []difference }

// same notes a difference; nil and empty collections are the same thing.
func (c *comparison) same(field string, want, got any) {
	if reflect.DeepEqual(want, got) || isEmpty(want) && isEmpty(got) {
		return
	}
	c.found = append(c.found, difference{field, short(want), short(got)})
}

func (c *comparison) err() error {
	if len(c.found) == 0 {
		return nil
	}
	lines := make([]string, len(c.found))
	for i, d := range c.found {
		lines[i] = d.String()
	}
	return fmt.Errorf("%w: %s", ErrNotAsAsked, strings.Join(lines, "; "))
}

func (c *comparison) identity(asked client.ContainerCreateOptions, got container.InspectResponse) {
	c.same("name", "/"+asked.Name, got.Name)
	c.same("image", asked.Config.Image, got.Image)
	c.same("labels", asked.Config.Labels, relevant(asked.Config.Labels, got.Config.Labels))
}

func (c *comparison) process(want, got *container.Config) {
	c.same("user", want.User, got.User)
	c.same("entrypoint", want.Entrypoint, got.Entrypoint)
	c.same("command", want.Cmd, got.Cmd)
	c.same("working directory", want.WorkingDir, got.WorkingDir)
	c.same("host name", want.Hostname, got.Hostname)
	c.same("terminal", want.Tty, got.Tty)
	c.same("open stdin", want.OpenStdin, got.OpenStdin)
	c.same("stdin once", want.StdinOnce, got.StdinOnce)
	c.same("exposed ports", want.ExposedPorts, got.ExposedPorts)
	c.same("stop signal", want.StopSignal, got.StopSignal)
	c.same("stop timeout", deref(want.StopTimeout), deref(got.StopTimeout))
	c.same("environment", want.Env, withoutPath(got.Env))
	if got.Healthcheck != nil && !slices.Equal(got.Healthcheck.Test, []string{"NONE"}) {
		c.same("health check", "none", got.Healthcheck.Test)
	}
}

func (c *comparison) isolation(want, got *container.HostConfig) {
	c.same("network mode", want.NetworkMode, got.NetworkMode)
	c.same("privileged", want.Privileged, got.Privileged)
	c.same("read-only root", want.ReadonlyRootfs, got.ReadonlyRootfs)
	c.same("dropped capabilities", want.CapDrop, got.CapDrop)
	c.same("added capabilities", want.CapAdd, got.CapAdd)
	c.same("added groups", want.GroupAdd, got.GroupAdd)
	c.same("security options", sorted(want.SecurityOpt), sorted(got.SecurityOpt))
	c.same("ipc mode", want.IpcMode, got.IpcMode)
	c.same("cgroup namespace", want.CgroupnsMode, got.CgroupnsMode)
	c.same("pid mode", want.PidMode, got.PidMode)
	c.same("uts mode", want.UTSMode, got.UTSMode)
	c.same("user namespace mode", want.UsernsMode, got.UsernsMode)
	c.same("masked paths", sorted(want.MaskedPaths), sorted(got.MaskedPaths))
	c.same("read-only paths", sorted(want.ReadonlyPaths), sorted(got.ReadonlyPaths))
	c.same("tmpfs", want.Tmpfs, got.Tmpfs)
	c.same("asked mounts", want.Mounts, got.Mounts)
	c.same("init", deref(want.Init), deref(got.Init))
}

func (c *comparison) resources(want, got container.Resources) {
	c.same("memory", want.Memory, got.Memory)
	c.same("memory and swap", want.MemorySwap, got.MemorySwap)
	c.same("cpus", want.NanoCPUs, got.NanoCPUs)
	c.same("pids", deref(want.PidsLimit), deref(got.PidsLimit))
	c.same("ulimits", ulimits(want.Ulimits), ulimits(got.Ulimits))
	c.same("out-of-memory killer off", deref(want.OomKillDisable), deref(got.OomKillDisable))
	c.same("devices", want.Devices, got.Devices)
	c.same("device rules", want.DeviceCgroupRules, got.DeviceCgroupRules)
	c.same("device requests", want.DeviceRequests, got.DeviceRequests)
	c.same("cgroup parent", want.CgroupParent, got.CgroupParent)
}

func (c *comparison) nothingExtra(want, got *container.HostConfig) {
	c.same("binds", want.Binds, got.Binds)
	c.same("volumes from", want.VolumesFrom, got.VolumesFrom)
	c.same("ports", want.PortBindings, got.PortBindings)
	c.same("publish all ports", want.PublishAllPorts, got.PublishAllPorts)
	c.same("links", want.Links, got.Links)
	c.same("extra hosts", want.ExtraHosts, got.ExtraHosts)
	c.same("dns", want.DNS, got.DNS)
	c.same("sysctls", want.Sysctls, got.Sysctls)
	c.same("cgroup", want.Cgroup, got.Cgroup)
	c.same("auto remove", want.AutoRemove, got.AutoRemove)
	c.same("restart policy", want.RestartPolicy, got.RestartPolicy)
	c.same("log driver", want.LogConfig.Type, got.LogConfig.Type)
	c.same("log options", want.LogConfig.Config, got.LogConfig.Config)
	c.same("shared memory", want.ShmSize, got.ShmSize)
	c.same("memory score", want.OomScoreAdj, got.OomScoreAdj)
}

// mounts compares the mount points the engine resolved, which shows volumes an
// image declares, with the ones asked for.
func (c *comparison) mounts(want []mount.Mount, got []container.MountPoint) {
	var a, b []string
	for _, m := range want {
		a = append(a, describeMount(m.Type, m.Source, m.Target, !m.ReadOnly, m.BindOptions.Propagation))
	}
	for _, m := range got {
		b = append(b, describeMount(m.Type, m.Source, m.Destination, m.RW, m.Propagation))
	}
	c.same("mounts", sorted(a), sorted(b))
}

// networks refuses an endpoint on any network but the one asked for.
func (c *comparison) networks(mode container.NetworkMode, got *container.NetworkSettings) {
	if got == nil {
		return
	}
	for _, name := range slices.Sorted(maps.Keys(got.Networks)) {
		if name != string(mode) {
			c.same("networks", mode, name)
		}
	}
}

func describeMount(t mount.Type, source, target string, writable bool, p mount.Propagation) string {
	access := "ro"
	if writable {
		access = "rw"
	}
	return fmt.Sprintf("%s %s on %s %s %s", t, source, target, access, p)
}

// relevant keeps the labels that were asked for and all of ours; an image may
// add others, which mean nothing.
func relevant(asked, got map[string]string) map[string]string {
	out := map[string]string{}
	for k, v := range got {
		_, known := asked[k]
		if known || strings.HasPrefix(k, "moeca.") && k != labelContent {
			out[k] = v
		}
	}
	return out
}

// withoutPath drops the one variable engines and images set that tells nothing.
func withoutPath(env []string) []string {
	return slices.DeleteFunc(slices.Clone(env), func(v string) bool { return strings.HasPrefix(v, "PATH=") })
}

func ulimits(all []*container.Ulimit) []string {
	var out []string
	for _, u := range all {
		out = append(out, fmt.Sprintf("%s=%d:%d", u.Name, u.Soft, u.Hard))
	}
	sort.Strings(out)
	return out
}

func sorted(in []string) []string {
	out := slices.Clone(in)
	slices.Sort(out)
	return out
}

func deref[T any](p *T) any {
	if p == nil {
		return *new(T)
	}
	return *p
}

func isEmpty(v any) bool {
	r := reflect.ValueOf(v)
	switch r.Kind() {
	case reflect.Slice, reflect.Map:
		return r.Len() == 0
	case reflect.Invalid:
		return true
	}
	return false
}

// short keeps an error readable: a seccomp profile is 8 KiB.
func short(v any) string {
	s := fmt.Sprintf("%v", v)
	if len(s) > 200 {
		s = s[:200] + "…"
	}
	return s
}
