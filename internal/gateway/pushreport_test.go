package gateway

import (
	"strings"
	"testing"
)

func push(capabilities string, refs ...string) string {
	var b strings.Builder
	for i, ref := range refs {
		line := strings.Repeat("0", 40) + " " + strings.Repeat("a", 40) + " " + ref
		if i == 0 {
			line += "\x00" + capabilities
		}
		b.WriteString(packet(line))
	}
	return b.String() + "0000PACK"
}

func TestRefusedPushIsReportedInGitsTerms(t *testing.T) {
	const reason = "moeca gateway, ref/protected-ref: no\nok refs/heads/main"
	const said = " moeca gateway, ref/protected-ref: no ok refs/heads/main\n"
	main, other := packet("ng refs/heads/main"+said), packet("ng refs/heads/x"+said)
	for name, row := range map[string]struct{ push, want string }{
		"plain":      {push("report-status", "refs/heads/main"), "000eunpack ok\n" + main + "0000"},
		"shallow":    {packet("shallow "+strings.Repeat("b", 40)) + push("report-status", "refs/heads/main"), "000eunpack ok\n" + main + "0000"},
		"two refs":   {push(" report-status-v2 atomic", "refs/heads/main", "refs/heads/x"), "000eunpack ok\n" + main + other + "0000"},
		"in bands":   {push("report-status side-band-64k quiet", "refs/heads/main"), packet("\x01000eunpack ok\n") + packet("\x01"+main) + packet("\x010000") + "0000"},
		"not asked":  {push("side-band-64k", "refs/heads/main"), ""},
		"no push":    {"0000", ""},
		"unreadable": {"00zz", ""},
		"empty":      {"", ""},
	} {
		got, ok := reportOf([]byte(row.push), reason)
		if string(got) != row.want || ok != (row.want != "") {
			t.Errorf("%s: %q", name, got)
		}
	}
	long, _ := reportOf([]byte(push("report-status side-band-64k", "refs/heads/main")), strings.Repeat("x", 1<<17))
	if len(long) > 2*maxReported {
		t.Errorf("a report of %d bytes", len(long))
	}
}
