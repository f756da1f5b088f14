package sandbox

import (
	"fmt"
	"strings"
)

// Ended is what a driver knows about a sandbox that has ended, before the one
// rule that names the cause is applied.
type Ended struct {
	Code     int    // exit code of pid 1; 128 + signal when it was killed
	OOM      bool   // the kernel killed something in it for memory
	TimedOut bool   // we stopped it at its timeout
	Stopped  bool   // somebody called Stop
	Flooded  bool   // we stopped it at LogLimit
	Lost     error  // engine or host went away; nothing above is known
	Stderr   string // last bytes of stderr
}

// Exit names the cause. A memory kill counts as the cause when the sandbox
// failed; when the agent went on and succeeded, it is only mentioned.
func (e Ended) Exit() Exit {
	x := Exit{Code: e.Code, OOM: e.OOM, Detail: tail(e.Stderr, StderrLimit)}
	switch {
	case e.Lost != nil:
		x.Cause, x.Detail = CauseLost, e.Lost.Error()
	case e.TimedOut:
		x.Cause = CauseTimeout
	case e.Flooded:
		x.Cause, x.Detail = CauseFailed, "stopped: it wrote more to standard output than is kept"
	case e.OOM && e.Code != 0:
		x.Cause = CauseOOM
	case e.Stopped:
		x.Cause = CauseStopped
	case e.Code != 0:
		x.Cause = CauseFailed
	default:
		x.Cause = CauseDone
	}
	if e.OOM && x.Cause != CauseOOM && x.Cause != CauseLost {
		x.Detail = strings.TrimSpace(fmt.Sprintf("a process was killed because the memory limit was reached\n%s", x.Detail))
	}
	return x
}

// tail keeps the last n bytes of s.
func tail(s string, n int) string {
	if len(s) > n {
		s = s[len(s)-n:]
	}
	return strings.ToValidUTF8(s, "�")
}
