package native

import (
	"bufio"
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

// cgroups says where this process may make control groups.
type cgroups struct {
	unified bool              // version 2
	base    map[string]string // controller → directory new groups are made in
}

// controllerNames are what a sandbox is limited by.
func controllerNames() []string { return []string{"cpu", "memory", "pids"} }

// findCgroups looks for writable control groups of the process that procDir
// describes. Version 1 wins where it carries a controller; hybrid machines
// mount version 2 without any.
func findCgroups(procDir string, pid int) *cgroups {
	own := ownPaths(filepath.Join(procDir, "cgroup"))
	mounts := cgroupMounts(filepath.Join(procDir, "mountinfo"))
	probe := "moeca-probe-" + strconv.Itoa(pid)
	c := &cgroups{base: map[string]string{}}
	for _, name := range controllerNames() {
		for _, dir := range candidates(mounts[name], own[name]) {
			if canMake(filepath.Join(dir, probe)) {
				c.base[name] = dir
				break
			}
		}
	}
	if len(c.base) > 0 {
		return c
	}
	for _, dir := range candidates(mounts[""], own[""]) {
		if found := delegated(dir, probe); len(found) > 0 {
			c.unified = true
			for _, name := range found {
				c.base[name] = dir
			}
			break
		}
	}
	return c
}

// ownPaths reads /proc/<pid>/cgroup: controller → path, "" for version 2.
func ownPaths(file string) map[string]string {
	paths := map[string]string{}
	eachLine(file, func(line string) {
		parts := strings.SplitN(line, ":", 3)
		if len(parts) == 3 {
			for _, name := range strings.Split(parts[1], ",") {
				paths[name] = parts[2]
			}
		}
	})
	return paths
}

// cgroupMounts reads mountinfo: controller → mount point, "" for version 2.
func cgroupMounts(file string) map[string]string {
	mounts := map[string]string{}
	eachLine(file, func(line string) {
		before, after, ok := strings.Cut(line, " - ")
		fields, super := strings.Fields(before), strings.Fields(after)
		if !ok || len(fields) < 5 || len(super) < 3 {
			return
		}
		switch super[0] {
		case "cgroup2":
			mounts[""] = fields[4]
		case "cgroup":
			for _, name := range strings.Split(super[2], ",") {
				if slices.Contains(controllerNames(), name) {
					mounts[name] = fields[4]
				}
			}
		}
	})
	return mounts
}

// candidates are the directories to try, the closest to our own first.
func candidates(mount, own string) []string {
	if mount == "" {
		return nil
	}
	var dirs []string
	for rel := filepath.Clean("/" + own); ; rel = filepath.Dir(rel) {
		dirs = append(dirs, filepath.Join(mount, rel))
		if rel == "/" {
			return dirs
		}
	}
}

func canMake(dir string) bool {
	if err := os.Mkdir(dir, 0o755); err != nil {
		return false
	}
	return os.Remove(dir) == nil
}

// delegated says which controllers a new group of version 2 below dir has. A
// group that holds no process may be asked to pass them on.
func delegated(dir, probe string) []string {
	probe = filepath.Join(dir, probe)
	if err := os.Mkdir(probe, 0o755); err != nil {
		return nil
	}
	defer os.Remove(probe)
	for _, name := range controllerNames() {
		// Refused where the group holds processes or the controller is not
		// there; what is missing is seen below.
		_ = os.WriteFile(filepath.Join(dir, "cgroup.subtree_control"), []byte("+"+name), 0)
	}
	data, err := os.ReadFile(filepath.Join(probe, "cgroup.controllers"))
	if err != nil {
		return nil
	}
	var found []string
	for _, name := range strings.Fields(string(data)) {
		if slices.Contains(controllerNames(), name) {
			found = append(found, name)
		}
	}
	return found
}

// missing describes the limits that are not cgroup limits here.
func (c *cgroups) missing() []string {
	instead := map[string]string{
		"memory": "memory: no writable memory cgroup; each process is limited, not all together, and swap is not off",
		"pids":   "pids: no writable pids cgroup; the limit is RLIMIT_NPROC of the sandbox's user",
		"cpu":    "cpu: no writable cpu cgroup; a sandbox may use every core",
	}
	var out []string
	for _, name := range controllerNames() {
		if c.base[name] == "" {
			out = append(out, instead[name])
		}
	}
	return out
}

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

// eachLine calls f for the lines of a file; one that cannot be read has none.
func eachLine(file string, f func(string)) {
	r, err := os.Open(file)
	if err != nil {
		return
	}
	defer r.Close()
	for lines := bufio.NewScanner(r); lines.Scan(); {
		f(lines.Text())
	}
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
