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

	"moeca/internal/sandbox"
)

// readBack compares what the kernel says about pid 1 with the specification.
// What the stage believes to have done counts for nothing.
func (b *box) readBack() error {
	dir := filepath.Join("/proc", strconv.Itoa(b.stage.pid))
	status, err := os.ReadFile(filepath.Join(dir, "status"))
	if err != nil {
		return fmt.Errorf("read back: %w", err)
	}
	mountinfo, err := os.ReadFile(filepath.Join(dir, "mountinfo"))
	if err != nil {
		return fmt.Errorf("read back: %w", err)
	}
	problems := slices.Concat(
		checkStatus(string(status), b.config),
		checkMounts(string(mountinfo), b.config),
		checkNamespaces(dir, "/proc/self"),
		checkNetwork(filepath.Join(dir, "net/dev")),
		checkCgroup(b.group, b.stage.pid, b.spec.Policy),
	)
	if len(problems) > 0 {
		return fmt.Errorf("the sandbox is not as specified: %s", strings.Join(problems, "; "))
	}
	return nil
}

// checkStatus checks program, identity and privileges in /proc/<pid>/status.
func checkStatus(status string, c config) []string {
	facts := map[string]string{}
	for line := range strings.Lines(status) {
		if key, value, ok := strings.Cut(line, ":"); ok {
			facts[key] = strings.Join(strings.Fields(value), " ")
		}
	}
	four := func(id int) string { return strings.TrimSpace(strings.Repeat(strconv.Itoa(id)+" ", 4)) }
	const none = "0000000000000000"
	want := map[string]string{
		"Name": filepath.Base(c.Exec), "Uid": four(c.UID), "Gid": four(c.GID), "NoNewPrivs": "1", "Seccomp": "2",
		"CapInh": none, "CapPrm": none, "CapEff": none, "CapBnd": none, "CapAmb": none,
	}
	if c.SetGroups {
		groups := slices.Sorted(slices.Values(c.Groups))
		want["Groups"] = strings.Trim(fmt.Sprint(groups), "[]")
	}
	var problems []string
	for key, value := range want {
		if facts[key] != value {
			problems = append(problems, fmt.Sprintf("%s is %q, not %q", key, facts[key], value))
		}
	}
	if !strings.HasSuffix(facts["NSpid"], " 1") {
		problems = append(problems, fmt.Sprintf("NSpid is %q: it is not pid 1 of its own namespace", facts["NSpid"]))
	}
	slices.Sort(problems)
	return problems
}

// wantedMount is what a line of mountinfo must say.
type wantedMount struct {
	options  []string // must all be there
	optional bool     // this kernel has no such path
}

// expectedMounts lists every mount a sandbox may have.
func expectedMounts(c config) map[string]wantedMount {
	want := map[string]wantedMount{
		"/":     {options: []string{"ro", "nosuid", "nodev"}},
		"/proc": {options: []string{"nosuid", "nodev", "noexec"}},
		"/dev":  {options: []string{"ro", "nosuid", "noexec"}},
	}
	for _, name := range devices() {
		want["/dev/"+name] = wantedMount{options: []string{"nosuid", "noexec"}}
	}
	for _, m := range c.Mounts {
		options := []string{"nosuid", "nodev", "rw"}
		if m.ReadOnly {
			options[2] = "ro"
		}
		want[m.Target] = wantedMount{options: options}
	}
	for _, t := range c.Scratch {
		options := []string{"rw", "nosuid", "nodev"}
		if !t.Exec {
			options = append(options, "noexec")
		}
		want[t.Target] = wantedMount{options: options}
	}
	for _, p := range slices.Concat(c.Masked, c.ReadOnly) {
		want[p] = wantedMount{options: []string{"ro"}, optional: !inside(p)}
	}
	return want
}

// inside says whether a path to mask exists in a sandbox: its /proc is this
// kernel's, and it has no /sys.
func inside(p string) bool {
	_, err := os.Lstat(p)
	return err == nil && strings.HasPrefix(p, "/proc/")
}

// checkMounts compares /proc/<pid>/mountinfo with the expected list, both ways.
func checkMounts(mountinfo string, c config) []string {
	want := expectedMounts(c)
	seen := map[string]bool{}
	var problems []string
	for line := range strings.Lines(mountinfo) {
		before, _, _ := strings.Cut(line, " - ")
		fields := strings.Fields(before)
		if len(fields) < 6 {
			problems = append(problems, fmt.Sprintf("mountinfo line %q", line))
			continue
		}
		target, options, propagation := fields[4], strings.Split(fields[5], ","), fields[6:]
		m, ok := want[target]
		if !ok || seen[target] {
			problems = append(problems, fmt.Sprintf("unexpected mount on %s", target))
		}
		seen[target] = true
		for _, o := range m.options {
			if !slices.Contains(options, o) {
				problems = append(problems, fmt.Sprintf("%s is not mounted %s", target, o))
			}
		}
		if len(propagation) > 0 {
			problems = append(problems, fmt.Sprintf("%s is not private: %v", target, propagation))
		}
	}
	for target, m := range want {
		if !m.optional && !seen[target] {
			problems = append(problems, fmt.Sprintf("nothing is mounted on %s", target))
		}
	}
	return problems
}

// checkNamespaces sees to it that none of the process's namespaces is ours.
func checkNamespaces(dir, self string) []string {
	var problems []string
	for _, name := range []string{"cgroup", "ipc", "mnt", "net", "pid", "user", "uts"} {
		theirs, err := os.Readlink(filepath.Join(dir, "ns", name))
		if err != nil {
			problems = append(problems, fmt.Sprintf("namespace %s: %v", name, err))
			continue
		}
		ours, err := os.Readlink(filepath.Join(self, "ns", name))
		if err != nil || theirs == ours {
			problems = append(problems, fmt.Sprintf("namespace %s is the host's (%v)", name, err))
		}
	}
	return problems
}

// checkNetwork wants lo and nothing else in /proc/<pid>/net/dev.
func checkNetwork(file string) []string {
	data, err := os.ReadFile(file)
	if err != nil {
		return []string{fmt.Sprintf("network interfaces: %v", err)}
	}
	var names []string
	for line := range strings.Lines(string(data)) {
		if name, _, ok := strings.Cut(line, ":"); ok {
			names = append(names, strings.TrimSpace(name))
		}
	}
	if !slices.Equal(names, []string{"lo"}) {
		return []string{fmt.Sprintf("network interfaces are %v", names)}
	}
	return nil
}

// checkCgroup reads the limits back and looks for the process in the group.
func checkCgroup(g *cgroup, pid int, p sandbox.Policy) []string {
	var problems []string
	for _, dir := range g.dirs() {
		if !slices.Contains(members(dir), pid) {
			problems = append(problems, fmt.Sprintf("it is not in cgroup %s", dir))
		}
	}
	for _, l := range g.limits(p) {
		data, err := os.ReadFile(l.file)
		if l.optional && errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if got := strings.TrimSpace(string(data)); err != nil || got != l.value {
			problems = append(problems, fmt.Sprintf("%s is %q, not %q (%v)", l.file, got, l.value, err))
		}
	}
	return problems
}
