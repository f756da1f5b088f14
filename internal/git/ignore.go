package git

import (
	"context"
	"fmt"
	"io"
	"path"
	"strings"
)

// maxIgnoreFile bounds one .gitignore; a longer one is not applied, which can
// only make a snapshot larger.
const maxIgnoreFile = 1 << 20

// ignoreRules are the .gitignore files of one tree, as data, by directory ("" is
// the top). They come from the base commit, never from the agent's tree: an
// agent must not be able to hide a file from review by ignoring it.
type ignoreRules map[string][]ignoreRule

// ignoreRule is one pattern.
type ignoreRule struct {
	pattern  string
	negate   bool
	dirOnly  bool
	anchored bool // holds a slash: matches the path below its directory
}

// loadIgnore reads the rules of a listed tree.
func (st *Store) loadIgnore(ctx context.Context, leaves []leaf) (ignoreRules, error) {
	oids, dirs := filesNamed(leaves, ".gitignore")
	rules := ignoreRules{}
	err := st.readObjects(ctx, oids, func(i int, o object, r io.Reader) error {
		if o.Size > maxIgnoreFile {
			return nil
		}
		data, err := io.ReadAll(r)
		if err != nil {
			return err
		}
		rules[strings.TrimSuffix(dirs[i], "/")] = parseIgnore(string(data))
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("git: ignore rules: %w", err)
	}
	return rules, nil
}

// filesNamed returns the files of one name, and the directory of each, "" or
// ending in a slash.
func filesNamed(leaves []leaf, name string) (oids, dirs []string) {
	for _, l := range leaves {
		if path.Base(l.path) == name && (l.mode == modeFile || l.mode == modeExec) {
			oids, dirs = append(oids, l.oid), append(dirs, strings.TrimSuffix(l.path, name))
		}
	}
	return oids, dirs
}

// byteOrderMark may begin a file of rules and is no part of the first.
const byteOrderMark = "\uFEFF"

func parseIgnore(text string) []ignoreRule {
	var rules []ignoreRule
	for line := range strings.Lines(strings.TrimPrefix(text, byteOrderMark)) {
		if bare, ok := strings.CutSuffix(line, "\n"); ok {
			line = strings.TrimSuffix(bare, "\r")
		}
		if r, ok := parseRule(trimSpaces(line)); ok {
			rules = append(rules, r)
		}
	}
	return rules
}

// trimSpaces removes trailing spaces that no backslash protects.
func trimSpaces(s string) string {
	end := 0
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case ' ':
			continue
		case '\\':
			if i++; i >= len(s) {
				return s
			}
		}
		end = i + 1
	}
	return s[:end]
}

func parseRule(line string) (ignoreRule, bool) {
	var r ignoreRule
	if line == "" || line[0] == '#' {
		return r, false
	}
	if line[0] == '!' {
		r.negate, line = true, line[1:]
	}
	if rest, ok := strings.CutSuffix(line, "/"); ok {
		r.dirOnly, line = true, rest
	}
	r.anchored = strings.Contains(line, "/")
	r.pattern = strings.TrimPrefix(line, "/")
	return r, r.pattern != ""
}

// ignored decides about one path whose parent directories are not ignored: the
// last matching rule wins, and the deepest file that says anything.
func (rules ignoreRules) ignored(full string, isDir bool) bool {
	if len(rules) == 0 {
		return false
	}
	name := path.Base(full)
	for dir := full; dir != ""; {
		if i := strings.LastIndexByte(dir, '/'); i >= 0 {
			dir = dir[:i]
		} else {
			dir = ""
		}
		below := strings.TrimPrefix(full[len(dir):], "/")
		list := rules[dir]
		for i := len(list) - 1; i >= 0; i-- {
			if list[i].matches(name, below, isDir) {
				return !list[i].negate
			}
		}
	}
	return false
}

func (r ignoreRule) matches(name, below string, isDir bool) bool {
	if r.dirOnly && !isDir {
		return false
	}
	if r.anchored {
		return wildmatch(r.pattern, below, true)
	}
	return wildmatch(r.pattern, name, false)
}
