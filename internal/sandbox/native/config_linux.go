package native

import (
	"os"
	"strconv"

	"moeca/internal/sandbox"
	"moeca/internal/sandbox/image"
)

// config is what the host tells the stage, as JSON on its third descriptor.
type config struct {
	Root     string  `json:"root"`  // host directory that becomes /
	Mounts   []bind  `json:"binds"` // in order
	Scratch  []tmpfs `json:"scratch"`
	Masked   []string
	ReadOnly []string
	UID, GID int
	Groups   []int
	// SetGroups is false where a single-user map forbids the call.
	SetGroups bool
	Limits    map[int]uint64 // RLIMIT_* → soft and hard
	Exec      string         // empty: a trial, leave with 0 when everything is built
}

// bind is a host file or directory seen inside.
type bind struct {
	Source   string
	Target   string
	ReadOnly bool
}

// tmpfs is scratch.
type tmpfs struct {
	Target  string
	Options string
	Exec    bool
}

// stageConfig derives the stage's configuration from a specification.
func stageConfig(spec sandbox.Spec, root *image.Root, group *cgroup) config {
	c := config{
		Root:     root.RootDir,
		Masked:   spec.Hardening.Masked,
		ReadOnly: spec.Hardening.ReadOnly,
		UID:      spec.UID, GID: spec.GID, Groups: spec.Groups(), SetGroups: os.Getuid() == 0,
		Limits: limits(spec, group),
		Exec:   sandbox.AgentPath,
	}
	if root.AgentPath != "" {
		c.Mounts = append(c.Mounts, bind{Source: root.AgentPath, Target: sandbox.AgentPath, ReadOnly: true})
	}
	for _, m := range spec.Mounts() {
		c.Mounts = append(c.Mounts, bind{Source: m.Source, Target: m.Target, ReadOnly: m.ReadOnly})
	}
	for _, t := range spec.Policy.Scratch {
		c.Scratch = append(c.Scratch, scratch(t.Path, t.Size, t.Exec, spec))
	}
	c.Scratch = append(c.Scratch, scratch(shmPath, spec.Hardening.ShmSize, false, spec))
	return c
}

// scratch is a tmpfs of the sandbox's user. Its inodes are bounded like its
// bytes: one for each page.
func scratch(path string, size int64, exec bool, spec sandbox.Spec) tmpfs {
	mode := "0700"
	if path == "/tmp" || path == shmPath {
		mode = "1777"
	}
	n := func(v int64) string { return strconv.FormatInt(v, 10) }
	return tmpfs{Target: path, Exec: exec, Options: "size=" + n(size) + ",nr_inodes=" + n(max(size/4096, 16)) +
		",mode=" + mode + ",uid=" + strconv.Itoa(spec.UID) + ",gid=" + strconv.Itoa(spec.GID)}
}
