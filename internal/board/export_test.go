package board

import (
	"context"
	"fmt"
)

// Stopping says whether a run was told to end, or is not executing.
func (s *Service) Stopping(run string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	a := s.runs[run]
	return a == nil || context.Cause(a.ctx) != nil
}

// CanMove and ColumnOf show the status machine to its model test.
var (
	CanMove  = canMove
	ColumnOf = columnOf
	DiskFull = diskFull
)

// Running says that a run of the task is queued or executing.
func (s Status) Running() bool { return s.running() }

// RepositoryAt shows how a remote is read.
var RepositoryAt = repositoryAt

// WaitCI waits until the gate started last has ended, and returns what Review
// makes of it.
func (s *Service) WaitCI(ctx context.Context, key string) (CI, error) {
	t, err := s.Task(ctx, key)
	if err != nil {
		return CI{}, err
	}
	s.mu.Lock()
	a := s.gates[t.ID]
	s.mu.Unlock()
	if a != nil {
		select {
		case <-a.done:
		case <-ctx.Done():
			return CI{}, fmt.Errorf("board: wait for gate: %w", context.Cause(ctx))
		}
	}
	return s.CI(ctx, t.ID)
}
