package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"moeca/internal/board"
	"moeca/internal/git"
	"moeca/internal/stack"
)

const (
	p10Files   = 20_000
	p10Changed = 2_000
)

// snapshotAndDiff measures the commit of an agent's tree and the diff that is
// shown, beside raw `git diff` of a work tree with the same change.
func (b *bench) snapshotAndDiff(ctx context.Context) ([]row, error) {
	repo := filepath.Join(b.dir, "twenty-thousand")
	if err := makeRepository(repo, p10Files); err != nil {
		return nil, err
	}
	src, err := git.Open(ctx, repo)
	if err != nil {
		return nil, err
	}
	store, err := git.OpenStore(ctx, filepath.Join(b.dir, "store"), src)
	if err != nil {
		return nil, err
	}
	base := src.Info().HeadOID
	tree := filepath.Join(b.dir, "tree")
	if err := store.Checkout(ctx, base, tree, git.Owner{UID: -1, GID: -1}); err != nil {
		return nil, err
	}
	head := base
	request := func() git.SnapshotRequest {
		return git.SnapshotRequest{
			Dir: tree, Parent: base, Base: base, Message: "bench", When: time.Now(),
			Author: git.Identity{Name: "Bench", Email: "bench@example.org"}, Cache: filepath.Join(b.dir, "cache"),
		}
	}
	if _, err := store.Snapshot(ctx, request()); err != nil { // fills the cache, as a run's first look does
		return nil, err
	}
	var snapshot, diffs, raw sample
	for i := range b.windows + 1 {
		if err := change(i+1, tree, repo); err != nil {
			return nil, err
		}
		s, err := timed(func() error {
			result, err := store.Snapshot(ctx, request())
			head = result.Commit
			return err
		})
		if err != nil {
			return nil, err
		}
		d, err := timed(func() error {
			set, err := store.Diff(ctx, base, head, git.DiffOptions{})
			if err == nil && len(set.Files) != p10Changed {
				err = fmt.Errorf("%d files in the diff, not %d", len(set.Files), p10Changed)
			}
			return err
		})
		if err != nil {
			return nil, err
		}
		g, err := timed(func() error {
			cmd := exec.Command("git", "diff", "--no-ext-diff", "HEAD")
			cmd.Dir = repo
			return cmd.Run()
		})
		if err != nil {
			return nil, err
		}
		if i > 0 {
			snapshot, diffs, raw = append(snapshot, s), append(diffs, d), append(raw, g)
		}
	}
	both := make(sample, len(diffs))
	for i := range diffs {
		both[i] = snapshot[i] + diffs[i]
	}
	const peer = "raw git diff HEAD in a work tree"
	note := fmt.Sprintf("%d files, %d changed", p10Files, p10Changed)
	return []row{
		compare("P10", "diff", diffs, peer, raw, note+"; target ≤ 1"),
		compare("P10", "snapshot", snapshot, peer, raw, note),
		compare("P10", "snapshot_and_diff", both, peer, raw, note),
	}, nil
}

// change writes the same change into the agent's tree and the peer's.
func change(n int, dirs ...string) error {
	for _, dir := range dirs {
		for i := range p10Changed {
			i *= p10Files / p10Changed
			file := filepath.Join(dir, fmt.Sprintf("d%03d", i/100), fmt.Sprintf("file-%05d.txt", i))
			if err := os.WriteFile(file, fileText(i, n), 0o644); err != nil {
				return err
			}
		}
	}
	return nil
}

// listTasks measures the list of a hundred tasks.
func (b *bench) listTasks(ctx context.Context) ([]row, error) {
	repo := filepath.Join(b.dir, "small")
	if err := makeRepository(repo, 100); err != nil {
		return nil, err
	}
	st, err := stack.Open(ctx, stack.Options{
		Data: filepath.Join(b.dir, "data-list"), Runtime: filepath.Join(b.dir, "r"), Bin: b.bin, Driver: "native",
		Listen: "127.0.0.1:0", GatewayListen: "127.0.0.1:0", NoKeychain: true,
	})
	if err != nil {
		return nil, err
	}
	defer st.Close(ctx)
	added, err := st.Board().AddRepo(ctx, repo, "", "", nil)
	if err != nil {
		return nil, err
	}
	for i := range 100 {
		if _, err := st.Board().CreateTask(ctx, board.NewTask{RepoID: added.ID, Title: fmt.Sprintf("Task %d", i)}); err != nil {
			return nil, err
		}
	}
	ours, peer, err := interleave(3*b.windows, func() error {
		page, err := st.Board().Tasks(ctx, board.TaskFilter{Limit: 100})
		if err == nil && len(page.Tasks) != 100 {
			err = fmt.Errorf("%d tasks", len(page.Tasks))
		}
		return err
	}, func() error {
		cmd := exec.Command("git", "status", "--porcelain")
		cmd.Dir = repo
		return cmd.Run()
	})
	if err != nil {
		return nil, err
	}
	return []row{compare("P10", "list_100_tasks", ours, "one git status in a small repository", peer, "target ≤ 50 ms; no git is run")}, nil
}
