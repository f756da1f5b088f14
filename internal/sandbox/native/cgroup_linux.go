package native

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"moeca/internal/sandbox"
)

// cgroup is the control group of one sandbox.
type cgroup struct {
	unified bool
	dir     map[string]string // controller → its directory
}

// group names the group of a sandbox; create makes it.
func (c *cgroups) group(spec sandbox.Spec) *cgroup {
	g := &cgroup{unified: c.unified, dir: map[string]string{}}
	for name, base := range c.base {
		g.dir[name] = filepath.Join(base, "moeca-"+spec.Owner+"-"+spec.ID)
	}
	return g
}

// dirs lists the group's directories, each once.
func (g *cgroup) dirs() []string {
	var out []string
	for _, dir := range g.dir {
		out = append(out, dir)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

func (g *cgroup) has(controller string) bool { return g.dir[controller] != "" }

// create makes the group and sets its limits. One of the same name that a
// crash left is removed first; one that is in use is not.
func (g *cgroup) create(spec sandbox.Spec) error {
	for _, dir := range g.dirs() {
		if err := os.Remove(dir); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("cgroup %s exists and is in use: %w", dir, err)
		}
		if err := os.Mkdir(dir, 0o755); err != nil {
			g.remove()
			return fmt.Errorf("cgroup: %w", err)
		}
	}
	for _, l := range g.limits(spec.Policy) {
		err := os.WriteFile(l.file, []byte(l.value), 0)
		if l.optional && errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			g.remove()
			return fmt.Errorf("cgroup limit: %w", err)
		}
	}
	return nil
}

// limit is one file to write.
type limit struct {
	file, value string
	optional    bool // kernel built without it: there is nothing to limit
}

func (g *cgroup) limits(p sandbox.Policy) []limit {
	const period = 100_000 // µs
	quota := strconv.FormatInt(int64(p.CPUs*period), 10)
	memory, pids := strconv.FormatInt(p.Memory, 10), strconv.FormatInt(p.PIDs, 10)
	var out []limit
	add := func(controller, file, value string, optional bool) {
		if g.has(controller) {
			out = append(out, limit{filepath.Join(g.dir[controller], file), value, optional})
		}
	}
	add("pids", "pids.max", pids, false)
	if g.unified {
		add("memory", "memory.max", memory, false)
		add("memory", "memory.swap.max", "0", true)
		add("cpu", "cpu.max", quota+" "+strconv.Itoa(period), false)
		return out
	}
	add("memory", "memory.limit_in_bytes", memory, false)
	add("memory", "memory.memsw.limit_in_bytes", memory, true)
	add("memory", "memory.swappiness", "0", true)
	add("cpu", "cpu.cfs_period_us", strconv.Itoa(period), false)
	add("cpu", "cpu.cfs_quota_us", quota, false)
	return out
}

// add moves a process into the group.
func (g *cgroup) add(pid int) error {
	for _, dir := range g.dirs() {
		if err := os.WriteFile(filepath.Join(dir, "cgroup.procs"), []byte(strconv.Itoa(pid)), 0); err != nil {
			return fmt.Errorf("move into cgroup: %w", err)
		}
	}
	return nil
}

// oom says whether the kernel killed a process of the group for memory.
func (g *cgroup) oom() bool {
	if !g.has("memory") {
		return false
	}
	file := "memory.oom_control"
	if g.unified {
		file = "memory.events"
	}
	killed := false
	eachLine(filepath.Join(g.dir["memory"], file), func(line string) {
		if n, ok := strings.CutPrefix(line, "oom_kill "); ok && n != "0" {
			killed = true
		}
	})
	return killed
}

// remove deletes the group's directories, killing what is left inside.
func (g *cgroup) remove() error { return removeGroups(g.dirs()) }

// removeGroups deletes control groups. The kernel lets go of the last processes
// a moment after they died, so it asks again for a while.
func removeGroups(dirs []string) error {
	var errs []error
	for _, dir := range dirs {
		err := until(func() (bool, error) {
			for _, pid := range members(dir) {
				_ = unix.Kill(pid, unix.SIGKILL) // gone already is as good
			}
			err := unix.Rmdir(dir)
			return err == nil || errors.Is(err, unix.ENOENT), err
		})
		if err != nil {
			errs = append(errs, fmt.Errorf("remove cgroup %s: %w", dir, err))
		}
	}
	return errors.Join(errs...)
}

// members lists the processes of a group.
func members(dir string) []int {
	var pids []int
	eachLine(filepath.Join(dir, "cgroup.procs"), func(line string) {
		if pid, err := strconv.Atoi(line); err == nil && pid > 1 {
			pids = append(pids, pid)
		}
	})
	return pids
}

// limits are the resource limits of the stage. Where a cgroup limit is missing
// the limit that comes closest takes its place; RLIMIT_NPROC counts the user's
// processes in this user namespace since Linux 5.14, all of them before.
func limits(spec sandbox.Spec, g *cgroup) map[int]uint64 {
	l := map[int]uint64{
		unix.RLIMIT_NOFILE: spec.Hardening.NoFile,
		unix.RLIMIT_CORE:   spec.Hardening.Core,
	}
	if !g.has("pids") {
		l[unix.RLIMIT_NPROC] = uint64(spec.Policy.PIDs)
	}
	if !g.has("memory") {
		l[unix.RLIMIT_DATA] = uint64(spec.Policy.Memory)
	}
	return l
}
