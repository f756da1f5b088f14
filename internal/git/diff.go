package git

import (
	"context"
	"fmt"
	"io"

	"moeca/internal/diff"
)

// DiffOptions bound a diff; zero means the default of package diff.
type DiffOptions struct {
	MaxFileLines  int
	MaxFileBytes  int64
	MaxLineBytes  int
	MaxTotalBytes int64
}

// maxBlob is the size from which git compares files by identity only.
const maxBlob = 32 << 20

// Diff compares two trees or commits. The list of files is always whole;
// content over a limit is left out and flagged.
func (st *Store) Diff(ctx context.Context, from, to string, o DiffOptions) (diff.Set, error) {
	a, b, err := st.pair(ctx, from, to)
	if err != nil {
		return diff.Set{}, err
	}
	var set diff.Set
	limits := diff.Limits{FileLines: o.MaxFileLines, FileBytes: o.MaxFileBytes, LineBytes: o.MaxLineBytes, TotalBytes: o.MaxTotalBytes}
	args := append(diffArgs(), "--numstat", "-p", "--full-index", "-U3", "--src-prefix=a/", "--dst-prefix=b/",
		"--diff-algorithm=histogram", "--submodule=short", a, b)
	err = st.diffRunner().stream(ctx, nil, func(r io.Reader) error {
		set, err = diff.Read(r, limits)
		return err
	}, args...)
	if err != nil {
		return diff.Set{}, st.explain(fmt.Sprintf("diff %s..%s", from, to), err)
	}
	set.From, set.To = from, to
	if err := st.sizes(ctx, &set); err != nil {
		return diff.Set{}, err
	}
	return set, st.warn(ctx, &set, b)
}

// Stat counts files and lines without content.
func (st *Store) Stat(ctx context.Context, from, to string) (files, added, deleted int, err error) {
	a, b, err := st.pair(ctx, from, to)
	if err != nil {
		return 0, 0, 0, err
	}
	var set diff.Set
	err = st.diffRunner().stream(ctx, nil, func(r io.Reader) error {
		set, err = diff.ReadLists(r)
		return err
	}, append(diffArgs(), "--numstat", a, b)...)
	if err != nil {
		return 0, 0, 0, st.explain(fmt.Sprintf("diff %s..%s", from, to), err)
	}
	for _, f := range set.Files {
		if f.Status == "type-changed" { // counted by what a diff shows of it
			set, err = st.Diff(ctx, from, to, DiffOptions{})
			break
		}
	}
	return len(set.Files), set.Added, set.Deleted, err
}

func (st *Store) pair(ctx context.Context, from, to string) (a, b string, err error) {
	if a, err = st.treeOf(ctx, from); err != nil {
		return "", "", err
	}
	b, err = st.treeOf(ctx, to)
	return a, b, err
}

func (st *Store) diffRunner() runner {
	r := st.git
	r.args = append(append([]string{}, r.args...), "-c", fmt.Sprintf("core.bigFileThreshold=%d", maxBlob))
	return r
}

// diffArgs list what changed, with nothing that runs a program.
func diffArgs() []string {
	return []string{
		"diff-tree", "-r", "-z", "--raw", "--no-color", "--no-ext-diff", "--no-textconv", "--no-relative",
		"--find-renames=50%", "-l2000", "--ignore-submodules=none", "--no-commit-id",
	}
}

// sizes fills in blob sizes. A file git did not compare because of its size is
// not called binary for that alone.
func (st *Store) sizes(ctx context.Context, set *diff.Set) error {
	var oids []string
	var to []*int64
	for i := range set.Files {
		f := &set.Files[i]
		if f.OldMode != modeGitlink && !absent(f.OldMode) {
			oids, to = append(oids, f.OldOID), append(to, &f.OldSize)
		}
		if f.NewMode != modeGitlink && !absent(f.NewMode) {
			oids, to = append(oids, f.NewOID), append(to, &f.NewSize)
		}
	}
	got, err := st.statObjects(ctx, oids)
	if err != nil {
		return err
	}
	for i, o := range got {
		*to[i] = o.Size
	}
	for i := range set.Files {
		f := &set.Files[i]
		if f.Kind == "binary" && max(f.OldSize, f.NewSize) >= maxBlob {
			f.Truncated, set.Truncated = true, true
		}
	}
	return nil
}

func absent(mode string) bool { return mode == "000000" }
