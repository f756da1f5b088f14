package git

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"
)

// ErrHostileName means a tree holds a name that must never become a file:
// git, or a file system somewhere, would take it for something else.
var ErrHostileName = errors.New("hostile file name")

const maxComponent, maxPath = 255, 4095

// checkPath refuses a tree path unless every component is an ordinary name.
func checkPath(path string) error {
	if len(path) > maxPath {
		return fmt.Errorf("%w: path longer than %d bytes: %.80q…", ErrHostileName, maxPath, path)
	}
	for name := range strings.SplitSeq(path, "/") {
		if why := badComponent(name); why != "" {
			return fmt.Errorf("%w: %s: %q", ErrHostileName, why, path)
		}
	}
	return nil
}

func badComponent(name string) string {
	switch {
	case name == "":
		return "empty component"
	case name == "." || name == "..":
		return "leads out of its directory"
	case len(name) > maxComponent:
		return "component longer than 255 bytes"
	case strings.IndexByte(name, 0) >= 0:
		return "NUL byte"
	case isDotGit(name):
		return "git would treat it as its own"
	}
	return ""
}

// isDotGit reports whether any git on any file system would take name for a
// .git: other case, the NTFS short name, trailing dots and spaces, an
// alternate data stream, a backslash as separator, or code points that HFS+
// ignores.
func isDotGit(name string) bool {
	for part := range strings.SplitSeq(name, `\`) {
		if ntfsDotGit(part) || strings.EqualFold(hfsFold(part), ".git") {
			return true
		}
	}
	return false
}

func ntfsDotGit(name string) bool {
	if i := strings.IndexByte(name, ':'); i >= 0 {
		name = name[:i]
	}
	name = strings.TrimRight(name, ". ")
	return strings.EqualFold(name, ".git") || strings.EqualFold(name, "git~1")
}

// hfsFold removes the code points HFS+ ignores in names.
func hfsFold(name string) string {
	if !utf8.ValidString(name) {
		return name
	}
	return strings.Map(func(r rune) rune {
		switch {
		case r >= 0x200c && r <= 0x200f, r >= 0x202a && r <= 0x202e, r >= 0x206a && r <= 0x206f, r == 0xfeff:
			return -1
		}
		return r
	}, name)
}

// isGitModules reports whether name could be read as .gitmodules. As a symlink
// git refuses to check it out.
func isGitModules(name string) bool {
	name = strings.TrimRight(hfsFold(name), ". ")
	return strings.EqualFold(name, ".gitmodules") || len(name) == 8 && strings.EqualFold(name[:7], "gitmod~")
}
