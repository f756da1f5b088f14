package sandbox

import (
	"encoding/json"
	"slices"
)

// The system calls that exist in a sandbox. Everything else fails with EPERM,
// and a call made through another architecture's table (i386, x32) kills the
// process. The list follows what language runtimes, compilers, package managers
// and shells use; what reaches beyond the sandbox's own processes and files is
// left out even where it would need a capability anyway: io_uring, ptrace and
// process_vm_*, userfaultfd, bpf, perf_event_open, keyrings, file handles, the
// mount family, namespaces, modules, kexec, swap, quotas, clocks, chroot,
// memfd_secret, fanotify, pidfd_getfd, kcmp, NUMA policy, port I/O.

// condition restricts one argument of a call.
type condition struct {
	arg  uint
	mask uint64 // 0: the argument must equal value; else these bits must be clear
	val  uint64
}

// rule allows a call when one of its alternatives holds; each is a list of
// conditions that must all hold.
type rule struct {
	call string
	any  [][]condition
}

const (
	// cloneNamespaces are the CLONE_NEW* flags.
	cloneNamespaces = 0x7e020000
	// setuidBit is S_ISUID. Files that run as their owner cannot be made, so
	// that a tree never carries one to the host.
	setuidBit = 0o4000
	// deviceBit is set in the type of character and block devices and in no
	// other type mknod takes.
	deviceBit = 0o020000
	// createFlags are O_CREAT and __O_TMPFILE: open looks at its mode argument
	// only when one is set.
	createFlags = 0o100 | 0o20000000

	afUnix, afInet, afInet6, afNetlink = 1, 2, 10, 16

	netlinkRoute = 0 // what getifaddrs asks
)

func clear(arg uint, bits uint64) []condition  { return []condition{{arg: arg, mask: bits}} }
func equal(arg uint, value uint64) []condition { return []condition{{arg: arg, val: value}} }

// conditional lists calls that are allowed only with harmless arguments.
func conditional() []rule {
	return []rule{
		{"clone", [][]condition{clear(0, cloneNamespaces)}},
		{"socket", [][]condition{
			equal(0, afUnix), equal(0, afInet), equal(0, afInet6),
			append(equal(0, afNetlink), equal(2, netlinkRoute)...),
		}},
		{"socketpair", [][]condition{equal(0, afUnix)}},
		{"personality", [][]condition{equal(0, 0), equal(0, 0xffffffff)}},
		{"chmod", [][]condition{clear(1, setuidBit)}},
		{"fchmod", [][]condition{clear(1, setuidBit)}},
		{"fchmodat", [][]condition{clear(2, setuidBit)}},
		{"fchmodat2", [][]condition{clear(2, setuidBit)}},
		{"creat", [][]condition{clear(1, setuidBit)}},
		{"open", [][]condition{clear(1, createFlags), clear(2, setuidBit)}},
		{"openat", [][]condition{clear(2, createFlags), clear(3, setuidBit)}},
		{"mknod", [][]condition{clear(1, setuidBit|deviceBit)}},
		{"mknodat", [][]condition{clear(2, setuidBit|deviceBit)}},
	}
}

// unknown lists calls that answer ENOSYS instead of EPERM, so that libraries
// fall back to the older call, whose arguments a filter can see.
func unknown() []string { return []string{"clone3", "openat2"} }

// allowed returns every call allowed whatever its arguments, sorted.
func allowed() []string {
	all := slices.Concat(
		// files and directories
		[]string{
			"access", "chdir", "chown", "close", "close_range", "copy_file_range", "dup", "dup2", "dup3",
			"faccessat", "faccessat2", "fadvise64", "fallocate", "fchdir", "fchown", "fchownat", "fcntl",
			"fdatasync", "fgetxattr", "flistxattr", "flock", "fremovexattr", "fsetxattr", "fstat", "fstatfs",
			"fsync", "ftruncate", "futimesat", "getcwd", "getdents", "getdents64", "getxattr", "getxattrat",
			"inotify_add_watch", "inotify_init", "inotify_init1", "inotify_rm_watch", "ioctl", "lchown",
			"lgetxattr", "link", "linkat", "listxattr", "listxattrat", "llistxattr", "lremovexattr", "lseek",
			"lsetxattr", "lstat", "mkdir", "mkdirat", "newfstatat", "pread64", "preadv", "preadv2", "pwrite64",
			"pwritev", "pwritev2", "read", "readahead", "readlink", "readlinkat", "readv", "removexattr",
			"removexattrat", "rename", "renameat", "renameat2", "rmdir", "sendfile", "setxattr", "setxattrat",
			"splice", "stat", "statfs", "statx", "symlink", "symlinkat", "sync", "sync_file_range", "syncfs",
			"tee", "truncate", "umask", "unlink", "unlinkat", "utime", "utimensat", "utimes", "vmsplice",
			"write", "writev", "cachestat",
		},
		// memory
		[]string{
			"brk", "madvise", "map_shadow_stack", "membarrier", "memfd_create", "mincore", "mlock",
			"mlock2", "mlockall", "mmap", "mprotect", "mremap", "mseal", "msync", "munlock", "munlockall",
			"munmap", "pkey_alloc", "pkey_free", "pkey_mprotect", "remap_file_pages",
		},
		// processes, threads and their limits
		[]string{
			"arch_prctl", "capget", "capset", "execve", "execveat", "exit", "exit_group", "fork",
			"get_robust_list", "get_thread_area", "getcpu", "getegid", "geteuid", "getgid", "getgroups",
			"getpgid", "getpgrp", "getpid", "getppid", "getpriority", "getresgid", "getresuid", "getrlimit",
			"getrusage", "getsid", "gettid", "getuid", "ioprio_get", "ioprio_set", "pidfd_open",
			"pidfd_send_signal", "prctl", "prlimit64", "rseq", "sched_get_priority_max",
			"sched_get_priority_min", "sched_getaffinity", "sched_getattr", "sched_getparam",
			"sched_getscheduler", "sched_rr_get_interval", "sched_setaffinity", "sched_setattr",
			"sched_setparam", "sched_setscheduler", "sched_yield", "seccomp", "set_robust_list",
			"set_thread_area", "set_tid_address", "setfsgid", "setfsuid", "setgid", "setgroups", "setpgid",
			"setpriority", "setregid", "setresgid", "setresuid", "setreuid", "setrlimit", "setsid", "setuid",
			"sysinfo", "times", "uname", "vfork", "wait4", "waitid", "landlock_add_rule",
			"landlock_create_ruleset", "landlock_restrict_self",
		},
		// signals and timers
		[]string{
			"alarm", "clock_getres", "clock_gettime", "clock_nanosleep", "getitimer", "gettimeofday",
			"kill", "nanosleep", "pause", "restart_syscall", "rt_sigaction", "rt_sigpending",
			"rt_sigprocmask", "rt_sigqueueinfo", "rt_sigreturn", "rt_sigsuspend", "rt_sigtimedwait",
			"rt_tgsigqueueinfo", "setitimer", "sigaltstack", "signalfd", "signalfd4", "tgkill", "time",
			"timer_create", "timer_delete", "timer_getoverrun", "timer_gettime", "timer_settime",
			"timerfd_create", "timerfd_gettime", "timerfd_settime", "tkill",
		},
		// waiting, pipes and shared memory
		[]string{
			"epoll_create", "epoll_create1", "epoll_ctl", "epoll_pwait", "epoll_pwait2", "epoll_wait",
			"eventfd", "eventfd2", "futex", "futex_requeue", "futex_wait", "futex_waitv", "futex_wake",
			"io_cancel", "io_destroy", "io_getevents", "io_pgetevents", "io_setup", "io_submit",
			"mq_getsetattr", "mq_notify", "mq_open", "mq_timedreceive", "mq_timedsend", "mq_unlink",
			"msgctl", "msgget", "msgrcv", "msgsnd", "pipe", "pipe2", "poll", "ppoll", "pselect6", "select",
			"semctl", "semget", "semop", "semtimedop", "shmat", "shmctl", "shmdt", "shmget",
		},
		// sockets, once made
		[]string{
			"accept", "accept4", "bind", "connect", "getpeername", "getsockname", "getsockopt",
			"listen", "recvfrom", "recvmmsg", "recvmsg", "sendmmsg", "sendmsg", "sendto", "setsockopt",
			"shutdown",
		},
		[]string{"getrandom"},
	)
	slices.Sort(all)
	return slices.Compact(all)
}

// The engine's seccomp profile.
type (
	profile struct {
		DefaultAction string           `json:"defaultAction"`
		ArchMap       []profileArch    `json:"archMap"`
		Syscalls      []profileSyscall `json:"syscalls"`
	}
	profileArch struct {
		Architecture    string   `json:"architecture"`
		SubArchitecture []string `json:"subArchitectures"`
	}
	profileSyscall struct {
		Names    []string     `json:"names"`
		Action   string       `json:"action"`
		ErrnoRet *uint        `json:"errnoRet,omitempty"`
		Args     []profileArg `json:"args,omitempty"`
	}
	profileArg struct {
		Index    uint   `json:"index"`
		Value    uint64 `json:"value"`
		ValueTwo uint64 `json:"valueTwo"`
		Op       string `json:"op"`
	}
)

// DockerSeccompJSON renders the list as the profile a container engine takes.
// No sub-architecture is named, so calls of another architecture kill.
func DockerSeccompJSON() []byte {
	const allow = "SCMP_ACT_ALLOW"
	p := profile{
		DefaultAction: "SCMP_ACT_ERRNO",
		ArchMap: []profileArch{
			{Architecture: "SCMP_ARCH_X86_64", SubArchitecture: []string{}},
			{Architecture: "SCMP_ARCH_AARCH64", SubArchitecture: []string{}},
		},
		Syscalls: []profileSyscall{{Names: allowed(), Action: allow}},
	}
	for _, r := range conditional() {
		for _, alternative := range r.any {
			p.Syscalls = append(p.Syscalls, profileSyscall{Names: []string{r.call}, Action: allow, Args: profileArgs(alternative)})
		}
	}
	enosys := uint(errnoNoSys)
	p.Syscalls = append(p.Syscalls, profileSyscall{Names: unknown(), Action: "SCMP_ACT_ERRNO", ErrnoRet: &enosys})
	out, err := json.Marshal(p)
	if err != nil {
		panic(err) // plain data: cannot happen
	}
	return out
}

func profileArgs(conditions []condition) []profileArg {
	var args []profileArg
	for _, c := range conditions {
		if c.mask != 0 {
			args = append(args, profileArg{Index: c.arg, Value: c.mask, ValueTwo: 0, Op: "SCMP_CMP_MASKED_EQ"})
			continue
		}
		args = append(args, profileArg{Index: c.arg, Value: c.val, Op: "SCMP_CMP_EQ"})
	}
	return args
}
