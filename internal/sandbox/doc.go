// Package sandbox says what a sandbox is: the specification every driver must
// apply, the policies that name its image and limits, and the system calls that
// exist inside. Drivers (packages docker and native) carry it out; nothing in
// this package starts anything.
//
// # Design
//
// A sandbox is used once: one stage attempt, one sub-agent, one terminal. Its
// root file system is read-only and comes from an image named by policy. The
// task's tree is the only host directory it can write, on /work; the directory
// with its own sockets is mounted read-only on /run/moeca; scratch is tmpfs. It
// has no network but its own lo, no capability, no way to regain one, and never
// uid 0.
//
// [NewSpec] is the one function that makes a [Spec]. It is pure, and the part
// called [Hardening] is the same for every policy: a policy chooses an image,
// limits and scratch, and can loosen nothing. What is not pure, whether the
// bind sources are what they seem, is [CheckSources], which a driver calls in
// Prepare. The system calls are one allow-list, held as data in seccomp.go and
// rendered twice: as the engine's JSON profile and as a BPF program.
//
// # Identities
//
// When the host runs as a normal user, sandboxes run as that user's uid, which
// owns the trees. When the host runs as root, they run as [UserUID], and reach
// their sockets, which another process made, through the group [SocketGID].
//
// Values here are plain data, safe for concurrent use.
package sandbox
