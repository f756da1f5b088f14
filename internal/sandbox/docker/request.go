package docker

import (
	"fmt"
	"maps"
	"strconv"

	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/api/types/mount"
	"github.com/moby/moby/client"

	"moeca/internal/sandbox"
)

// Labels of everything we make in an engine. The owner is the data directory
// the container belongs to; the epoch is one life of the host process.
const (
	labelOwner   = "moeca.owner"
	labelKind    = "moeca.kind" // sandbox | service | network
	labelSandbox = "moeca.sandbox"
	labelRun     = "moeca.run"
	labelStage   = "moeca.stage"
	labelEpoch   = "moeca.epoch"
	labelService = "moeca.service"
	labelContent = "moeca.content" // on images: sha256 of the root file system

	kindSandbox = "sandbox"
	kindService = "service"
	kindNetwork = "network"
)

// stopSeconds is the grace an engine gives when somebody else than this driver
// stops a container, for instance at its own shutdown.
const stopSeconds = 5

// logOptions bound what a container can write to the engine's disk.
func logOptions() container.LogConfig {
	return container.LogConfig{Type: "json-file", Config: map[string]string{"max-size": "8m", "max-file": "1"}}
}

// securityOptions carry our own profile, never the engine's default.
func securityOptions() []string {
	return []string{"no-new-privileges", "seccomp=" + string(sandbox.DockerSeccompJSON())}
}

// containerName is unique per owner and sandbox.
func containerName(owner, id string) string { return "moeca-" + owner + "-" + id }

// sandboxRequest turns a specification into what the engine is asked for. It is
// pure; cpus is what the engine's machine has.
func sandboxRequest(s sandbox.Spec, epoch string, cpus int) client.ContainerCreateOptions {
	return client.ContainerCreateOptions{
		Name: containerName(s.Owner, s.ID),
		Config: &container.Config{
			Image:       s.Image.Ref,
			Hostname:    sandbox.Hostname,
			User:        fmt.Sprintf("%d:%d", s.UID, s.GID),
			Entrypoint:  []string{sandbox.AgentPath},
			Cmd:         []string{},
			WorkingDir:  sandbox.TreePath,
			OpenStdin:   true,
			StdinOnce:   true,
			AttachStdin: true, AttachStdout: true, AttachStderr: true,
			StopSignal:  "SIGTERM",
			StopTimeout: pointer(stopSeconds),
			Labels: map[string]string{
				labelOwner: s.Owner, labelKind: kindSandbox, labelSandbox: s.ID,
				labelRun: s.Run, labelStage: s.Stage, labelEpoch: epoch,
			},
		},
		HostConfig: sandboxHost(s, cpus),
	}
}

func sandboxHost(s sandbox.Spec, cpus int) *container.HostConfig {
	h := hardened(s.Hardening, limits{
		memory: s.Policy.Memory, pids: s.Policy.PIDs, nanoCPUs: int64(s.Policy.CPUsOn(cpus) * 1e9),
	})
	h.NetworkMode = "none"
	h.Tmpfs = tmpfs(s)
	for _, g := range s.Groups() {
		h.GroupAdd = append(h.GroupAdd, strconv.Itoa(g))
	}
	for _, m := range s.Mounts() {
		h.Mounts = append(h.Mounts, bind(m))
	}
	return h
}

// limits are the resources of one container.
type limits struct {
	memory, pids, nanoCPUs int64
}

// hardened is the part of a host configuration that sandboxes and services
// share: nothing here depends on who asks.
func hardened(h sandbox.Hardening, l limits) *container.HostConfig {
	return &container.HostConfig{
		LogConfig:      logOptions(),
		RestartPolicy:  container.RestartPolicy{Name: container.RestartPolicyDisabled},
		CapDrop:        []string{"ALL"},
		SecurityOpt:    securityOptions(),
		ReadonlyRootfs: h.ReadOnlyRoot,
		IpcMode:        container.IPCModePrivate,
		CgroupnsMode:   container.CgroupnsModePrivate,
		ShmSize:        h.ShmSize,
		MaskedPaths:    h.Masked,
		ReadonlyPaths:  h.ReadOnly,
		OomScoreAdj:    500, // of all processes, take these first
		Init:           pointer(false),
		Resources: container.Resources{
			Memory:     l.memory,
			MemorySwap: l.memory,
			NanoCPUs:   l.nanoCPUs,
			PidsLimit:  pointer(l.pids),
			Ulimits: []*container.Ulimit{
				{Name: "core", Soft: int64(h.Core), Hard: int64(h.Core)},
				{Name: "nofile", Soft: int64(h.NoFile), Hard: int64(h.NoFile)},
			},
		},
	}
}

// tmpfs lists the scratch of a policy. It belongs to the sandbox's own user,
// because some runtimes replace the mode by that of the image's directory.
func tmpfs(s sandbox.Spec) map[string]string {
	out := map[string]string{}
	for _, t := range s.Policy.Scratch {
		exec, mode := "noexec", "0700"
		if t.Exec {
			exec = "exec"
		}
		if t.Path == "/tmp" {
			mode = "1777" // what programs expect
		}
		out[t.Path] = fmt.Sprintf("rw,nosuid,nodev,%s,size=%d,mode=%s,uid=%d,gid=%d", exec, t.Size, mode, s.UID, s.GID)
	}
	return out
}

// bind mounts one host directory, without what may be mounted below it and
// without passing mounts on in either direction.
func bind(m sandbox.Mount) mount.Mount {
	return mount.Mount{
		Type: mount.TypeBind, Source: m.Source, Target: m.Target, ReadOnly: m.ReadOnly,
		BindOptions: &mount.BindOptions{Propagation: mount.PropagationPrivate, NonRecursive: true},
	}
}

// mergeLabels puts ours over a caller's, so that none of ours can be forged.
func mergeLabels(theirs, ours map[string]string) map[string]string {
	out := maps.Clone(theirs)
	if out == nil {
		out = map[string]string{}
	}
	maps.Copy(out, ours)
	return out
}

func pointer[T any](v T) *T { return &v }
