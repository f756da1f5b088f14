package git

import (
	"context"
	"fmt"
	"strings"
)

// Landed looks for the commit that Land made of p in the history of p.Target:
// tree p.ResultTree, parents p.TargetOID and p.Head in this order. It answers
// "" when there is none. It is how a crash between the move of the target and
// its record is recognised.
func (st *Store) Landed(ctx context.Context, p Preview) (string, error) {
	ref, err := branchRef(p.Target)
	if err != nil {
		return "", err
	}
	if err := st.checkKinds(ctx, map[string]string{p.TargetOID: "commit", p.Head: "commit"}); err != nil {
		return "", fmt.Errorf("git: look for the merge on %s: %w", p.Target, err)
	}
	tip, err := st.src.Resolve(ctx, ref)
	if err != nil {
		return "", err
	}
	out, err := st.git.output(ctx, nil, "log", "--first-parent", "--format=%H %T %P", tip, "^"+p.TargetOID, "--")
	if err != nil {
		return "", fmt.Errorf("git: look for the merge on %s: %w", p.Target, err)
	}
	want := p.ResultTree + " " + p.TargetOID + " " + p.Head
	for line := range strings.Lines(string(out)) {
		commit, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		if rest == want {
			return commit, nil
		}
	}
	return "", nil
}
