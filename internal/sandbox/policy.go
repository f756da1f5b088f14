package sandbox

import (
	"fmt"
	"slices"
	"strings"
)

// Names of the built-in policies.
const (
	Base = "base" // the agent binary and nothing else: no shell
	Poly = "poly" // Node, Python, Go, git and a shell
)

const (
	mib = 1 << 20
	gib = 1 << 30
)

// Ceilings no policy may pass.
const (
	MaxMemory = 16 * gib
	MaxCPUs   = 8.0
	MaxPIDs   = 4096
	// maxScratch bounds all tmpfs of a policy together. Pages of a tmpfs are
	// charged to the sandbox's memory too, so this is the lower of two fences.
	maxScratch = 16 * gib
)

// Policies returns the built-in policies.
func Policies() []Policy {
	return []Policy{
		{
			Name: Base, Memory: 2 * gib, CPUs: 2, PIDs: 512, Network: true,
			Scratch: []Tmpfs{{Path: "/tmp", Size: 256 * mib}},
		},
		{
			Name: Poly, Memory: 4 * gib, CPUs: 4, PIDs: 1024, Network: true,
			// exec: noexec breaks virtual environments and go run.
			Scratch: []Tmpfs{
				{Path: "/home/agent", Size: 2 * gib, Exec: true},
				{Path: "/tmp", Size: 2 * gib, Exec: true},
			},
		},
	}
}

// PolicyByName returns a built-in policy.
func PolicyByName(name string) (Policy, error) {
	for _, p := range Policies() {
		if p.Name == name {
			return p, nil
		}
	}
	return Policy{}, fmt.Errorf("sandbox: no policy %q (there are: %s)", name, strings.Join(policyNames(), ", "))
}

func policyNames() []string {
	var names []string
	for _, p := range Policies() {
		names = append(names, p.Name)
	}
	return names
}

// CPUsOn is the policy's cpu limit on a machine with n cores. Engines refuse a
// limit above what the machine has.
func (p Policy) CPUsOn(n int) float64 {
	return min(p.CPUs, float64(max(n, 1)))
}

// check refuses a policy without limits or above the ceilings.
func (p Policy) check() error {
	switch {
	case p.Name == "":
		return fmt.Errorf("policy has no name")
	case p.Memory <= 0 || p.Memory > MaxMemory:
		return fmt.Errorf("policy %s: memory %d is not between 1 and %d bytes", p.Name, p.Memory, int64(MaxMemory))
	case !(p.CPUs > 0 && p.CPUs <= MaxCPUs):
		return fmt.Errorf("policy %s: cpus %g is not above 0 and at most %g", p.Name, p.CPUs, MaxCPUs)
	case p.PIDs <= 0 || p.PIDs > MaxPIDs:
		return fmt.Errorf("policy %s: pids %d is not between 1 and %d", p.Name, p.PIDs, MaxPIDs)
	}
	return p.checkScratch()
}

// checkScratch refuses scratch that would cover what the specification mounts.
func (p Policy) checkScratch() error {
	var total int64
	var seen []string
	for _, t := range p.Scratch {
		if err := cleanAbs("scratch", t.Path); err != nil {
			return fmt.Errorf("policy %s: %w", p.Name, err)
		}
		for _, taken := range append([]string{TreePath, SocketPath, AgentPath, "/proc", "/sys", "/dev"}, seen...) {
			if within(t.Path, taken) || within(taken, t.Path) {
				return fmt.Errorf("policy %s: scratch %s overlaps %s", p.Name, t.Path, taken)
			}
		}
		if t.Size <= 0 {
			return fmt.Errorf("policy %s: scratch %s has no size", p.Name, t.Path)
		}
		total += t.Size
		seen = append(seen, t.Path)
	}
	if total > maxScratch {
		return fmt.Errorf("policy %s: %d bytes of scratch, more than %d", p.Name, total, int64(maxScratch))
	}
	return nil
}

// clonePolicy copies p so that a Spec shares no memory with its maker.
func clonePolicy(p Policy) Policy {
	p.Scratch = slices.Clone(p.Scratch)
	return p
}
