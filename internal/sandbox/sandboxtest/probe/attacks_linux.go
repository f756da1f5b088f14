package main

import (
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// attempt is one attack: nil means that it succeeded.
type attempt = func() error

// attacks lists what must fail, by name.
func attacks(q Question) map[string]attempt {
	all := map[string]attempt{}
	for _, group := range []map[string]attempt{files(q), processes(), kernel(), sockets(), network(q), identity()} {
		for name, a := range group {
			all[name] = a
		}
	}
	return all
}

func write(path string) attempt {
	return func() error {
		f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o644)
		if err != nil {
			return err
		}
		defer f.Close()
		_, err = f.Write([]byte("0"))
		return err
	}
}

// secret reads a file that must be absent, forbidden or empty.
func secret(path string) attempt {
	return func() error {
		f, err := os.Open(path)
		if err != nil {
			return err
		}
		defer f.Close()
		n, err := f.Read(make([]byte, 64))
		if n == 0 && err == nil {
			err = errors.New("empty")
		}
		return err
	}
}

func files(q Question) map[string]attempt {
	m := map[string]attempt{}
	for _, p := range []string{
		"/probe", "/etc/passwd", "/moeca-agent", "/run/moeca/probe", "/run/moeca/gateway.sock.new", "/dev/probe",
		"/proc/sys/kernel/core_pattern", "/proc/sys/kernel/hostname", "/proc/sysrq-trigger", "/sys/probe",
		"/sys/kernel/uevent_helper", "/sys/fs/cgroup/release_agent", "/sys/fs/cgroup/cgroup.procs",
	} {
		m["write "+p] = write(p)
	}
	for _, p := range []string{
		"/proc/kcore", "/proc/keys", "/proc/kmsg", "/proc/timer_list", "/dev/kmsg", "/dev/mem", "/dev/kvm", "/dev/fuse",
		"/dev/sda", "/dev/vda", "/dev/net/tun", "/var/run/docker.sock", "/run/docker.sock", "/sys/firmware/dmi",
	} {
		m["read "+p] = secret(p)
	}
	for _, p := range q.Paths {
		m["host path "+p] = func() error { _, err := os.Lstat(p); return err }
	}
	m["setuid by chmod"] = func() error {
		return unix.Fchmodat(unix.AT_FDCWD, plant("/work/planted"), 0o4755, 0)
	}
	m["setuid by create"] = func() error {
		fd, err := unix.Open("/work/planted-new", unix.O_CREAT|unix.O_WRONLY, 0o4755)
		if err == nil {
			unix.Close(fd)
		}
		return err
	}
	m["device"] = func() error { return unix.Mknod("/work/mem", unix.S_IFCHR|0o666, int(unix.Mkdev(1, 1))) }
	return m
}

// plant makes a file and returns its name.
func plant(path string) string {
	os.WriteFile(path, []byte("#!/bin/sh\n"), 0o755)
	return path
}

func processes() map[string]attempt {
	m := map[string]attempt{
		"write /proc/1/mem": func() error {
			f, err := os.OpenFile("/proc/1/mem", os.O_RDWR, 0)
			if err == nil {
				f.Close()
			}
			return err
		},
		"list /proc/1/fd": func() error { _, err := os.ReadDir("/proc/1/fd"); return err },
		"enter /proc/1/root": func() error {
			_, err := os.Lstat("/proc/1/root/")
			return err
		},
		"ptrace 1": func() error { return unix.PtraceAttach(1) },
		"kcmp 1": func() error {
			return call(unix.SYS_KCMP, 1, uintptr(os.Getpid()), 0, 0, 0)
		},
		"read memory of 1": func() error {
			buf := make([]byte, 8)
			local := []unix.Iovec{{Base: &buf[0], Len: 8}}
			_, err := unix.ProcessVMReadv(1, local, []unix.RemoteIovec{{Base: 0x400000, Len: 8}}, 0)
			return err
		},
		"lower oom score": func() error { return os.WriteFile("/proc/self/oom_score_adj", []byte("-900"), 0) },
	}
	m["read /proc/1/environ"] = secret("/proc/1/environ")
	m["read /proc/1/maps"] = secret("/proc/1/maps")
	return m
}

func call(number uintptr, args ...uintptr) error {
	a := append(args, 0, 0, 0, 0, 0, 0)
	_, _, e := unix.Syscall6(number, a[0], a[1], a[2], a[3], a[4], a[5])
	if e != 0 {
		return e
	}
	return nil
}

func unshare(flag int) attempt {
	return func() error {
		runtime.LockOSThread() // the thread is spoilt if this succeeds
		return unix.Unshare(flag)
	}
}

func kernel() map[string]attempt {
	page := make([]byte, 4096)
	ptr := uintptr(unsafe.Pointer(&page[0]))
	return map[string]attempt{
		"unshare user":   unshare(unix.CLONE_NEWUSER),
		"unshare mount":  unshare(unix.CLONE_NEWNS),
		"unshare net":    unshare(unix.CLONE_NEWNET),
		"unshare pid":    unshare(unix.CLONE_NEWPID),
		"unshare ipc":    unshare(unix.CLONE_NEWIPC),
		"unshare uts":    unshare(unix.CLONE_NEWUTS),
		"unshare cgroup": unshare(unix.CLONE_NEWCGROUP),
		"clone user": func() error {
			c := exec.Command("/proc/self/exe", "exit", "0")
			c.SysProcAttr = &syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWUSER}
			return c.Run()
		},
		"setns": func() error {
			fd, err := unix.Open("/proc/self/ns/uts", unix.O_RDONLY|unix.O_CLOEXEC, 0)
			if err != nil {
				return err
			}
			defer unix.Close(fd)
			return unix.Setns(fd, 0)
		},
		"mount":        func() error { return unix.Mount("tmpfs", "/tmp", "tmpfs", 0, "") },
		"remount root": func() error { return unix.Mount("", "/", "", unix.MS_REMOUNT|unix.MS_BIND, "") },
		"fsopen":       func() error { _, err := unix.Fsopen("tmpfs", 0); return err },
		"open_tree":    func() error { _, err := unix.OpenTree(unix.AT_FDCWD, "/", unix.OPEN_TREE_CLONE); return err },
		"umount":       func() error { return unix.Unmount("/tmp", unix.MNT_DETACH) },
		"pivot_root":   func() error { return unix.PivotRoot("/tmp", "/tmp") },
		"chroot":       func() error { return unix.Chroot("/tmp") },
		"keyctl":       func() error { _, err := unix.KeyctlGetKeyringID(unix.KEY_SPEC_SESSION_KEYRING, true); return err },
		"add_key": func() error {
			_, err := unix.AddKey("user", "probe", []byte("x"), unix.KEY_SPEC_PROCESS_KEYRING)
			return err
		},
		"bpf":           func() error { return call(unix.SYS_BPF, 0, ptr, 64) },
		"perf":          func() error { return call(unix.SYS_PERF_EVENT_OPEN, ptr, 0, ^uintptr(0), ^uintptr(0), 0) },
		"userfaultfd":   func() error { return call(unix.SYS_USERFAULTFD, 1) },
		"io_uring":      func() error { return call(unix.SYS_IO_URING_SETUP, 1, ptr) },
		"memfd_secret":  func() error { return call(unix.SYS_MEMFD_SECRET, 0) },
		"file handle":   func() error { return call(unix.SYS_OPEN_BY_HANDLE_AT, ^uintptr(99), ptr, 0) },
		"module":        func() error { return call(unix.SYS_INIT_MODULE, ptr, 0, ptr) },
		"kexec":         func() error { return call(unix.SYS_KEXEC_LOAD, 0, 0, 0, 0) },
		"reboot":        func() error { return call(unix.SYS_REBOOT, 0xfee1dead, 672274793, 0) },
		"swapoff":       func() error { return call(unix.SYS_SWAPOFF, ptr) },
		"clock_settime": func() error { var ts unix.Timespec; return unix.ClockSettime(unix.CLOCK_REALTIME, &ts) },
		"syslog":        func() error { _, err := unix.Klogctl(3, page); return err },
		"sethostname":   func() error { return unix.Sethostname([]byte("x")) },
		"personality":   func() error { return call(unix.SYS_PERSONALITY, 0x40000) },
		"acct":          func() error { return call(unix.SYS_ACCT, 0) },
	}
}

func socket(domain, kind, protocol int) attempt {
	return func() error {
		fd, err := unix.Socket(domain, kind, protocol)
		if err == nil {
			unix.Close(fd)
		}
		return err
	}
}

func sockets() map[string]attempt {
	return map[string]attempt{
		"packet socket":  socket(unix.AF_PACKET, unix.SOCK_RAW, 0),
		"raw socket":     socket(unix.AF_INET, unix.SOCK_RAW, unix.IPPROTO_ICMP),
		"raw socket 6":   socket(unix.AF_INET6, unix.SOCK_RAW, unix.IPPROTO_ICMPV6),
		"AF_ALG":         socket(unix.AF_ALG, unix.SOCK_SEQPACKET, 0),
		"AF_VSOCK":       socket(unix.AF_VSOCK, unix.SOCK_STREAM, 0),
		"netlink audit":  socket(unix.AF_NETLINK, unix.SOCK_RAW, unix.NETLINK_AUDIT),
		"netlink uevent": socket(unix.AF_NETLINK, unix.SOCK_RAW, unix.NETLINK_KOBJECT_UEVENT),
		"netlink change": addLink,
	}
}

// addLink asks for a new dummy interface by route netlink.
func addLink() error {
	fd, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW, unix.NETLINK_ROUTE)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	const size = unix.SizeofNlMsghdr + unix.SizeofIfInfomsg
	msg := make([]byte, size)
	head := (*unix.NlMsghdr)(unsafe.Pointer(&msg[0]))
	*head = unix.NlMsghdr{Len: size, Type: unix.RTM_NEWLINK, Flags: unix.NLM_F_REQUEST | unix.NLM_F_ACK | unix.NLM_F_CREATE, Seq: 1}
	if err := unix.Sendto(fd, msg, 0, &unix.SockaddrNetlink{Family: unix.AF_NETLINK}); err != nil {
		return err
	}
	answer := make([]byte, 4096)
	n, _, err := unix.Recvfrom(fd, answer, 0)
	if err != nil || n < unix.SizeofNlMsghdr+4 {
		return fmt.Errorf("answer of %d bytes: %w", n, err)
	}
	if code := *(*int32)(unsafe.Pointer(&answer[unix.SizeofNlMsghdr])); code != 0 {
		return syscall.Errno(-code)
	}
	return nil
}

func network(q Question) map[string]attempt {
	m := map[string]attempt{}
	dial := func(network, address string) attempt {
		return func() error {
			c, err := net.DialTimeout(network, address, 2*time.Second)
			if err == nil {
				c.Close()
			}
			return err
		}
	}
	for _, address := range append(q.TCP, "169.254.169.254:80", "1.1.1.1:53", "[2606:4700:4700::1111]:53", "127.0.0.11:53") {
		m["tcp "+address] = dial("tcp", address)
	}
	for _, path := range q.Unix {
		m["unix "+strings.ReplaceAll(path, "\x00", "@")] = dial("unix", path)
	}
	m["dns"] = func() error { _, err := net.LookupHost("canary.example.com"); return err }
	m["udp to the world"] = func() error {
		c, err := net.DialTimeout("udp", "192.0.2.1:53", time.Second)
		if err != nil {
			return err
		}
		defer c.Close()
		_, err = c.Write([]byte("x"))
		return err
	}
	return m
}

func identity() map[string]attempt {
	return map[string]attempt{
		"setuid 0":    func() error { return call(unix.SYS_SETUID, 0) },
		"setresuid 0": func() error { return call(unix.SYS_SETRESUID, 0, 0, 0) },
		"setgid 0":    func() error { return call(unix.SYS_SETGID, 0) },
		"setgroups":   func() error { g := uint32(0); return call(unix.SYS_SETGROUPS, 1, uintptr(unsafe.Pointer(&g))) },
		"chown to 0":  func() error { return os.Lchown(plant("/work/owned"), 0, 0) },
		"capset": func() error {
			h := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
			d := [2]unix.CapUserData{{Effective: 1 << unix.CAP_SYS_ADMIN, Permitted: 1 << unix.CAP_SYS_ADMIN}}
			return unix.Capset(&h, &d[0])
		},
	}
}
