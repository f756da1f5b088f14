package native

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"moeca/internal/sandbox"
)

// fakeProc writes /proc/<pid>/cgroup and mountinfo.
func fakeProc(t *testing.T, cgroup, mountinfo string) string {
	t.Helper()
	dir := t.TempDir()
	for name, content := range map[string]string{"cgroup": cgroup, "mountinfo": mountinfo} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func mkdir(t *testing.T, parts ...string) string {
	t.Helper()
	dir := filepath.Join(parts...)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestFindCgroupsOfVersion1(t *testing.T) {
	fs := t.TempDir()
	for _, name := range []string{"memory/own/path", "pids", "cpu,cpuacct"} {
		mkdir(t, fs, name)
	}
	proc := fakeProc(t, "9:memory:/own/path\n8:pids:/gone\n7:cpu,cpuacct:/\n0::/\n", strings.Join([]string{
		"1 0 0:1 / " + fs + "/memory rw - cgroup cgroup rw,memory",
		"2 0 0:2 / " + fs + "/pids rw - cgroup cgroup rw,pids",
		"3 0 0:3 / " + fs + "/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct",
		"4 0 0:4 / " + fs + "/unified rw - cgroup2 cgroup2 rw",
	}, "\n"))
	c := findCgroups(proc, 1)
	want := map[string]string{"memory": fs + "/memory/own/path", "pids": fs + "/pids", "cpu": fs + "/cpu,cpuacct"}
	if c.unified || !maps.Equal(c.base, want) || len(c.missing()) != 0 {
		t.Errorf("found %+v, missing %v", c, c.missing())
	}
}

// TestFindCgroupsOfVersion2 has a group of ours that holds processes, below one
// that may have children. In a real file system the kernel makes
// cgroup.controllers; here a new directory has none, so nothing is delegated.
func TestFindCgroupsOfVersion2WithoutDelegation(t *testing.T) {
	fs := t.TempDir()
	mkdir(t, fs, "user.slice/app")
	proc := fakeProc(t, "0::/user.slice/app\n", "1 0 0:1 / "+fs+" rw - cgroup2 cgroup2 rw\n")
	c := findCgroups(proc, 1)
	if len(c.base) != 0 || len(c.missing()) != 3 {
		t.Errorf("found %+v, missing %v", c, c.missing())
	}
	if got := candidates(fs, "/user.slice/app"); !slices.Equal(got, []string{fs + "/user.slice/app", fs + "/user.slice", fs}) {
		t.Errorf("candidates %v", got)
	}
}

func TestLimitsOfBothVersions(t *testing.T) {
	p, err := sandbox.PolicyByName(sandbox.Base)
	if err != nil {
		t.Fatal(err)
	}
	read := func(g *cgroup) map[string]string {
		out := map[string]string{}
		for _, l := range g.limits(p) {
			out[filepath.Base(l.file)] = l.value
		}
		return out
	}
	dirs := map[string]string{"memory": "/m", "pids": "/p", "cpu": "/c"}
	v2 := read(&cgroup{unified: true, dir: dirs})
	if v2["memory.max"] != "2147483648" || v2["memory.swap.max"] != "0" || v2["pids.max"] != "512" || v2["cpu.max"] != "200000 100000" {
		t.Errorf("version 2: %v", v2)
	}
	v1 := read(&cgroup{dir: dirs})
	if v1["memory.limit_in_bytes"] != v1["memory.memsw.limit_in_bytes"] || v1["pids.max"] != "512" || v1["cpu.cfs_quota_us"] != "200000" {
		t.Errorf("version 1: %v", v1)
	}
}

func TestOOMIsReadFromTheGroup(t *testing.T) {
	for file, unified := range map[string]bool{"memory.events": true, "memory.oom_control": false} {
		dir := t.TempDir()
		g := &cgroup{unified: unified, dir: map[string]string{"memory": dir}}
		for content, want := range map[string]bool{"oom 3\noom_kill 0\n": false, "under_oom 0\noom_kill 2\n": true} {
			if err := os.WriteFile(filepath.Join(dir, file), []byte(content), 0o600); err != nil {
				t.Fatal(err)
			}
			if got := g.oom(); got != want {
				t.Errorf("%s %q: %v", file, content, got)
			}
		}
	}
	if (&cgroup{}).oom() {
		t.Error("no group, but a memory kill")
	}
}
