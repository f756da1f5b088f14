package git

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// settled waits until the file system's clock has passed what was written, so
// that a cache may believe it.
func (w *world) settled() {
	w.t.Helper()
	start, err := fileClock(w.tree + "/..")
	if err != nil {
		w.t.Fatal(err)
	}
	for now := start; now == start; {
		if now, err = fileClock(w.tree + "/.."); err != nil {
			w.t.Fatal(err)
		}
	}
}

func (w *world) cached(t *testing.T) SnapshotRequest {
	req := w.request()
	req.Cache = filepath.Join(t.TempDir(), "cache")
	return req
}

func (w *world) take(req SnapshotRequest) SnapshotResult {
	w.t.Helper()
	res, err := w.st.Snapshot(w.ctx, req)
	if err != nil {
		w.t.Fatal(err)
	}
	return res
}

// Only what changed is read again.
func TestCacheReadsOnlyChanges(t *testing.T) {
	w := seeded(t).open("main")
	for i := range 20 {
		w.put(fmt.Sprintf("f%d", i), "x")
	}
	w.settled()
	req := w.cached(t)
	if res := w.take(req); res.Hashed != 22 {
		t.Fatalf("first: %+v", res)
	}
	if res := w.take(req); res.Hashed != 0 {
		t.Fatalf("second: %+v", res)
	}
	w.put("f3", "y")
	w.settled()
	res := w.take(req)
	if got, err := w.st.ReadFile(w.ctx, res.Commit, "f3", 9); res.Hashed != 1 || err != nil || string(got) != "y" {
		t.Fatalf("third: %+v %q %v", res, got, err)
	}
}

// An edit that restores size and mtime is seen: only the kernel sets ctime.
func TestCacheSeesForgedTimes(t *testing.T) {
	w := seeded(t).open("main")
	w.put("f", "good")
	w.settled()
	req := w.cached(t)
	w.take(req)
	fi, err := os.Stat(filepath.Join(w.tree, "f"))
	if err != nil {
		t.Fatal(err)
	}
	w.put("f", "evil")
	if err := os.Chtimes(filepath.Join(w.tree, "f"), fi.ModTime(), fi.ModTime()); err != nil {
		t.Fatal(err)
	}
	res := w.take(req)
	if got, err := w.st.ReadFile(w.ctx, res.Commit, "f", 9); err != nil || string(got) != "evil" {
		t.Fatalf("%q %v", got, err)
	}
}

// A file written in the same tick of the clock as a snapshot is read again.
func TestCacheRacyRule(t *testing.T) {
	w := seeded(t).open("main")
	req := w.cached(t)
	for i := range 15 {
		want := fmt.Sprintf("%04d", i) // always the same size
		w.put("f", want)
		res := w.take(req)
		if got, err := w.st.ReadFile(w.ctx, res.Commit, "f", 9); err != nil || string(got) != want {
			t.Fatalf("%q, want %q, %v", got, want, err)
		}
	}
	entries := map[string]cacheEntry{"old": {Key: statKey{Ctime: 9, Mtime: 9}}, "same": {Key: statKey{Ctime: 10, Mtime: 9}}, "new": {Key: statKey{Ctime: 11}}}
	if err := saveCache(req.Cache, "sha1", 10, entries); err != nil {
		t.Fatal(err)
	}
	if got := loadCache(req.Cache, "sha1"); len(got) != 1 || got["old"].Key.Ctime != 9 {
		t.Fatalf("%+v", got)
	}
}

// A damaged cache, or one whose objects were pruned, costs time and nothing else.
func TestCacheIsOnlyAHint(t *testing.T) {
	w := seeded(t).open("main")
	w.put("f", "text")
	w.settled()
	req := w.cached(t)
	first := w.take(req)
	w.git("gc", "-q", "--prune=now") // no ref names the commit yet
	if again := w.take(req); again.Commit != first.Commit {
		t.Fatalf("%+v", again)
	}
	w.git("fsck", first.Commit)
	for _, junk := range []string{"", "junk", strings.Repeat("\xff", 1000)} {
		put(t, req.Cache, junk)
		if again := w.take(req); again.Commit != first.Commit || again.Hashed != 3 {
			t.Fatalf("%+v", again)
		}
	}
	if err := os.Remove(req.Cache); err != nil {
		t.Fatal(err)
	}
	put(t, filepath.Join(req.Cache, "a-directory"), "x")
	if again := w.take(req); again.Commit != first.Commit || again.CacheProblem == "" {
		t.Fatalf("%+v", again)
	}
	req.Cache = filepath.Join(t.TempDir(), "made/on/demand/cache")
	if again := w.take(req); again.CacheProblem != "" {
		t.Fatalf("%+v", again)
	}
	if loadCache(req.Cache, "sha256") != nil {
		t.Fatal("a cache of another format was believed")
	}
}

// Large files go the way that does not hold them in memory; many objects go as
// one pack.
func TestLargeAndMany(t *testing.T) {
	w := seeded(t).open("main")
	big := strings.Repeat("0123456789abcdef", (smallFile+100)/16)
	w.put("big", big)
	w.put("twin", big)
	for i := range 300 {
		w.put(fmt.Sprintf("d%d/f%d", i%7, i), fmt.Sprint(i))
	}
	res := w.snapshot()
	for _, n := range []string{"big", "twin"} {
		if got, err := w.st.ReadFile(w.ctx, res.Commit, n, 1<<30); err != nil || string(got) != big {
			t.Fatalf("%s: %d bytes, %v", n, len(got), err)
		}
	}
	if got := w.git("diff", "--no-index", "--stat", w.tree, w.tree); got != "" || res.Files != 304 {
		t.Fatalf("%+v", res)
	}
	req := w.request()
	req.MaxFiles = 10
	if _, err := w.st.Snapshot(w.ctx, req); !errors.Is(err, ErrTooMany) {
		t.Fatal(err)
	}
	req.MaxFiles, req.MaxFileBytes = 0, 100
	if res := w.take(req); len(res.Skipped) != 2 {
		t.Fatalf("%+v", res)
	}
}

// The tree keeps changing under the walk, directories swap with symlinks to the
// outside: whatever a snapshot says, it holds nothing from there.
func TestSwapRace(t *testing.T) {
	w := seeded(t).open("main")
	outside := t.TempDir()
	put(t, filepath.Join(outside, "f"), secret)
	put(t, filepath.Join(outside, "file"), secret)
	w.put("dir/f", "inside")
	w.put("file", "inside")
	if err := os.Symlink(outside, filepath.Join(w.tree, "dirlink")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Join(outside, "file"), filepath.Join(w.tree, "filelink")); err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			select {
			case <-done:
				return
			default:
				for _, n := range []string{"dir", "file"} {
					_ = unix.Renameat2(unix.AT_FDCWD, filepath.Join(w.tree, n), unix.AT_FDCWD, filepath.Join(w.tree, n+"link"), unix.RENAME_EXCHANGE)
				}
			}
		}
	})
	taken := 0
	for range 30 {
		res, err := w.st.Snapshot(w.ctx, w.request())
		if err != nil {
			if !errors.Is(err, ErrBusy) {
				t.Error(err)
			}
			continue
		}
		taken++
		for _, p := range w.paths(res.Commit) {
			if data, err := w.st.ReadFile(w.ctx, res.Commit, p, 1000); err != nil || strings.Contains(string(data), secret) {
				t.Errorf("%s: %q %v", p, data, err)
			}
		}
	}
	close(done)
	wg.Wait()
	t.Logf("%d of 30 snapshots were taken", taken)
}

// A file that is written without a pause is refused, not half committed.
func TestBusyFile(t *testing.T) {
	w := seeded(t).open("main")
	w.put("log", strings.Repeat("x", 1<<20))
	f, err := os.OpenFile(filepath.Join(w.tree, "log"), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	done := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			select {
			case <-done:
				return
			default:
				if _, err := f.WriteString("line\n"); err != nil {
					t.Error(err)
					return
				}
			}
		}
	})
	res, err := w.st.Snapshot(w.ctx, w.request())
	close(done)
	wg.Wait()
	if err == nil {
		data, readErr := w.st.ReadFile(w.ctx, res.Commit, "log", 1<<30)
		if readErr != nil || (len(data)-1<<20)%5 != 0 {
			t.Fatalf("%d bytes, %v", len(data), readErr)
		}
	} else if !errors.Is(err, ErrBusy) {
		t.Fatal(err)
	}
}

// The root of a tree must be a directory, not a symlink to one.
func TestSnapshotRoot(t *testing.T) {
	w := seeded(t).open("main")
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(w.tree, link); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{link, filepath.Join(w.tree, "README.md"), filepath.Join(w.tree, "none"), ""} {
		req := w.request()
		req.Dir = dir
		if res, err := w.st.Snapshot(w.ctx, req); err == nil {
			t.Errorf("%q: %+v", dir, res)
		}
	}
	req := w.request()
	req.When = time.Time{}
	w.put("new", "x")
	if res := w.take(req); !res.Changed || res.Took <= 0 {
		t.Errorf("%+v", res)
	}
	if left, err := filepath.Glob(filepath.Join(w.st.dir, ".pack-*")); err != nil || len(left) > 0 {
		t.Errorf("left %v", left)
	}
}

// Emptying a tree is a change like any other.
func TestEmptyTree(t *testing.T) {
	w := seeded(t).open("main")
	for _, n := range []string{"README.md", "src"} {
		if err := os.RemoveAll(filepath.Join(w.tree, n)); err != nil {
			t.Fatal(err)
		}
	}
	if res := w.snapshot(); !res.Changed || res.Files != 0 || res.Tree != "4b825dc642cb6eb9a060e54bf8d69288fbee4904" {
		t.Errorf("%+v", res)
	}
}

// Content that is not what was promised leaves no trace in the stream.
func TestPackTakesBackAStream(t *testing.T) {
	w := seeded(t).open("main")
	p := must(w.st.newPack())(t)
	defer p.close()
	good := must(p.add("blob", []byte("good")))(t)
	long := strings.Repeat("text ", 1000)
	id := w.st.format.id("blob", []byte(long))
	for _, bad := range []string{strings.Repeat("TEXT ", 1000), "short"} {
		if err := p.addStream(id, int64(len(long)), strings.NewReader(bad)); !errors.Is(err, errChanged) {
			t.Fatal(err)
		}
	}
	if err := p.addStream(id, int64(len(long)), strings.NewReader(long)); err != nil {
		t.Fatal(err)
	}
	last := must(p.add("blob", []byte("last")))(t)
	if err := p.flush(w.ctx); err != nil {
		t.Fatal(err)
	}
	for _, oid := range []string{good, id, last} {
		w.git("cat-file", "-e", oid)
	}
}
