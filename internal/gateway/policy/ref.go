package policy

import (
	"slices"
	"strings"
)

// Heads is where branches live.
const Heads = "refs/heads/"

// DefaultPrefix is where agents may write branches when a policy names no
// other place. Attempts of the board are named below it.
const DefaultPrefix = "moeca/"

// AlwaysProtected are the names no agent may write, on any upstream.
func AlwaysProtected() []string { return []string{"main", "master", "develop"} }

// Faults of a ref, in the words of a refusal.
const (
	RefDefault   = "the default branch is protected"
	RefNoBranch  = "only branches, refs/heads/…, may be written"
	RefSpelling  = "the branch name holds something that could be read as another name"
	RefProtected = "the branch is protected"
	RefPrefix    = "the branch is not under a prefix where agents may write"
)

// RefFault says why an agent may not write a ref, or nothing if it may. It
// goes by what the ref could become for any reader: letters, digits, ".", "_",
// "-" and inner slashes are the whole alphabet; names are compared without
// case, since a file system below may do so.
func RefFault(ref string, prefixes, protected []string) string {
	if ref == "" {
		return RefDefault
	}
	name, ok := strings.CutPrefix(ref, Heads)
	if !ok {
		return RefNoBranch
	}
	if !plainBranch(name) {
		return RefSpelling
	}
	same := func(p string) bool { return strings.EqualFold(strings.TrimPrefix(p, Heads), name) }
	if slices.ContainsFunc(AlwaysProtected(), same) || slices.ContainsFunc(protected, same) {
		return RefProtected
	}
	if len(prefixes) == 0 {
		prefixes = []string{DefaultPrefix}
	}
	for _, p := range prefixes {
		if rest, ok := strings.CutPrefix(name, p); ok && rest != "" && strings.HasSuffix(p, "/") {
			return ""
		}
	}
	return RefPrefix
}

// plainBranch is stricter than git's own rule for names.
func plainBranch(name string) bool {
	if name == "" || len(name) > 200 {
		return false
	}
	for i := range len(name) {
		c := name[i]
		if !(c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '.' || c == '_' || c == '-' || c == '/') {
			return false
		}
	}
	for part := range strings.SplitSeq(name, "/") {
		if part == "" || part[0] == '.' || part[0] == '-' || strings.HasSuffix(part, ".") ||
			strings.HasSuffix(strings.ToLower(part), ".lock") || strings.Contains(part, "..") {
			return false
		}
	}
	return !strings.HasPrefix(name, "refs/") && name != "HEAD"
}
