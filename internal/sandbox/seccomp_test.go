package sandbox

import (
	"encoding/binary"
	"encoding/json"
	"slices"
	"testing"

	seccomp "github.com/elastic/go-seccomp-bpf"
	"github.com/elastic/go-seccomp-bpf/arch"
	"golang.org/x/net/bpf"
)

// machine runs the assembled filter as the kernel would.
type machine struct {
	vm   *bpf.VM
	info *arch.Info
}

func newMachine(t *testing.T, goarch string) machine {
	t.Helper()
	raw, err := SeccompBPF(goarch)
	if err != nil {
		t.Fatal(err)
	}
	if len(raw) > 4096 {
		t.Fatalf("filter has %d instructions, the kernel takes 4096", len(raw))
	}
	instructions, ok := bpf.Disassemble(raw)
	if !ok {
		t.Fatal("filter does not disassemble")
	}
	vm, err := bpf.NewVM(instructions)
	if err != nil {
		t.Fatal(err)
	}
	info, err := archOf(goarch)
	if err != nil {
		t.Fatal(err)
	}
	return machine{vm, info}
}

// run answers for a call. The VM loads big-endian words, so each 32-bit half is
// written that way at the place the kernel has it.
func (m machine) run(t *testing.T, auditArch uint32, number uint32, args ...uint64) uint32 {
	t.Helper()
	data := make([]byte, 64)
	binary.BigEndian.PutUint32(data[offsetNumber:], number)
	binary.BigEndian.PutUint32(data[offsetArch:], auditArch)
	for i, a := range args {
		binary.BigEndian.PutUint32(data[offsetArgs+8*i:], uint32(a))
		binary.BigEndian.PutUint32(data[offsetArgs+8*i+4:], uint32(a>>32))
	}
	got, err := m.vm.Run(data)
	if err != nil {
		t.Fatal(err)
	}
	return uint32(got)
}

const (
	allow  = uint32(seccomp.ActionAllow)
	kill   = uint32(seccomp.ActionKillProcess)
	eperm  = uint32(seccomp.ActionErrno) | errnoPerm
	enosys = uint32(seccomp.ActionErrno) | errnoNoSys
)

func TestFilterDecidesCalls(t *testing.T) {
	cases := []struct {
		what string
		call string
		args []uint64
		want uint32
	}{
		{"reads", "read", nil, allow},
		{"executes", "execve", nil, allow},
		{"forks a process", "clone", []uint64{17}, allow},
		{"makes a thread", "clone", []uint64{0x3d0f00}, allow},
		{"denies a user namespace by clone", "clone", []uint64{0x10000000 | 17}, eperm},
		{"denies a mount namespace by clone", "clone", []uint64{0x00020000}, eperm},
		{"denies a cgroup namespace by clone", "clone", []uint64{0x02000000}, eperm},
		{"hides clone3 so that flags stay visible", "clone3", nil, enosys},
		{"hides openat2 so that the mode stays visible", "openat2", nil, enosys},
		{"makes a unix socket", "socket", []uint64{1, 1, 0}, allow},
		{"makes an inet socket", "socket", []uint64{2, 1, 0}, allow},
		{"makes an inet6 socket", "socket", []uint64{10, 1, 0}, allow},
		{"lists interfaces", "socket", []uint64{16, 3, 0}, allow},
		{"denies netlink audit", "socket", []uint64{16, 3, 9}, eperm},
		{"denies packet sockets", "socket", []uint64{17, 3, 0}, eperm},
		{"denies AF_ALG", "socket", []uint64{38, 5, 0}, eperm},
		{"denies AF_VSOCK", "socket", []uint64{40, 1, 0}, eperm},
		{"denies a domain with high bits set", "socket", []uint64{1<<32 | 1, 1, 0}, eperm},
		{"denies a domain that equals another call's number", "socket", []uint64{0, 1, 0}, eperm},
		{"keeps the personality", "personality", []uint64{0xffffffff}, allow},
		{"denies switching off address randomisation", "personality", []uint64{0x40000}, eperm},
		{"sets a mode", "fchmodat", []uint64{0, 0, 0o755}, allow},
		{"denies setuid by chmod", "fchmodat", []uint64{0, 0, 0o4755}, eperm},
		{"denies setuid by creating", "openat", []uint64{0, 0, 0o101, 0o4755}, eperm},
		{"denies setuid by O_TMPFILE", "openat", []uint64{0, 0, 0o20200000 | 1, 0o4755}, eperm},
		{"ignores the mode where nothing is created", "openat", []uint64{0, 0, 0, 0o4755}, allow},
		{"makes a pipe", "mknodat", []uint64{0, 0, 0o010644}, allow},
		{"denies a character device", "mknodat", []uint64{0, 0, 0o020666}, eperm},
		{"denies a block device", "mknodat", []uint64{0, 0, 0o060666}, eperm},
	}
	for _, goarch := range []string{"amd64", "arm64"} {
		m := newMachine(t, goarch)
		for _, c := range cases {
			number, ok := m.info.SyscallNames[c.call]
			if !ok {
				t.Fatalf("%s: no call %s", goarch, c.call)
			}
			if got := m.run(t, uint32(m.info.ID), uint32(number), c.args...); got != c.want {
				t.Errorf("%s: %s: %s%v = %#x, want %#x", goarch, c.what, c.call, c.args, got, c.want)
			}
		}
	}
}

// forbidden may never be in the list, whatever else changes.
var forbidden = []string{
	"io_uring_setup", "io_uring_enter", "io_uring_register", "ptrace", "process_vm_readv", "process_vm_writev",
	"process_madvise", "process_mrelease", "memfd_secret", "userfaultfd", "bpf", "perf_event_open", "keyctl",
	"add_key", "request_key", "open_by_handle_at", "name_to_handle_at", "mount", "umount2", "mount_setattr",
	"open_tree", "move_mount", "fsopen", "fsconfig", "fsmount", "fspick", "pivot_root", "chroot", "setns",
	"unshare", "kexec_load", "kexec_file_load", "init_module", "finit_module", "delete_module", "swapon",
	"swapoff", "reboot", "quotactl", "quotactl_fd", "acct", "clock_settime", "clock_adjtime", "settimeofday",
	"adjtimex", "syslog", "sethostname", "setdomainname", "vhangup", "pidfd_getfd", "kcmp", "fanotify_init",
	"fanotify_mark", "lookup_dcookie", "mbind", "set_mempolicy", "migrate_pages", "move_pages", "iopl", "ioperm",
	"modify_ldt", "nfsservctl", "_sysctl", "uselib", "ustat", "sysfs", "lsm_set_self_attr",
}

func TestFilterDeniesWhatReachesOutside(t *testing.T) {
	for _, goarch := range []string{"amd64", "arm64"} {
		m := newMachine(t, goarch)
		for _, call := range forbidden {
			number, ok := m.info.SyscallNames[call]
			if !ok {
				continue
			}
			if got := m.run(t, uint32(m.info.ID), uint32(number)); got != eperm {
				t.Errorf("%s: %s = %#x, want EPERM", goarch, call, got)
			}
		}
	}
}

func TestFilterKillsOtherTables(t *testing.T) {
	m := newMachine(t, "amd64")
	if got := m.run(t, 0x40000003, 3); got != kill {
		t.Errorf("i386 read = %#x, want kill", got)
	}
	if got := m.run(t, uint32(arch.X86_64.ID), x32Bit); got != kill {
		t.Errorf("x32 read = %#x, want kill", got)
	}
	if got := m.run(t, uint32(arch.X86_64.ID), 10_000); got != enosys {
		t.Errorf("a call from the future = %#x, want ENOSYS", got)
	}
}

// TestRenderingsAgree holds the engine's profile and the filter together: each
// name the profile allows without arguments is allowed by the filter, and every
// call of the table that the profile does not name is denied.
func TestRenderingsAgree(t *testing.T) {
	var p profile
	if err := json.Unmarshal(DockerSeccompJSON(), &p); err != nil {
		t.Fatal(err)
	}
	if p.DefaultAction != "SCMP_ACT_ERRNO" {
		t.Fatalf("default action %s", p.DefaultAction)
	}
	named := map[string]uint32{}
	for _, s := range p.Syscalls {
		for _, name := range s.Names {
			switch {
			case s.Action == "SCMP_ACT_ALLOW" && len(s.Args) == 0:
				named[name] = allow
			case s.ErrnoRet != nil:
				named[name] = enosys
			default:
				named[name] = 0 // by argument
			}
		}
	}
	for _, goarch := range []string{"amd64", "arm64"} {
		m := newMachine(t, goarch)
		for number, name := range m.info.SyscallNumbers {
			want, ok := named[name]
			if !ok {
				want = eperm
			}
			if got := m.run(t, uint32(m.info.ID), uint32(number)); want != 0 && got != want {
				t.Errorf("%s: %s = %#x, profile says %#x", goarch, name, got, want)
			}
		}
	}
}

func TestEveryNameIsACall(t *testing.T) {
	names := slices.Concat(allowed(), unknown())
	for _, r := range conditional() {
		names = append(names, r.call)
	}
	for _, name := range names {
		_, amd := arch.X86_64.SyscallNames[name]
		_, arm := arch.AARCH64.SyscallNames[name]
		if !amd && !arm {
			t.Errorf("%s is no system call of amd64 or arm64", name)
		}
		if slices.Contains(forbidden, name) {
			t.Errorf("%s must never be in the list", name)
		}
	}
}
