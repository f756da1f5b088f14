package git

import (
	"context"
	"errors"
	"fmt"
	"strings"
)

// ErrMoved means a ref is not where the caller believed it to be. Nothing was
// changed; look again.
var ErrMoved = errors.New("the branch moved")

// branchRef returns the full ref of a branch given short or full. Names that
// could be read as an option or that git would refuse are refused here, before
// any git sees them.
func branchRef(branch string) (string, error) {
	short := strings.TrimPrefix(branch, "refs/heads/")
	if err := checkRefName(short); err != nil {
		return "", fmt.Errorf("git: branch %q: %w: %w", branch, ErrBadName, err)
	}
	return "refs/heads/" + short, nil
}

// checkRefName applies git's rules (git-check-ref-format) and refuses a
// leading dash in any component.
func checkRefName(name string) error {
	switch {
	case name == "" || name == "@" || name == "HEAD":
		return errors.New("empty or reserved name")
	case len(name) > 512:
		return errors.New("longer than 512 bytes")
	case strings.Contains(name, "..") || strings.Contains(name, "@{") || strings.HasSuffix(name, "."):
		return errors.New("contains .., @{ or ends in a dot")
	}
	for part := range strings.SplitSeq(name, "/") {
		switch {
		case part == "":
			return errors.New("empty component")
		case strings.HasPrefix(part, "-"):
			return errors.New("a component starts with a dash")
		case strings.HasPrefix(part, ".") || strings.HasSuffix(part, ".lock"):
			return errors.New("a component starts with a dot or ends in .lock")
		}
	}
	for i := range len(name) {
		if c := name[i]; c < 0x20 || c == 0x7f || strings.IndexByte(" ~^:?*[\\", c) >= 0 {
			return fmt.Errorf("character %q is not allowed", c)
		}
	}
	return nil
}

// SetBranch moves branch to oid if it stands at expectOld; "" means it must
// not exist. A branch that already stands at oid is success, so a retry after
// a crash is harmless. The reflog keeps the old value.
func (st *Store) SetBranch(ctx context.Context, branch, oid, expectOld string) error {
	ref, err := branchRef(branch)
	if err != nil {
		return err
	}
	return st.updateRef(ctx, ref, oid, expectOld, "moeca: move branch")
}

// Hold keeps oid and all it needs from garbage collection under
// refs/moeca/<name>, moving the ref if it exists.
func (st *Store) Hold(ctx context.Context, name, oid string) error {
	if err := checkRefName(name); err != nil {
		return fmt.Errorf("git: hold %q: %w: %w", name, ErrBadName, err)
	}
	if err := st.checkOID(oid); err != nil {
		return err
	}
	defer st.adopt()
	_, err := st.src.common.output(ctx, nil, "update-ref", "--no-deref", "-m", "moeca: hold", "refs/moeca/"+name, oid)
	if err != nil {
		return st.explain("hold "+name, err)
	}
	return nil
}

// Release drops a ref made by Hold. Releasing what is not held is success.
func (st *Store) Release(ctx context.Context, name string) error {
	if err := checkRefName(name); err != nil {
		return fmt.Errorf("git: release %q: %w: %w", name, ErrBadName, err)
	}
	defer st.adopt()
	_, err := st.src.common.output(ctx, nil, "update-ref", "--no-deref", "-d", "refs/moeca/"+name)
	if err != nil {
		return st.explain("release "+name, err)
	}
	return nil
}

// updateRef is the one place where a branch of the user moves.
func (st *Store) updateRef(ctx context.Context, ref, oid, old, why string) error {
	if err := st.checkOID(oid); err != nil {
		return err
	}
	expect := old
	if expect == "" {
		expect = strings.Repeat("0", st.format.hexLen())
	} else if err := st.checkOID(expect); err != nil {
		return err
	}
	defer st.adopt()
	_, err := st.src.common.output(ctx, nil, "update-ref", "-m", why, ref, oid, expect)
	if err == nil {
		return nil
	}
	now, readErr := st.src.refOID(ctx, ref)
	switch {
	case readErr == nil && now == oid:
		return nil
	case readErr == nil && now != old:
		return fmt.Errorf("git: move %s: %w: it is at %s, expected %s; nothing was changed, look at the new state and try again",
			ref, ErrMoved, orNone(now), orNone(old))
	}
	return st.explain("move "+ref, err)
}

func orNone(oid string) string {
	if oid == "" {
		return "nothing"
	}
	return oid
}
