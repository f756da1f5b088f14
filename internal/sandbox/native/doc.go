// Package native runs sandboxes with Linux namespaces, without an engine, as
// root or as a normal user.
//
// # Design
//
// The driver starts its own executable again, as pid 1 of new user, mount, pid,
// network, ipc and uts namespaces. [Init], the first call of main, recognises
// that stage: it waits for its configuration, builds the sandbox around itself,
// gives up every privilege and executes the agent. Nothing else of the host's
// program ever runs there.
//
//	host                                  stage (pid 1)
//	----                                  -------------
//	write state file, make cgroup
//	clone ─────────────────────────────▶  Init: wait for configuration
//	record pid, move into cgroup
//	send configuration ────────────────▶  mounts, pivot, lo, limits
//	                                      drop uid, capabilities, filter calls
//	end of the status pipe ◀───────────── execute /moeca-agent
//	read /proc/<pid> back, compare
//	Release: work order on stdin ──────▶  the agent starts to work
//
// A stage whose host dies before the configuration sees the end of the pipe and
// leaves; later, the parent-death signal kills it. When pid 1 dies the kernel
// kills everything in its pid namespace.
//
// # Identity
//
// As root the user namespace maps 0, for set-up, and the sandbox's uid; the
// stage ends as the latter. As a normal user it maps that user alone and set-up
// runs on ambient capabilities that exist only in the new namespace; the user's
// supplementary groups cannot be dropped then, and whatever of them the three
// mounts of a sandbox show stays reachable.
//
// # Limits
//
// Memory (swap off), pids and cpu are cgroup limits where cgroups are writable,
// version 1 or 2. Where they are not, resource limits per process take their
// place and [Driver.Unenforced] says which limit is weaker than it reads.
//
// # Not here
//
// A kernel bug reachable through the permitted system calls is outside of what
// namespaces can hold; docs/THREATS.md says so.
//
// A Driver is safe for concurrent use; so is each Sandbox.
package native

import (
	"log/slog"

	"moeca/internal/sandbox/image"
)

// initName is argv[0] of the re-executed stage.
const initName = "moeca-sandbox-init"

// Options configures a driver.
type Options struct {
	Images *image.Store
	// StateDir keeps one small file per sandbox, so that a later process can
	// find what this one left behind.
	StateDir string
	Logger   *slog.Logger // nil discards
	// Progress receives lines while an image is built; may be nil.
	Progress func(string)
}
