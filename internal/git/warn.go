package git

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"path"
	"slices"
	"strings"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"

	"moeca/internal/diff"
)

// maxLook is how much of a file is read for a warning: a pointer of LFS and the
// target of a symbolic link are shorter. maxAttributes bounds a .gitattributes;
// of a longer one every line counts that fits.
const (
	maxLook       = 4 << 10
	maxAttributes = 1 << 20
)

// warn adds the warnings that need more than the diff itself: the other paths
// of the result, whose tree is to, its attributes, and the content of links and
// pointers.
func (st *Store) warn(ctx context.Context, set *diff.Set, to string) error {
	if len(set.Files) == 0 {
		return nil
	}
	all, err := st.leaves(ctx, to, false, false)
	if err != nil {
		return err
	}
	lfs, err := st.loadLFS(ctx, all)
	if err != nil {
		return err
	}
	twins := twinsOf(all)
	var look []*diff.File
	var oids []string
	for i := range set.Files {
		f := &set.Files[i]
		if absent(f.NewMode) {
			continue
		}
		name := f.Name()
		if twins.has(name) {
			f.Warnings = append(f.Warnings, diff.WarnNameTwin)
		}
		link := f.NewMode == modeSymlink
		if link || f.NewMode != modeGitlink && f.Kind != "lfs" && lfs.tracks(name) {
			look, oids = append(look, f), append(oids, f.NewOID)
		}
	}
	err = st.readObjects(ctx, oids, func(i int, _ object, r io.Reader) error {
		f := look[i]
		text, err := io.ReadAll(io.LimitReader(r, maxLook))
		switch {
		case err != nil:
			return err
		case f.NewMode == modeSymlink && leadsOut(f.Name(), string(text)):
			f.Warnings = append(f.Warnings, diff.WarnLinkOutside)
		case f.NewMode != modeSymlink && !diff.IsPointer(text):
			f.Warnings = append(f.Warnings, diff.WarnNotPointer)
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("git: look at changed files: %w", err)
	}
	return nil
}

// leadsOut reports whether a symbolic link at path leads out of the tree, as
// far as its text alone says, or into a git directory.
func leadsOut(path, target string) bool {
	slashed := strings.ReplaceAll(target, `\`, "/")
	if target == "" || strings.HasPrefix(slashed, "/") || len(target) > 1 && target[1] == ':' {
		return true
	}
	for _, text := range []string{target, slashed} {
		at := strings.Split(path, "/")
		at = at[:len(at)-1]
		for part := range strings.SplitSeq(text, "/") {
			switch {
			case part == "" || part == ".":
			case part == "..":
				if len(at) == 0 {
					return true
				}
				at = at[:len(at)-1]
			case isDotGit(part):
				return true
			default:
				at = append(at, part)
			}
		}
	}
	return false
}

// spellings are the ways in which paths and their directories are written, by
// what a file system that folds case and composition makes of them.
type spellings struct {
	first map[string]string
	two   map[string]bool
}

func twinsOf(all []leaf) spellings {
	s := spellings{map[string]string{}, map[string]bool{}}
	done := map[string]bool{}
	for _, l := range all {
		for p := l.path; p != "." && !done[p]; p = path.Dir(p) {
			done[p] = true
			key := folded(p)
			if was, ok := s.first[key]; ok && was != p {
				s.two[key] = true
			} else {
				s.first[key] = p
			}
		}
	}
	return s
}

func (s spellings) has(name string) bool {
	for p := name; len(s.two) > 0 && p != "."; p = path.Dir(p) {
		if s.two[folded(p)] {
			return true
		}
	}
	return false
}

// folded is a name as such a file system compares it.
func folded(name string) string {
	plain := true
	for i := range len(name) {
		plain = plain && name[i] < 0x80
	}
	if plain {
		return strings.ToLower(name)
	}
	return norm.NFC.String(cases.Fold().String(norm.NFD.String(name)))
}

// lfsRules are the lines of a tree's .gitattributes that speak of the filter,
// shallowest directory first: the last that matches counts.
type lfsRules []lfsRule

type lfsRule struct {
	ignoreRule        // matches as there, and is never negated
	dir        string // "" or ending in a slash
	on         bool
}

func (st *Store) loadLFS(ctx context.Context, all []leaf) (lfsRules, error) {
	oids, dirs := filesNamed(all, ".gitattributes")
	var rules lfsRules
	err := st.readObjects(ctx, oids, func(i int, _ object, r io.Reader) error {
		text, err := io.ReadAll(io.LimitReader(r, maxAttributes))
		for line := range bytes.Lines(bytes.TrimPrefix(text, []byte(byteOrderMark))) {
			if rule, ok := parseLFS(string(line)); ok {
				rule.dir = dirs[i]
				rules = append(rules, rule)
			}
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("git: attributes: %w", err)
	}
	slices.SortStableFunc(rules, func(a, b lfsRule) int { return strings.Count(a.dir, "/") - strings.Count(b.dir, "/") })
	return rules, nil
}

// parseLFS reads "pattern attribute…" where one attribute is the filter.
func parseLFS(line string) (r lfsRule, ok bool) {
	words := strings.Fields(line)
	if len(words) < 2 || strings.HasPrefix(words[0], "#") || strings.HasPrefix(words[0], "[attr]") {
		return r, false
	}
	if rest, quoted := strings.CutPrefix(strings.TrimLeft(line, " \t"), `"`); quoted {
		pattern, attrs, closed := strings.Cut(rest, `"`)
		if !closed {
			return r, false
		}
		words = append([]string{pattern}, strings.Fields(attrs)...)
	}
	r.pattern, r.anchored = strings.TrimPrefix(words[0], "/"), strings.Contains(words[0], "/")
	for _, w := range words[1:] {
		if w == "filter" || w == "-filter" || w == "!filter" || strings.HasPrefix(w, "filter=") {
			r.on, ok = w == "filter=lfs", true
		}
	}
	return r, ok
}

// tracks says whether a path is kept by git LFS.
func (rules lfsRules) tracks(name string) (on bool) {
	for _, r := range rules {
		if below, ok := strings.CutPrefix(name, r.dir); ok && r.matches(path.Base(name), below, false) {
			on = r.on
		}
	}
	return on
}
