package native

import (
	"errors"
	"fmt"
	"os"
	"path"
	"strconv"

	"golang.org/x/sys/unix"
)

const (
	shmPath = "/dev/shm"

	safe = unix.MOUNT_ATTR_NOSUID | unix.MOUNT_ATTR_NODEV
)

// devices are bound from the host: a user namespace cannot make its own.
func devices() []string { return []string{"full", "null", "random", "tty", "urandom", "zero"} }

// links are the usual names of a process's own descriptors.
func links() map[string]string {
	return map[string]string{
		"fd": "/proc/self/fd", "stdin": "/proc/self/fd/0", "stdout": "/proc/self/fd/1", "stderr": "/proc/self/fd/2",
	}
}

// builder mounts below a root directory, through descriptors only: no path of
// the image is resolved through a symbolic link.
type builder struct {
	root int // O_PATH on the new root
}

// buildRoot assembles the sandbox's file system and makes it the root. The
// host's mounts are gone afterwards.
func buildRoot(c config) error {
	if err := unix.Mount("", "/", "", unix.MS_PRIVATE|unix.MS_REC, ""); err != nil {
		return fmt.Errorf("make mounts private: %w", err)
	}
	if err := cloneOnto(c.Root, unix.AT_FDCWD, c.Root, false, safe|unix.MOUNT_ATTR_RDONLY); err != nil {
		return fmt.Errorf("root %s: %w", c.Root, err)
	}
	root, err := unix.Open(c.Root, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("root %s: %w", c.Root, err)
	}
	b := builder{root}
	for _, step := range []func(config) error{b.proc, b.dev, b.binds, b.scratch, b.sealDev, b.mask} {
		if err := step(c); err != nil {
			return err
		}
	}
	return b.pivot()
}

// cloneOnto attaches a private copy of the mount at source to a place, with
// attributes that hold from its first moment.
func cloneOnto(source string, atFD int, target string, recursive bool, attributes uint64) error {
	flags := uint(unix.OPEN_TREE_CLONE | unix.OPEN_TREE_CLOEXEC | unix.AT_SYMLINK_NOFOLLOW)
	var setFlags uint = unix.AT_EMPTY_PATH
	if recursive {
		flags |= unix.AT_RECURSIVE
		setFlags |= unix.AT_RECURSIVE
	}
	tree, err := unix.OpenTree(unix.AT_FDCWD, source, flags)
	if err != nil {
		return fmt.Errorf("open %s: %w", source, err)
	}
	defer unix.Close(tree)
	attr := unix.MountAttr{Attr_set: attributes, Propagation: unix.MS_PRIVATE}
	if err := unix.MountSetattr(tree, "", setFlags, &attr); err != nil {
		return fmt.Errorf("restrict %s: %w", source, err)
	}
	move := unix.MOVE_MOUNT_F_EMPTY_PATH
	if target == "" {
		move |= unix.MOVE_MOUNT_T_EMPTY_PATH
	}
	if err := unix.MoveMount(tree, "", atFD, target, move); err != nil {
		return fmt.Errorf("attach %s: %w", source, err)
	}
	return nil
}

// at opens a place in the new root without following any symbolic link.
func (b builder) at(p string) (int, error) {
	how := unix.OpenHow{Flags: unix.O_PATH | unix.O_CLOEXEC | unix.O_NOFOLLOW, Resolve: unix.RESOLVE_IN_ROOT | unix.RESOLVE_NO_SYMLINKS}
	fd, err := unix.Openat2(b.root, p, &how)
	if err != nil {
		return -1, fmt.Errorf("%s in the image: %w", p, err)
	}
	return fd, nil
}

// bind clones a host path onto a place.
func (b builder) bind(m bind, recursive bool, attributes uint64) error {
	fd, err := b.at(m.Target)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	if m.ReadOnly {
		attributes |= unix.MOUNT_ATTR_RDONLY
	}
	return cloneOnto(m.Source, fd, "", recursive, attributes)
}

// mount mounts a fresh file system onto a place.
func (b builder) mount(fstype, p string, flags uintptr, options string) error {
	fd, err := b.at(p)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	if err := unix.Mount(fstype, fdPath(fd), fstype, flags, options); err != nil {
		return fmt.Errorf("%s on %s: %w", fstype, p, err)
	}
	return nil
}

func fdPath(fd int) string { return "/proc/self/fd/" + strconv.Itoa(fd) }

func (b builder) proc(config) error {
	err := b.mount("proc", "/proc", unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, "")
	if errors.Is(err, unix.EPERM) {
		return fmt.Errorf("%w; the host's own /proc is partly masked, as in a container", err)
	}
	return err
}

// dev makes a minimal /dev, writable until sealDev.
func (b builder) dev(config) error {
	if err := b.mount("tmpfs", "/dev", unix.MS_NOSUID|unix.MS_NOEXEC, "size=65536,nr_inodes=64,mode=0755"); err != nil {
		return err
	}
	dir, err := b.at("/dev")
	if err != nil {
		return err
	}
	defer unix.Close(dir)
	for _, name := range devices() {
		fd, err := unix.Openat(dir, name, unix.O_CREAT|unix.O_EXCL|unix.O_CLOEXEC|unix.O_WRONLY, 0o666)
		if err != nil {
			return fmt.Errorf("/dev/%s: %w", name, err)
		}
		unix.Close(fd)
		device := bind{Source: "/dev/" + name, Target: "/dev/" + name}
		if err := b.bind(device, false, unix.MOUNT_ATTR_NOSUID|unix.MOUNT_ATTR_NOEXEC); err != nil {
			return err
		}
	}
	for name, to := range links() {
		if err := unix.Symlinkat(to, dir, name); err != nil {
			return fmt.Errorf("/dev/%s: %w", name, err)
		}
	}
	if err := unix.Mkdirat(dir, path.Base(shmPath), 0o755); err != nil {
		return fmt.Errorf("%s: %w", shmPath, err)
	}
	return nil
}

func (b builder) sealDev(config) error {
	fd, err := b.at("/dev")
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	return unix.MountSetattr(fd, "", unix.AT_EMPTY_PATH, &unix.MountAttr{Attr_set: unix.MOUNT_ATTR_RDONLY})
}

func (b builder) binds(c config) error {
	for _, m := range c.Mounts {
		if err := b.bind(m, false, safe); err != nil {
			return err
		}
	}
	return nil
}

func (b builder) scratch(c config) error {
	for _, t := range c.Scratch {
		flags := uintptr(unix.MS_NOSUID | unix.MS_NODEV)
		if !t.Exec {
			flags |= unix.MS_NOEXEC
		}
		if err := b.mount("tmpfs", t.Target, flags, t.Options); err != nil {
			return err
		}
	}
	return nil
}

// mask hides and protects parts of /proc. What this kernel does not have needs
// neither.
func (b builder) mask(c config) error {
	for _, p := range c.ReadOnly {
		err := b.protect(p)
		if err != nil && !errors.Is(err, unix.ENOENT) {
			return fmt.Errorf("protect %s: %w", p, err)
		}
	}
	for _, p := range c.Masked {
		err := b.hide(p)
		if err != nil && !errors.Is(err, unix.ENOENT) {
			return fmt.Errorf("mask %s: %w", p, err)
		}
	}
	return nil
}

func (b builder) protect(p string) error {
	fd, err := b.at(p)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	// The place itself is the source: it is cloned through its descriptor.
	tree, err := unix.OpenTree(fd, "", unix.OPEN_TREE_CLONE|unix.OPEN_TREE_CLOEXEC|unix.AT_EMPTY_PATH)
	if err != nil {
		return err
	}
	defer unix.Close(tree)
	attr := unix.MountAttr{Attr_set: unix.MOUNT_ATTR_RDONLY, Propagation: unix.MS_PRIVATE}
	if err := unix.MountSetattr(tree, "", unix.AT_EMPTY_PATH, &attr); err != nil {
		return err
	}
	return unix.MoveMount(tree, "", fd, "", unix.MOVE_MOUNT_F_EMPTY_PATH|unix.MOVE_MOUNT_T_EMPTY_PATH)
}

func (b builder) hide(p string) error {
	fd, err := b.at(p)
	if err != nil {
		return err
	}
	var st unix.Stat_t
	err = unix.Fstat(fd, &st)
	unix.Close(fd)
	if err != nil {
		return err
	}
	if st.Mode&unix.S_IFMT == unix.S_IFDIR {
		return b.mount("tmpfs", p, unix.MS_RDONLY|unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, "size=4096,nr_inodes=2,mode=0555")
	}
	return b.bind(bind{Source: os.DevNull, Target: p, ReadOnly: true}, false, unix.MOUNT_ATTR_NOSUID|unix.MOUNT_ATTR_NOEXEC)
}

// pivot makes the new root the root and detaches the host's.
func (b builder) pivot() error {
	if err := unix.Fchdir(b.root); err != nil {
		return fmt.Errorf("enter the new root: %w", err)
	}
	if err := unix.PivotRoot(".", "."); err != nil {
		return fmt.Errorf("pivot: %w", err)
	}
	if err := unix.Unmount(".", unix.MNT_DETACH); err != nil {
		return fmt.Errorf("detach the host's file system: %w", err)
	}
	return unix.Chdir("/")
}
