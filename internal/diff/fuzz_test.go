package diff

import (
	"strings"
	"testing"
	"unicode/utf8"
)

// Whatever comes in: no panic, and what is accepted agrees with itself.
func FuzzRead(f *testing.F) {
	f.Add(modified(1, 1, "@@ -1 +1 @@\n-a\n+b\n"))
	f.Add(modified(1, 0, "@@ -0,0 +1 @@\n+++ b/x\n\\ No newline at end of file\n"))
	f.Add(stream(":100644 100644 "+oidA+" "+oidA+" R100|a|b|", "0\t0\t|a|b|", "diff --git a/a b/b\nrename from a\nrename to b\n"))
	f.Add(stream(":120000 100644 "+oidA+" "+oidB+" T|l|", "1\t1\tl|", "diff --git a/l b/l\nindex "+oidA+".."+none+"\n"))
	f.Fuzz(func(t *testing.T, in string) {
		set, err := Read(strings.NewReader(in), Limits{FileLines: 5, FileBytes: 64, LineBytes: 16, TotalBytes: 128})
		if err != nil {
			return
		}
		var added, deleted int
		for _, file := range set.Files {
			added, deleted = added+file.Added, deleted+file.Deleted
			checkFile(t, file)
			if file.Truncated && !set.Truncated {
				t.Fatal("a truncated file in a set that says it is whole")
			}
		}
		if added != set.Added || deleted != set.Deleted {
			t.Fatalf("sums: %d %d, %d %d", added, deleted, set.Added, set.Deleted)
		}
	})
}

func checkFile(t *testing.T, file File) {
	t.Helper()
	var added, deleted, lines int
	for _, h := range file.Hunks {
		for _, l := range h.Lines {
			lines++
			if !utf8.ValidString(l.Text) || len(l.Raw) > 16 || l.Raw == nil && len(l.Text) > 16 {
				t.Fatalf("line %+v", l)
			}
			switch l.Op {
			case "+":
				added++
			case "-":
				deleted++
			case " ":
			default:
				t.Fatalf("line %+v", l)
			}
		}
	}
	if lines > 5 || added > file.Added || deleted > file.Deleted {
		t.Fatalf("%d lines shown, +%d -%d of %+v", lines, added, deleted, file)
	}
	if !file.Truncated && (added != file.Added || deleted != file.Deleted) {
		t.Fatalf("not truncated, but +%d -%d of %+v", added, deleted, file)
	}
	if !utf8.ValidString(file.Path) || strings.ContainsAny(file.Path, "\n\x1b\x00") {
		t.Fatalf("path %q", file.Path)
	}
}

func FuzzPrintable(f *testing.F) {
	f.Add("a\xffb\n\u202e")
	f.Fuzz(func(t *testing.T, in string) {
		out := Printable(in)
		if !utf8.ValidString(out) || strings.ContainsFunc(out, hidden) {
			t.Fatalf("%q became %q", in, out)
		}
		if again := Printable(out); again != out {
			t.Fatalf("not stable: %q, %q", out, again)
		}
	})
}
