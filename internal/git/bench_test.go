package git

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

// manyFiles is a repository of n files, checked out once.
func manyFiles(b *testing.B, n int) *world {
	b.Helper()
	r := newRepo(b)
	for i := range n {
		r.write(fmt.Sprintf("d%02d/e%02d/file%05d.go", i%20, i/20%25, i), fmt.Sprintf("package p\n\n// file %d\nfunc f%d() {}\n", i, i))
	}
	r.commit("base")
	r.git("repack", "-adq")
	return r.open("main")
}

// touch changes n files.
func (w *world) touch(b *testing.B, n, round int) {
	b.Helper()
	for i := range n {
		w.put(fmt.Sprintf("d%02d/e%02d/file%05d.go", i%20, i/20%25, i), fmt.Sprintf("package p\n\n// round %d of %d\n", round, i))
	}
}

// BenchmarkSnapshotAndDiff is 20,000 files of which 2,000 changed since the
// last snapshot: commit them and read the whole diff.
func BenchmarkSnapshotAndDiff(b *testing.B) {
	w := manyFiles(b, 20_000)
	req := w.request()
	req.Cache = filepath.Join(b.TempDir(), "cache")
	must(w.st.Snapshot(w.ctx, req))(b)
	var res SnapshotResult
	for i := 0; b.Loop(); i++ {
		b.StopTimer()
		w.touch(b, 2000, i)
		b.StartTimer()
		res = must(w.st.Snapshot(w.ctx, req))(b)
		set := must(w.st.Diff(w.ctx, w.base, res.Commit, DiffOptions{}))(b)
		if len(set.Files) != 2000 {
			b.Fatal(len(set.Files))
		}
	}
	b.ReportMetric(float64(res.Took.Milliseconds()), "ms-snapshot")
	b.ReportMetric(float64(res.Hashed), "files-read")
}

// BenchmarkRawGit is the same work by an ordinary git in an ordinary work tree.
func BenchmarkRawGit(b *testing.B) {
	w := manyFiles(b, 20_000)
	w.tree = w.dir
	for i := 0; b.Loop(); i++ {
		b.StopTimer()
		w.touch(b, 2000, i)
		b.StartTimer()
		w.git("add", "-A")
		w.git("commit", "-q", "-m", "work")
		w.git("diff", "-M", w.base, "HEAD")
	}
}

// BenchmarkCheckout writes 10,000 files; checkout-index does so with two workers.
func BenchmarkCheckout(b *testing.B) {
	w := manyFiles(b, 10_000)
	dir := b.TempDir()
	b.Run("moeca", func(b *testing.B) {
		for i := 0; b.Loop(); i++ {
			at := filepath.Join(dir, fmt.Sprint("m", i))
			if err := w.st.Checkout(w.ctx, w.base, at, Owner{-1, -1}); err != nil {
				b.Fatal(err)
			}
			b.StopTimer()
			_ = os.RemoveAll(at)
			b.StartTimer()
		}
	})
	b.Run("git", func(b *testing.B) {
		for i := 0; b.Loop(); i++ {
			at := filepath.Join(dir, fmt.Sprint("g", i)) + "/"
			w.git("-c", "checkout.workers=2", "-c", "checkout.thresholdForParallelism=0", "checkout-index", "-a", "-q", "--prefix="+at)
			b.StopTimer()
			_ = os.RemoveAll(at)
			b.StartTimer()
		}
	})
}
