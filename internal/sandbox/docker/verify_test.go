package docker

import (
	"encoding/json"
	"errors"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/api/types/mount"
	"github.com/moby/moby/api/types/network"
	"github.com/moby/moby/client"

	"moeca/internal/sandbox"
)

// specFor is a poly specification, which uses everything a policy can ask for.
func specFor(t *testing.T) sandbox.Spec {
	t.Helper()
	policy, err := sandbox.PolicyByName(sandbox.Poly)
	if err != nil {
		t.Fatal(err)
	}
	spec, err := sandbox.NewSpec(sandbox.SpecInput{
		ID: "a1", Owner: "o1", Run: "r1", Stage: "s1",
		Image:  sandbox.Image{Policy: sandbox.Poly, Digest: "sha256:" + strings.Repeat("a", 64), Ref: "sha256:" + strings.Repeat("b", 64)},
		Policy: policy, UID: sandbox.UserUID, GID: sandbox.UserGID,
		TreeDir: "/srv/trees/a1", SocketDir: "/srv/run/a1", Timeout: time.Minute,
	})
	if err != nil {
		t.Fatal(err)
	}
	return spec
}

// applied is what an engine answers that did exactly what it was asked.
func applied(t *testing.T, asked client.ContainerCreateOptions) container.InspectResponse {
	t.Helper()
	got := container.InspectResponse{
		Name: "/" + asked.Name, Image: asked.Config.Image,
		Config: &container.Config{}, HostConfig: &container.HostConfig{},
		NetworkSettings: &container.NetworkSettings{Networks: map[string]*network.EndpointSettings{string(asked.HostConfig.NetworkMode): {}}},
	}
	copyJSON(t, asked.Config, got.Config)
	copyJSON(t, asked.HostConfig, got.HostConfig)
	got.Config.Env = append(got.Config.Env, "PATH=/usr/bin")
	for _, m := range asked.HostConfig.Mounts {
		got.Mounts = append(got.Mounts, container.MountPoint{
			Type: m.Type, Source: m.Source, Destination: m.Target, RW: !m.ReadOnly, Propagation: m.BindOptions.Propagation,
		})
	}
	return got
}

func copyJSON(t *testing.T, from, to any) {
	t.Helper()
	data, err := json.Marshal(from)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, to); err != nil {
		t.Fatal(err)
	}
}

func TestCompareAcceptsWhatWasAsked(t *testing.T) {
	asked := sandboxRequest(specFor(t), "e1", 2)
	if err := compare(asked, applied(t, asked)); err != nil {
		t.Fatal(err)
	}
}

// Every row is something an engine, a plugin or a daemon default could change.
func TestCompareRefuses(t *testing.T) {
	type tamper func(*container.InspectResponse)
	tests := map[string]struct {
		field string
		do    tamper
	}{
		"a privileged container":       {"privileged", func(c *container.InspectResponse) { c.HostConfig.Privileged = true }},
		"an added capability":          {"added capabilities", func(c *container.InspectResponse) { c.HostConfig.CapAdd = []string{"CAP_NET_RAW"} }},
		"capabilities that were kept":  {"dropped capabilities", func(c *container.InspectResponse) { c.HostConfig.CapDrop = nil }},
		"one capability that was kept": {"dropped capabilities", func(c *container.InspectResponse) { c.HostConfig.CapDrop = []string{"CAP_CHOWN"} }},
		"root as user":                 {"user", func(c *container.InspectResponse) { c.Config.User = "0:0" }},
		"no user":                      {"user", func(c *container.InspectResponse) { c.Config.User = "" }},
		"the root group":               {"added groups", func(c *container.InspectResponse) { c.HostConfig.GroupAdd = []string{"0"} }},
		"a writable root":              {"read-only root", func(c *container.InspectResponse) { c.HostConfig.ReadonlyRootfs = false }},
		"no new-privileges lock":       {"security options", func(c *container.InspectResponse) { c.HostConfig.SecurityOpt = c.HostConfig.SecurityOpt[1:] }},
		"another seccomp profile":      {"security options", func(c *container.InspectResponse) { c.HostConfig.SecurityOpt[1] = "seccomp=unconfined" }},
		"one more security option": {"security options", func(c *container.InspectResponse) {
			c.HostConfig.SecurityOpt = append(c.HostConfig.SecurityOpt, "apparmor=unconfined")
		}},
		"a bridge network":               {"network mode", func(c *container.InspectResponse) { c.HostConfig.NetworkMode = "bridge" }},
		"the host's network":             {"network mode", func(c *container.InspectResponse) { c.HostConfig.NetworkMode = "host" }},
		"an endpoint on another network": {"networks", func(c *container.InspectResponse) { c.NetworkSettings.Networks["bridge"] = &network.EndpointSettings{} }},
		"the host's ipc":                 {"ipc mode", func(c *container.InspectResponse) { c.HostConfig.IpcMode = "host" }},
		"shareable ipc":                  {"ipc mode", func(c *container.InspectResponse) { c.HostConfig.IpcMode = "shareable" }},
		"the host's processes":           {"pid mode", func(c *container.InspectResponse) { c.HostConfig.PidMode = "host" }},
		"another container's processes":  {"pid mode", func(c *container.InspectResponse) { c.HostConfig.PidMode = "container:x" }},
		"the host's name":                {"uts mode", func(c *container.InspectResponse) { c.HostConfig.UTSMode = "host" }},
		"the host's cgroups":             {"cgroup namespace", func(c *container.InspectResponse) { c.HostConfig.CgroupnsMode = "host" }},
		"the host's users":               {"user namespace mode", func(c *container.InspectResponse) { c.HostConfig.UsernsMode = "host" }},
		"no memory limit":                {"memory", func(c *container.InspectResponse) { c.HostConfig.Memory = 0 }},
		"swap":                           {"memory and swap", func(c *container.InspectResponse) { c.HostConfig.MemorySwap = -1 }},
		"no cpu limit":                   {"cpus", func(c *container.InspectResponse) { c.HostConfig.NanoCPUs = 0 }},
		"no process limit":               {"pids", func(c *container.InspectResponse) { c.HostConfig.PidsLimit = nil }},
		"unlimited processes":            {"pids", func(c *container.InspectResponse) { c.HostConfig.PidsLimit = pointer(int64(-1)) }},
		"no ulimits":                     {"ulimits", func(c *container.InspectResponse) { c.HostConfig.Ulimits = nil }},
		"core files":                     {"ulimits", func(c *container.InspectResponse) { c.HostConfig.Ulimits[0].Hard = -1 }},
		"no out-of-memory killer":        {"out-of-memory killer off", func(c *container.InspectResponse) { c.HostConfig.OomKillDisable = pointer(true) }},
		"a device": {"devices", func(c *container.InspectResponse) {
			c.HostConfig.Devices = []container.DeviceMapping{{PathOnHost: "/dev/kvm"}}
		}},
		"a device rule": {"device rules", func(c *container.InspectResponse) { c.HostConfig.DeviceCgroupRules = []string{"a *:* rwm"} }},
		"a graphics card": {"device requests", func(c *container.InspectResponse) {
			c.HostConfig.DeviceRequests = []container.DeviceRequest{{Count: -1}}
		}},
		"another cgroup parent":     {"cgroup parent", func(c *container.InspectResponse) { c.HostConfig.CgroupParent = "/" }},
		"masked paths that are not": {"masked paths", func(c *container.InspectResponse) { c.HostConfig.MaskedPaths = nil }},
		"writable kernel settings":  {"read-only paths", func(c *container.InspectResponse) { c.HostConfig.ReadonlyPaths = []string{"/proc/bus"} }},
		"an engine socket": {"mounts", func(c *container.InspectResponse) {
			c.Mounts = append(c.Mounts, container.MountPoint{Type: mount.TypeBind, Source: "/var/run/docker.sock", Destination: "/x", RW: true})
		}},
		"a volume the image declares": {"mounts", func(c *container.InspectResponse) {
			c.Mounts = append(c.Mounts, container.MountPoint{Type: mount.TypeVolume, Destination: "/data"})
		}},
		"the tree from elsewhere":             {"mounts", func(c *container.InspectResponse) { c.Mounts[0].Source = "/" }},
		"writable sockets directory":          {"mounts", func(c *container.InspectResponse) { c.Mounts[1].RW = true }},
		"shared propagation":                  {"mounts", func(c *container.InspectResponse) { c.Mounts[0].Propagation = mount.PropagationRShared }},
		"a missing mount":                     {"mounts", func(c *container.InspectResponse) { c.Mounts = c.Mounts[:1] }},
		"mounts below the tree":               {"asked mounts", func(c *container.InspectResponse) { c.HostConfig.Mounts[0].BindOptions.NonRecursive = false }},
		"a bind in the old form":              {"binds", func(c *container.InspectResponse) { c.HostConfig.Binds = []string{"/:/host"} }},
		"volumes of another container":        {"volumes from", func(c *container.InspectResponse) { c.HostConfig.VolumesFrom = []string{"x"} }},
		"programs on scratch where not asked": {"tmpfs", func(c *container.InspectResponse) { c.HostConfig.Tmpfs["/tmp"] = "rw" }},
		"more scratch":                        {"tmpfs", func(c *container.InspectResponse) { c.HostConfig.Tmpfs["/etc"] = "rw" }},
		"a published port": {"ports", func(c *container.InspectResponse) {
			c.HostConfig.PortBindings = network.PortMap{network.MustParsePort("80/tcp"): {{}}}
		}},
		"all ports published": {"publish all ports", func(c *container.InspectResponse) { c.HostConfig.PublishAllPorts = true }},
		"a link":              {"links", func(c *container.InspectResponse) { c.HostConfig.Links = []string{"x"} }},
		"an extra host":       {"extra hosts", func(c *container.InspectResponse) { c.HostConfig.ExtraHosts = []string{"host:host-gateway"} }},
		"a name server":       {"dns", func(c *container.InspectResponse) { c.HostConfig.DNS = []netip.Addr{netip.MustParseAddr("192.0.2.1")} }},
		"a kernel setting": {"sysctls", func(c *container.InspectResponse) {
			c.HostConfig.Sysctls = map[string]string{"net.ipv4.ip_forward": "1"}
		}},
		"auto remove":                 {"auto remove", func(c *container.InspectResponse) { c.HostConfig.AutoRemove = true }},
		"a restart policy":            {"restart policy", func(c *container.InspectResponse) { c.HostConfig.RestartPolicy.Name = "always" }},
		"an unbounded log":            {"log options", func(c *container.InspectResponse) { c.HostConfig.LogConfig.Config = nil }},
		"another log driver":          {"log driver", func(c *container.InspectResponse) { c.HostConfig.LogConfig.Type = "syslog" }},
		"a secret in the environment": {"environment", func(c *container.InspectResponse) { c.Config.Env = append(c.Config.Env, "TOKEN=x") }},
		"another image":               {"image", func(c *container.InspectResponse) { c.Image = "sha256:" + strings.Repeat("c", 64) }},
		"another program":             {"entrypoint", func(c *container.InspectResponse) { c.Config.Entrypoint = []string{"/bin/sh"} }},
		"arguments":                   {"command", func(c *container.InspectResponse) { c.Config.Cmd = []string{"-c", "id"} }},
		"an init in front of pid 1":   {"init", func(c *container.InspectResponse) { c.HostConfig.Init = pointer(true) }},
		"a health check": {"health check", func(c *container.InspectResponse) {
			c.Config.Healthcheck = &container.HealthConfig{Test: []string{"CMD", "x"}}
		}},
		"a terminal":                      {"terminal", func(c *container.InspectResponse) { c.Config.Tty = true }},
		"another owner":                   {"labels", func(c *container.InspectResponse) { c.Config.Labels[labelOwner] = "o2" }},
		"one more of our labels":          {"labels", func(c *container.InspectResponse) { c.Config.Labels["moeca.x"] = "y" }},
		"an answer without configuration": {"no configuration", func(c *container.InspectResponse) { c.HostConfig = nil }},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			asked := sandboxRequest(specFor(t), "e1", 2)
			got := applied(t, asked)
			test.do(&got)
			err := compare(asked, got)
			if !errors.Is(err, ErrNotAsAsked) || !strings.Contains(err.Error(), test.field) {
				t.Fatalf("%v, want a difference in %q", err, test.field)
			}
		})
	}
}

func TestRequestIsCappedToTheMachine(t *testing.T) {
	spec := specFor(t)
	if got := sandboxRequest(spec, "e1", 2).HostConfig.NanoCPUs; got != 2e9 {
		t.Errorf("2 cpus here, asked for %d", got)
	}
	if got := sandboxRequest(spec, "e1", 64).HostConfig.NanoCPUs; got != 4e9 {
		t.Errorf("the policy says 4, asked for %d", got)
	}
}

func TestRequestScratch(t *testing.T) {
	spec := specFor(t)
	spec.Policy.Scratch = []sandbox.Tmpfs{{Path: "/tmp", Size: 5}, {Path: "/home/agent", Size: 7, Exec: true}}
	got := sandboxRequest(spec, "e1", 2).HostConfig.Tmpfs
	want := map[string]string{
		"/tmp":        "rw,nosuid,nodev,noexec,size=5,mode=1777,uid=65532,gid=65532",
		"/home/agent": "rw,nosuid,nodev,exec,size=7,mode=0700,uid=65532,gid=65532",
	}
	for path, options := range want {
		if got[path] != options {
			t.Errorf("%s: %s, want %s", path, got[path], options)
		}
	}
}
