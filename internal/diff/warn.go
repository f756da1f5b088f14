package diff

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Warnings a reviewer should see beside a file. The list is closed: the API's
// description of File.Warnings names them all.
const (
	WarnNameBidi    = "name-bidi"         // the name holds characters that reorder it
	WarnNameHidden  = "name-hidden"       // the name holds control or invisible characters
	WarnNameMixed   = "name-mixed-script" // one component mixes scripts that look alike
	WarnNameInvalid = "name-not-utf8"     // the name is not UTF-8 and is shown escaped
	WarnNameTwin    = "name-twin"         // another path differs only in case or composition: one of both is lost where names are folded
	WarnBidi        = "bidi"              // an added line holds characters that reorder it
	WarnNUL         = "nul"               // an added line holds a NUL byte
	WarnNotUTF8     = "not-utf8"          // an added line is not UTF-8 and is shown escaped
	WarnControl     = "control"           // an added line holds terminal control characters
	WarnAttributes  = "attributes-driver" // a .gitattributes names a filter, diff or merge driver, which git would run
	WarnSubmodules  = "submodules"        // a .gitmodules is added or changed: it says from where code is fetched
	WarnLinkOutside = "symlink-outside"   // a symbolic link leads out of the tree, or into .git
	WarnNotPointer  = "lfs-not-pointer"   // the path is kept by git LFS, yet the content is not a pointer
)

// fileWarnings looks at what a file means to git itself.
func fileWarnings(f File) []string {
	if f.NewMode == modeNone {
		return nil
	}
	switch name := f.Name(); strings.ToLower(name[strings.LastIndexByte(name, '/')+1:]) {
	case ".gitmodules":
		return []string{WarnSubmodules}
	case ".gitattributes":
		// What is not shown may name one.
		if f.Kind != "text" || f.Truncated || f.Status == "renamed" || f.Status == "copied" || namesDriver(f.Hunks) {
			return []string{WarnAttributes}
		}
	}
	return nil
}

// namesDriver reports an added line that sets a driver. That of LFS is known,
// and its files are shown as what they are.
func namesDriver(hunks []Hunk) bool {
	for _, h := range hunks {
		for _, l := range h.Lines {
			for _, word := range strings.Fields(l.Text) {
				key, value, _ := strings.Cut(word, "=")
				if l.Op == "+" && value != "" && value != "lfs" && (key == "filter" || key == "diff" || key == "merge") {
					return true
				}
			}
		}
	}
	return false
}

// nameWarnings looks at a raw name.
func nameWarnings(raw string) []string {
	var w []string
	if !utf8.ValidString(raw) {
		w = append(w, WarnNameInvalid)
	}
	switch {
	case strings.ContainsFunc(raw, isBidi):
		w = append(w, WarnNameBidi)
	case strings.ContainsFunc(raw, hidden):
		w = append(w, WarnNameHidden)
	}
	for part := range strings.SplitSeq(raw, "/") {
		if mixedScript(part) {
			return append(w, WarnNameMixed)
		}
	}
	return w
}

// mixedScript reports a word of letters that look alike across scripts: Latin
// with Cyrillic, Greek, Armenian or Cherokee. Latin beside Japanese or Chinese
// is ordinary and looks like nothing else.
func mixedScript(s string) bool {
	var latin, other bool
	for _, r := range s {
		switch {
		case unicode.Is(unicode.Latin, r):
			latin = true
		case unicode.In(r, unicode.Cyrillic, unicode.Greek, unicode.Armenian, unicode.Cherokee):
			other = true
		}
	}
	return latin && other
}

// contentWarnings looks at what a change adds.
func contentWarnings(hunks []Hunk) []string {
	found := map[string]bool{}
	for _, h := range hunks {
		for _, l := range h.Lines {
			if l.Op == "+" {
				lineWarnings(l, found)
			}
		}
	}
	var w []string
	for _, name := range []string{WarnBidi, WarnNUL, WarnNotUTF8, WarnControl} {
		if found[name] {
			w = append(w, name)
		}
	}
	return w
}

func lineWarnings(l Line, found map[string]bool) {
	if l.Raw != nil {
		found[WarnNotUTF8] = true
	}
	for _, r := range l.Text {
		switch {
		case r == 0:
			found[WarnNUL] = true
		case r == '\t' || r == '\r' || r == '\f':
		case unicode.IsControl(r):
			found[WarnControl] = true
		case isBidi(r):
			found[WarnBidi] = true
		}
	}
}

// lfsFirst starts a pointer file of git LFS.
const lfsFirst = "version https://git-lfs.github.com/spec/v1"

// IsPointer reports content that is a pointer file of git LFS.
func IsPointer(content []byte) bool {
	return strings.HasPrefix(string(content), lfsFirst+"\n")
}

// isLFS reports a change to a pointer file: the first line is shown, as a
// pointer has three.
func isLFS(f File) bool {
	if len(f.Hunks) == 0 || f.Hunks[0].NewStart > 1 {
		return false
	}
	return slices.ContainsFunc(f.Hunks[0].Lines, func(l Line) bool { return l.Text == lfsFirst })
}
