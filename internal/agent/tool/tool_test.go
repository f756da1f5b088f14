package tool_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"unicode/utf8"

	"go.uber.org/goleak"

	"moeca/internal/agent/tool"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// defaultGlobs are deny globs like those of a work order, and one with a slash.
var defaultGlobs = []string{
	"*.pem", "*.key", "id_*", "*.p12", "*.pfx", ".env", ".env.*", ".npmrc", ".netrc",
	"secret/*", "geheim-\u00e9*",
}

const outsideText = "outside content"

// world is a tree with everything an agent could plant, beside a directory that
// must never be reached.
type world struct {
	dir, outside string
	box          *tool.Box
}

func newWorld(t *testing.T) world {
	t.Helper()
	base := t.TempDir()
	w := world{dir: filepath.Join(base, "tree"), outside: filepath.Join(base, "outside")}
	for _, d := range []string{"tree/sub/deep", "tree/.git", "tree/secret/in", "tree/keys.pem", "outside"} {
		must(t, os.MkdirAll(filepath.Join(base, d), 0o755))
	}
	for name, content := range map[string]string{
		"tree/a.txt": "alpha\nbeta\n", "tree/sub/b.txt": "b\n", "tree/.git/config": "[core]\n",
		"tree/secret/in/x": "s", "tree/keys.pem/inner.txt": "k", "tree/.env": "K=1", "tree/server.KEY": "k",
		"tree/geheim-e\u0301.txt": "nfd", "outside/o.txt": outsideText, "tree/hard-source": "h\n",
	} {
		must(t, os.WriteFile(filepath.Join(base, name), []byte(content), 0o644))
	}
	for link, target := range map[string]string{
		"out": "../outside", "out-file": "../outside/o.txt", "abs": w.outside, "root": "/", "proc": "/proc/self/root",
		"loop": "loop", "to-a": "a.txt", "to-sub": "sub", "sub/up": "..", "to-git": ".git", "to-env": ".env",
		"sub/chain": "../to-git", "dangling": "not/there", "dangling-out": "../outside/new", "dangling-git": ".git/new",
		"self": ".", "to-pem": "keys.pem",
	} {
		must(t, os.Symlink(target, filepath.Join(w.dir, link)))
	}
	must(t, os.Link(filepath.Join(w.dir, "hard-source"), filepath.Join(w.dir, "hard")))
	must(t, os.Link(filepath.Join(w.outside, "o.txt"), filepath.Join(w.dir, "hard-out")))
	must(t, syscall.Mkfifo(filepath.Join(w.dir, "fifo"), 0o644))
	w.box = w.boxOf(t, tool.Names()...)
	return w
}

func (w world) boxOf(t *testing.T, granted ...string) *tool.Box {
	t.Helper()
	root, err := os.OpenRoot(w.dir)
	must(t, err)
	t.Cleanup(func() { root.Close() })
	tree, err := tool.NewTree(root, defaultGlobs)
	must(t, err)
	box, err := tool.New(tree, granted)
	must(t, err)
	return box
}

func (w world) run(t *testing.T, name string, input map[string]any) tool.Result {
	t.Helper()
	raw, err := json.Marshal(input)
	must(t, err)
	r := w.box.Run(t.Context(), name, raw)
	if len(r.Text) > tool.MaxResult+200 || !utf8.ValidString(r.Text) {
		t.Errorf("a result of %d bytes, valid UTF-8: %v", len(r.Text), utf8.ValidString(r.Text))
	}
	return r
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestNoPathLeavesTheTreeOrReachesWhatIsDenied(t *testing.T) {
	paths := map[string]string{
		"a parent":                       "../outside/o.txt",
		"a parent in the middle":         "sub/../../outside/o.txt",
		"a parent that stays inside":     "sub/../a.txt",
		"a parent behind a link":         "to-sub/../a.txt",
		"an absolute path":               "/etc/passwd",
		"the tree's path as a prefix":    "{tree}-other/x",
		"an absolute path with parents":  "{tree}/../outside/o.txt",
		"a link to a directory outside":  "out/o.txt",
		"a link to a file outside":       "out-file",
		"an absolute link":               "abs/o.txt",
		"a link to the root":             "root/etc/passwd",
		"a link to /proc/self/root":      "proc/etc/passwd",
		"a link loop":                    "loop",
		"a dangling link outside":        "dangling-out",
		"git's directory":                ".git/config",
		"git in capitals":                ".GIT/config",
		"git in mixed case below":        "sub/.Git/config",
		"git with a trailing dot":        ".git./config",
		"git with a trailing space":      ".git /config",
		"git's short name":               "GIT~1/config",
		"git with a stream":              ".git::$INDEX_ALLOCATION/config",
		"git with an ignored code point": ".g\u200cit/config",
		"git behind a backslash":         `sub\.git\config`,
		"a file named .git":              "sub/.git",
		"a link to git":                  "to-git/config",
		"a chain of links to git":        "sub/chain/config",
		"a dangling link into git":       "dangling-git",
		"a denied name":                  ".env",
		"a denied name in capitals":      ".ENV",
		"a denied ending in capitals":    "server.KEY",
		"a denied ending with Kelvin":    "server.\u212aey",
		"a new denied name":              "sub/new.PEM",
		"below a denied directory":       "keys.pem/inner.txt",
		"below a glob with a slash":      "secret/in/x",
		"a glob with a slash, in case":   "SECRET/new",
		"a link to a denied name":        "to-env",
		"a link to a denied directory":   "to-pem/inner.txt",
		"a denied name, composed":        "geheim-\u00e9.txt",
		"a denied name, decomposed":      "geheim-e\u0301.txt",
		"a NUL byte":                     "a.txt\x00.md",
		"a name of 4 KiB":                strings.Repeat("n", 4096),
		"a path of 64 KiB":               strings.Repeat("d/", 32<<10) + "x",
		"a fifo":                         "fifo",
		"a directory":                    "sub",
		"the tree itself":                ".",
		"the tree itself, absolute":      "{tree}",
	}
	for name, p := range paths {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			p := strings.ReplaceAll(p, "{tree}", w.dir)
			for call, input := range map[string]map[string]any{
				"read_file":  {"path": p},
				"edit_file":  {"path": p, "old": "o", "new": "X"},
				"write_file": {"path": p, "content": "X"},
			} {
				if r := w.run(t, call, input); !r.Error {
					t.Errorf("%s let %q through: %s", call, p, r.Text)
				}
			}
			w.checkUntouched(t)
		})
	}
}

// checkUntouched holds everything that must never change against the disk.
func (w world) checkUntouched(t *testing.T) {
	t.Helper()
	for p, want := range map[string]string{
		filepath.Join(w.outside, "o.txt"): outsideText, filepath.Join(w.dir, ".git/config"): "[core]\n",
		filepath.Join(w.dir, ".env"): "K=1", filepath.Join(w.dir, "secret/in/x"): "s",
	} {
		if got, err := os.ReadFile(p); err != nil || string(got) != want {
			t.Errorf("%s holds %q (%v)", p, got, err)
		}
	}
	if names, err := os.ReadDir(w.outside); err != nil || len(names) != 1 {
		t.Errorf("outside the tree: %v (%v)", names, err)
	}
	if names, err := os.ReadDir(filepath.Join(w.dir, ".git")); err != nil || len(names) != 1 {
		t.Errorf("in .git: %v (%v)", names, err)
	}
}

func TestListingShowsNothingFromOutside(t *testing.T) {
	w := newWorld(t)
	for _, p := range []string{"out", "abs", "root", "proc", "loop", ".git", "to-git", "keys.pem", "..", "/", "fifo", "a.txt", "missing"} {
		if r := w.run(t, "list_files", map[string]any{"path": p}); !r.Error {
			t.Errorf("%s is listed: %s", p, r.Text)
		}
	}
	r := w.run(t, "list_files", map[string]any{})
	for _, want := range []string{"a.txt (11 bytes)", "sub/", "sub/b.txt (2 bytes)", "fifo (not a regular file)", ".env (denied)", "out -> ../outside"} {
		if !strings.Contains("\n"+r.Text+"\n", "\n"+want+"\n") {
			t.Errorf("%q is missing in:\n%s", want, r.Text)
		}
	}
	for _, bad := range []string{"\n.git", "o.txt (", "keys.pem/inner", "passwd"} {
		if strings.Contains(r.Text, bad) {
			t.Errorf("%q is in:\n%s", bad, r.Text)
		}
	}
}

func TestListingIsBoundedAndItsLinesCannotBeForged(t *testing.T) {
	w := newWorld(t)
	names := []string{"x\ny.txt (9 bytes)", "a -> b", "tab\t", "esc\x1b[2J", "bad\xff", "end "}
	for _, n := range names {
		must(t, os.WriteFile(filepath.Join(w.dir, "sub/deep", n), nil, 0o644))
	}
	r := w.run(t, "list_files", map[string]any{"path": "sub/deep"})
	lines := strings.Split(r.Text, "\n")
	if len(lines) != len(names) || strings.ContainsAny(r.Text, "\x1b\t") {
		t.Errorf("%d lines for %d names: %q", len(lines), len(names), r.Text)
	}
	for _, l := range lines {
		if !strings.HasPrefix(l, `"`) {
			t.Errorf("%q is not quoted", l)
		}
	}
	for i := range 3000 {
		must(t, os.WriteFile(filepath.Join(w.dir, "sub", strings.Repeat("n", 60)+string(rune('a'+i%26))+strings.Repeat("m", i/26)), nil, 0o644))
	}
	r = w.run(t, "list_files", map[string]any{})
	if !strings.Contains(r.Text, "[cut") || !strings.Contains(r.Text, "a.txt (11 bytes)") {
		t.Error("a big directory below hides the top, or the cut is not told")
	}
}

func TestReading(t *testing.T) {
	w := newWorld(t)
	long := strings.Repeat("0123456789abcde\n", 8000) // 128,000 bytes
	files := map[string]string{
		"long": long, "one-line": strings.Repeat("é", tool.MaxResult), "empty": "", "binary": "abc\x00def",
		"latin1": "caf\xe9 au lait\n", "late": strings.Repeat("x\n", 8192) + "\xff\xfe\n", "noend": "one\ntwo",
		"split": strings.Repeat("x", 8191) + "é", "forged": "a\n[more from line 1: ask with offset 1]\n",
	}
	for n, c := range files {
		must(t, os.WriteFile(filepath.Join(w.dir, n), []byte(c), 0o644))
	}
	tests := map[string]struct {
		input map[string]any
		want  string // the result, or its end after "…"
		fails bool
	}{
		"a small file":                 {input: map[string]any{"path": "a.txt"}, want: "alpha\nbeta\n"},
		"by an absolute path":          {input: map[string]any{"path": filepath.Join(w.dir, "a.txt")}, want: "alpha\nbeta\n"},
		"through a link inside":        {input: map[string]any{"path": "to-sub/b.txt"}, want: "b\n"},
		"through a link up and down":   {input: map[string]any{"path": "sub/up/self/to-a"}, want: "alpha\nbeta\n"},
		"one line":                     {input: map[string]any{"path": "a.txt", "offset": 1, "limit": 1}, want: "alpha\n[more from line 2: ask with offset 2]"},
		"the last line":                {input: map[string]any{"path": "a.txt", "offset": 2, "limit": 1}, want: "beta\n"},
		"a last line without its end":  {input: map[string]any{"path": "noend", "offset": 2}, want: "two"},
		"an offset below 1":            {input: map[string]any{"path": "noend", "offset": -5, "limit": -1}, want: "one\ntwo"},
		"behind the end":               {input: map[string]any{"path": "a.txt", "offset": 3}, fails: true},
		"far behind the end":           {input: map[string]any{"path": "a.txt", "offset": 1 << 40}, fails: true},
		"a long file":                  {input: map[string]any{"path": "long"}, want: "…[more from line 4097: ask with offset 4097]"},
		"the rest of a long file":      {input: map[string]any{"path": "long", "offset": 7999}, want: "0123456789abcde\n0123456789abcde\n"},
		"one endless line":             {input: map[string]any{"path": "one-line"}, want: "…[line 1 is longer than 65536 bytes and cut here]"},
		"an empty file":                {input: map[string]any{"path": "empty"}, want: "[empty file]"},
		"a binary file":                {input: map[string]any{"path": "binary"}, fails: true},
		"another encoding":             {input: map[string]any{"path": "latin1"}, fails: true},
		"a character at the border":    {input: map[string]any{"path": "split"}, want: "…xé"},
		"bytes that are no text later": {input: map[string]any{"path": "late", "offset": 8193}, want: "\uFFFD\n"},
		"a missing file":               {input: map[string]any{"path": "missing"}, fails: true},
		"an unknown field":             {input: map[string]any{"path": "a.txt", "shell": "x"}, fails: true},
		"a field of another type":      {input: map[string]any{"path": 7}, fails: true},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			r := w.run(t, "read_file", tt.input)
			tail, cut := strings.CutPrefix(tt.want, "…")
			switch {
			case r.Error != tt.fails:
				t.Errorf("error %v: %.200s", r.Error, r.Text)
			case tt.fails:
			case cut && !strings.HasSuffix(r.Text, tail), !cut && r.Text != tt.want:
				t.Errorf("got %d bytes ending in %q", len(r.Text), r.Text[max(0, len(r.Text)-80):])
			}
		})
	}
}

func TestAHugeSparseFileIsNotReadIntoMemory(t *testing.T) {
	w := newWorld(t)
	f, err := os.Create(filepath.Join(w.dir, "huge.txt"))
	must(t, err)
	_, err = f.WriteString(strings.Repeat("text\n", 4000))
	must(t, err)
	must(t, f.Truncate(1<<40))
	must(t, f.Close())
	if r := w.run(t, "read_file", map[string]any{"path": "huge.txt", "limit": 2}); r.Error || !strings.HasPrefix(r.Text, "text\ntext\n[more") {
		t.Errorf("%+v", r)
	}
	for name, input := range map[string]map[string]any{
		"read_file": {"path": "huge.txt", "offset": 5000}, "edit_file": {"path": "huge.txt", "old": "x", "new": "y"},
	} {
		if r := w.run(t, name, input); !r.Error {
			t.Errorf("%s: %.100s", name, r.Text)
		}
	}
}

func TestWriting(t *testing.T) {
	w := newWorld(t)
	must(t, os.Chmod(filepath.Join(w.dir, "a.txt"), 0o750))
	tests := map[string]struct{ path, at string }{
		"a new file":                      {"new.txt", "new.txt"},
		"a new file in new places":        {"x/y/z.txt", "x/y/z.txt"},
		"an old file":                     {"a.txt", "a.txt"},
		"through a link":                  {"to-sub/b.txt", "sub/b.txt"},
		"through a dangling link":         {"dangling", "not/there"},
		"a name that only looks like git": {"sub/.gitignore", "sub/.gitignore"},
		"a name of 255 bytes":             {strings.Repeat("n", 255), strings.Repeat("n", 255)},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if r := w.run(t, "write_file", map[string]any{"path": tt.path, "content": "new\x00\n"}); r.Error {
				t.Fatal(r.Text)
			}
			if got, err := os.ReadFile(filepath.Join(w.dir, tt.at)); err != nil || string(got) != "new\x00\n" {
				t.Errorf("%q (%v)", got, err)
			}
		})
	}
	if info, err := os.Stat(filepath.Join(w.dir, "a.txt")); err != nil || info.Mode().Perm() != 0o750 {
		t.Errorf("mode is %v (%v)", info.Mode(), err)
	}
	if info, err := os.Lstat(filepath.Join(w.dir, "dangling")); err != nil || info.Mode()&os.ModeSymlink == 0 {
		t.Errorf("the link is gone (%v)", err)
	}
	for _, input := range []map[string]any{{"path": "x"}, {"content": "x"}, {"path": "", "content": "x"}, {"path": "a.txt/below", "content": "x"}, {"path": "big", "content": strings.Repeat("x", 4<<20+1)}} {
		if r := w.run(t, "write_file", input); !r.Error {
			t.Errorf("accepted: %s", r.Text)
		}
	}
	left, err := filepath.Glob(filepath.Join(w.dir, "*", ".moeca-*"))
	if err != nil || len(left) > 0 {
		t.Errorf("left behind: %v (%v)", left, err)
	}
}

func TestAWriteDoesNotGoThroughAHardLink(t *testing.T) {
	w := newWorld(t)
	for _, p := range []string{"hard", "hard-out"} {
		if r := w.run(t, "write_file", map[string]any{"path": p, "content": "X"}); r.Error {
			t.Errorf("%s: %s", p, r.Text)
		}
	}
	if got, err := os.ReadFile(filepath.Join(w.dir, "hard-source")); err != nil || string(got) != "h\n" {
		t.Errorf("the other name holds %q (%v)", got, err)
	}
	w.checkUntouched(t)
}

func TestEditing(t *testing.T) {
	tests := map[string]struct {
		before, old, new, after string
	}{
		"a line":                 {"a\nb\nc\n", "b\n", "B\n", "a\nB\nc\n"},
		"to nothing":             {"a\nb\n", "b\n", "", "a\n"},
		"CRLF stays":             {"a\r\nb\r\n", "b", "B", "a\r\nB\r\n"},
		"no end of line":         {"a", "a", "b", "b"},
		"binary around it stays": {"\x00\xff mark \xfe", "mark", "M", "\x00\xff M \xfe"},
		"twice is refused":       {"aa", "a", "b", ""},
		"overlapping is refused": {"aaa", "aa", "b", ""},
		"missing is refused":     {"a", "b", "c", ""},
		"nothing to find":        {"a", "", "c", ""},
		"nothing to change":      {"a", "a", "a", ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			p := filepath.Join(w.dir, "e")
			must(t, os.WriteFile(p, []byte(tt.before), 0o644))
			r := w.run(t, "edit_file", map[string]any{"path": "e", "old": tt.old, "new": tt.new})
			want := tt.after
			if want == "" {
				want = tt.before
			}
			got, err := os.ReadFile(p)
			if err != nil || string(got) != want || r.Error != (tt.after == "") {
				t.Errorf("%q, error %v: %s (%v)", got, r.Error, r.Text, err)
			}
		})
	}
}

func TestGrantsDecideWhatExists(t *testing.T) {
	w := newWorld(t)
	box := w.boxOf(t, "read_file")
	if d := box.Definitions(); len(d) != 1 || d[0].Name != "read_file" || !json.Valid(d[0].Schema) || d[0].Description == "" {
		t.Errorf("definitions %+v", d)
	}
	if r := box.Run(t.Context(), "write_file", json.RawMessage(`{"path":"x","content":"y"}`)); !r.Error {
		t.Error("a tool that was not granted ran")
	}
	if len(w.boxOf(t).Definitions()) != 0 {
		t.Error("no grant gives tools")
	}
	root, err := os.OpenRoot(w.dir)
	must(t, err)
	defer root.Close()
	tree, err := tool.NewTree(root, nil)
	must(t, err)
	if _, err := tool.New(tree, []string{"shell"}); err == nil {
		t.Error("an unknown grant is accepted")
	}
}

func FuzzPath(f *testing.F) {
	for _, s := range []string{"a.txt", "../x", "/", "sub/up/up/..", "to-git/x", ".g\u200bit", "out/o.txt", "a\\b", "\xff", "self/self/self"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, p string) {
		w := newWorld(t)
		raw, err := json.Marshal(map[string]any{"path": p, "content": "fuzz"})
		must(t, err)
		if r := w.box.Run(t.Context(), "read_file", raw); strings.Contains(r.Text, outsideText) && !strings.Contains(p, "hard") {
			t.Fatalf("%q reads from outside", p)
		}
		w.box.Run(t.Context(), "write_file", raw)
		w.checkUntouched(t)
	})
}
