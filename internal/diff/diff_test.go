package diff

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
)

const (
	oidA = "1111111111111111111111111111111111111111"
	oidB = "2222222222222222222222222222222222222222"
	none = "0000000000000000000000000000000000000000"
)

// stream joins the three parts as git does. NUL is written as | in lists.
func stream(raw, numstat, patch string) string {
	lists := strings.ReplaceAll(raw+numstat, "|", "\x00")
	if lists == "" {
		return ""
	}
	return lists + "\x00" + patch
}

// modified is a stream of one modified file with this patch body.
func modified(added, deleted int, hunks string) string {
	return stream(":100644 100644 "+oidA+" "+oidB+" M|f|", fmt.Sprintf("%d\t%d\tf|", added, deleted),
		"diff --git a/f b/f\nindex "+oidA+".."+oidB+" 100644\n--- a/f\n+++ b/f\n"+hunks)
}

func mustRead(t *testing.T, in string, l Limits) Set {
	t.Helper()
	set, err := Read(strings.NewReader(in), l)
	if err != nil {
		t.Fatalf("%v\n%q", err, in)
	}
	return set
}

// render writes the lines of a file as a patch would, for comparison.
func render(f File) string {
	var b strings.Builder
	for _, h := range f.Hunks {
		fmt.Fprintf(&b, "@%d,%d %d,%d\n", h.OldStart, h.OldLines, h.NewStart, h.NewLines)
		for _, l := range h.Lines {
			b.WriteString(l.Op + l.Text)
			if l.NoEOL {
				b.WriteString("%")
			}
			b.WriteString("\n")
		}
	}
	return b.String()
}

func TestContentThatImitatesPatches(t *testing.T) {
	for name, c := range map[string]struct {
		added, deleted int
		hunks, want    string
	}{
		"an added line that looks like a file header":   {1, 0, "@@ -0,0 +1 @@\n+++ b/README.md\n", "@0,0 1,1\n+++ b/README.md\n"},
		"a removed line that looks like a file header":  {0, 1, "@@ -1 +0,0 @@\n--- a/README.md\n", "@1,1 0,0\n--- a/README.md\n"},
		"a context line that looks like the next file":  {1, 0, "@@ -1 +1,2 @@\n diff --git a/x b/x\n+y\n", "@1,1 1,2\n diff --git a/x b/x\n+y\n"},
		"an added line that looks like a hunk":          {2, 0, "@@ -0,0 +1,2 @@\n+@@ -1 +1 @@\n+-x\n", "@0,0 1,2\n+@@ -1 +1 @@\n+-x\n"},
		"an added line that looks like the no-end mark": {1, 0, "@@ -0,0 +1 @@\n+\\ No newline at end of file\n", "@0,0 1,1\n+\\ No newline at end of file\n"},
		"a section that looks like a hunk":              {1, 0, "@@ -3 +3,2 @@ @@ -9,9 +9,9 @@\n a\n+b\n", "@3,1 3,2\n a\n+b\n"},
		"no newline on both sides": {
			1, 1, "@@ -1 +1 @@\n-a\n\\ No newline at end of file\n+b\n\\ No newline at end of file\n",
			"@1,1 1,1\n-a%\n+b%\n",
		},
		"carriage returns alone":     {1, 1, "@@ -1 +1 @@\n-a\rb\r\n+a\rc\r\n", "@1,1 1,1\n-a\rb\r\n+a\rc\r\n"},
		"carriage returns kept":      {1, 1, "@@ -1 +1 @@\n-a\n+a\r\n", "@1,1 1,1\n-a\n+a\r\n"},
		"an empty line is a line":    {1, 0, "@@ -1 +1,2 @@\n \n+\n", "@1,1 1,2\n \n+\n"},
		"bytes that are not UTF-8":   {1, 0, "@@ -0,0 +1 @@\n+caf\xe9\n", "@0,0 1,1\n+caf\\xe9\n"},
		"a NUL byte far into a file": {1, 0, "@@ -0,0 +1 @@\n+a\x00b\n", "@0,0 1,1\n+a\x00b\n"},
		"two hunks":                  {2, 0, "@@ -1 +1,2 @@\n a\n+b\n@@ -9 +10,2 @@ func x()\n c\n+d\n", "@1,1 1,2\n a\n+b\n@9,1 10,2\n c\n+d\n"},
	} {
		t.Run(name, func(t *testing.T) {
			set := mustRead(t, modified(c.added, c.deleted, c.hunks), Limits{})
			if len(set.Files) != 1 || set.Truncated || set.Added != c.added || set.Deleted != c.deleted {
				t.Fatalf("%+v", set)
			}
			if got := render(set.Files[0]); got != c.want {
				t.Fatalf("got\n%s\nwant\n%s", got, c.want)
			}
		})
	}
}

func TestFiles(t *testing.T) {
	for name, c := range map[string]struct {
		in   string
		want File
	}{
		"a change of mode alone": {
			stream(":100644 100755 "+oidA+" "+oidA+" M|f|", "0\t0\tf|", "diff --git a/f b/f\nold mode 100644\nnew mode 100755\n"),
			File{Path: "f", Status: "modified", OldMode: "100644", NewMode: "100755", OldOID: oidA, NewOID: oidA, Kind: "text"},
		},
		"a rename without an edit": {
			stream(":100644 100644 "+oidA+" "+oidA+" R100|old|new|", "0\t0\t|old|new|",
				"diff --git a/old b/new\nsimilarity index 100%\nrename from old\nrename to new\n"),
			File{
				Path: "new", OldPath: "old", Status: "renamed", OldMode: "100644", NewMode: "100644", OldOID: oidA, NewOID: oidA,
				Kind: "text", Similarity: 100,
			},
		},
		"an added empty file": {
			stream(":000000 100644 "+none+" "+oidB+" A|f|", "0\t0\tf|", "diff --git a/f b/f\nnew file mode 100644\nindex "+none+".."+oidB+"\n"),
			File{Path: "f", Status: "added", OldMode: "000000", NewMode: "100644", OldOID: none, NewOID: oidB, Kind: "text"},
		},
		"a binary file": {
			stream(":100644 100644 "+oidA+" "+oidB+" M|f|", "-\t-\tf|",
				"diff --git a/f b/f\nindex "+oidA+".."+oidB+" 100644\nBinary files a/f and b/f differ\n"),
			File{Path: "f", Status: "modified", OldMode: "100644", NewMode: "100644", OldOID: oidA, NewOID: oidB, Kind: "binary"},
		},
		"a name with a line end, quotes and a tab": {
			stream(":100644 100644 "+oidA+" "+oidA+" R100|o\"|n\n\t|", "0\t0\t|o\"|n\n\t|",
				"diff --git \"a/o\\\"\" \"b/n\\n\\t\"\nsimilarity index 100%\nrename from \"o\\\"\"\nrename to \"n\\n\\t\"\n"),
			File{
				Path: `n\n\t`, PathRaw: []byte("n\n\t"), OldPath: `o"`, Status: "renamed", OldMode: "100644", NewMode: "100644",
				OldOID: oidA, NewOID: oidA, Kind: "text", Similarity: 100, Warnings: []string{WarnNameHidden},
			},
		},
		"a name that is not UTF-8": {
			stream(":100644 100755 "+oidA+" "+oidA+" M|\xff|", "0\t0\t\xff|", "diff --git \"a/\\377\" \"b/\\377\"\nold mode 100644\nnew mode 100755\n"),
			File{
				Path: `\xff`, PathRaw: []byte("\xff"), Status: "modified", OldMode: "100644", NewMode: "100755", OldOID: oidA, NewOID: oidA,
				Kind: "text", Warnings: []string{WarnNameInvalid},
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			set := mustRead(t, c.in, Limits{})
			if len(set.Files) != 1 || !reflect.DeepEqual(set.Files[0], c.want) {
				t.Fatalf("got  %+v\nwant %+v", set.Files, c.want)
			}
		})
	}
}

func TestKinds(t *testing.T) {
	link := stream(":120000 100644 "+oidA+" "+oidB+" T|l|", "0\t0\tl|",
		"diff --git a/l b/l\ndeleted file mode 120000\nindex "+oidA+".."+none+"\n--- a/l\n+++ /dev/null\n@@ -1 +0,0 @@\n-x\n\\ No newline at end of file\n"+
			"diff --git a/l b/l\nnew file mode 100644\nindex "+none+".."+oidB+"\n--- /dev/null\n+++ b/l\n@@ -0,0 +1 @@\n+x\n\\ No newline at end of file\n")
	set := mustRead(t, link, Limits{})
	if f := set.Files[0]; f.Kind != "text" || f.Status != "type-changed" || f.Added != 1 || f.Deleted != 1 || len(f.Hunks) != 2 || set.Added != 1 {
		t.Errorf("type change: %+v", f)
	}
	sub := stream(":160000 160000 "+oidA+" "+oidB+" M|s|", "1\t1\ts|", "diff --git a/s b/s\nindex "+oidA+".."+oidB+
		" 160000\n--- a/s\n+++ b/s\n@@ -1 +1 @@\n-Subproject commit "+oidA+"\n+Subproject commit "+oidB+"\n")
	if f := mustRead(t, sub, Limits{}).Files[0]; f.Kind != "submodule" {
		t.Errorf("submodule: %+v", f)
	}
	lfs := modified(1, 1, "@@ -1,3 +1,3 @@\n "+lfsFirst+"\n-oid sha256:a\n+oid sha256:b\n size 3\n")
	if f := mustRead(t, lfs, Limits{}).Files[0]; f.Kind != "lfs" {
		t.Errorf("lfs: %+v", f)
	}
	if set := mustRead(t, "", Limits{}); len(set.Files) != 0 {
		t.Errorf("nothing: %+v", set)
	}
}

func TestLimitsFlagWhatIsLeftOut(t *testing.T) {
	body := "@@ -0,0 +1,4 @@\n+aaaa\n+bbbb\n+cccc\n+dddd\n"
	for name, c := range map[string]struct {
		l     Limits
		lines int
	}{
		"lines of a file": {Limits{FileLines: 2}, 2},
		"bytes of a file": {Limits{FileBytes: 11}, 2},
		"bytes of all":    {Limits{TotalBytes: 16}, 3},
		"bytes of a line": {Limits{LineBytes: 3}, 4},
	} {
		t.Run(name, func(t *testing.T) {
			set := mustRead(t, modified(4, 0, body), c.l)
			f := set.Files[0]
			if !set.Truncated || !f.Truncated || f.Added != 4 || set.Added != 4 || len(f.Hunks[0].Lines) != c.lines {
				t.Fatalf("%+v", f)
			}
			if c.l.LineBytes == 3 && (f.Hunks[0].Lines[0].Text != "aaa" || !f.Hunks[0].Lines[0].Truncated) {
				t.Fatalf("%+v", f.Hunks[0].Lines[0])
			}
		})
	}
	long := strings.Repeat("x", 9<<20)
	f := mustRead(t, modified(2, 0, "@@ -0,0 +1,2 @@\n+"+long+"\n+after\n"), Limits{}).Files[0]
	if l := f.Hunks[0].Lines; !f.Truncated || len(l) != 2 || len(l[0].Text) != 1<<20 || !l[0].Truncated || l[1].Text != "after" {
		t.Fatalf("line over 8 MiB: %d lines", len(l))
	}
	exact := strings.Repeat("x", 1<<20)
	if f := mustRead(t, modified(1, 0, "@@ -0,0 +1 @@\n+"+exact+"\n"), Limits{}).Files[0]; f.Truncated {
		t.Fatal("a line of exactly the limit is whole")
	}
}

func TestRefuses(t *testing.T) {
	head := "diff --git a/f b/f\nindex " + oidA + ".." + oidB + " 100644\n--- a/f\n+++ b/f\n"
	raw := ":100644 100644 " + oidA + " " + oidB + " M|f|"
	for name, in := range map[string]string{
		"a list cut short":             ":100644 100644 " + oidA,
		"a mode that is none":          stream(":9 100644 "+oidA+" "+oidB+" M|f|", "1\t0\tf|", ""),
		"an object id that is short":   stream(":100644 100644 abc "+oidB+" M|f|", "1\t0\tf|", ""),
		"an unknown status":            stream(":100644 100644 "+oidA+" "+oidB+" Q|f|", "1\t0\tf|", ""),
		"a count without a file":       stream("", "1\t0\tf|", ""),
		"a file without a count":       stream(raw, "", head),
		"the count of another file":    stream(raw, "1\t0\tg|", head),
		"a negative count":             stream(raw, "-1\t0\tf|", head),
		"no patch":                     stream(raw, "1\t0\tf|", ""),
		"ids of another file":          stream(raw, "1\t0\tf|", strings.Replace(head, oidA, oidB, 1)+"@@ -0,0 +1 @@\n+x\n"),
		"a patch without ids":          stream(raw, "1\t0\tf|", "diff --git a/f b/f\n@@ -0,0 +1 @@\n+x\n"),
		"fewer lines than counted":     modified(2, 0, "@@ -0,0 +1 @@\n+x\n"),
		"a hunk cut short":             modified(2, 0, "@@ -0,0 +1,2 @@\n+x\n"),
		"a hunk of other lines":        modified(1, 0, "@@ -0,0 +1 @@\n-x\n"),
		"a line with no sign":          modified(1, 0, "@@ -0,0 +1 @@\nx\n"),
		"a hunk header that is broken": modified(1, 0, "@@ -0,0 1 @@\n+x\n"),
		"a number that overflows":      modified(1, 0, "@@ -0,0 +1,99999999999999999999 @@\n+x\n"),
		"text after the last file":     modified(1, 0, "@@ -0,0 +1 @@\n+x\n") + "more\n",
		"a second patch of the file":   modified(1, 0, "@@ -0,0 +1 @@\n+x\n") + head,
		"a last line without an end":   modified(1, 0, "@@ -0,0 +1 @@\n+x"),
	} {
		t.Run(name, func(t *testing.T) {
			if set, err := Read(strings.NewReader(in), Limits{}); !errors.Is(err, ErrFormat) {
				t.Fatalf("accepted: %+v, %v", set, err)
			}
		})
	}
}

func TestWarnings(t *testing.T) {
	for in, want := range map[string]string{
		"plain.go":            "",
		"日本語 README.md":       "",
		"раypal.go":           WarnNameMixed, // Cyrillic р
		"docs/привет/x.md":    "",            // whole words of one script
		"a\u202egnp.exe":      WarnNameBidi,
		"a\u200bb":            WarnNameHidden,
		"esc\x1b[31m":         WarnNameHidden,
		"caf\xe9":             WarnNameInvalid,
		"scоре/α\u2066b.txt":  WarnNameBidi + " " + WarnNameMixed,
		"ordinary-ümläut.txt": "",
	} {
		if got := strings.Join(nameWarnings(in), " "); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
	lines := "@@ -1,2 +1,4 @@\n-\u202egone\n a\u202eb\n+if x \u2066{\n+a\x00\n+\x1b[2J\n"
	set := mustRead(t, modified(3, 1, strings.Replace(lines, "-1,2 +1,4", "-1,2 +1,4", 1)), Limits{})
	if got := strings.Join(set.Files[0].Warnings, " "); got != "bidi nul control" {
		t.Errorf("content: %q", got)
	}
}

func TestPrintable(t *testing.T) {
	for in, want := range map[string]string{
		"a b":          "a b",
		"日本":           "日本",
		"a\nb":         `a\nb`,
		"\x1b[0m":      `\u{1b}[0m`,
		"\xff\xfe":     `\xff\xfe`,
		"a\u202eb":     `a\u{202e}b`,
		"a\u2028b":     `a\u{2028}b`,
		"é vs e\u0301": "é vs e\u0301",
	} {
		if got := Printable(in); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}
