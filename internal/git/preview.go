package git

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"moeca/internal/diff"
)

// Errors of a landing.
var (
	ErrConflict    = errors.New("the merge has conflicts")
	ErrNothingToDo = errors.New("the target already holds every commit")
)

// Preview merges head into targetBranch without touching any ref. The merge is
// a real one even where a fast-forward would do, so that what lands is always
// one commit that names both sides.
func (st *Store) Preview(ctx context.Context, targetBranch, head string) (Preview, error) {
	ref, err := branchRef(targetBranch)
	if err != nil {
		return Preview{}, err
	}
	p := Preview{Target: strings.TrimPrefix(ref, "refs/heads/")}
	if p.TargetOID, err = st.src.refOID(ctx, ref); err != nil {
		return Preview{}, err
	}
	if p.TargetOID == "" {
		return Preview{}, fmt.Errorf("git: preview: target branch %q: %w: choose another target", p.Target, ErrNoRevision)
	}
	if p.Head, err = st.resolve(ctx, head); err != nil {
		return Preview{}, err
	}
	if err := st.compare(ctx, &p); err != nil {
		return Preview{}, err
	}
	if p.MergeBase == "" {
		p.Unrelated = true
		p.Conflicts = []Conflict{{Kinds: []string{"unrelated-histories"}}}
		return p, nil
	}
	return p, st.merge(ctx, &p)
}

// compare fills in merge base, ahead and behind.
func (st *Store) compare(ctx context.Context, p *Preview) error {
	base, err := st.git.line(ctx, "merge-base", p.TargetOID, p.Head)
	if err != nil && exitCode(err) != 1 {
		return st.explain("merge base", err)
	}
	p.MergeBase = base
	counts, err := st.git.line(ctx, "rev-list", "--count", "--left-right", p.TargetOID+"..."+p.Head)
	if err != nil {
		return st.explain("count commits", err)
	}
	behind, ahead, _ := strings.Cut(counts, "\t")
	if p.Behind, err = strconv.Atoi(behind); err == nil {
		p.Ahead, err = strconv.Atoi(ahead)
	}
	if err != nil {
		return fmt.Errorf("git: count commits: %q: %w", counts, err)
	}
	p.UpToDate = p.Ahead == 0
	return nil
}

// merge runs merge-tree and reads its answer.
func (st *Store) merge(ctx context.Context, p *Preview) error {
	defer st.adopt()
	out, err := st.git.output(ctx, nil, "merge-tree", "--write-tree", "-z", "--messages", p.TargetOID, p.Head)
	if err != nil && exitCode(err) != 1 {
		return st.explain("merge", err)
	}
	tree, conflicts, parseErr := parseMerge(out)
	if parseErr != nil {
		return fmt.Errorf("git: merge: %w", parseErr)
	}
	if err == nil {
		p.ResultTree = tree
		return st.checkOID(tree)
	}
	if len(conflicts) == 0 {
		return fmt.Errorf("git: merge: git reports conflicts and names none")
	}
	p.Conflicts = conflicts
	return nil
}

// parseMerge reads the -z output of merge-tree: the tree; "mode oid stage\tpath"
// of each conflicted entry; an empty field; then messages, each as a count,
// that many paths, a kind and a text.
func parseMerge(out []byte) (tree string, conflicts []Conflict, err error) {
	fields := bytes.Split(out, []byte{0})
	if len(fields) < 2 || len(fields[len(fields)-1]) != 0 {
		return "", nil, errors.New("answer is cut short")
	}
	tree, fields = string(fields[0]), fields[1:len(fields)-1]
	found := map[string]*Conflict{}
	var order []string
	at := func(path string) *Conflict {
		if found[path] == nil {
			found[path] = &Conflict{Path: diff.Printable(path)}
			order = append(order, path)
		}
		return found[path]
	}
	for len(fields) > 0 && len(fields[0]) > 0 {
		head, path, ok := strings.Cut(string(fields[0]), "\t")
		part := strings.Split(head, " ")
		if !ok || len(part) != 3 {
			return "", nil, fmt.Errorf("conflicted entry %q", fields[0])
		}
		c := at(path)
		c.Stages = append(c.Stages, part[2]+" "+part[0]+" "+part[1])
		fields = fields[1:]
	}
	if len(fields) > 0 {
		fields = fields[1:]
	}
	for len(fields) > 0 {
		n, convErr := strconv.Atoi(string(fields[0]))
		if convErr != nil || n < 0 || len(fields) < n+3 {
			return "", nil, fmt.Errorf("message %q", fields[0])
		}
		kind := string(fields[n+1])
		if name, ok := conflictKind(kind); ok {
			for _, path := range fields[1 : n+1] {
				// A message may name a path that has no entry of its own, such as
				// the directory of a file/directory conflict.
				if c := at(string(path)); !slices.Contains(c.Kinds, name) {
					c.Kinds = append(c.Kinds, name)
				}
			}
		}
		fields = fields[n+3:]
	}
	for _, path := range order {
		found[path].nameAddAdd()
		conflicts = append(conflicts, *found[path])
	}
	return tree, conflicts, nil
}

// nameAddAdd calls a conflict without a common ancestor by its name, which git
// does only in the text of the message.
func (c *Conflict) nameAddAdd() {
	hasBase := slices.ContainsFunc(c.Stages, func(s string) bool { return strings.HasPrefix(s, "1 ") })
	if i := slices.Index(c.Kinds, "content"); i >= 0 && len(c.Stages) == 2 && !hasBase {
		c.Kinds[i] = "add/add"
	}
}

// conflictKind turns "CONFLICT (modify/delete)" into "modify/delete". Messages
// that only inform, such as "Auto-merging", are no conflict.
func conflictKind(kind string) (string, bool) {
	name, ok := strings.CutPrefix(kind, "CONFLICT (")
	if !ok {
		return "", false
	}
	name = strings.TrimSuffix(name, ")")
	if name == "contents" {
		name = "content"
	}
	return name, true
}

// Land makes the merge commit of a preview and moves the target to it. The
// commit's tree is exactly p.ResultTree, its parents are target and head, and
// the target moves only from p.TargetOID: ErrMoved means nothing happened. The
// user's index and work tree are not touched, also where the target is checked
// out.
func (st *Store) Land(ctx context.Context, p Preview, message string, who Identity) (string, error) {
	return st.LandAt(ctx, p, message, who, time.Now())
}

// LandAt is Land at a given time.
func (st *Store) LandAt(ctx context.Context, p Preview, message string, who Identity, when time.Time) (string, error) {
	ref, err := branchRef(p.Target)
	if err != nil {
		return "", err
	}
	switch {
	case len(p.Conflicts) > 0 || p.ResultTree == "":
		return "", fmt.Errorf("git: land on %s: %w: resolve them in the task, then look again", p.Target, ErrConflict)
	case p.UpToDate:
		return "", fmt.Errorf("git: land on %s: %w: nothing was changed", p.Target, ErrNothingToDo)
	}
	if err := st.checkKinds(ctx, map[string]string{p.TargetOID: "commit", p.Head: "commit", p.ResultTree: "tree"}); err != nil {
		return "", fmt.Errorf("git: land on %s: %w", p.Target, err)
	}
	objects, err := st.newPack()
	if err != nil {
		return "", err
	}
	defer objects.close()
	commit, err := st.commit(ctx, objects, p.ResultTree, []string{p.TargetOID, p.Head}, who, when, message)
	if err != nil {
		return "", err
	}
	subject, _, _ := strings.Cut(message, "\n")
	if err := st.updateRef(ctx, ref, commit, p.TargetOID, "moeca: merge: "+headerText(subject, "task")); err != nil {
		return "", err
	}
	return commit, nil
}

// checkKinds refuses ids that are missing or of another kind than said.
func (st *Store) checkKinds(ctx context.Context, want map[string]string) error {
	var oids []string
	for oid := range want {
		oids = append(oids, oid)
	}
	got, err := st.statObjects(ctx, oids)
	if err != nil {
		return err
	}
	for _, o := range got {
		if o.Kind != want[o.OID] {
			return fmt.Errorf("object %s is %s, expected a %s: make the preview again", o.OID, orNone(o.Kind), want[o.OID])
		}
	}
	return nil
}
