package sandbox

import (
	"errors"
	"fmt"
	"path"
	"regexp"
	"strings"
	"time"
)

// Places inside a sandbox.
const (
	TreePath   = "/work"
	SocketPath = "/run/moeca"
	AgentPath  = "/moeca-agent" // pid 1
	Hostname   = "sandbox"
)

// Identities used when the host itself runs as root. As a normal user, the
// sandbox has that user's uid and gid and none of these.
const (
	UserUID    = 65532 // every sandbox
	UserGID    = 65532
	GatewayUID = 65531 // the gateway's process or container
	SocketGID  = 65530 // group of socket directories and sockets
)

const (
	// MaxTimeout is the longest a stage may run.
	MaxTimeout = 24 * time.Hour
	// StdoutLimit is Spec.LogLimit: what one sandbox may write to its channel
	// before it is stopped.
	StdoutLimit = 64 * mib
	// StderrLimit is how much of the end of stderr an Exit may carry.
	StderrLimit = 4 << 10
)

// Hardening is what every sandbox gets, whatever its policy. Drivers apply all
// of it and read back that it was applied.
type Hardening struct {
	ReadOnlyRoot bool
	NoNewPrivs   bool
	// DropCapabilities: effective, permitted, inheritable, bounding and ambient
	// sets are empty.
	DropCapabilities bool
	// NoNetwork: a network namespace with lo and nothing else.
	NoNetwork bool
	// Namespaces that must not be the host's (names as in /proc/self/ns). Only
	// a driver that maps users has a user namespace of its own.
	Namespaces []string
	// Masked paths read as empty, ReadOnly paths cannot be written.
	Masked   []string
	ReadOnly []string
	NoFile   uint64 // soft and hard limit of open files
	Core     uint64 // size of a core file
	ShmSize  int64  // bytes of /dev/shm
}

// hardening returns the one Hardening.
func hardening() Hardening {
	return Hardening{
		ReadOnlyRoot:     true,
		NoNewPrivs:       true,
		DropCapabilities: true,
		NoNetwork:        true,
		Namespaces:       []string{"cgroup", "ipc", "mnt", "net", "pid", "uts"},
		Masked: []string{
			"/proc/acpi", "/proc/asound", "/proc/interrupts", "/proc/kcore", "/proc/keys",
			"/proc/latency_stats", "/proc/sched_debug", "/proc/scsi", "/proc/timer_list",
			"/proc/timer_stats", "/sys/devices/virtual/powercap", "/sys/firmware",
		},
		ReadOnly: []string{"/proc/bus", "/proc/fs", "/proc/irq", "/proc/sys", "/proc/sysrq-trigger"},
		NoFile:   8192,
		Core:     0,
		ShmSize:  64 * mib,
	}
}

// Mount is one host directory seen inside a sandbox. Every mount is private,
// nosuid and nodev.
type Mount struct {
	Source   string
	Target   string
	ReadOnly bool
}

// Mounts lists the host directories a sandbox sees: its tree and, if it has
// one, its socket directory. There are no others.
func (s Spec) Mounts() []Mount {
	m := []Mount{{Source: s.TreeDir, Target: TreePath, ReadOnly: s.ReadTree}}
	if s.SocketDir != "" {
		m = append(m, Mount{Source: s.SocketDir, Target: SocketPath, ReadOnly: true})
	}
	return m
}

// Groups lists the supplementary groups of the sandbox's processes.
func (s Spec) Groups() []int {
	if s.UID == UserUID && s.SocketDir != "" {
		return []int{SocketGID}
	}
	return nil
}

// SpecInput is what a stage may choose about its sandbox.
type SpecInput struct {
	ID, Owner, Run, Stage string
	Image                 Image
	Policy                Policy
	UID, GID              int
	TreeDir               string
	ReadTree              bool
	SocketDir             string
	Timeout               time.Duration
}

var (
	namePattern   = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$`)
	digestPattern = regexp.MustCompile(`^sha256:[0-9a-f]{64}$`)
)

// NewSpec checks in and adds the hardening. It is pure: same input, same spec,
// no look at the machine. It refuses uid 0, paths that are relative or not
// clean, an image without a digest or of another policy, and limits above the
// ceilings.
func NewSpec(in SpecInput) (Spec, error) {
	if err := in.check(); err != nil {
		return Spec{}, fmt.Errorf("sandbox: specification of %q: %w", in.ID, err)
	}
	return Spec{
		ID: in.ID, Owner: in.Owner, Run: in.Run, Stage: in.Stage,
		Image: in.Image, Policy: clonePolicy(in.Policy),
		UID: in.UID, GID: in.GID,
		TreeDir: in.TreeDir, ReadTree: in.ReadTree, SocketDir: in.SocketDir,
		Timeout: in.Timeout, LogLimit: StdoutLimit,
		Hardening: hardening(),
	}, nil
}

func (in SpecInput) check() error {
	for _, f := range []struct{ what, v string }{{"id", in.ID}, {"owner", in.Owner}, {"run", in.Run}, {"stage", in.Stage}} {
		if !namePattern.MatchString(f.v) {
			return fmt.Errorf("%s %q is not 1–64 letters, digits, '.', '_' or '-'", f.what, f.v)
		}
	}
	if err := in.Policy.check(); err != nil {
		return err
	}
	switch {
	case in.UID <= 0 || in.GID <= 0:
		return fmt.Errorf("uid %d gid %d: a sandbox never runs as root", in.UID, in.GID)
	case !digestPattern.MatchString(in.Image.Digest):
		return fmt.Errorf("image digest %q is not sha256 in hexadecimal", in.Image.Digest)
	case in.Image.Policy != in.Policy.Name:
		return fmt.Errorf("image of policy %q for policy %q", in.Image.Policy, in.Policy.Name)
	case in.Image.Ref == "":
		return errors.New("image has no reference")
	case in.Timeout <= 0 || in.Timeout > MaxTimeout:
		return fmt.Errorf("timeout %s is not above 0 and at most %s", in.Timeout, MaxTimeout)
	case in.SocketDir != "" && !in.Policy.Network:
		return fmt.Errorf("policy %s has no network, so it gets no sockets", in.Policy.Name)
	}
	return in.checkPaths()
}

func (in SpecInput) checkPaths() error {
	if err := cleanAbs("tree", in.TreeDir); err != nil {
		return err
	}
	if in.SocketDir == "" {
		return nil
	}
	if err := cleanAbs("socket directory", in.SocketDir); err != nil {
		return err
	}
	if within(in.SocketDir, in.TreeDir) || within(in.TreeDir, in.SocketDir) {
		return fmt.Errorf("tree %s and socket directory %s lie inside each other", in.TreeDir, in.SocketDir)
	}
	return nil
}

// cleanAbs refuses a path that is not absolute, not in its shortest form, the
// root, or that an engine's mount syntax could misread.
func cleanAbs(what, p string) error {
	switch {
	case !path.IsAbs(p):
		return fmt.Errorf("%s %q is not an absolute path", what, p)
	case path.Clean(p) != p:
		return fmt.Errorf("%s %q is not a clean path", what, p)
	case p == "/":
		return fmt.Errorf("%s is the root directory", what)
	case strings.ContainsAny(p, "\x00\n"):
		return fmt.Errorf("%s %q contains NUL or a newline", what, p)
	}
	return nil
}

// within says whether p is dir or below it. Both are clean.
func within(p, dir string) bool {
	return p == dir || strings.HasPrefix(p, strings.TrimSuffix(dir, "/")+"/")
}
