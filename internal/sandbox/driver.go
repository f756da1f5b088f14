package sandbox

import (
	"context"
	"io"
	"time"
)

// Driver runs sandboxes. Implementations are safe for concurrent use, and each
// passes the exported conformance test TestDriver.
type Driver interface {
	// Name is "docker" or "native".
	Name() string
	// Usable says why the driver cannot be used here, or nil.
	Usable(ctx context.Context) error
	// Ensure makes the image of a policy available and returns its digest
	// ("sha256:…"), which a Spec names.
	Ensure(ctx context.Context, policy Policy) (Image, error)
	// Prepare creates a sandbox without starting it. What the engine applied is
	// read back and compared with the spec before Prepare returns.
	Prepare(ctx context.Context, spec Spec) (Sandbox, error)
	// Sweep stops and removes every sandbox of this owner (data directory) that
	// is not in keep, and says how many. Sandboxes of other owners are not touched.
	Sweep(ctx context.Context, owner string, keep []string) (int, error)
}

// Sandbox is one prepared sandbox. It is used once.
type Sandbox interface {
	ID() string
	// Attach returns the channel: the agent's stdin, and its stdout lines. It is
	// called before Start. stderr is kept by the driver, bounded, for Exit.
	Attach(ctx context.Context) (Channel, error)
	// Start runs pid 1, which then waits for its work order on stdin.
	Start(ctx context.Context) error
	// Release writes the work order. The sandbox held nothing before it.
	Release(ctx context.Context, order []byte) error
	// Wait blocks until the sandbox has ended and says how.
	Wait(ctx context.Context) (Exit, error)
	// Stop kills everything in the sandbox: TERM, then KILL after grace.
	Stop(ctx context.Context, grace time.Duration) error
	// Remove deletes what is left of it. Idempotent.
	Remove(ctx context.Context) error
}

// Channel is the pair of streams between controller and pid 1.
type Channel struct {
	Stdin  io.WriteCloser
	Stdout io.Reader // ends when the sandbox does
}

// Exit says how a sandbox ended. Cause is one of the Cause constants.
type Exit struct {
	Code   int    `json:"code"`
	Cause  string `json:"cause"`
	Detail string `json:"detail,omitempty"` // last lines of stderr, bounded
	OOM    bool   `json:"oom,omitempty"`    // something in it was killed for memory, whatever the cause of the end
}

// Causes of an exit.
const (
	CauseDone    = "done"
	CauseFailed  = "failed"
	CauseOOM     = "out of memory"
	CauseTimeout = "timeout"
	CauseStopped = "stopped"
	CauseLost    = "lost" // the engine or the host went away
	CauseDisk    = "disk limit"
)

// Image is a resolved image.
type Image struct {
	Policy string `json:"policy"`
	Digest string `json:"digest"` // sha256 of the content, the same for both drivers
	Ref    string `json:"ref"`    // what the driver starts: image id, or root directory
}

// Policy is an image by name, with its limits.
type Policy struct {
	Name    string
	Memory  int64   // bytes; swap is off
	CPUs    float64 // cores
	PIDs    int64
	Scratch []Tmpfs
	Network bool // false: neither gateway nor registry socket
}

// Tmpfs is writable scratch declared by the policy.
type Tmpfs struct {
	Path string
	Size int64
	Exec bool
}

// Spec is what a sandbox is made from. Only NewSpec builds one.
type Spec struct {
	ID        string // stage attempt id, also the container name suffix
	Owner     string // id of the data directory
	Run       string
	Stage     string
	Image     Image
	Policy    Policy
	UID, GID  int    // never 0; owner of the tree
	TreeDir   string // host path, mounted writable on /work
	ReadTree  bool   // mount the tree read-only instead
	SocketDir string // host path, mounted read-only on /run/moeca; empty = none
	Timeout   time.Duration
	LogLimit  int64 // bytes of stdout passed on before the sandbox is stopped
	// Hardening is the same for every policy.
	Hardening Hardening
}
