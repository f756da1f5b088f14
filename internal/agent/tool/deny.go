package tool

import (
	"fmt"
	"path"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// glob is a deny pattern, folded.
type glob struct {
	pattern string
	whole   bool // matched with paths, not with names
}

func newGlob(pattern string) (glob, error) {
	p := fold(strings.TrimPrefix(strings.TrimSuffix(pattern, "/"), "./"))
	if p == "" {
		return glob{}, fmt.Errorf("tool: deny glob %q is empty", pattern)
	}
	if _, err := path.Match(p, ""); err != nil {
		return glob{}, fmt.Errorf("tool: deny glob %q: %w", pattern, err)
	}
	return glob{pattern: strings.TrimPrefix(p, "/"), whole: strings.Contains(p, "/")}, nil
}

// denied says whether a clean path below the root must not be touched: because
// of the path itself or of a directory it lies in.
func (t *Tree) denied(name string) bool {
	if name == "." {
		return false
	}
	folded := fold(name)
	for end := range len(folded) + 1 {
		if end < len(folded) && folded[end] != '/' {
			continue
		}
		above := folded[:end]
		base := path.Base(above)
		if isGit(base) {
			return true
		}
		for _, g := range t.globs {
			subject := base
			if g.whole {
				subject = above
			}
			// The pattern was checked when it was made.
			if ok, _ := path.Match(g.pattern, subject); ok {
				return true
			}
		}
	}
	return false
}

// isGit says whether a folded name is git's own directory on some file system:
// in any case, as the NTFS short name, with the trailing dots, spaces and
// streams that NTFS drops, or behind a backslash.
func isGit(folded string) bool {
	for name := range strings.SplitSeq(folded, `\`) {
		name, _, _ = strings.Cut(name, ":")
		name = strings.TrimRight(name, ". ")
		if name == ".git" || name == "git~1" {
			return true
		}
	}
	return false
}

// fold maps names that some file system holds for the same to one spelling:
// composed and decomposed characters to the decomposed ones, all case variants
// of a letter to one of them, and the code points that HFS+ ignores to nothing.
func fold(s string) string {
	return strings.Map(func(r rune) rune {
		if ignoredByHFS(r) {
			return -1
		}
		least := r
		for n := unicode.SimpleFold(r); n != r; n = unicode.SimpleFold(n) {
			least = min(least, n)
		}
		return unicode.ToLower(least)
	}, norm.NFD.String(s))
}

// ignoredByHFS lists what the HFS+ of Apple leaves out when it compares names
// (the same list git's core.protectHFS uses).
func ignoredByHFS(r rune) bool {
	return r >= 0x200c && r <= 0x200f || r >= 0x202a && r <= 0x202e ||
		r >= 0x206a && r <= 0x206f || r == 0xfeff
}
