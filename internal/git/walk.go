package git

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	"golang.org/x/sys/unix"

	"moeca/internal/diff"
)

// Reasons a path is left out of a snapshot. Where the agent made something that
// is no file, the path is gone from the commit; where the path is there but
// could not be taken, the parent's version of it is kept.
const (
	SkipGit        = "git-directory" // any spelling of .git
	SkipFifo       = "fifo"
	SkipSocket     = "socket"
	SkipDevice     = "device"
	SkipName       = "hostile-name"
	SkipPathLong   = "path-too-long"
	SkipLongLink   = "symlink-target-length"
	SkipUnreadable = "unreadable"           // parent's version kept
	SkipTooLarge   = "too-large"            // parent's version kept
	SkipTooDeep    = "too-deep"             // parent's version kept
	SkipMount      = "other-file-system"    // parent's version kept
	SkipModules    = "symlinked-gitmodules" // parent's version kept: git refuses to check a link out
	SkipSubmodule  = "inside-submodule"     // the submodule is kept, files in it are not taken
)

// smallFile is up to where a file is read into memory once; a larger one is
// read twice, to name it and to store it.
const smallFile = 4 << 20

// walk is one reading of an agent's tree. The goroutine in dir owns result,
// seen, doubt and count; parents, tracked, known, rules and cache do not
// change; pack has its own lock.
type walk struct {
	st         *Store
	req        SnapshotRequest
	parent     string
	parentTree string
	parents    map[string]leaf // the parent's tree, directories too
	tracked    map[string]bool // paths of parent and base: never ignored
	known      map[string]bool // objects that are already stored
	rules      ignoreRules
	cache      map[string]cacheEntry
	pack       *pack
	dev        uint64
	clock      int64
	noCache    error // why nothing is remembered for the next snapshot
	jobs       chan<- job

	result SnapshotResult
	seen   map[string]cacheEntry
	doubt  []string // cached ids that neither tree holds
	count  int
	hashed []*hashed
}

// job is a file to read. Its descriptor was opened by the walk and is closed
// by the worker.
type job struct {
	path string
	file *os.File
	stat unix.Stat_t
	node *node
	to   *hashed
}

// hashed is where a worker leaves the identity of what it read.
type hashed struct {
	path string
	key  statKey
	node *node
}

// entry is one name met in a directory.
type entry struct {
	at   int // descriptor of its directory
	name string
	path string
	stat unix.Stat_t
}

// dir reads one directory. onlyTracked is set below an ignored one.
func (w *walk) dir(ctx context.Context, fd int, rel string, into *node, onlyTracked bool, depth int) error {
	names, err := readNames(fd, w.req.MaxFiles)
	if err != nil {
		return fmt.Errorf("%q: %w", rel, err)
	}
	for _, name := range names {
		if err := ctx.Err(); err != nil {
			return err
		}
		if w.count++; w.count > w.req.MaxFiles {
			return fmt.Errorf("%w: more than %d entries; remove what the task does not need", ErrTooMany, w.req.MaxFiles)
		}
		e := entry{at: fd, name: name, path: name}
		if rel != "" {
			e.path = rel + "/" + name
		}
		n, err := w.entry(ctx, &e, onlyTracked, depth)
		if err != nil {
			return err
		}
		if n != nil {
			n.name = name
			into.children = append(into.children, n)
			if n.mode != modeTree {
				w.result.Files++
			}
		}
	}
	return nil
}

// readNames lists a directory in byte order without moving fd's own offset.
// More than limit names are an error before all are held in memory; 0 is none.
func readNames(fd, limit int) ([]string, error) {
	again, err := openDir(fd, ".")
	if err != nil {
		return nil, err
	}
	f := os.NewFile(uintptr(again), "directory")
	var names []string
	for err == nil {
		var more []string
		more, err = f.Readdirnames(4096)
		names = append(names, more...)
		if limit > 0 && len(names) > limit {
			err = fmt.Errorf("%w: more than %d in one directory; remove what the task does not need", ErrTooMany, limit)
		}
	}
	if err == io.EOF {
		err = nil
	}
	slices.Sort(names)
	return names, errors.Join(err, f.Close())
}

// entry decides about one name; nil leaves it out.
func (w *walk) entry(ctx context.Context, e *entry, onlyTracked bool, depth int) (*node, error) {
	if isDotGit(e.name) {
		return w.skip(e, SkipGit)
	}
	if badComponent(e.name) != "" {
		return w.skip(e, SkipName)
	}
	if len(e.path) > maxPath {
		return w.skip(e, SkipPathLong)
	}
	if err := unix.Fstatat(e.at, e.name, &e.stat, unix.AT_SYMLINK_NOFOLLOW); err != nil {
		return nil, fmt.Errorf("%q: %w: %w", e.path, ErrBusy, err)
	}
	kind := e.stat.Mode & unix.S_IFMT
	isDir := kind == unix.S_IFDIR
	ignored := onlyTracked && !w.tracked[e.path]
	if !ignored && (isDir || !w.tracked[e.path]) && w.rules.ignored(e.path, isDir) {
		onlyTracked, ignored = true, !w.tracked[e.path]
	}
	if ignored {
		w.result.Ignored++
		return nil, nil
	}
	switch kind {
	case unix.S_IFDIR:
		return w.subdir(ctx, e, onlyTracked, depth)
	case unix.S_IFREG:
		return w.regular(ctx, e)
	case unix.S_IFLNK:
		return w.symlink(e)
	case unix.S_IFIFO:
		return w.skip(e, SkipFifo)
	case unix.S_IFSOCK:
		return w.skip(e, SkipSocket)
	}
	return w.skip(e, SkipDevice)
}

// skip lists a path as left out, once for each up to a bound.
func (w *walk) skip(e *entry, reason string) (*node, error) {
	w.result.SkippedTotal++
	if len(w.result.Skipped) < maxSkipped {
		w.result.Skipped = append(w.result.Skipped, Skipped{Path: diff.Printable(e.path), Reason: reason})
	}
	return nil, nil
}

// keep lists a path as left out and takes the parent's version of it.
func (w *walk) keep(e *entry, reason string) (*node, error) {
	if _, err := w.skip(e, reason); err != nil {
		return nil, err
	}
	if l, ok := w.parents[e.path]; ok {
		return &node{mode: l.mode, oid: l.oid}, nil
	}
	return nil, nil
}

func (w *walk) subdir(ctx context.Context, e *entry, onlyTracked bool, depth int) (*node, error) {
	if uint64(e.stat.Dev) != w.dev {
		return w.keep(e, SkipMount)
	}
	if depth >= maxDepth {
		return w.keep(e, SkipTooDeep)
	}
	fd, err := openDir(e.at, e.name)
	if errors.Is(err, os.ErrPermission) {
		return w.keep(e, SkipUnreadable)
	}
	if err != nil {
		return nil, fmt.Errorf("%q: %w: %w", e.path, ErrBusy, err)
	}
	defer closeDirs(fd)
	var now unix.Stat_t
	if err := unix.Fstat(fd, &now); err != nil || now.Dev != e.stat.Dev || now.Ino != e.stat.Ino {
		return nil, fmt.Errorf("%q: %w: directory was swapped", e.path, ErrBusy)
	}
	if l := w.parents[e.path]; l.mode == modeGitlink {
		if names, err := readNames(fd, 1); err != nil || len(names) > 0 {
			return w.keep(e, SkipSubmodule)
		}
		return &node{mode: l.mode, oid: l.oid}, nil
	}
	n := &node{mode: modeTree}
	return n, w.dir(ctx, fd, e.path, n, onlyTracked, depth+1)
}

func (w *walk) regular(ctx context.Context, e *entry) (*node, error) {
	if e.stat.Size > w.req.MaxFileBytes {
		return w.keep(e, SkipTooLarge)
	}
	n := &node{mode: modeFile}
	if e.stat.Mode&0o100 != 0 {
		n.mode = modeExec
	}
	key := keyOf(&e.stat)
	if c, ok := w.cache[e.path]; ok && c.Key == key {
		n.oid = c.OID
		w.seen[e.path] = c
		if !w.known[c.OID] {
			w.doubt = append(w.doubt, c.OID)
		}
		return n, nil
	}
	fd, err := unix.Openat(e.at, e.name, unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_NOCTTY|unix.O_CLOEXEC, 0)
	if errors.Is(err, os.ErrPermission) {
		return w.keep(e, SkipUnreadable)
	}
	if err != nil {
		return nil, fmt.Errorf("%q: %w: %w", e.path, ErrBusy, err)
	}
	j := job{path: e.path, file: os.NewFile(uintptr(fd), e.name), stat: e.stat, node: n}
	var now unix.Stat_t
	if err := unix.Fstat(fd, &now); err != nil || now.Dev != e.stat.Dev || now.Ino != e.stat.Ino {
		_ = j.file.Close() // read only
		return nil, fmt.Errorf("%q: %w: file was swapped", e.path, ErrBusy)
	}
	j.to = &hashed{path: e.path, node: n}
	w.hashed = append(w.hashed, j.to)
	w.result.Hashed++
	select {
	case w.jobs <- j:
		return n, nil
	case <-ctx.Done():
		_ = j.file.Close() // read only
		return nil, ctx.Err()
	}
}

func (w *walk) symlink(e *entry) (*node, error) {
	if isGitModules(e.name) {
		return w.keep(e, SkipModules)
	}
	buf := make([]byte, maxLink+1)
	n, err := unix.Readlinkat(e.at, e.name, buf)
	if err != nil {
		return nil, fmt.Errorf("%q: %w: %w", e.path, ErrBusy, err)
	}
	if n > maxLink {
		return w.skip(e, SkipLongLink)
	}
	id, err := w.store(buf[:n])
	return &node{mode: modeSymlink, oid: id}, err
}

// store names content and keeps it if it is new.
func (w *walk) store(data []byte) (string, error) {
	if id := w.st.format.id("blob", data); w.known[id] {
		return id, nil
	}
	return w.pack.add("blob", data)
}

// tries is how often a file that changes while it is read is read again.
const tries = 3

// hash reads one file until it holds still.
func (w *walk) hash(j job) error {
	for range tries {
		err := w.hashOnce(&j)
		if err == nil {
			return nil
		}
		if !errors.Is(err, errChanged) {
			return fmt.Errorf("%q: %w", j.path, err)
		}
		if err := unix.Fstat(int(j.file.Fd()), &j.stat); err != nil {
			return fmt.Errorf("%q: %w", j.path, err)
		}
		if j.stat.Size > w.req.MaxFileBytes {
			break
		}
	}
	return fmt.Errorf("%q: %w: stop what writes there and snapshot again", j.path, ErrBusy)
}

func (w *walk) hashOnce(j *job) error {
	var err error
	if j.stat.Size <= smallFile {
		err = w.hashSmall(j)
	} else {
		err = w.hashLarge(j)
	}
	if err != nil {
		return err
	}
	var after unix.Stat_t
	if err := unix.Fstat(int(j.file.Fd()), &after); err != nil {
		return err
	}
	if keyOf(&after) != keyOf(&j.stat) {
		return errChanged
	}
	j.to.key = keyOf(&after)
	return nil
}

func (w *walk) hashSmall(j *job) error {
	buf := make([]byte, j.stat.Size+1)
	n, err := io.ReadFull(io.NewSectionReader(j.file, 0, j.stat.Size+1), buf)
	if err != nil && err != io.EOF && err != io.ErrUnexpectedEOF {
		return err
	}
	if int64(n) != j.stat.Size {
		return errChanged
	}
	j.node.oid, err = w.store(buf[:n])
	return err
}

func (w *walk) hashLarge(j *job) error {
	h := w.st.format.start("blob", j.stat.Size)
	n, err := io.Copy(h, io.NewSectionReader(j.file, 0, j.stat.Size+1))
	if err != nil {
		return err
	}
	if n != j.stat.Size {
		return errChanged
	}
	id := fmt.Sprintf("%x", h.Sum(nil))
	if !w.known[id] {
		if err := w.pack.addStream(id, j.stat.Size, io.NewSectionReader(j.file, 0, j.stat.Size)); err != nil {
			return err
		}
	}
	j.node.oid = id
	return nil
}
