package stack

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"moeca/internal/board"
	"moeca/internal/demo"
)

// beginDemo makes a demo repository in the data directory and a task in it, for
// a person who wants to look without a key. Each call begins another one; the
// repository is removed like any other.
func (s *Stack) beginDemo(ctx context.Context) (board.Task, error) {
	top := s.data.Join("demo")
	if err := os.MkdirAll(top, 0o700); err != nil {
		return board.Task{}, fmt.Errorf("demo: %w", err)
	}
	name := "units"
	for n := 2; ; n++ {
		if _, err := os.Lstat(filepath.Join(top, name)); os.IsNotExist(err) {
			break
		}
		name = fmt.Sprintf("units-%d", n)
	}
	dir := filepath.Join(top, name)
	if err := demo.CreateRepository(ctx, dir, filepath.Join(s.opts.Bin, "moeca-demo-check")); err != nil {
		return board.Task{}, &board.Error{Kind: board.Unavailable, Code: "demo", Message: err.Error(), Next: "build moeca again with `make build`"}
	}
	gate := demo.Gate()
	repo, err := s.board.AddRepo(ctx, dir, "demo-"+name, "", &gate)
	if err != nil {
		return board.Task{}, err
	}
	return s.board.CreateTask(ctx, demo.Task(repo.ID))
}
