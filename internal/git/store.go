package git

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// attributes switches off, for every path and with the highest precedence,
// everything a .gitattributes could ask git to do. A dash would be wrong where
// "unset" has a meaning of its own: -diff and -merge mean binary, and
// -working-tree-encoding is an error.
const attributes = `* -text !eol !crlf -ident !filter !working-tree-encoding !diff !merge !textconv !whitespace !conflict-marker-size !export-subst !export-ignore
`

// Store is our own git directory for one user's repository: configuration,
// index and attributes are ours, objects and refs are the user's. It holds no
// state that could not be written again. Safe for concurrent use, also by
// several processes.
type Store struct {
	dir    string
	src    *Source
	git    runner
	format format
	owner  int // uid that objects and refs we make are given to; -1 = leave
	gid    int
}

// OpenStore makes or reuses the clean git directory dir for s.
func OpenStore(ctx context.Context, dir string, s *Source) (*Store, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return nil, fmt.Errorf("git: store %s: %w", dir, err)
	}
	f, err := formatOf(s.info.ObjectFormat)
	if err != nil {
		return nil, fmt.Errorf("git: store %s: %w", abs, err)
	}
	if err := layOut(abs, f); err != nil {
		return nil, fmt.Errorf("git: store %s: %w", abs, err)
	}
	base, err := newRunner(ctx)
	if err != nil {
		return nil, err
	}
	st := &Store{dir: abs, src: s, format: f, owner: -1, gid: -1}
	base.args = append(base.args, "--shallow-file", filepath.Join(s.info.GitDir, "shallow"))
	if shared, err := s.common.line(ctx, "config", "--get", "core.sharedRepository"); err == nil {
		base.args = append(base.args, "-c", "core.sharedRepository="+shared) // a group goes on writing there
	}
	st.git = base.with(abs, abs, "GIT_OBJECT_DIRECTORY="+s.objects)
	var fi unix.Stat_t
	if err := unix.Stat(s.objects, &fi); err != nil {
		return nil, fmt.Errorf("git: store %s: object directory: %w", abs, err)
	}
	if os.Geteuid() == 0 && fi.Uid != 0 {
		st.owner, st.gid = int(fi.Uid), int(fi.Gid)
	}
	return st, nil
}

// layOut writes a bare repository by hand: no template, no hooks, no
// configuration but this.
func layOut(dir string, f format) error {
	for _, d := range []string{dir, filepath.Join(dir, "objects"), filepath.Join(dir, "refs"), filepath.Join(dir, "info")} {
		if err := os.MkdirAll(d, 0o700); err != nil {
			return err
		}
	}
	config := "[core]\n\trepositoryformatversion = 0\n\tbare = true\n"
	if f.name != "sha1" {
		config = "[core]\n\trepositoryformatversion = 1\n\tbare = true\n[extensions]\n\tobjectFormat = " + f.name + "\n"
	}
	files := map[string]string{"config": config, "info/attributes": attributes, "HEAD": "ref: refs/heads/none\n"}
	for name, text := range files {
		if err := settle(filepath.Join(dir, name), []byte(text)); err != nil {
			return err
		}
	}
	return nil
}

// settle makes path hold exactly data, replacing it in one step if it differs.
func settle(path string, data []byte) error {
	if old, err := os.ReadFile(path); err == nil && bytes.Equal(old, data) {
		return nil
	}
	return writeAtomic(path, data)
}

func writeAtomic(path string, data []byte) error {
	f, err := os.CreateTemp(filepath.Dir(path), ".new-*")
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	err = errors.Join(err, f.Close())
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return nil
}

// adopt gives what we wrote as root into another user's repository to that
// user; otherwise the user's own git could not write there any more.
func (st *Store) adopt() {
	if st.owner < 0 {
		return
	}
	give := func(path string, _ fs.DirEntry, err error) error {
		if err != nil {
			return nil // pruned meanwhile, or not ours to see
		}
		var at unix.Stat_t
		if unix.Lstat(path, &at) == nil && at.Uid == 0 {
			// Lchown: a symlink in the repository must not lead elsewhere.
			_ = os.Lchown(path, st.owner, st.gid) // the next write tries again
		}
		return nil
	}
	_ = filepath.WalkDir(st.src.objects, give) // give returns no error
	for _, name := range []string{"refs", "logs", "packed-refs"} {
		_ = filepath.WalkDir(filepath.Join(st.src.info.GitDir, name), give)
	}
}

// explain wraps a failed git run; a repository that vanished is named first.
func (st *Store) explain(op string, err error) error {
	if _, statErr := os.Stat(st.src.objects); errors.Is(statErr, os.ErrNotExist) {
		return fmt.Errorf("git: %s: %s: %w: restore the directory, nothing was changed", op, st.src.info.Path, ErrGone)
	}
	return fmt.Errorf("git: %s: %w", op, err)
}

// checkOID accepts full object ids only, so nothing else can reach git where
// it wants an id.
func (st *Store) checkOID(oid string) error {
	if len(oid) == st.format.hexLen() && strings.Trim(oid, "0123456789abcdef") == "" {
		return nil
	}
	return fmt.Errorf("git: %q is not a full %s object id", oid, st.format.name)
}

// resolve accepts a full id, or a revision of the user's repository.
func (st *Store) resolve(ctx context.Context, treeish string) (string, error) {
	if st.checkOID(treeish) == nil {
		return treeish, nil
	}
	return st.src.Resolve(ctx, treeish)
}

// treeOf returns the tree of a commit, tag or tree.
func (st *Store) treeOf(ctx context.Context, treeish string) (string, error) {
	oid, err := st.resolve(ctx, treeish)
	if err != nil {
		return "", err
	}
	tree, err := st.git.line(ctx, "rev-parse", "--verify", "-q", "--end-of-options", oid+"^{tree}")
	if exitCode(err) == 1 {
		return "", fmt.Errorf("git: tree of %s: %w in %s: it was removed or never fetched", treeish, ErrNoRevision, st.src.info.Path)
	}
	if err != nil {
		return "", st.explain("tree of "+treeish, err)
	}
	return tree, nil
}
