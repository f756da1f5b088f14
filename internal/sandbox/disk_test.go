package sandbox

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// sleeper is a sandbox that runs until it is stopped.
type sleeper struct {
	Sandbox
	once sync.Once
	done chan struct{}
}

func (s *sleeper) Start(context.Context) error { return nil }
func (s *sleeper) Stop(context.Context, time.Duration) error {
	s.once.Do(func() { close(s.done) })
	return nil
}
func (s *sleeper) Remove(context.Context) error { return nil }
func (s *sleeper) Wait(ctx context.Context) (Exit, error) {
	select {
	case <-s.done:
		return Exit{Cause: CauseStopped}, nil
	case <-ctx.Done():
		return Exit{}, ctx.Err()
	}
}

type sleepers struct{ Driver }

func (sleepers) Prepare(context.Context, Spec) (Sandbox, error) {
	return &sleeper{done: make(chan struct{})}, nil
}

// begin starts a watched sandbox on a tree.
func begin(t *testing.T, tree string, l DiskLimit) Sandbox {
	t.Helper()
	l.Every = 5 * time.Millisecond
	box, err := LimitDisk(sleepers{}, l).Prepare(t.Context(), Spec{TreeDir: tree})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = box.Remove(context.Background()) })
	if err := box.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	return box
}

func TestSandboxThatFillsTheDiskIsStopped(t *testing.T) {
	plenty := DiskLimit{Bytes: 1 << 40, Files: 1 << 40}
	cases := map[string]struct {
		limit DiskLimit
		write func(t *testing.T, tree string)
		says  string
	}{
		"by bytes": {DiskLimit{Bytes: 1 << 20, Files: 1000}, func(t *testing.T, tree string) { put(t, tree, "big", 2<<20) }, "MiB in its tree"},
		"by files": {DiskLimit{Bytes: 1 << 40, Files: 20}, func(t *testing.T, tree string) {
			for _, name := range strings.Split(strings.Repeat("abcde", 6), "") {
				put(t, filepath.Join(tree, name), name, 1)
				put(t, tree, name+name+time.Now().Format("150405.000000000"), 1)
			}
		}, "files in its tree"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			tree := t.TempDir()
			box := begin(t, tree, c.limit)
			c.write(t, tree)
			exit, err := box.Wait(t.Context())
			if err != nil || exit.Cause != CauseDisk || exit.Code == 0 || !strings.Contains(exit.Detail, c.says) {
				t.Errorf("exit %+v, %v", exit, err)
			}
		})
	}
	t.Run("one that does not goes on", func(t *testing.T) {
		tree := t.TempDir()
		put(t, tree, "small", 10)
		ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
		defer cancel()
		if exit, err := begin(t, tree, plenty).Wait(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("exit %+v, %v", exit, err)
		}
	})
}

// What lies behind a symlink is the host's, and neither read nor counted.
func TestDiskLimitStaysInsideTheTree(t *testing.T) {
	tree, outside := t.TempDir(), t.TempDir()
	put(t, outside, "big", 8<<20)
	for name, target := range map[string]string{"dir": outside, "file": filepath.Join(outside, "big"), "up": ".."} {
		if err := os.Symlink(target, filepath.Join(tree, name)); err != nil {
			t.Fatal(err)
		}
	}
	if err := (DiskLimit{Bytes: 1 << 20, Files: 100}).check(t.Context(), tree); err != nil {
		t.Errorf("counted what is outside: %v", err)
	}
}

func TestNoSandboxStartsBelowTheFloor(t *testing.T) {
	box, err := LimitDisk(sleepers{}, DiskLimit{Bytes: 1, Files: 1, Floor: 1 << 62}).Prepare(t.Context(), Spec{TreeDir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	if err := box.Start(t.Context()); err == nil || !strings.Contains(err.Error(), "free") {
		t.Errorf("started on a full disk: %v", err)
	}
}

func put(t *testing.T, dir, name string, size int) {
	t.Helper()
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, name), make([]byte, size), 0o644); err != nil {
		t.Fatal(err)
	}
}
