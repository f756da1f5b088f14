package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"moeca/internal/audit"
	"moeca/internal/board"
	"moeca/internal/stack"
)

// firstRequest measures task created → the agent's first request recorded at
// the gateway, on a repository of 10,000 files, beside git's own parallel
// checkout of the same tree.
func (b *bench) firstRequest(ctx context.Context) ([]row, error) {
	repo := filepath.Join(b.dir, "ten-thousand")
	if err := makeRepository(repo, 10_000); err != nil {
		return nil, err
	}
	var rows []row
	for _, driver := range []string{"native", "docker"} {
		r, err := b.firstRequestOn(ctx, driver, repo)
		if err != nil {
			return rows, fmt.Errorf("%s: %w", driver, err)
		}
		rows = append(rows, r)
	}
	return rows, nil
}

func (b *bench) firstRequestOn(ctx context.Context, driver, repo string) (row, error) {
	data := filepath.Join(b.dir, "data-"+driver)
	st, err := stack.Open(ctx, stack.Options{
		Data: data, Runtime: filepath.Join(b.dir, "r"), Bin: b.bin, Driver: driver,
		Listen: "127.0.0.1:0", GatewayListen: "127.0.0.1:0", NoKeychain: true,
	})
	if err != nil {
		return row{}, err
	}
	defer st.Close(ctx)
	added, err := st.Board().AddRepo(ctx, repo, "", "", nil)
	if err != nil {
		return row{}, err
	}
	var ours, peer sample
	for i := range b.windows + 1 {
		d, err := timeToRequest(ctx, st, data, added.ID)
		if err != nil {
			return row{}, err
		}
		c, err := b.parallelCheckout(repo, i)
		if err != nil {
			return row{}, err
		}
		if i > 0 {
			ours, peer = append(ours, d), append(peer, c)
		}
	}
	return compare("P8", "task_to_first_request_"+driver, ours, "git checkout-index, 8 workers, of the same tree", peer,
		"10,000 files; target: checkout + 400 ms"), nil
}

// timeToRequest creates and runs a task and reads from the log when its first
// request was recorded.
func timeToRequest(ctx context.Context, st *stack.Stack, data, repo string) (time.Duration, error) {
	began := time.Now()
	task, err := st.Board().CreateTask(ctx, board.NewTask{RepoID: repo, Title: "Measure", Detail: "```moeca-script\n{\"steps\":[],\"final\":\"done\"}\n```\n"})
	if err != nil {
		return 0, err
	}
	run, err := st.Board().RunTask(ctx, task.ID)
	if err != nil {
		return 0, err
	}
	if run, err = st.Board().WaitRun(ctx, run.ID); err != nil {
		return 0, err
	}
	if run.Status != board.StatusDone {
		return 0, fmt.Errorf("the run ended %s: %s", run.Status, run.Cause)
	}
	log := stack.ReadAudit(data)
	last, err := log.Refresh()
	if err != nil {
		return 0, err
	}
	for seq := int64(1); seq <= last; seq++ {
		r, _, err := log.At(seq)
		if err != nil {
			return 0, err
		}
		if r.Kind == audit.KindIntent && r.Attribution.Run == run.ID {
			return r.Time.Sub(began), nil
		}
	}
	return 0, fmt.Errorf("the run made no request")
}

// parallelCheckout is the peer: git writing the same tree with its own workers.
func (b *bench) parallelCheckout(repo string, n int) (time.Duration, error) {
	out := filepath.Join(b.dir, fmt.Sprintf("checkout-%d", n))
	index := out + ".index"
	defer os.RemoveAll(out)
	defer os.Remove(index)
	env := append(os.Environ(), "GIT_INDEX_FILE="+index)
	return timed(func() error {
		for _, args := range [][]string{
			{"read-tree", "main"},
			{"-c", "checkout.workers=8", "-c", "checkout.thresholdForParallelism=1", "checkout-index", "-a", "-q", "--prefix=" + out + "/"},
		} {
			cmd := exec.Command("git", args...)
			cmd.Dir, cmd.Env = repo, env
			if text, err := cmd.CombinedOutput(); err != nil {
				return fmt.Errorf("git %v: %w: %s", args, err, text)
			}
		}
		return nil
	})
}

// makeRepository writes n small files in directories of a hundred, and commits
// them on main.
func makeRepository(dir string, n int) error {
	for i := range n {
		file := filepath.Join(dir, fmt.Sprintf("d%03d", i/100), fmt.Sprintf("file-%05d.txt", i))
		if i%100 == 0 {
			if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
				return err
			}
		}
		if err := os.WriteFile(file, fileText(i, 0), 0o644); err != nil {
			return err
		}
	}
	for _, args := range [][]string{
		{"init", "-q", "-b", "main"},
		{"add", "."},
		{"-c", "user.name=Bench", "-c", "user.email=bench@example.org", "-c", "maintenance.auto=false", "-c", "gc.auto=0", "commit", "-q", "-m", "files"},
		{"gc", "-q"},
	} {
		cmd := exec.Command("git", args...)
		cmd.Dir = dir
		if text, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("git %v: %w: %s", args, err, text)
		}
	}
	return nil
}

// fileText is about 2 kB of lines that differ from file to file.
func fileText(i, change int) []byte {
	var text []byte
	for line := range 40 {
		text = fmt.Appendf(text, "file %d line %d of forty, with some words to compare\n", i, line)
	}
	if change > 0 {
		text = fmt.Appendf(text, "change %d of file %d\n", change, i)
	}
	return text
}
