package session

import (
	"strings"
	"testing"
	"time"
)

// TestAJumpOfTheClockTouchesNoSession: a session ends after as much time as it
// was given, not at a time of day. The reading of the clock that does not jump
// must stay in what is compared.
func TestAJumpOfTheClockTouchesNoSession(t *testing.T) {
	table := NewTable(nil)
	s, _, err := table.Mint(Scope{}, time.Minute, true)
	if err != nil {
		t.Fatal(err)
	}
	kept, err := table.Get(s.ID)
	if err != nil {
		t.Fatal(err)
	}
	for name, at := range map[string]time.Time{"as it was minted": s.Expires, "as it is kept": kept.Expires} {
		if !strings.Contains(at.String(), " m=") {
			t.Errorf("the end of a session, %s, is a time of day: %s", name, at)
		}
	}
}
