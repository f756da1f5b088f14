package git

import (
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"moeca/internal/diff"
)

// edit commits a change of one file and returns its diff.
func edit(t *testing.T, before, after string, o DiffOptions) diff.File {
	t.Helper()
	r := newRepo(t)
	r.write("f", before)
	r.commit("base")
	w := r.open("main")
	w.put("f", after)
	set := must(w.st.Diff(w.ctx, w.base, w.snapshot().Commit, o))(t)
	if len(set.Files) != 1 {
		t.Fatalf("%+v", set)
	}
	return set.Files[0]
}

// apply builds the new text from the old one and the hunks.
func apply(t testing.TB, old string, f diff.File) string {
	t.Helper()
	lines := strings.SplitAfter(old, "\n")
	if lines[len(lines)-1] == "" {
		lines = lines[:len(lines)-1]
	}
	var out strings.Builder
	at := 0
	for _, h := range f.Hunks {
		start := h.OldStart - 1
		if h.OldLines == 0 {
			start = h.OldStart
		}
		out.WriteString(strings.Join(lines[at:start], ""))
		at = start
		for _, l := range h.Lines {
			text := l.Text
			if l.Raw != nil {
				text = string(l.Raw)
			}
			if !l.NoEOL {
				text += "\n"
			}
			if l.Op != "+" {
				if lines[at] != text {
					t.Fatalf("line %d is %q, the diff says %q", at+1, lines[at], text)
				}
				at++
			}
			if l.Op != "-" {
				out.WriteString(text)
			}
		}
	}
	return out.String() + strings.Join(lines[at:], "")
}

// The diff of any two texts rebuilds the second from the first, byte for byte.
func TestDiffIsLossless(t *testing.T) {
	long := strings.Repeat("z", 300_000)
	many := strings.Repeat("line\n", 50_000)
	for name, c := range map[string][2]string{
		"headers in content":        {"--- a/f\n+++ b/f\n@@ -1 +1 @@\n", "--- a/f\n++ b/README.md\n@@ -1,9 +1,9 @@\ndiff --git a/x b/x\n"},
		"no newline appears":        {"a\nb\n", "a\nb"},
		"no newline disappears":     {"a\nb", "a\nb\n"},
		"no newline on both":        {"a\nb", "a\nc"},
		"carriage returns only":     {"a\rb\rc", "a\rB\rc"},
		"carriage returns added":    {"a\nb\n", "a\r\nb\r\n"},
		"bytes":                     {"caf\xe9\n\xff\n", "caf\xe8\n\xff\n"},
		"the mark of git":           {"a\n", "a\n\\ No newline at end of file\n"},
		"becomes empty":             {"a\n", ""},
		"was empty":                 {"", "a\n"},
		"only line ends":            {"\n\n\n", "\n\n\n\n"},
		"a long line":               {long + "\nb\n", long + "x\nb\n"},
		"fifty thousand lines":      {many, many + "more\n"},
		"all fifty thousand change": {many, strings.ReplaceAll(many, "line", "LINE")},
		"NUL beyond the first part": {strings.Repeat("text\n", 4000) + "a\n", strings.Repeat("text\n", 4000) + "a\x00\n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := edit(t, c[0], c[1], DiffOptions{})
			if f.Truncated || f.Kind != "text" {
				t.Fatalf("truncated %v, %s", f.Truncated, f.Kind)
			}
			if got := apply(t, c[0], f); got != c[1] {
				t.Fatalf("rebuilt %.200q, want %.200q", got, c[1])
			}
			if f.OldSize != int64(len(c[0])) || f.NewSize != int64(len(c[1])) {
				t.Errorf("sizes %d %d", f.OldSize, f.NewSize)
			}
		})
	}
}

func TestDiffIsLosslessAtRandom(t *testing.T) {
	w := newRepo(t)
	w.write("f", "x\n")
	w.commit("base")
	world := w.open("main")
	line := rapid.SampledFrom([]string{
		"a\n", "b\n", "\n", "+a\n", "-b\n", " \n", "@@ -1 +1 @@\n", "--- a/f\n", "diff --git a/f b/f\n",
		"\\ No newline at end of file\n", "\r\n", "\xff\n", "c",
	})
	rapid.Check(t, func(rt *rapid.T) {
		text := rapid.SliceOfN(line, 0, 12)
		before, after := strings.Join(text.Draw(rt, "old"), ""), strings.Join(text.Draw(rt, "new"), "")
		var commits [2]string
		for i, s := range []string{before, after} {
			world.put("f", s)
			res, err := world.st.Snapshot(world.ctx, world.request())
			if err != nil {
				rt.Fatal(err)
			}
			commits[i] = res.Tree
		}
		set, err := world.st.Diff(world.ctx, commits[0], commits[1], DiffOptions{})
		if err != nil {
			rt.Fatal(err)
		}
		if before == after {
			if len(set.Files) != 0 {
				rt.Fatalf("%+v", set)
			}
			return
		}
		if got := apply(t, before, set.Files[0]); got != after {
			rt.Fatalf("rebuilt %q, want %q", got, after)
		}
	})
}

// What is too much is cut and flagged; counts stay true.
func TestDiffLimits(t *testing.T) {
	huge := strings.Repeat("y", 9<<20)
	f := edit(t, "a\n", "a\n"+huge+"\nb\n", DiffOptions{MaxFileBytes: 64 << 20})
	if !f.Truncated || f.Added != 2 || len(f.Hunks[0].Lines) != 3 || !f.Hunks[0].Lines[1].Truncated || f.Hunks[0].Lines[2].Text != "b" {
		t.Errorf("a line over 8 MiB: %v +%d", f.Truncated, f.Added)
	}
	f = edit(t, "", strings.Repeat("l\n", 5000), DiffOptions{MaxFileLines: 100})
	if !f.Truncated || f.Added != 5000 || len(f.Hunks[0].Lines) != 100 {
		t.Errorf("lines of a file: %v +%d", f.Truncated, f.Added)
	}
	f = edit(t, "", strings.Repeat("text of a very large file\n", maxBlob/26+1), DiffOptions{})
	if !f.Truncated || f.NewSize < maxBlob {
		t.Errorf("a file too large to compare: %v, %s", f.Truncated, f.Kind)
	}
	f = edit(t, "a\x00", "b\x00", DiffOptions{})
	if f.Truncated || f.Kind != "binary" || len(f.Hunks) != 0 {
		t.Errorf("binary: %+v", f)
	}
}

// One commit with every kind of change; Stat and Diff agree.
func TestDiffOfEverything(t *testing.T) {
	r := newRepo(t)
	r.write("moved", strings.Repeat("a line that stays\n", 20))
	r.write("mode", "x\n")
	r.write("link-to-file", "target")
	r.write("odd\n\"name\"\xff", "1\n")
	r.write("gone", "bye\n")
	for n, to := range map[string]string{"file-to-link": "target", "relinked": "old"} {
		if err := os.Symlink(to, filepath.Join(r.dir, n)); err != nil {
			t.Fatal(err)
		}
	}
	r.commit("base")
	w := r.open("main")
	in := func(n string) string { return filepath.Join(w.tree, n) }
	for _, err := range []error{
		os.Rename(in("moved"), in("renamed")), os.Chmod(in("mode"), 0o755), os.Remove(in("gone")), os.Remove(in("link-to-file")),
		os.Symlink("target", in("link-to-file")), os.Remove(in("file-to-link")), os.Remove(in("relinked")), os.Symlink("new", in("relinked")),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	w.put("renamed", strings.Repeat("a line that stays\n", 20)+"and an edit\n")
	w.put("file-to-link", "target")
	w.put("odd\n\"name\"\xff", "2\n")
	w.put("раypal.go", "look-alike\n")
	w.put("bidi.go", "if admin\u202e {\n")
	set := must(w.st.Diff(w.ctx, w.base, w.snapshot().Commit, DiffOptions{}))(t)
	got := map[string]string{}
	for _, f := range set.Files {
		got[f.Path] = fmt.Sprintf("%s %s %s>%s +%d -%d %v", f.Status, f.Kind, f.OldMode, f.NewMode, f.Added, f.Deleted, f.Warnings)
	}
	want := map[string]string{
		"renamed":         "renamed text 100644>100644 +1 -0 []",
		"mode":            "modified text 100644>100755 +0 -0 []",
		"gone":            "deleted text 100644>000000 +0 -1 []",
		"link-to-file":    "type-changed symlink 100644>120000 +1 -1 []",
		"file-to-link":    "type-changed text 120000>100644 +1 -1 []",
		"relinked":        "modified symlink 120000>120000 +1 -1 []",
		`odd\n"name"\xff`: "modified text 100644>100644 +1 -1 [name-not-utf8 name-hidden]",
		"раypal.go":       "added text 000000>100644 +1 -0 [name-mixed-script]",
		"bidi.go":         "added text 000000>100644 +1 -0 [bidi]",
	}
	for path, line := range want {
		if got[path] != line {
			t.Errorf("%s: %q, want %q", path, got[path], line)
		}
	}
	if len(got) != len(want) {
		t.Errorf("%q", got)
	}
	files, added, deleted, err := w.st.Stat(w.ctx, w.base, w.snapshot().Commit)
	if err != nil || files != len(set.Files) || added != set.Added || deleted != set.Deleted {
		t.Errorf("stat %d +%d -%d, diff %d +%d -%d, %v", files, added, deleted, len(set.Files), set.Added, set.Deleted, err)
	}
}

// Twenty thousand changed files: every one is listed.
func TestDiffOfManyFiles(t *testing.T) {
	const n = 20_000
	w := seeded(t).open("main")
	p := must(w.st.newPack())(t)
	defer p.close()
	var tree []byte
	for i := range n {
		oid := must(p.add("blob", fmt.Appendf(nil, "content %d\n", i)))(t)
		tree = append(fmt.Appendf(tree, "100644 f%05d\x00", i), must(hex.DecodeString(oid))(t)...)
	}
	to := must(p.add("tree", tree))(t)
	from := must(p.add("tree", nil))(t)
	if err := p.flush(w.ctx); err != nil {
		t.Fatal(err)
	}
	set := must(w.st.Diff(w.ctx, from, to, DiffOptions{MaxTotalBytes: 100_000}))(t)
	if len(set.Files) != n || set.Added != n || !set.Truncated {
		t.Fatalf("%d files, +%d, truncated %v", len(set.Files), set.Added, set.Truncated)
	}
	if set = must(w.st.Diff(w.ctx, to, from, DiffOptions{}))(t); set.Truncated || set.Deleted != n {
		t.Fatalf("-%d, truncated %v", set.Deleted, set.Truncated)
	}
}
