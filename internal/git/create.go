package git

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"strings"
	"time"
)

// NewFile is a file of the first commit of a new repository.
type NewFile struct {
	Path       string // slash-separated
	Content    []byte
	Executable bool
}

// Create makes a repository at dir with one commit on branch and the work tree
// checked out, and returns the commit. dir must not exist or be empty. It is
// for repositories that moeca itself begins, such as the demo's; a user's are
// never created or written here.
func Create(ctx context.Context, dir, branch string, files []NewFile, message string, who Identity, when time.Time) (string, error) {
	if _, err := branchRef(branch); err != nil {
		return "", err
	}
	if entries, err := os.ReadDir(dir); err == nil && len(entries) > 0 {
		return "", fmt.Errorf("git: create repository: %s is not empty", dir)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", fmt.Errorf("git: create repository: %w", err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return "", fmt.Errorf("git: create repository: %w", err)
	}
	defer root.Close()
	if err := writeFiles(root, files); err != nil {
		return "", fmt.Errorf("git: create repository: %w", err)
	}
	r, err := newRunner(ctx)
	if err != nil {
		return "", err
	}
	r.dir = dir
	stamp := fmt.Sprintf("%d +0000", when.Unix())
	r.env = append(r.env,
		"GIT_AUTHOR_NAME="+who.Name, "GIT_AUTHOR_EMAIL="+who.Email, "GIT_AUTHOR_DATE="+stamp,
		"GIT_COMMITTER_NAME="+who.Name, "GIT_COMMITTER_EMAIL="+who.Email, "GIT_COMMITTER_DATE="+stamp)
	for _, args := range [][]string{
		{"init", "--quiet", "--template=", "--initial-branch=" + branch},
		{"add", "--all"},
		{"commit", "--quiet", "--no-verify", "-m", message},
	} {
		if _, err := r.output(ctx, nil, args...); err != nil {
			return "", fmt.Errorf("git: create repository %s: %w", dir, err)
		}
	}
	out, err := r.output(ctx, nil, "rev-parse", "HEAD")
	return strings.TrimSpace(string(bytes.TrimSpace(out))), err
}

func writeFiles(root *os.Root, files []NewFile) error {
	for _, f := range files {
		if i := strings.LastIndexByte(f.Path, '/'); i > 0 {
			if err := root.MkdirAll(f.Path[:i], 0o755); err != nil {
				return err
			}
		}
		mode := os.FileMode(0o644)
		if f.Executable {
			mode = 0o755
		}
		if err := root.WriteFile(f.Path, f.Content, mode); err != nil {
			return err
		}
	}
	return nil
}
