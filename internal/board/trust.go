package board

import "context"

// trusted refuses what must not be done while the audit log is not what somebody
// saw of it: no run begins, nothing is approved and nothing is merged.
func (s *Service) trusted(ctx context.Context) error {
	err := s.Trust(ctx)
	if err == nil {
		return nil
	}
	return &Error{
		Kind: Locked, Code: "log_not_trusted", Err: err, Message: err.Error(),
		Next: "`moeca audit verify` says what each witness saw; put the log back from a backup, or, if you know why it differs, remove that witness: moeca audit witness list",
	}
}
