package ci

import (
	"path"
	"slices"
	"strings"

	"moeca/internal/git"
	"moeca/internal/sandbox"
)

// named returns the paths, in lower case, that the words of the gate's command
// resolve to in either tree: a script, a file given to an option, a directory a
// program is run from, and what symbolic links among them lead to. A directory
// that is merely tested (go test ./pkg, pytest tests) is the work itself and
// does not count.
func (c Comparison) named() map[string]bool {
	t := newPathSet(c.Base, c.Result)
	found := map[string]bool{}
	dirs := []string{""}
	var before string // last word that is no option
	for _, arg := range c.Argv {
		for _, word := range strings.FieldsFunc(arg, shellBreak) {
			for _, name := range readings(word, before) {
				if t.dirs[name] {
					if len(dirs) < 64 {
						dirs = append(dirs, name)
					}
					if slices.Contains([]string{"run", "node", "python", "python3", "deno", "bun", "sh", "bash", "-m"}, before) {
						t.below(name, found)
					}
				}
				for _, dir := range dirs { // sh -c "cd ci && ./run"
					if p := path.Join(dir, name); t.files[p] {
						found[p] = true
					}
				}
			}
			if !strings.HasPrefix(word, "-") || word == "-m" {
				before = word
			}
		}
	}
	c.followLinks(t, found)
	return found
}

// shellBreak says where a word of a shell command can end.
func shellBreak(r rune) bool { return strings.ContainsRune(" \t\r\n;&|()<>`$'\"{},", r) }

// readings are the paths a word can mean, in lower case: itself, what follows
// an equals sign or a short option's letter, and the file of a Python module.
func readings(word, before string) []string {
	words := []string{word}
	if _, value, ok := strings.Cut(word, "="); ok {
		words = append(words, value)
	}
	if len(word) > 2 && word[0] == '-' && word[1] != '-' {
		words = append(words, word[2:])
	}
	if before == "-m" {
		module := strings.ReplaceAll(word, ".", "/")
		words = append(words, module, module+".py")
	}
	var all []string
	for _, w := range words {
		w = strings.TrimPrefix(path.Clean(w), sandbox.TreePath+"/")
		if w != "." && !path.IsAbs(w) {
			all = append(all, strings.ToLower(w))
		}
	}
	return all
}

// pathSet is the files and directories of both trees, in lower case.
type pathSet struct{ files, dirs map[string]bool }

func newPathSet(trees ...[]git.Entry) pathSet {
	t := pathSet{map[string]bool{}, map[string]bool{}}
	for _, entries := range trees {
		for _, e := range entries {
			name := strings.ToLower(e.Path)
			t.files[name] = true
			for dir := path.Dir(name); dir != "." && !t.dirs[dir]; dir = path.Dir(dir) {
				t.dirs[dir] = true
			}
		}
	}
	return t
}

func (t pathSet) below(dir string, found map[string]bool) {
	for name := range t.files {
		if strings.HasPrefix(name, dir+"/") {
			found[name] = true
		}
	}
}

// followLinks adds what symbolic links among the found lead to. A link that
// changed counts by itself, so the result's links are enough.
func (c Comparison) followLinks(t pathSet, found map[string]bool) {
	links := map[string]string{}
	for _, e := range c.Result {
		if e.Mode == modeSymlink && c.Content != nil {
			links[strings.ToLower(e.Path)] = e.Path
		}
	}
	var todo []string
	for name := range found {
		todo = append(todo, name)
	}
	for len(todo) > 0 {
		name := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		real, ok := links[name]
		if !ok {
			continue
		}
		to, err := c.Content.ReadLink(real)
		if err != nil {
			continue // the link itself is found already
		}
		to = strings.ToLower(path.Join(path.Dir(real), to))
		if t.files[to] && !found[to] {
			found[to] = true
			todo = append(todo, to)
		}
		if t.dirs[to] {
			t.below(to, found)
		}
	}
}

const modeSymlink = "120000"
