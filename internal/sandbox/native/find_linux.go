package native

import (
	"bufio"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
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
