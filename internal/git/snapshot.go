package git

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"
	"golang.org/x/sys/unix"
)

// Limits of a snapshot when the request names none.
const (
	defaultMaxFile  = 1 << 30
	defaultMaxFiles = 1_000_000
	maxSkipped      = 1000 // listed one by one; the rest is counted
	maxDepth        = 512
)

// Errors of a snapshot.
var (
	ErrBusy     = errors.New("the tree is still being written")
	ErrTooMany  = errors.New("too many files")
	errCacheOld = errors.New("cached object is gone")
)

// SnapshotRequest says what to commit.
type SnapshotRequest struct {
	Dir     string    // the attempt's tree; no process writes in it now
	Parent  string    // commit the new one follows
	Base    string    // commit whose ignore rules hold; Parent when empty
	Message string    //
	Author  Identity  //
	Cache   string    // host-side file that remembers hashes; none when empty
	When    time.Time // time of the commit, now when zero

	MaxFileBytes int64 // larger files are skipped; 1 GiB when 0
	MaxFiles     int   // more entries than this is an error; 1,000,000 when 0
}

// Snapshot commits an agent's tree. It reads the tree without git: descriptors
// relative to their directory, never through a symlink, regular files and
// symlinks only. Whatever is left out is listed. The objects are in the user's
// object store when it returns, but no ref names them yet: SetBranch does.
func (st *Store) Snapshot(ctx context.Context, req SnapshotRequest) (SnapshotResult, error) {
	start := time.Now()
	if req.Base == "" {
		req.Base = req.Parent
	}
	if req.When.IsZero() {
		req.When = start
	}
	if req.MaxFileBytes == 0 {
		req.MaxFileBytes = defaultMaxFile
	}
	if req.MaxFiles == 0 {
		req.MaxFiles = defaultMaxFiles
	}
	res, err := st.snapshot(ctx, req, loadCache(req.Cache, st.format.name))
	if errors.Is(err, errCacheOld) {
		res, err = st.snapshot(ctx, req, nil) // an object we counted on was pruned
	}
	if err != nil {
		return SnapshotResult{}, fmt.Errorf("git: snapshot of %s: %w", req.Dir, err)
	}
	res.Took = time.Since(start)
	return res, nil
}

func (st *Store) snapshot(ctx context.Context, req SnapshotRequest, cache map[string]cacheEntry) (SnapshotResult, error) {
	w, err := st.newWalk(ctx, req, cache)
	if err != nil {
		return SnapshotResult{}, err
	}
	defer w.pack.close()
	root, err := w.run(ctx)
	if err != nil {
		return SnapshotResult{}, err
	}
	if err := w.checkCached(ctx); err != nil {
		return SnapshotResult{}, err
	}
	for _, h := range w.hashed {
		w.seen[h.path] = cacheEntry{Key: h.key, OID: h.node.oid}
	}
	tree, err := w.tree(root)
	if err != nil {
		return SnapshotResult{}, err
	}
	res := w.result
	res.Tree, res.Commit = tree, w.parent
	if tree != w.parentTree {
		res.Changed = true
		res.Commit, err = st.commit(ctx, w.pack, tree, []string{w.parent}, req.Author, req.When, req.Message)
		if err != nil {
			return SnapshotResult{}, err
		}
	}
	if w.noCache == nil && req.Cache != "" {
		w.noCache = saveCache(req.Cache, st.format.name, w.clock, w.seen)
	}
	if w.noCache != nil {
		res.CacheProblem = w.noCache.Error()
	}
	return res, nil
}

// node is an entry of the new tree. Workers fill in the id of files.
type node struct {
	name     string
	mode     string
	oid      string
	children []*node // of a directory that was read
}

// newWalk reads what the parent and the base hold.
func (st *Store) newWalk(ctx context.Context, req SnapshotRequest, cache map[string]cacheEntry) (*walk, error) {
	w := &walk{
		st: st, req: req, cache: cache, seen: map[string]cacheEntry{},
		parents: map[string]leaf{}, tracked: map[string]bool{}, known: map[string]bool{},
	}
	var err error
	if w.parent, err = st.resolve(ctx, req.Parent); err != nil {
		return nil, err
	}
	if w.parentTree, err = st.treeOf(ctx, w.parent); err != nil {
		return nil, err
	}
	leaves, err := st.leaves(ctx, w.parentTree, true, false)
	if err != nil {
		return nil, err
	}
	for _, l := range leaves {
		w.parents[l.path], w.tracked[l.path], w.known[l.oid] = l, true, true
	}
	base, err := st.treeOf(ctx, req.Base)
	if err != nil {
		return nil, err
	}
	if base != w.parentTree {
		if leaves, err = st.leaves(ctx, base, true, false); err != nil {
			return nil, err
		}
		for _, l := range leaves {
			w.tracked[l.path], w.known[l.oid] = true, true
		}
	}
	if w.rules, err = st.loadIgnore(ctx, leaves); err != nil {
		return nil, err
	}
	if req.Cache != "" {
		w.clock, w.noCache = fileClock(filepath.Dir(req.Cache))
	}
	w.pack, err = st.newPack()
	return w, err
}

// run walks in one goroutine and hashes in others.
func (w *walk) run(ctx context.Context) (*node, error) {
	fd, err := openDir(unix.AT_FDCWD, w.req.Dir)
	if err != nil {
		return nil, err
	}
	defer closeDirs(fd)
	var top unix.Stat_t
	if err := unix.Fstat(fd, &top); err != nil {
		return nil, err
	}
	w.dev = uint64(top.Dev)
	jobs := make(chan job, 64)
	g, ctx := errgroup.WithContext(ctx)
	w.jobs = jobs
	root := &node{mode: modeTree}
	g.Go(func() error {
		defer close(jobs)
		return w.dir(ctx, fd, "", root, false, 0)
	})
	for range max(2, runtime.GOMAXPROCS(0)) {
		g.Go(func() error {
			var err error
			for j := range jobs {
				if err == nil && ctx.Err() == nil {
					err = w.hash(j)
				}
				_ = j.file.Close() // read only
			}
			return err
		})
	}
	return root, g.Wait()
}

// checkCached makes sure that ids taken from the cache still have an object.
func (w *walk) checkCached(ctx context.Context) error {
	got, err := w.st.statObjects(ctx, w.doubt)
	if err != nil {
		return err
	}
	for _, o := range got {
		if o.Kind != "blob" {
			return errCacheOld
		}
	}
	return nil
}

// tree names a directory and stores the trees that are new. Names are ordered
// as git does: a directory as if it ended in a slash.
func (w *walk) tree(n *node) (string, error) {
	key := func(c *node) string {
		if c.mode == modeTree {
			return c.name + "/"
		}
		return c.name
	}
	var kids []*node
	for _, c := range n.children {
		if c.mode == modeTree && c.oid == "" {
			if len(c.children) == 0 {
				continue // an empty directory is no entry
			}
			var err error
			if c.oid, err = w.tree(c); err != nil {
				return "", err
			}
			if c.oid == "" {
				continue
			}
		}
		kids = append(kids, c)
	}
	if len(kids) == 0 && n.name != "" {
		return "", nil
	}
	slices.SortFunc(kids, func(a, b *node) int { return strings.Compare(key(a), key(b)) })
	var data []byte
	for _, c := range kids {
		raw, err := hex.DecodeString(c.oid)
		if err != nil || len(raw) != w.st.format.size {
			return "", fmt.Errorf("object id %q of %q", c.oid, c.name)
		}
		data = append(data, strings.TrimPrefix(c.mode, "0")...)
		data = append(data, ' ')
		data = append(data, c.name...)
		data = append(append(data, 0), raw...)
	}
	if id := w.st.format.id("tree", data); w.known[id] {
		return id, nil
	}
	return w.pack.add("tree", data)
}
