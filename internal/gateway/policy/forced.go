package policy

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
)

// Faults of a push that moves a branch, in the words of a refusal.
const (
	ForcedNoPack   = "the push brings no commit, so nothing in it shows that the branch only moves forward"
	ForcedUnshown  = "the pushed commits do not lead back to where the branch stood, so it would be rewritten, or cannot be shown not to be"
	ForcedTooLarge = "the pack is too large to be read through, so nothing shows that the branch only moves forward"
)

// forced says why a push is not shown to move branches forward only, or nothing
// if it is. The command list does not tell: what it holds is where each branch
// is said to stand and where it is to go. The proof is in the pack. The id of a
// commit is the hash of its content, parents among it, so a chain of commits in
// the pack that begins at the new id and names the old one shows that the old
// one is an ancestor, whatever the remote makes of the pack. That the branch
// stands at the old id is for the remote to compare, which it does under the
// lock of the ref; a creation compares with there being none.
//
// What leads through commits that the remote has already is not in the pack and
// is not shown.
func forced(pack []byte, updates []Update) string {
	var moved []Update
	for _, u := range updates {
		if !u.creates() && !u.Deletes() && u.Old != u.New {
			moved = append(moved, u)
		}
	}
	if len(moved) == 0 {
		return ""
	}
	if len(pack) == 0 {
		return ForcedNoPack
	}
	commits, err := commitsOf(pack, len(moved[0].Old))
	switch {
	case errors.Is(err, errPackLarge):
		return ForcedTooLarge
	case err != nil:
		return fmt.Sprintf("%v, so nothing shows that the branch only moves forward", err)
	case len(commits) == 0:
		return ForcedNoPack
	}
	for _, u := range moved {
		if !leadsBack(commits, u) {
			return ForcedUnshown
		}
	}
	return ""
}

// leadsBack walks from the new commit through all parents in the pack.
func leadsBack(commits map[string][]byte, u Update) bool {
	seen := map[string]bool{u.New: true}
	for next := []string{u.New}; len(next) > 0; {
		id := next[len(next)-1]
		next = next[:len(next)-1]
		for _, parent := range parentsOf(commits[id], len(id)) {
			if parent == u.Old {
				return true
			}
			if !seen[parent] && commits[parent] != nil {
				seen[parent] = true
				next = append(next, parent)
			}
		}
	}
	return false
}

// parentsOf reads the parents as git does: lines of their own, right behind the
// one of the tree.
func parentsOf(commit []byte, idLen int) (parents []string) {
	line, rest, ok := bytes.Cut(commit, []byte("\n"))
	if tree, is := strings.CutPrefix(string(line), "tree "); !ok || !is || len(tree) != idLen || !isOID(tree) {
		return nil
	}
	for {
		if line, rest, ok = bytes.Cut(rest, []byte("\n")); !ok || len(line) != len("parent ")+idLen {
			return parents
		}
		id, is := strings.CutPrefix(string(line), "parent ")
		if !is || !isOID(id) {
			return parents
		}
		parents = append(parents, id)
	}
}
