package board

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
)

// behind is a checkout of a target branch that our merges leave as it is.
type behind struct {
	worktree string // "" when the branch is checked out nowhere
	at       string // commit its files and index stand at
	latest   string // where the branch stood last; differs from at after several merges
}

// behindOf finds where a checkout of target stands when the branch is at tip:
// at the value before the first of the unbroken chain of our merges that left
// this checkout behind. A commit of somebody else on top ends the chain, as
// whoever made it had brought the checkout forward. The user's index is not
// read, so a checkout that was brought forward without a commit is not seen;
// the advice says what to do then.
func behindOf(ctx context.Context, q querier, repo, target, worktree, tip string) (behind, error) {
	b := behind{worktree: worktree, at: tip, latest: tip}
	seen := map[string]bool{}
	for worktree != "" && !seen[b.at] {
		seen[b.at] = true
		err := q.QueryRowContext(ctx, `SELECT before FROM landings WHERE repo_id = ? AND target = ? AND after = ? AND worktree = ?`,
			repo, target, b.at, worktree).Scan(&b.at)
		if errors.Is(err, sql.ErrNoRows) {
			break
		}
		if err != nil {
			return behind{}, err
		}
	}
	return b, nil
}

// storeLanding remembers that a merge left a checkout behind.
func (c *change) storeLanding(ctx context.Context, m merge) error {
	return c.exec(ctx, `INSERT OR IGNORE INTO landings (repo_id, target, before, after, worktree) VALUES (?, ?, ?, ?, ?)`,
		m.task.RepoID, m.merged.Target, m.merged.TargetOID, m.merged.Commit, m.worktree)
}

// before says in a review what a merge will leave alone.
func (b behind) before(target string) string {
	if b.worktree == "" {
		return ""
	}
	s := fmt.Sprintf("%s is checked out in %s; a merge leaves its files and its index as they are. "+
		"Until they are brought forward, with the command the merge answers, a commit made there would undo the merge.", target, b.worktree)
	if b.at != b.latest {
		s += fmt.Sprintf(" They stand at %.12s, before merges made earlier.", b.at)
	}
	return s
}

// after says what the merge left alone and how to bring it forward. The command
// is the end of the text.
func (b behind) after(m Merged) string {
	if b.worktree == "" {
		return ""
	}
	s := fmt.Sprintf("%s is checked out in %s; its files and its index were left as they are, at %.12s. "+
		"Until they are brought forward, a commit made there would undo the merge. Changes of yours stay; where they are in the way git refuses and changes nothing. ",
		m.Target, b.worktree, b.at)
	if b.at != b.latest {
		s += fmt.Sprintf("If you brought them forward after the merge before this one, put %s in place of the first commit. ", b.latest)
	}
	return s + fmt.Sprintf("To bring them forward: git -C %s read-tree -m -u %s %s", shellWord(b.worktree), b.at, m.Commit)
}
