package board

import "context"

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
