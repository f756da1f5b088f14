package git

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// ignoredByGit asks git itself about every path.
func (r repo) ignoredByGit(paths []string) map[string]bool {
	r.t.Helper()
	cmd := exec.Command("git", "check-ignore", "--no-index", "-z", "--stdin")
	cmd.Dir, cmd.Stdin = r.dir, strings.NewReader(strings.Join(paths, "\x00")+"\x00")
	cmd.Env = []string{"HOME=/nonexistent", "GIT_CONFIG_NOSYSTEM=1"}
	var out, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &stderr
	if err := cmd.Run(); err != nil && stderr.Len() > 0 {
		r.t.Fatalf("%v: %s", err, stderr.String())
	}
	got := map[string]bool{}
	for p := range strings.SplitSeq(out.String(), "\x00") {
		got[p] = true
	}
	return got
}

// ignoredByUs applies the rules as the walk does: top down.
func ignoredByUs(rules ignoreRules, path string, isDir bool) bool {
	for i := range len(path) {
		if path[i] == '/' && rules.ignored(path[:i], true) {
			return true
		}
	}
	return rules.ignored(path, isDir)
}

// agree compares with git on one set of rules and files.
func agree(t *testing.T, r repo, files map[string]string, paths []string) {
	t.Helper()
	rules := ignoreRules{}
	for name, text := range files {
		r.write(name, text)
		dir := strings.TrimSuffix(strings.TrimSuffix(name, ".gitignore"), "/")
		rules[dir] = parseIgnore(text)
	}
	for _, p := range paths {
		put(t, filepath.Join(r.dir, p), "x")
	}
	want := r.ignoredByGit(paths)
	for _, p := range paths {
		if got := ignoredByUs(rules, p, false); got != want[p] {
			t.Errorf("%q with %q: ignored %v, git says %v", p, files, got, want[p])
		}
	}
}

func TestIgnoreLikeGit(t *testing.T) {
	paths := []string{
		"a", "b.log", "keep.log", "d/a", "d/b.log", "d/e/a", "d/e/f/a", "build/x", "x/build/y", "src/build", "foo bar", "foo ",
		"#x", "!x", "a[b]", "aXb", "d/e/f/g.txt", "UPPER", "z-z", "z]z", "é", "back\\slash", "deep/one/two/three/x.o",
	}
	for i, text := range []string{
		"*.log\n", "*.log\n!keep.log\n", "/a\n", "a\n", "d/\n", "d/*\n!d/e/\n", "d/**\n", "**/a\n", "d/**/a\n", "**\n", "build/\n", "/build/\n",
		"build\n!src/build\n", "foo bar\n", "foo\\ \n", "foo   \n", "\\#x\n", "#x\n", "\\!x\n", "a\\[b\\]\n", "a[^b]b\n", "a[!a-z]b\n", "[[:upper:]]*\n",
		"z[-]z\n", "z[]]z\n", "z[a-\n", "?\n", "*\n!*/\n!*.txt\n", "d/e\n", "/d/e/f/\n", "e/f\n", "*/e\n", "back\\\\slash\n", "\ufeffa\n", "a\r\n", "a \r\n",
		"a**\n", "**a\n", "d/e/**\n!d/e/f\n", "d/e/f/*\n!g.txt\n", "deep/**/*.o\n", "deep/*/x.o\n", "[[:nope:]]\n", "\\\n", "/\n", "//\n", "!\n", "*/\n", "d//\n",
		"**/\n", "/**\n", "**/**/a\n", "d/**/**/a\n", "***\n", "d/***\n", "[a-c]\n", "[c-a]\n", "[\\]]\n", "*.[lo][o]g\n",
	} {
		t.Run(fmt.Sprintf("%d %q", i, text), func(t *testing.T) {
			t.Parallel()
			agree(t, newRepo(t), map[string]string{".gitignore": text}, paths)
		})
	}
	agree(t, newRepo(t), map[string]string{".gitignore": "*.log\nd/\n!d/e/\n", "x/.gitignore": "!b.log\nbuild\n", "x/y/.gitignore": "/b.log\n"},
		[]string{"x/b.log", "x/y/b.log", "x/y/z/b.log", "x/build/q", "build/q", "d/e/q", "x/c.log"})
}

// Random rules over random paths: the two agree.
func TestIgnoreLikeGitAtRandom(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	pieces := []string{"a", "b", "ab", "*", "**", "?", "/", "/", "!", "[ab]", "[!a]", "\\a", "*b", "a*", "[", "]", "-", "."}
	names := []string{"a", "b", "ab", "ba", "aab", "[", "!a", "-", "a.b"}
	for range 25 {
		var rules strings.Builder
		for range 1 + rnd.IntN(5) {
			for range 1 + rnd.IntN(5) {
				rules.WriteString(pieces[rnd.IntN(len(pieces))])
			}
			rules.WriteByte('\n')
		}
		var paths []string
		for i := range 12 {
			p := names[rnd.IntN(len(names))]
			for range rnd.IntN(3) {
				p = "d" + names[rnd.IntN(len(names))] + "/" + p
			}
			paths = append(paths, fmt.Sprintf("%s%d", strings.TrimSuffix(p, "/"), i%2))
		}
		agree(t, newRepo(t), map[string]string{".gitignore": rules.String()}, paths)
	}
}

// A pattern made to explode ends soon; it then ignores nothing.
func TestWildmatchIsBounded(t *testing.T) {
	pattern := strings.Repeat("*a", 40) + "b"
	start := time.Now()
	for range 10 {
		if wildmatch(pattern, strings.Repeat("a", 250), false) {
			t.Fatal("matched")
		}
	}
	t.Logf("10 matches took %v", time.Since(start))
}

func FuzzWildmatch(f *testing.F) {
	f.Add("a/**/b[!c-d]*?\\x", "a/x/bzz")
	f.Fuzz(func(_ *testing.T, pattern, text string) {
		wildmatch(pattern, text, true)
		wildmatch(pattern, text, false)
		parseIgnore(pattern)
	})
}
