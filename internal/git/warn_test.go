package git

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"moeca/internal/diff"
)

// warned makes a change and returns the warnings of each file.
func warned(t *testing.T, before, after func(dir string)) map[string][]string {
	t.Helper()
	r := newRepo(t)
	r.write("keep", "x\n")
	before(r.dir)
	r.commit("base")
	w := r.open("main")
	after(w.tree)
	set := must(w.st.Diff(w.ctx, w.base, w.snapshot().Commit, DiffOptions{}))(t)
	got := map[string][]string{}
	for _, f := range set.Files {
		got[f.Path] = f.Warnings
	}
	return got
}

func TestWarningsThatNeedTheWholeTree(t *testing.T) {
	put := func(dir, name, text string) { t.Helper(); put(t, filepath.Join(dir, name), text) }
	link := func(dir, name, to string) {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(to, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	const pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:4d7a214614ab2935c943f9e0ff69d22eadbb8f32b1258daaa5e2ca24d17e2393\nsize 12345\n"
	nothing := func(string) {}
	for name, c := range map[string]struct {
		before, after func(string)
		file          string
		want          []string
	}{
		"a new driver":        {nothing, func(d string) { put(d, ".gitattributes", "* filter=evil\n") }, ".gitattributes", []string{diff.WarnAttributes}},
		"a driver below":      {nothing, func(d string) { put(d, "sub/.gitattributes", "a b merge=x\n") }, "sub/.gitattributes", []string{diff.WarnAttributes}},
		"a driver in a macro": {nothing, func(d string) { put(d, ".gitattributes", "[attr]x diff=evil\n") }, ".gitattributes", []string{diff.WarnAttributes}},
		"attributes without drivers": {nothing, func(d string) {
			put(d, ".gitattributes", "* text=auto\n*.bin filter=lfs diff=lfs merge=lfs -text\n")
		}, ".gitattributes", nil},
		"submodules":         {nothing, func(d string) { put(d, ".gitmodules", "[submodule]\n") }, ".gitmodules", []string{diff.WarnSubmodules}},
		"a link within":      {nothing, func(d string) { link(d, "sub/l", "../keep") }, "sub/l", nil},
		"a link to the root": {nothing, func(d string) { link(d, "l", "/etc/passwd") }, "l", []string{diff.WarnLinkOutside}},
		"a link above":       {nothing, func(d string) { link(d, "sub/l", "../../x") }, "sub/l", []string{diff.WarnLinkOutside}},
		"a file made such a link": {nothing, func(d string) {
			if err := os.Remove(filepath.Join(d, "keep")); err != nil {
				t.Fatal(err)
			}
			link(d, "keep", "/etc/passwd")
		}, "keep", []string{diff.WarnLinkOutside}},
		"a link moved up": {
			func(d string) { link(d, "a/b/l", "../../keep") },
			func(d string) {
				if err := os.Rename(filepath.Join(d, "a/b/l"), filepath.Join(d, "l")); err != nil {
					t.Fatal(err)
				}
			}, "l",
			[]string{diff.WarnLinkOutside},
		},
		"another case":         {nothing, func(d string) { put(d, "KEEP", "y\n") }, "KEEP", []string{diff.WarnNameTwin}},
		"another case above":   {func(d string) { put(d, "dir/a", "x\n") }, func(d string) { put(d, "Dir/b", "y\n") }, "Dir/b", []string{diff.WarnNameTwin}},
		"another composition":  {func(d string) { put(d, "caf\u00e9", "x\n") }, func(d string) { put(d, "cafe\u0301", "y\n") }, "cafe\u0301", []string{diff.WarnNameTwin}},
		"a fold of two to one": {func(d string) { put(d, "stra\u00dfe", "x\n") }, func(d string) { put(d, "STRASSE", "y\n") }, "STRASSE", []string{diff.WarnNameTwin}},
		"no twin":              {nothing, func(d string) { put(d, "keeper", "y\n") }, "keeper", nil},
		"content at a place of LFS": {
			func(d string) { put(d, ".gitattributes", "*.bin filter=lfs diff=lfs merge=lfs -text\n") },
			func(d string) { put(d, "sub/x.bin", "raw\n") }, "sub/x.bin",
			[]string{diff.WarnNotPointer},
		},
		"a pointer at a place of LFS": {
			func(d string) { put(d, ".gitattributes", "*.bin filter=lfs diff=lfs merge=lfs -text\n") },
			func(d string) { put(d, "x.bin", pointer) }, "x.bin", nil,
		},
		"a pointer that only moved": {
			func(d string) {
				put(d, ".gitattributes", "*.bin filter=lfs diff=lfs merge=lfs -text\n")
				put(d, "a.bin", pointer)
			},
			func(d string) {
				if err := os.Rename(filepath.Join(d, "a.bin"), filepath.Join(d, "b.bin")); err != nil {
					t.Fatal(err)
				}
			}, "b.bin", nil,
		},
		"content where LFS is switched off": {
			func(d string) {
				put(d, ".gitattributes", "*.bin filter=lfs\n/small/** filter=lfs\n")
				put(d, "small/.gitattributes", "*.bin -filter\n")
			},
			func(d string) { put(d, "small/x.bin", "raw\n") }, "small/x.bin", nil,
		},
		"content where a mark begins the attributes": {
			func(d string) { put(d, ".gitattributes", "\ufeff*.bin filter=lfs\n") },
			func(d string) { put(d, "x.bin", "raw\n") }, "x.bin",
			[]string{diff.WarnNotPointer},
		},
		"content below a directory of LFS": {
			func(d string) { put(d, ".gitattributes", "\"/data/**\" filter=lfs\n") },
			func(d string) { put(d, "data/deep/x", "raw\n") }, "data/deep/x",
			[]string{diff.WarnNotPointer},
		},
	} {
		t.Run(name, func(t *testing.T) {
			got := warned(t, c.before, c.after)
			if w, ok := got[c.file]; !ok || !slices.Equal(w, c.want) {
				t.Fatalf("%q has %v, want %v (of %v)", c.file, w, c.want, got)
			}
		})
	}
}

func TestLinkTextIsNotReadWithoutEnd(t *testing.T) {
	got := warned(t, func(string) {}, func(d string) {
		if err := os.Symlink("a/"+strings.Repeat("../", 100)+"x", filepath.Join(d, "l")); err != nil {
			t.Fatal(err)
		}
	})
	if !slices.Equal(got["l"], []string{diff.WarnLinkOutside}) {
		t.Fatalf("%v", got)
	}
}

func TestLinksThatLeadOut(t *testing.T) {
	for _, c := range []struct {
		path, target string
		want         bool
	}{
		{"a", "b", false},
		{"d/a", "../b", false},
		{"d/e/a", "../../b/./c", false},
		{"d/a", "x/../../b", false},
		{"a", "..b/c", false},
		{"a", "/etc/passwd", true},
		{"a", "..", true},
		{"d/a", "../..", true},
		{"d/a", "../../x", true},
		{"a", "b/../../x", true},
		{"a", "..\\x", true},
		{"a", `C:\Windows`, true},
		{"a", `\\host\share`, true},
		{"a", ".git/config", true},
		{"a", "d/.GIT/hooks", true},
		{"a", "git~1/config", true},
		{"a", "d/.git./hooks", true},
		{"a", ".g\u200cit/config", true},
		{"a", ".github/x", false},
		{"a", "", true},
	} {
		if got := leadsOut(c.path, c.target); got != c.want {
			t.Errorf("%s -> %q: %v", c.path, c.target, got)
		}
	}
}
