package native

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"moeca/internal/sandbox"
)

const goodStatus = `Name:	moeca-agent
Uid:	65532	65532	65532	65532
Gid:	65532	65532	65532	65532
Groups:	65530 
NSpid:	4711	1
CapInh:	0000000000000000
CapPrm:	0000000000000000
CapEff:	0000000000000000
CapBnd:	0000000000000000
CapAmb:	0000000000000000
NoNewPrivs:	1
Seccomp:	2
`

func rootConfig() config {
	return config{Exec: sandbox.AgentPath, UID: 65532, GID: 65532, Groups: []int{65530}, SetGroups: true}
}

func TestReadBackOfStatus(t *testing.T) {
	if p := checkStatus(goodStatus, rootConfig()); len(p) != 0 {
		t.Errorf("good status: %v", p)
	}
	wrong := map[string][2]string{
		"a saved uid of root":    {"65532	65532	65532	65532\nGid", "65532	65532	0	65532\nGid"},
		"another program":        {"moeca-agent", "moeca-sandbox-i"},
		"another group":          {"65530", "65530 0"},
		"a bounding capability":  {"CapBnd:	0000000000000000", "CapBnd:	0000000000200000"},
		"an ambient capability":  {"CapAmb:	0000000000000000", "CapAmb:	0000000000000001"},
		"new privileges allowed": {"NoNewPrivs:	1", "NoNewPrivs:	0"},
		"no filter":              {"Seccomp:	2", "Seccomp:	0"},
		"the host's pids":        {"NSpid:	4711	1", "NSpid:	4711"},
		"a missing line":         {"CapEff:	0000000000000000\n", ""},
	}
	for name, change := range wrong {
		status := strings.Replace(goodStatus, change[0], change[1], 1)
		if status == goodStatus {
			t.Fatalf("%s: nothing changed", name)
		}
		if p := checkStatus(status, rootConfig()); len(p) == 0 {
			t.Errorf("%s: not seen", name)
		}
	}
}

const goodMounts = `1 0 8:1 /base/root / ro,nosuid,nodev,relatime - ext4 /dev/vda rw
2 1 0:5 / /proc rw,nosuid,nodev,noexec,relatime - proc proc rw
3 1 0:6 / /dev ro,nosuid,noexec,relatime - tmpfs tmpfs rw
4 3 0:7 /full /dev/full rw,nosuid,noexec - devtmpfs devtmpfs rw
5 3 0:7 /null /dev/null rw,nosuid,noexec - devtmpfs devtmpfs rw
6 3 0:7 /random /dev/random rw,nosuid,noexec - devtmpfs devtmpfs rw
7 3 0:7 /tty /dev/tty rw,nosuid,noexec - devtmpfs devtmpfs rw
8 3 0:7 /urandom /dev/urandom rw,nosuid,noexec - devtmpfs devtmpfs rw
9 3 0:7 /zero /dev/zero rw,nosuid,noexec - devtmpfs devtmpfs rw
10 1 8:1 /trees/a /work rw,nosuid,nodev - ext4 /dev/vda rw
11 1 8:1 /run/a /run/moeca ro,nosuid,nodev - ext4 /dev/vda rw
12 1 0:8 / /tmp rw,nosuid,nodev,noexec - tmpfs tmpfs rw
13 2 0:9 / /proc/sys ro,nosuid,nodev,noexec - proc proc rw
`

func mountConfig() config {
	return config{
		Mounts:   []bind{{Target: "/work"}, {Target: "/run/moeca", ReadOnly: true}},
		Scratch:  []tmpfs{{Target: "/tmp"}},
		ReadOnly: []string{"/proc/sys", "/proc/this-kernel-has-no-such"},
	}
}

func TestReadBackOfMounts(t *testing.T) {
	if p := checkMounts(goodMounts, mountConfig()); len(p) != 0 {
		t.Errorf("good mounts: %v", p)
	}
	wrong := map[string][2]string{
		"a writable root":              {"/base/root / ro,", "/base/root / rw,"},
		"a root with setuid":           {"/ ro,nosuid,", "/ ro,"},
		"writable sockets":             {"/run/moeca ro,", "/run/moeca rw,"},
		"devices in the tree":          {"/work rw,nosuid,nodev", "/work rw,nosuid"},
		"a shared mount":               {"nodev - ext4 /dev/vda rw\n11", "nodev shared:7 - ext4 /dev/vda rw\n11"},
		"a slave mount":                {"nodev,relatime - ext4", "nodev,relatime master:3 - ext4"},
		"one mount more":               {"12 1", "99 1 8:1 / /host rw - ext4 /dev/vda rw\n12 1"},
		"a second mount on a place":    {"12 1", "99 1 8:1 / /work rw,nosuid,nodev - ext4 /dev/vda rw\n12 1"},
		"scratch that executes":        {"/tmp rw,nosuid,nodev,noexec", "/tmp rw,nosuid,nodev"},
		"no scratch":                   {"12 1 0:8 / /tmp rw,nosuid,nodev,noexec - tmpfs tmpfs rw\n", ""},
		"an unprotected /proc/sys":     {"13 2 0:9 / /proc/sys ro,nosuid,nodev,noexec - proc proc rw\n", ""},
		"a writable /proc/sys":         {"/proc/sys ro,", "/proc/sys rw,"},
		"a line that cannot be parsed": {"12 1", "?\n12 1"},
	}
	for name, change := range wrong {
		mounts := strings.Replace(goodMounts, change[0], change[1], 1)
		if mounts == goodMounts {
			t.Fatalf("%s: nothing changed", name)
		}
		if p := checkMounts(mounts, mountConfig()); len(p) == 0 {
			t.Errorf("%s: not seen", name)
		}
	}
}

func TestReadBackOfOurOwnProcess(t *testing.T) {
	if p := checkNamespaces("/proc/self", "/proc/self"); len(p) != 7 {
		t.Errorf("our own namespaces: %v", p)
	}
	if p := checkNamespaces("/proc/nobody", "/proc/self"); len(p) != 7 {
		t.Errorf("a process that is gone: %v", p)
	}
	file := filepath.Join(t.TempDir(), "dev")
	if err := os.WriteFile(file, []byte("Inter-| Receive\n face |bytes\n    lo: 0\n  eth0: 0\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if p := checkNetwork(file); len(p) != 1 {
		t.Errorf("a second interface: %v", p)
	}
	if p := checkNetwork(file + "-gone"); len(p) != 1 {
		t.Errorf("no list: %v", p)
	}
}

func TestAdviceNamesTheSetting(t *testing.T) {
	proc := t.TempDir()
	put := func(name, value string) {
		t.Helper()
		p := filepath.Join(proc, name)
		if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(p, []byte(value), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	says := func(want string, err error) {
		t.Helper()
		if got := advice(proc, err); !strings.Contains(got, want) || !strings.Contains(got, "container engine") {
			t.Errorf("advice %q does not say %q", got, want)
		}
	}
	says("no user namespaces", unix.EINVAL)
	put("self/ns/user", "")
	says("5.12", unix.ENOSYS)
	says("masks /proc", unix.EPERM)
	put("sys/kernel/apparmor_restrict_unprivileged_userns", "1\n")
	says("AppArmor", unix.EPERM)
	put("sys/kernel/unprivileged_userns_clone", "0\n")
	says("kernel.unprivileged_userns_clone=1", unix.EPERM)
	put("sys/user/max_user_namespaces", "0\n")
	says("user.max_user_namespaces", unix.ENOSPC)
}

func TestEveryPolicyHasAPlaceForEachMount(t *testing.T) {
	for _, p := range sandbox.Policies() {
		c := config{}
		for _, s := range p.Scratch {
			c.Scratch = append(c.Scratch, tmpfs{Target: s.Path, Exec: s.Exec})
		}
		if len(expectedMounts(c)) < len(p.Scratch)+3 {
			t.Errorf("%s: scratch over something else: %+v", p.Name, p.Scratch)
		}
	}
}
